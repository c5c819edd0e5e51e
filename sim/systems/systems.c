// SPDX-License-Identifier: MIT OR GPL-2.0
/* The table of systems, made from list.h. */
#include "systems/system.h"

#include <stddef.h>
#include <string.h>

const struct cfg_keys *const sim_systems[] = {
#define SIM_SYSTEM(name_) &system_##name_.keys,
#include "systems/list.h"
#undef SIM_SYSTEM
	NULL,
};

const struct sim_system *sim_system_find(const char *name)
{
	for (const struct cfg_keys *const *keys = sim_systems; *keys; keys++) {
		if (!strcmp((*keys)->name, name))
			return sim_system_of(*keys);
	}
	return NULL;
}
