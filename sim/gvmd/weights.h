/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Weights of containers, a setting of policies: { "vllm": 4, "diffusion": 1 }. */
#ifndef SIM_GVMD_WEIGHTS_H
#define SIM_GVMD_WEIGHTS_H

#include <jansson.h>

#include "gvmd/policy.h"

#define WEIGHT_MAX 10000

/* Is @weights an object of weights, or NULL? Returns 0 or -EINVAL with @why. */
int weights_open(json_t *weights, char why[GVMD_WHY_MAX]);

/* Is each name in @weights one of @names? Returns 0 or -EINVAL with @why. */
int weights_check(json_t *weights, const char *const *names, size_t count,
		  char why[GVMD_WHY_MAX]);

/* The weight of a container; 1 if it has none. */
u64 weights_of(const json_t *weights, const char *name);

#endif
