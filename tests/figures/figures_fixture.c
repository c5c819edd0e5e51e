// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures_fixture.h"

#include "suite.h"

struct sim_error error;
char folder[64];

static char file[128];

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

void figures_setup(void)
{
	suite_make_folder(folder, sizeof(folder));
	snprintf(file, sizeof(file), "%s/figure.json", folder);
}

void figures_teardown(void)
{
	suite_remove_folder(folder);
}

int read_figure(struct figure *figure, const char *text)
{
	char *quoted = quote(text);

	suite_put_file(file, quoted);
	free(quoted);
	return figure_read(figure, file, &error);
}

void must_read(struct figure *figure, const char *text)
{
	ck_assert_msg(!read_figure(figure, text), "%s", error.text);
}

void expect_error(const char *message)
{
	char expected[1200];

	snprintf(expected, sizeof(expected), "%s:%s", file, message);
	ck_assert_str_eq(error.text, expected);
}
