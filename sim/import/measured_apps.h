/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The applications of measured containers: what logs, command lines and the user say of them. */
#ifndef SIM_IMPORT_MEASURED_APPS_H
#define SIM_IMPORT_MEASURED_APPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

struct measured;
struct sim_error;

/*
 * Add the application of container number @index of the folder to @object, its part of the
 * scenario. It starts at @start_ns of the scenario. @early: it ran before the collection.
 * @sampled: the folder has settings of it. A key whose value is not known gets the text "TODO",
 * and the user a line. Returns 0 or -SIM_EXIT_RUNTIME: out of memory.
 */
int measured_apps_add(struct measured *measured, size_t index, u64 start_ns, bool early,
		      bool sampled, json_t *object, struct sim_error *err);

#endif
