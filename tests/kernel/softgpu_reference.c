// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the stock driver does for eleven patterns of access: faults, copies with offset and
 * size, replays, invalidates, in order and without times. /reference.txt
 * (softgpu_reference.txt) has what it did when these were recorded; it does the same in every
 * run.
 */
#include "softgpu_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX  16384
#define LOG_CHUNK 600

struct text {
	size_t length;
	char bytes[TEXT_MAX];
};

/* What the driver did for the pattern that runs. */
static struct {
	struct text text;
	bool steps; /* of larger memory only the totals are compared */
	size_t faults, replays, invalidates;
	size_t copies[4], bytes[4]; /* by [2 * from vidmem + to vidmem] */
} reference;

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *fmt,
							 ...)
{
	va_list args;

	va_start(args, fmt);
	text->length += (size_t)vsnprintf(text->bytes + text->length, TEXT_MAX - text->length,
					  fmt, args);
	va_end(args);
	if (text->length >= TEXT_MAX)
		text->length = TEXT_MAX - 1;
}

static void reference_begin(const struct pattern *pattern)
{
	memset(&reference, 0, sizeof(reference));
	reference.steps = !pattern->percent;
	append(&reference.text, "%s:", pattern->name);
}

/* Say what the driver did, in the words of the reference. */
static void reference_event(const struct softgpu_event *event)
{
	bool in = event->how & SOFTGPU_TO_VIDMEM;

	reference.faults += event->kind == SOFTGPU_EVENT_FAULT;
	reference.replays += event->kind == SOFTGPU_EVENT_REPLAY;
	reference.invalidates += event->kind == SOFTGPU_EVENT_INVALIDATE;
	if (event->kind == SOFTGPU_EVENT_REPLAY && reference.steps)
		append(&reference.text, " |");
	/* A copy from a virtual address writes page-table entries. */
	if (event->kind != SOFTGPU_EVENT_COPY || event->how & SOFTGPU_VIRTUAL_SOURCE)
		return;
	reference.copies[event->how & 3]++;
	reference.bytes[event->how & 3] += event->bytes;
	if (reference.steps)
		append(&reference.text, " %s%llu+%lluK", in ? "in " : "out ",
		       (in ? event->b : event->a) / SOFTGPU_PAGE % 512, event->bytes >> 10);
}

/* Find the line of the reference that begins with the name of the pattern. */
static bool find_reference(const char *name, char line[TEXT_MAX])
{
	FILE *file = fopen("/reference.txt", "re");
	bool found = false;

	while (file && !found && fgets(line, TEXT_MAX, file))
		found = strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':';
	if (file)
		fclose(file);
	if (found)
		line[strcspn(line, "\n")] = '\0';
	return found;
}

static void log_long(const char *what, const char *text)
{
	for (size_t at = 0; at < strlen(text); at += LOG_CHUNK)
		guest_log("# %s %.*s", what, LOG_CHUNK, text + at);
}

static void reference_end(const struct pattern *pattern, uint64_t errors)
{
	static char line[TEXT_MAX];
	bool found = find_reference(pattern->name, line);

	append(&reference.text,
	       " = faults %zu replays %zu in %zu copies %zu KB out %zu copies %zu KB "
	       "invalidates %zu errors %llu",
	       reference.faults, reference.replays, reference.copies[SOFTGPU_TO_VIDMEM],
	       reference.bytes[SOFTGPU_TO_VIDMEM] >> 10, reference.copies[SOFTGPU_FROM_VIDMEM],
	       reference.bytes[SOFTGPU_FROM_VIDMEM] >> 10, reference.invalidates,
	       (unsigned long long)errors);
	if (guest_check(found && strcmp(reference.text.bytes, line) == 0,
			"the driver does what it did: %s", pattern->name))
		return;
	log_long("expected", found ? line : "(no line)");
	log_long("got", reference.text.bytes);
}

void test_reference(struct softgpu_tenant *tenant)
{
	static const struct judge_observer observer = {
		.begin = reference_begin,
		.event = reference_event,
		.end = reference_end,
	};

	judge_run(tenant, reference_patterns, reference_pattern_count, REFERENCE_CHUNKS,
		  &observer);
}
