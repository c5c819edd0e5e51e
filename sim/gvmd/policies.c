// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/policies.h"

const struct gvmd_policy *const gvmd_policies[] = {
#define GVMD_POLICY(name_) &policy_##name_,
#include "gvmd/list.h"
#undef GVMD_POLICY
	NULL,
};
