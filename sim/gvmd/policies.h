/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The table of policies that come with gvmd, made from list.h. */
#ifndef SIM_GVMD_POLICIES_H
#define SIM_GVMD_POLICIES_H

#include "gvmd/policy.h"

#define GVMD_POLICY(name_) extern const struct gvmd_policy policy_##name_;
#include "gvmd/list.h"
#undef GVMD_POLICY

/* All of them, NULL at the end. */
extern const struct gvmd_policy *const gvmd_policies[];

#endif
