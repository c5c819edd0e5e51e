// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/pair.h"

int pair_check(const char *high, const char *low, char why[GVMD_WHY_MAX])
{
	if (strcmp(high, low) != 0)
		return 0;
	snprintf(why, GVMD_WHY_MAX, "low: \"%s\" is \"high\", too, allowed: another container",
		 low);
	return -EINVAL;
}
