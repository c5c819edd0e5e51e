/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The file that a command writes may be there. Like the results of a run, what the command made
 * before is replaced, and a note says so if it was another one. Any other file is refused: it
 * was hardly meant.
 */
#ifndef SIM_CLI_REPLACED_H
#define SIM_CLI_REPLACED_H

#include <stdbool.h>

#include "config/hash.h"

struct sim_error;

/* What a command makes. */
struct replaced_kind {
	const char *name; /* "trace", with "a" or "an" before it in @article */
	const char *article;
	bool (*is)(const char *path); /* is the file there one? */
};

extern const struct replaced_kind replaced_trace, replaced_application, replaced_scenario;

/* The file that is there now, owned by the caller. */
struct replaced {
	const char *path; /* borrowed */
	const struct replaced_kind *kind;
	char hash[CFG_HASH_MAX]; /* of its bytes; empty: there was none, or it was empty */
};

/*
 * Look at the file @path before one of @kind is written. Returns 0; -SIM_EXIT_USER: another file
 * is there; or -SIM_EXIT_RUNTIME.
 */
int replaced_check(struct replaced *replaced, const char *path,
		   const struct replaced_kind *kind, struct sim_error *err);

/* After the file was written: if it was there with other bytes, say so on standard error. */
void replaced_note(const struct replaced *replaced);

#endif
