/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Rows of a large CSV file. A run may have millions: printf() would take a third of its time.
 * Numbers are formatted here, and the file gets many rows at once.
 */
#ifndef SIM_RESULTS_ROWS_H
#define SIM_RESULTS_ROWS_H

#include "engine/types.h"
#include "results/writer.h"

#define ROWS_ROOM 8192

/* Owned by the caller: set writer, which has an open file, and length to 0. */
struct rows {
	struct writer *writer;
	size_t length;
	char text[ROWS_ROOM]; /* not in the file yet */
};

/*
 * Append a text, a number in decimal, or a character, such as the comma between two fields.
 * Texts are as long as they are. An error is returned by writer_end().
 */
void rows_text(struct rows *rows, const char *text);
void rows_number(struct rows *rows, u64 number);
void rows_char(struct rows *rows, char c);

/* Give the file what is left. Due before anything else is written to it, and before its end. */
void rows_flush(struct rows *rows);

#endif
