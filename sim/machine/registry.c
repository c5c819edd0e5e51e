// SPDX-License-Identifier: MIT OR GPL-2.0
/* All application types and systems; see machine_registry in machine.h. */
#include "machine/machine.h"

const struct cfg_registry machine_registry = {
	.apps = sim_app_types,
	.systems = sim_systems,
};
