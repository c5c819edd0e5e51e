/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The scenario of a measured run while it is made (measured.h), and what adds to it. */
#ifndef SIM_IMPORT_MEASURED_PARTS_H
#define SIM_IMPORT_MEASURED_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "engine/types.h"
#include "results/folder.h"

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
	json_t *scenario; /* the content of the scenario's file */
	json_t *notes;	  /* texts for the user: "TODO gpu.profile: ...", "estimate ..." */
	size_t todos;	  /* keys that are not known */
	bool failed;	  /* there was no memory for a part of it */
	char card[CFG_TEXT_MAX];
	size_t trace_count, event_count;
};

/* Add a line for the user: "estimate gpu_memory_utilization: ...". */
void measured_note(struct measured *measured, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a line for a key that the user has to set, and count it: "TODO gpu.profile: ...". */
void measured_todo(struct measured *measured, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Set a member of @object, a part of the scenario. Takes @value; NULL: there was no memory. */
void measured_put(struct measured *measured, json_t *object, const char *key, json_t *value);

/* A duration as a scenario has it: "5s". NULL: no memory. */
json_t *measured_duration(u64 ns);

/* What config.json of the folder says of a container; NULL: nothing. Borrowed. */
const json_t *measured_container(const struct measured *measured, const char *name);

#endif
