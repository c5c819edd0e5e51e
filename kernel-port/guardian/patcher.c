// SPDX-License-Identifier: MIT OR GPL-2.0
#include "patcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int patcher_refuse(const struct patcher *patcher, size_t at, const char *why)
{
	return ptx_error(patcher->text, at, patcher->err, "%s", why);
}

/* Room for @size more bytes and a zero. False: out of memory. */
static bool reserve(struct patcher *patcher, size_t size)
{
	struct patch_result *result = patcher->result;
	size_t room = 2 * (result->size + size) + 4096;
	char *more;

	if (patcher->room - result->size > size)
		return true;
	more = realloc(result->bytes, room);
	patcher->failed |= !more;
	if (!more)
		return false;
	result->bytes = more;
	patcher->room = room;
	return true;
}

int patcher_refuse_endless(const struct patcher *patcher, size_t at)
{
	return ptx_is_endless(patcher->text, patcher->steps) ?
		       patcher_refuse(patcher, at, "it takes too long to patch") :
		       0;
}

int patcher_list_refusal(struct patcher *patcher, size_t statement, int status)
{
	struct patch_result *result = patcher->result;
	const struct ptx_text *text = patcher->text;
	struct patch_refusal *more;
	/* "FILE:LINE: WORD: reason" */
	const char *line = patcher->err->text + strlen(text->file) + 1, *why;
	char *end;

	if (!patcher->left_out || status != -SIM_EXIT_USER ||
	    ptx_is_endless(text, patcher->steps))
		return status;
	more = realloc(result->refusals,
		       (result->refusal_count + 1) * sizeof(*result->refusals));
	if (!more) {
		patcher->failed = true;
		return 0;
	}
	result->refusals = more;
	more += result->refusal_count++;
	more->function = patcher->module->statements[statement].function;
	more->line = (u32)strtoul(line, &end, 10);
	why = *end == ':' ? end + 2 : end;
	more->why = strdup(why);
	patcher->failed |= !more->why;
	patcher->left_out[statement] = true;
	memset(patcher->err, 0, sizeof(*patcher->err));
	return 0;
}

void patcher_copy_to(struct patcher *patcher, size_t end)
{
	struct patch_result *result = patcher->result;
	size_t size = end - patcher->copied;

	if (!patcher->failed && reserve(patcher, size)) {
		memcpy(result->bytes + result->size, patcher->text->bytes + patcher->copied,
		       size);
		result->size += size;
		result->bytes[result->size] = '\0';
	}
	patcher->copied = end;
}

void patcher_put(struct patcher *patcher, const char *fmt, ...)
{
	struct patch_result *result = patcher->result;
	va_list arguments;
	int size;

	va_start(arguments, fmt);
	size = vsnprintf(NULL, 0, fmt, arguments);
	va_end(arguments);
	if (patcher->failed || !reserve(patcher, (size_t)size))
		return;
	va_start(arguments, fmt);
	vsnprintf(result->bytes + result->size, (size_t)size + 1, fmt, arguments);
	va_end(arguments);
	result->size += (size_t)size;
}
