/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads CSV files of results and of published values. Columns are found by name, in any order.
 */
#ifndef SIM_RESULTS_CSV_H
#define SIM_RESULTS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/types.h"

struct sim_error;

#define CSV_FIELDS_MAX 32

/* An open file and its current row. */
struct csv {
	const char *file; /* borrowed */
	FILE *stream;
	size_t line; /* number of the current line, from 1 */
	char *text;  /* the current line, cut into fields */
	size_t room;
	size_t length; /* of the line, with its end */
	char *fields[CSV_FIELDS_MAX];
	size_t field_count;
	const char *const *names;	/* wanted columns; borrowed */
	size_t columns[CSV_FIELDS_MAX]; /* index of each wanted column in fields[] */
	size_t header_count;		/* fields of the header */
};

/* Is @file there, as it is or compressed as FILE.zst? csv_open() reads both. */
bool csv_exists(const char *file);

/*
 * Open @file and find the @count columns @names. Lines that begin with "#" may stand before the
 * header. A mistake names file and line. Returns 0 or a negative enum sim_exit; on failure
 * nothing is open.
 */
int csv_open(struct csv *csv, const char *file, const char *const *names, size_t count,
	     struct sim_error *err);
void csv_close(struct csv *csv);

/* Go to the next row: 1, 0 at the end of the file, or a negative enum sim_exit. */
int csv_next(struct csv *csv, struct sim_error *err);

/* Does the field of wanted column @column have a value? */
bool csv_has(const struct csv *csv, size_t column);

/* The field of wanted column @column, as text or as an integer. An empty field is 0. */
const char *csv_text(const struct csv *csv, size_t column);
int csv_u64(const struct csv *csv, size_t column, u64 *ret_value, struct sim_error *err);

/* The field as a finite number, with or without a decimal point. An empty field is an error. */
int csv_real(const struct csv *csv, size_t column, double *ret_value, struct sim_error *err);

#endif
