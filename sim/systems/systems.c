// SPDX-License-Identifier: MIT OR GPL-2.0
/* The list of systems. A new one is a file of its own and a line in each table. */
#include "systems/system.h"

#include <stddef.h>
#include <string.h>

#include "gvm/control.h"

const struct sim_system *const sim_systems[] = {
	&system_exclusive, &system_stock, &system_gpreempt, &system_gvm, &system_ghost, NULL,
};

const char *const config_known_systems[] = { "exclusive", "stock", "gpreempt",
					     "gvm",	  "ghost", NULL };

const struct sim_system *sim_system_find(const char *name)
{
	const struct sim_system *const *system;

	for (system = sim_systems; *system; system++)
		if (!strcmp((*system)->name, name))
			return *system;
	return NULL;
}

bool sim_system_has_mechanism(const struct sim_system *system, const char *key)
{
	const char *const *name;

	key += strlen("system.mechanisms.");
	for (name = system->mechanisms; name && *name; name++)
		if (!strcmp(*name, key))
			return true;
	return false;
}

bool sim_system_core_takes(const char *control_file, const char *prefix)
{
	const struct gvm_control_file *file = gvm_control_find(control_file);

	return file && file->store && !strncmp(file->name, prefix, strlen(prefix));
}
