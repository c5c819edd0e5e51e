/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Application logs into a folder that was collected: requests.csv and the statistics of
 * summary.json, as a simulation has them.
 */
#ifndef SIM_COLLECT_LOGS_H
#define SIM_COLLECT_LOGS_H

#include "results/results.h"

/* The log of one container. Its strings belong to the caller. */
struct logs_entry {
	char *container;
	const char *file;
	const struct app_report *report; /* of the application that wrote it */
	u64 promises_ns[APP_PROMISES];	 /* promised times; 0: none */
};

/*
 * Write the folder anew with these logs and no others: a repeated call replaces all logs of the
 * call before. Timeline and control files stay as they are. @note gets a text for each log with
 * records that are left out. Returns 0 or a negative enum sim_exit; then nothing has changed.
 */
int logs_add(const char *folder, const struct logs_entry *entries, size_t count,
	     void (*note)(const char *text), struct sim_error *err);

#endif
