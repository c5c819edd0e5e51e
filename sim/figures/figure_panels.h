/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a figure's file says of its panels. Mistakes go to the place's reader. */
#ifndef SIM_FIGURES_FIGURE_PANELS_H
#define SIM_FIGURES_FIGURE_PANELS_H

#include "figures/figure.h"

struct place;

/* Read "panels" of the figure's file. Its runs have been read: panels name them by label. */
void figure_read_panels(const struct place *root, struct figure *figure);

/* Read *ret_count moments or levels, a list that the caller frees. NULL: there are none. */
struct figure_mark *figure_read_marks(const struct place *object, const char *key,
				      const struct figure *figure, size_t *ret_count);

#endif
