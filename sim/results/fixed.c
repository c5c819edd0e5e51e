// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/fixed.h"

#include <inttypes.h>
#include <stdio.h>

#define FIXED_SCALE 1000000u

void fixed_format(unsigned __int128 over, unsigned __int128 under, char ret_text[FIXED_MAX])
{
	unsigned __int128 millionths = 0;

	if (under)
		millionths = (over * FIXED_SCALE + under / 2) / under;
	snprintf(ret_text, FIXED_MAX, "%" PRIu64 ".%06" PRIu64,
		 (uint64_t)(millionths / FIXED_SCALE), (uint64_t)(millionths % FIXED_SCALE));
}

void fixed_seconds(uint64_t ns, char ret_text[FIXED_MAX])
{
	snprintf(ret_text, FIXED_MAX, "%" PRIu64 ".%09" PRIu64, ns / (uint64_t)FIXED_NS_PER_S,
		 ns % (uint64_t)FIXED_NS_PER_S);
}
