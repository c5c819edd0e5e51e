/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The log of a container, read back from the requests.csv of a results folder. */
#ifndef SIM_RESULTS_LOG_READ_H
#define SIM_RESULTS_LOG_READ_H

#include <jansson.h>

#include "results/summary.h"

/*
 * Add the records of @container in the results folder @path to @log, without their gaps, which
 * requests.csv does not have. Returns 0 or a negative enum sim_exit.
 */
int log_read(const char *path, const char *container, struct app_log *log,
	     struct sim_error *err);

/*
 * When a log that was read has ended: with the run, or before it, when its client stopped and
 * dropped what was in flight. @config: config.json.
 */
u64 log_read_end_ns(const struct summary *summary, const struct summary_container *container,
		    const json_t *config, const struct app_log *log);

#endif
