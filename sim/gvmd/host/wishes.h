/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a container is to have of the GPUs, by its annotations and environment: our own words,
 * and those by which KAI, HAMi and their plug-ins say so (docs/containers.md).
 */
#ifndef SIM_GVMD_HOST_WISHES_H
#define SIM_GVMD_HOST_WISHES_H

#include <jansson.h>
#include <stddef.h>

#include "ctl/host_files.h"

struct sim_error;

#define WISHES_MAX 40 /* two for each numbered GPU, and some for all */

/* A control file, and the text to write there. */
struct wish {
	const char *file;
	int gpu; /* the container's GPU with this number; -1: each one */
	char value[CTL_TEXT_MAX];
};

struct wishes {
	struct wish wishes[WISHES_MAX];
	size_t count;
};

/* The value of a variable of @environment (as below); NULL: it is not set, or empty. */
const char *wishes_variable(const json_t *environment, const char *name);

/*
 * Read what @annotations (an object of texts, or NULL) and @environment (an array of
 * "NAME=VALUE", or NULL) say. A share of a GPU becomes bytes of @gpu_bytes; 0: not known, and a
 * share is an error. A value that is none is an error, too: a container that was to have a
 * limit must not start without one. Returns 0 or a negative enum sim_exit.
 */
int wishes_read(json_t *annotations, const json_t *environment, u64 gpu_bytes,
		struct wishes *ret_wishes, struct sim_error *err);

#endif
