// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/csv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"
#include "results/packed.h"

/* Rows of ours are far shorter. A file that is none of ours, as /dev/zero, may have no line's end. */
#define CSV_LINE_MAX (1u << 20)

/*
 * Cut the line into fields. Our files have no quotes. One loop for all: figures read millions
 * of fields, and strsep() looks for its set anew for each of them.
 */
static int csv_split(struct csv *csv, struct sim_error *err)
{
	char *at = csv->text;

	csv->field_count = 0;
	for (;;) {
		size_t read;
		char end;

		if (csv->field_count == CSV_FIELDS_MAX)
			return sim_user_error(err, "%s:%zu: too many fields, allowed: %d",
					      csv->file, csv->line, CSV_FIELDS_MAX);
		csv->fields[csv->field_count++] = at;
		/* Most characters are digits and letters, all of which are above a comma. */
		while ((unsigned char)*at > ',' ||
		       (*at != ',' && *at != '\n' && *at != '\r' && *at))
			at++;
		end = *at;
		*at++ = '\0';
		if (end == ',')
			continue;
		/* A file that a crash has cut off may go on with zeros. */
		read = (size_t)(at - csv->text);
		if (end == '\n' || read > csv->length ||
		    (end == '\r' && (*at == '\n' || read == csv->length)))
			return 0;
		return sim_user_error(err, "%s:%zu: %s", csv->file, csv->line,
				      end ? "a carriage return within the line" :
					    "a zero byte within the line");
	}
}

/* Room for one more character and a zero byte. */
static bool csv_grow(struct csv *csv)
{
	size_t room = csv->room ? 2 * csv->room : 256;
	char *text;

	if (csv->length + 1 < csv->room)
		return true;
	text = realloc(csv->text, room);
	if (!text)
		return false;
	csv->text = text;
	csv->room = room;
	return true;
}

/*
 * Read the next line without cutting it. Returns 1, 0 at the end, or a negative enum sim_exit.
 */
static int csv_read_text(struct csv *csv, struct sim_error *err)
{
	int c;

	csv->length = 0;
	do {
		if (csv->length == CSV_LINE_MAX)
			return sim_user_error(
				err, "%s:%zu: the line is too long, allowed are %u bytes",
				csv->file, csv->line + 1, CSV_LINE_MAX);
		if (!csv_grow(csv))
			return sim_runtime_error(err, "%s: cannot be read: %s", csv->file,
						 strerror(ENOMEM));
		c = getc_unlocked(csv->stream);
		if (c != EOF)
			csv->text[csv->length++] = (char)c;
	} while (c != EOF && c != '\n');
	if (c == EOF && ferror(csv->stream))
		return sim_runtime_error(err, "%s: cannot be read: %s", csv->file,
					 errno == EBADMSG ? "its .zst is damaged or cut off" :
							    strerror(errno));
	csv->text[csv->length] = '\0';
	csv->line += csv->length > 0;
	return csv->length > 0;
}

/*
 * Read the header without cutting it: comments may stand before it, and before all a byte order
 * mark, as spreadsheets write it. Returns what csv_read_text() does.
 */
static int csv_read_header(struct csv *csv, struct sim_error *err)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t length = strlen(mark);
	int status;

	do {
		status = csv_read_text(csv, err);
		if (status == 1 && csv->line == 1 && !strncmp(csv->text, mark, length)) {
			csv->length -= length;
			memmove(csv->text, csv->text + length, csv->length + 1);
		}
	} while (status == 1 && *csv->text == '#');
	return status;
}

/* The names of the wanted columns: "a, b, c". */
static const char *csv_wanted(const struct csv *csv, size_t count, char *text, size_t size)
{
	size_t length = 0;

	for (size_t i = 0; i < count && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "",
					   csv->names[i]);
	return text;
}

