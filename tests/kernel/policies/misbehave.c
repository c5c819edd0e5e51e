// SPDX-License-Identifier: MIT OR GPL-2.0
/* A plug-in of gvmd that freezes a container. Later it crashes, or hangs with -DHANG. */
#include <stdlib.h>

#include "gvmd/policy.h"

#define STEPS 5

static int misbehave_step(void *state, struct gvmd_step *step)
{
	const struct gvmd_container *low = gvmd_find(step, "low");
	int *steps = state;

	if (low && ++*steps == 1)
		gvmd_write(step, low, "compute.freeze", "1");
	if (*steps < STEPS)
		return 0;
#ifdef HANG
	for (;;)
		;
#endif
	abort();
}

const struct gvmd_policy gvmd_policy = {
	.abi = GVMD_ABI,
	.name = "misbehave",
	.bytes = sizeof(int),
	.period_ns = 20000000,
	.step = misbehave_step,
};
