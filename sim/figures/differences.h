/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a figure shows that its file does not say: overrides, and keys in which two runs differ.
 */
#ifndef SIM_FIGURES_DIFFERENCES_H
#define SIM_FIGURES_DIFFERENCES_H

#include "figures/data.h"
#include "figures/request.h"

/*
 * Append the request's scenario and keys to @text, after "CHANGED" and whether published
 * values are shown all the same. Without any, nothing is appended.
 */
void figure_overrides(const struct figure *figure, const struct figure_request *request,
		      char *text, size_t size);

/*
 * Append "differ in KEY: A | B" to @text for the first two runs, without the system and the
 * names, which a picture has elsewhere. Text without room ends in how many keys more there are.
 */
void figure_differences(const struct figure_data *data, char *text, size_t size);

#endif
