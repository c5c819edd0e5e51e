// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/fixed.h"

#include <stdio.h>

#define FIXED_SCALE 1000000u

void fixed_format(unsigned __int128 over, unsigned __int128 under, char ret_text[FIXED_MAX])
{
	unsigned __int128 millionths = 0;

	if (under)
		millionths = (over * FIXED_SCALE + under / 2) / under;
	snprintf(ret_text, FIXED_MAX, "%llu.%06llu", (u64)(millionths / FIXED_SCALE),
		 (u64)(millionths % FIXED_SCALE));
}
