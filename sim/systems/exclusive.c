// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * exclusive: no sharing. Every container has its own GPU of the scenario's profile.
 *
 * This is the papers' ideal, the dashed lines of their figures. They run one application at a
 * time. With one GPU for each application, one run gives the same numbers. There are no control
 * files, since no container has a neighbour.
 */
#include "systems/system.h"

const struct sim_system system_exclusive = {
	.keys = {
		.name = "exclusive",
		.summary = "every container has a whole GPU of its own",
	},
	.own_gpu = true,
};
