// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "gvm/port.h"

#define TABLE_GAP   3	/* blanks between two columns */
#define TABLE_WIDTH 120 /* of a table that goes to no terminal */

void table_add(struct table *table)
{
	void *rows = NULL;

	if (!table->failed)
		rows = realloc(table->rows, (table->row_count + 1) * sizeof(*table->rows));
	if (!rows) {
		table->failed = true;
		return;
	}
	table->rows = rows;
	memset(table->rows[table->row_count++], 0, sizeof(*table->rows));
}

void table_set(struct table *table, size_t column, const char *fmt, ...)
{
	va_list args;

	if (table->failed || column >= TABLE_COLUMNS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(table->rows[table->row_count - 1][column], TABLE_CELL_MAX, fmt, args);
	va_end(args);
}

static int column_width(const struct table *table, size_t column)
{
	size_t width = 0;

	for (size_t i = 0; i < table->row_count; i++)
		width = max(width, strlen(table->rows[i][column]));
	return (int)width;
}

/* The width that a table may have. */
static size_t width_of(FILE *stream)
{
	const char *columns = getenv("COLUMNS");
	struct winsize window;
	long width = columns ? strtol(columns, NULL, 10) : 0;

	if (!ioctl(fileno(stream), TIOCGWINSZ, &window) && window.ws_col)
		width = window.ws_col;
	return width > 0 ? (size_t)width : TABLE_WIDTH;
}

/* Does the row have text in the columns from @first to before @end? */
static bool row_has(const struct table *table, size_t row, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (*table->rows[row][i])
			return true;
	return false;
}

/*
 * The first column and those from @first to before @end of one row, without blanks at its end.
 */
static void print_row(const struct table *table, size_t row, const int *widths, size_t first,
		      size_t end, FILE *stream)
{
	char line[TABLE_COLUMNS_MAX * (TABLE_CELL_MAX + TABLE_GAP) + 1];
	size_t length;

	snprintf(line, sizeof(line), "%-*s", widths[0], table->rows[row][0]);
	for (size_t i = first; i < end; i++) {
		length = strlen(line);
		if (widths[i])
			snprintf(line + length, sizeof(line) - length, "%*s",
				 widths[i] + TABLE_GAP, table->rows[row][i]);
	}
	length = strlen(line);
	while (length && line[length - 1] == ' ')
		length--;
	fprintf(stream, "%.*s\n", (int)length, line);
}

/* The end of the columns from @first that fit beside the first column: one at least. */
static size_t fitting(const struct table *table, const int *widths, size_t first, size_t most)
{
	size_t width = (size_t)widths[0], end = first;

	while (end < TABLE_COLUMNS_MAX) {
		size_t next = end + 1, more = 0;

		while (next < TABLE_COLUMNS_MAX && table->joined[next])
			next++;
		for (size_t i = end; i < next; i++)
			more += widths[i] ? (size_t)widths[i] + TABLE_GAP : 0;
		if (end > first && more && width + more > most)
			break;
		width += more;
		end = next;
	}
	return end;
}

void table_print(struct table *table, FILE *stream)
{
	size_t most = width_of(stream), end;
	int widths[TABLE_COLUMNS_MAX];

	for (size_t i = 0; i < TABLE_COLUMNS_MAX; i++)
		widths[i] = column_width(table, i);
	for (size_t first = 1; first < TABLE_COLUMNS_MAX; first = end) {
		end = fitting(table, widths, first, most);
		if (first > 1)
			fputc('\n', stream);
		/* A row of other parts alone is left out. */
		for (size_t i = 0; i < table->row_count; i++)
			if (row_has(table, i, first, end) ||
			    !row_has(table, i, 1, TABLE_COLUMNS_MAX))
				print_row(table, i, widths, first, end, stream);
	}
	if (table->failed)
		fputs("(out of memory: the table is not complete)\n", stream);
	table_destroy(table);
}

void table_destroy(struct table *table)
{
	free(table->rows);
	*table = (struct table){ 0 };
}
