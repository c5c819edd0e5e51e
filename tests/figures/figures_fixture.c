// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sim_error error;

/* A copy of @text with its quotes as JSON has them. */
static char *quote(const char *text)
{
	char *copy = strdup(text);

	ck_assert_ptr_nonnull(copy);
	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	return copy;
}

json_t *parse(const char *text)
{
	char *quoted = quote(text);
	json_error_t bad;
	json_t *json = json_loads(quoted, JSON_DECODE_ANY, &bad);

	ck_assert_msg(json != NULL, "%s: %s", text, bad.text);
	free(quoted);
	return json;
}

static void remove_file(void)
{
	unlink(figure_file());
}

const char *figure_file(void)
{
	static char path[64];

	if (!*path) {
		snprintf(path, sizeof(path), "/tmp/gvmsim-figure-%ld.json", (long)getpid());
		atexit(remove_file);
	}
	return path;
}

int read_figure(struct figure *figure, const char *text)
{
	FILE *file = fopen(figure_file(), "w");
	char *quoted = quote(text);

	ck_assert_ptr_nonnull(file);
	fputs(quoted, file);
	fclose(file);
	free(quoted);
	return figure_read(figure, figure_file(), &error);
}

void must_read(struct figure *figure, const char *text)
{
	ck_assert_msg(!read_figure(figure, text), "%s", error.text);
}

void expect_error(const char *message)
{
	char expected[1200];

	snprintf(expected, sizeof(expected), "%s:%s", figure_file(), message);
	ck_assert_str_eq(error.text, expected);
}
