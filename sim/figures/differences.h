/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* In which keys the configurations of two compared runs differ. */
#ifndef SIM_FIGURES_DIFFERENCES_H
#define SIM_FIGURES_DIFFERENCES_H

#include "figures/data.h"

/*
 * Append "differ in KEY: A | B" to @text for the first two runs, without the system and the names, which
 * a picture has elsewhere. Text without room ends in how many keys more there are.
 */
void figure_differences(const struct figure_data *data, char *text, size_t size);

#endif
