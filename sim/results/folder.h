/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reads a results folder back, for comparisons of runs. */
#ifndef SIM_RESULTS_FOLDER_H
#define SIM_RESULTS_FOLDER_H

#include "results/summary.h"

/* A row of requests.csv. */
struct folder_record {
	size_t container; /* in summary.containers */
	struct app_record record;
};

/* Owned by the caller: folder_load(), then folder_destroy(). */
struct folder {
	struct summary summary;
	char gpu[CFG_NAME_MAX]; /* profile; empty: the scenario describes its own */
	u64 end_ns;		/* end of the run or of its last record */
	struct folder_record *records;
	size_t record_count;
};

/*
 * Read the folder @path. timeline.csv is only checked: curves read it (figures/curves.h). A file
 * that is missing or wrong is the user's mistake and is named with the key or line. Returns 0 or a negative enum sim_exit; on failure *folder is empty.
 */
int folder_load(struct folder *folder, const char *path, struct sim_error *err);
void folder_destroy(struct folder *folder);

#endif