/* Find every wanted column in the header. Returns 0 or a negative enum sim_exit. */
static int csv_find_all(struct csv *csv, size_t count, struct sim_error *err)
{
	char wanted[256];

	for (size_t i = 0; i < count; i++) {
		size_t field = 0;

		while (field < csv->field_count &&
		       strcmp(csv->fields[field], csv->names[i]) != 0)
			field++;
		if (field == csv->field_count)
			return sim_user_error(
				err, "%s:%zu: no column \"%s\", allowed: a header with %s",
				csv->file, csv->line, csv->names[i],
				csv_wanted(csv, count, wanted, sizeof(wanted)));
		csv->columns[i] = field;
	}
	return 0;
}

bool csv_exists(const char *file)
{
	char *packed;
	bool exists = !access(file, F_OK);

	if (exists || asprintf(&packed, "%s" PACKED_ENDING, file) < 0)
		return exists;
	exists = !access(packed, F_OK);
	free(packed);
	return exists;
}

/* Open @file, or FILE.zst if only that is there. NULL: errno says why. */
static FILE *open_plain_or_packed(const char *file)
{
	FILE *below = fopen(file, "re"), *stream;
	char *packed;

	if (below || errno != ENOENT)
		return below;
	if (asprintf(&packed, "%s" PACKED_ENDING, file) < 0)
		return NULL;
	below = fopen(packed, "re");
	free(packed);
	if (!below) {
		errno = ENOENT;
		return NULL;
	}
	stream = packed_read(below);
	if (!stream) {
		int error = errno;

		fclose(below);
		errno = error;
	}
	return stream;
}

int csv_open(struct csv *csv, const char *file, const char *const *names, size_t count,
	     struct sim_error *err)
{
	char wanted[256];
	int status;

	*csv = (struct csv){ .file = file,
			     .names = names,
			     .stream = open_plain_or_packed(file) };
	if (!csv->stream)
		return sim_user_error(err, "%s: cannot be read: %s", file, strerror(errno));
	status = csv_read_header(csv, err);
	if (status == 1 && csv_split(csv, err))
		status = -SIM_EXIT_USER;
	if (!status)
		status = sim_user_error(err, "%s:1: is empty, allowed: a header with %s", file,
					csv_wanted(csv, count, wanted, sizeof(wanted)));
	csv->header_count = csv->field_count;
	if (status == 1)
		status = csv_find_all(csv, count, err);
	if (status)
		csv_close(csv);
	return status;
}

void csv_close(struct csv *csv)
{
	if (csv->stream)
		fclose(csv->stream);
	free(csv->text);
	*csv = (struct csv){ 0 };
}

int csv_next(struct csv *csv, struct sim_error *err)
{
	int status = csv_read_text(csv, err);

	if (status == 1 && csv_split(csv, err))
		return -SIM_EXIT_USER;
	if (status == 1 && csv->field_count != csv->header_count)
		return sim_user_error(err, "%s:%zu: %zu fields, expected %zu", csv->file,
				      csv->line, csv->field_count, csv->header_count);
	return status;
}

const char *csv_text(const struct csv *csv, size_t column)
{
	return csv->fields[csv->columns[column]];
}

bool csv_has(const struct csv *csv, size_t column)
{
	return *csv_text(csv, column);
}

int csv_u64(const struct csv *csv, size_t column, u64 *ret_value, struct sim_error *err)
{
	const char *text = csv_text(csv, column);
	const char *at = text;
	u64 value = 0;

	while (*at >= '0' && *at <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
	       !__builtin_add_overflow(value, (u64)(*at - '0'), &value))
		at++;
	*ret_value = value;
	if (!*at)
		return 0;
	return sim_user_error(err, "%s:%zu: %s: \"%.40s\" is not a count, allowed: digits",
			      csv->file, csv->line, csv->names[column], text);
}

int csv_real(const struct csv *csv, size_t column, double *ret_value, struct sim_error *err)
{
	const char *text = csv_text(csv, column);
	char *end;

	*ret_value = strtod(text, &end);
	if (*text && !*end && isfinite(*ret_value))
		return 0;
	return sim_user_error(err,
			      "%s:%zu: %s: \"%.40s\" is not a number, allowed: such as 12.5",
			      csv->file, csv->line, csv->names[column], text);
}
