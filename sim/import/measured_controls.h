/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The settings of measured containers, as controls.csv has them, for a scenario. */
#ifndef SIM_IMPORT_MEASURED_CONTROLS_H
#define SIM_IMPORT_MEASURED_CONTROLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "engine/types.h"

struct gvm_control_file;
struct sim_error;
struct summary;

/* A value of a setting from a date of the collection on. */
struct measured_control {
	size_t container;
	u64 time_ns;
	const struct gvm_control_file *file;
	char value[CFG_NAME_MAX];
};

/* Owned by the caller: measured_controls_read(), measured_controls_destroy(). */
struct measured_controls {
	const struct summary *summary; /* borrowed */
	struct measured_control *list; /* settings only, in the order of the file */
	size_t count;
	json_t *events;
};

/*
 * Read controls.csv of a results folder. A folder without the file has no settings. Returns 0
 * or a negative enum sim_exit; the caller destroys *controls in any case.
 */
int measured_controls_read(struct measured_controls *controls, const char *results,
			   const struct summary *summary, struct sim_error *err);
void measured_controls_destroy(struct measured_controls *controls);

/* Has a container any setting? */
bool measured_controls_has(const struct measured_controls *controls, size_t container);

/*
 * Set what a container had first in @object, its part of a scenario, and append an event for
 * each later change to controls->events. A setting that equals its default is left out.
 * Dates are @lead_ns later than in the collection; the container starts at @start_ns. Returns 0
 * or -SIM_EXIT_RUNTIME: out of memory.
 */
int measured_controls_take(struct measured_controls *controls, size_t container, u64 start_ns,
			   u64 lead_ns, json_t *object, struct sim_error *err);

#endif
