// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gvm/port.h"

#define TABLE_GAP 3 /* blanks between two columns */

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

/* One row, without blanks at its end. */
static void print_row(const struct table *table, size_t row, const int *widths, FILE *stream)
{
	char line[TABLE_COLUMNS_MAX * (TABLE_CELL_MAX + TABLE_GAP) + 1];
	size_t length;

	snprintf(line, sizeof(line), "%-*s", widths[0], table->rows[row][0]);
	for (size_t i = 1; i < TABLE_COLUMNS_MAX; i++) {
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

void table_print(struct table *table, FILE *stream)
{
	int widths[TABLE_COLUMNS_MAX];

	for (size_t i = 0; i < TABLE_COLUMNS_MAX; i++)
		widths[i] = column_width(table, i);
	for (size_t i = 0; i < table->row_count; i++)
		print_row(table, i, widths, stream);
	if (table->failed)
		fputs("(out of memory: the table is not complete)\n", stream);
	table_destroy(table);
}

void table_destroy(struct table *table)
{
	free(table->rows);
	*table = (struct table){ 0 };
}
