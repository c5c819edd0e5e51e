/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A scenario from a run on real hardware, of which gvmcollect has left a results folder.
 *
 * What the folder knows goes into the scenario: the length, the card, the system, containers
 * with their settings, every later change of a setting as an event, and each server's requests
 * as a trace. What no folder can know, such as which model a server has, is a text "TODO" in
 * its key, and a line for the user.
 *
 *     collection            0                        end
 *     scenario   0 - lead - start of containers ---- end
 *
 * A server loads before its first work. So all dates are later by a lead.
 */
#ifndef SIM_IMPORT_MEASURED_H
#define SIM_IMPORT_MEASURED_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "config/config.h"
#include "engine/types.h"
#include "results/folder.h"

struct sim_error;

#define MEASURED_TODO "TODO" /* the value of a key that the user has to set */

/* What the user says of a container's application. */
struct measured_app {
	char container[CFG_NAME_MAX];
	char type[CFG_NAME_MAX]; /* empty: as its log says */
	char profile[CFG_NAME_MAX];
};

/* What the user asks for. Borrowed. */
struct measured_request {
	const char *results; /* folder */
	const char *out;     /* the scenario's file */
	const char *gpu;     /* profile; NULL: by the card's name */
	u64 lead_ns;
	const struct measured_app *apps;
	size_t app_count;
};

/* Owned by the caller: measured_open(), measured_close(). */
struct measured {
	const struct measured_request *request;
	struct folder folder;
	json_t *config;	  /* its config.json */
	json_t *scenario; /* what is to be written */
	json_t *notes;	  /* texts for the user: "TODO gpu.profile: ...", "estimate ..." */
	size_t todos;	  /* keys that are not known */
	bool failed;	  /* there was no memory for a part of it */
	char card[CFG_TEXT_MAX];
	size_t trace_count, event_count;
};

/*
 * Make the scenario of a folder. Nothing is written. Returns 0 or a negative enum sim_exit; the
 * caller closes *measured in any case.
 */
int measured_open(struct measured *measured, const struct measured_request *request,
		  struct sim_error *err);
void measured_close(struct measured *measured);

/*
 * Write the traces beside the scenario, and the scenario. Each file appears whole. Returns 0 or
 * a negative enum sim_exit.
 */
int measured_write(struct measured *measured, struct sim_error *err);

#endif
