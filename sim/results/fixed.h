/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Fractions of integers as decimal text. No floating point is involved. */
#ifndef SIM_RESULTS_FIXED_H
#define SIM_RESULTS_FIXED_H

#include "engine/types.h"

#define FIXED_MAX      48 /* the longest text, with its zero byte */
#define FIXED_NS_PER_S 1000000000ull

/* @over / @under with six decimals, half rounded up. "0.000000" if @under is 0. */
void fixed_format(unsigned __int128 over, unsigned __int128 under, char ret_text[FIXED_MAX]);

#endif
