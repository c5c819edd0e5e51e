/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The settings "high" and "low" of a policy that serves one container by another. */
#ifndef SIM_GVMD_PAIR_H
#define SIM_GVMD_PAIR_H

#include "gvmd/policy.h"

/*
 * Check that the two settings name two containers: as struct gvmd_policy.open. One container
 * that is both would be frozen for its own load, and that load would stay.
 */
int pair_check(const char *high, const char *low, char why[GVMD_WHY_MAX]);

#endif
