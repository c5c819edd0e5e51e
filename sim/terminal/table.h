/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Aligned text tables for people: the first column to the left, the others to the right. */
#ifndef SIM_TERMINAL_TABLE_H
#define SIM_TERMINAL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 64
#define TABLE_CELL_MAX	  64

/* All-zero is empty. Owned by the caller: table_add(), then table_destroy(). */
struct table {
	char (*rows)[TABLE_COLUMNS_MAX][TABLE_CELL_MAX];
	size_t row_count;
	bool joined[TABLE_COLUMNS_MAX]; /* the column stays beside the one before it */
	bool failed;			/* out of memory: rows are missing */
};

/*
 * Append an empty row, whose cells are set by index. A column that stays empty is not printed.
 */
void table_add(struct table *table);
void table_set(struct table *table, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Print all rows and forget them. A table that is wider than the terminal is split: its first
 * column is repeated before each part. The width is that of the terminal, or else of the
 * variable COLUMNS, or 120.
 */
void table_print(struct table *table, FILE *stream);
void table_destroy(struct table *table);

#endif
