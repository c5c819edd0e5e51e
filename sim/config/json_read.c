// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/json_read.h"

#include <stdbool.h>
#include <string.h>

/* Where Jansson has no memory, it may say "invalid token": its allocations are watched. */
static json_malloc_t plain_malloc;
static bool has_failed;

static void *watched_malloc(size_t size)
{
	void *memory = plain_malloc(size);

	has_failed |= !memory;
	return memory;
}

static void watch(void)
{
	json_free_t own_free;

	json_get_alloc_funcs(&plain_malloc, &own_free);
	json_set_alloc_funcs(watched_malloc, own_free);
	has_failed = false;
}

/* Jansson names a flag of its own where a text has a zero character. */
static void forget_flag(json_error_t *bad)
{
	static const char flag[] = " without JSON_ALLOW_NUL";
	char *found = strstr(bad->text, flag);

	if (found)
		memmove(found, found + strlen(flag), strlen(found + strlen(flag)) + 1);
}

/* Returns @root, or NULL: then *@bad has no text if an allocation has failed. */
static json_t *end_watch(json_t *root, json_error_t *bad)
{
	json_free_t own_free;

	json_get_alloc_funcs(NULL, &own_free);
	json_set_alloc_funcs(plain_malloc, own_free);
	if (!root && has_failed)
		*bad->text = '\0';
	if (!root)
		forget_flag(bad);
	return root;
}

json_t *cfg_json_read(FILE *stream, json_error_t *ret_bad)
{
	static const unsigned char mark[] = { 0xef, 0xbb, 0xbf };
	size_t known = 0;
	int byte = getc(stream);

	/* No JSON begins with these bytes. A pipe takes one byte back, so only one is. */
	while (known < sizeof(mark) && byte == mark[known]) {
		known++;
		byte = getc(stream);
	}
	if (byte != EOF)
		ungetc(byte, stream);
	watch();
	return end_watch(json_loadf(stream, JSON_REJECT_DUPLICATES, ret_bad), ret_bad);
}

json_t *cfg_json_parse(const char *text, size_t size, json_error_t *ret_bad)
{
	watch();
	return end_watch(json_loadb(text, size, 0, ret_bad), ret_bad);
}
