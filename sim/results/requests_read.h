/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reads the requests.csv of a results folder, row by row. */
#ifndef SIM_RESULTS_REQUESTS_READ_H
#define SIM_RESULTS_REQUESTS_READ_H

#include "apps/app_log.h"
#include "results/csv.h"

/* The current row. Texts are borrowed until the next one. */
struct requests_row {
	const char *container;
	const char *kind;    /* "request", "image" */
	const char *outcome; /* its word */
	struct app_record record;
	bool of_server; /* it has a number of preemptions, which a client does not know */
};

/* Words of outcomes in requests.csv, by enum app_outcome. */
extern const char *const requests_outcomes[];

/*
 * Open the requests.csv @file. Returns 0 or a negative enum sim_exit; on failure nothing is
 * open. csv_close() closes it.
 */
int requests_open(struct csv *csv, const char *file, struct sim_error *err);

/*
 * Go to the next row: 1, 0 at the end of the file, or a negative enum sim_exit. A number that is
 * none, more tokens than 32 bits hold, and an outcome that is not known are mistakes.
 */
int requests_next(struct csv *csv, struct requests_row *ret_row, struct sim_error *err);

#endif
