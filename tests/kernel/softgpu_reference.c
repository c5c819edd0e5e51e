// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the stock driver does for eleven patterns of access: faults, copies with offset and size, replays,
 * invalidates, in order and without times. /reference.txt (softgpu_reference.txt) has what it did when these were
 * recorded; it does the same in every run.
 */
#include "softgpu_guest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TEXT_MAX    16384
#define STEPS_BYTES (4 * SOFTGPU_MB) /* of larger memory only the totals are compared */
#define LOG_CHUNK   600

struct pattern {
	const char *name;
	size_t bytes;
	size_t stride;
	unsigned int window;
	bool random;
	bool cpu_first;
	enum softgpu_op op;
};

/* clang-format off */
static const struct pattern patterns[] = {
	{ "sequential 4K pages, window 1", STEPS_BYTES, 4096, 1, false, true, SOFTGPU_READ },
	{ "sequential 4K pages, window 16", STEPS_BYTES, 4096, 16, false, true, SOFTGPU_READ },
	{ "sequential 4K pages, window 256", STEPS_BYTES, 4096, 256, false, true, SOFTGPU_READ },
	{ "stride 64K, window 1", STEPS_BYTES, 65536, 1, false, true, SOFTGPU_READ },
	{ "stride 64K, window 16", STEPS_BYTES, 65536, 16, false, true, SOFTGPU_READ },
	{ "stride 128K, window 1", STEPS_BYTES, 131072, 1, false, true, SOFTGPU_READ },
	{ "stride 512K, window 1", STEPS_BYTES, 524288, 1, false, true, SOFTGPU_READ },
	{ "random 4K pages", STEPS_BYTES, 4096, 1, true, true, SOFTGPU_READ },
	{ "first touch by the GPU, window 16", STEPS_BYTES, 4096, 16, false, false, SOFTGPU_READ },
	{ "oversubscribed 192 MB, window 64, reads", 192 * SOFTGPU_MB, 4096, 64, false, true, SOFTGPU_READ },
	{ "oversubscribed 192 MB, window 64, writes", 192 * SOFTGPU_MB, 4096, 64, false, true, SOFTGPU_WRITE },
};
/* clang-format on */

struct text {
	size_t length;
	char bytes[TEXT_MAX];
};

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

/* Run the pattern over fresh memory at @p. Returns how many accesses failed. */
static uint64_t run_pattern(struct softgpu_tenant *tenant, const struct pattern *pattern,
			    uint64_t *p)
{
	size_t count = pattern->bytes / pattern->stride, ignored;
	uint64_t errors = 0, x = 1;

	for (size_t i = 0; pattern->cpu_first && i < pattern->bytes / 8; i += 512)
		p[i] = i;
	softgpu_events(&ignored);
	if (!pattern->random)
		errors = softgpu_touch(tenant, p, count, pattern->stride, pattern->op, 7,
				       pattern->window)
				 .errors;
	for (size_t i = 0; pattern->random && i < count; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		errors += softgpu_touch(tenant, (char *)p + (x >> 33) % count * pattern->stride,
					1, 8, pattern->op, 0, 1)
				  .errors;
	}
	return errors;
}

/* Say what the driver did, in the words of the reference. */
static void describe(struct text *text, const struct pattern *pattern, uint64_t errors)
{
	size_t events, faults = 0, replays = 0, invalidates = 0, copies[4] = { 0 },
		       bytes[4] = { 0 };
	const struct softgpu_event *event = softgpu_events(&events);
	bool steps = pattern->bytes <= STEPS_BYTES;

	append(text, "%s:", pattern->name);
	for (size_t i = 0; i < events; i++, event++) {
		bool in = event->how & SOFTGPU_TO_VIDMEM;

		faults += event->kind == SOFTGPU_EVENT_FAULT;
		replays += event->kind == SOFTGPU_EVENT_REPLAY;
		invalidates += event->kind == SOFTGPU_EVENT_INVALIDATE;
		if (event->kind == SOFTGPU_EVENT_REPLAY && steps)
			append(text, " |");
		/* A copy from a virtual address writes page-table entries. */
		if (event->kind != SOFTGPU_EVENT_COPY || event->how & SOFTGPU_VIRTUAL_SOURCE)
			continue;
		copies[event->how & 3]++;
		bytes[event->how & 3] += event->bytes;
		if (steps)
			append(text, " %s%llu+%lluK", in ? "in " : "out ",
			       (in ? event->b : event->a) / SOFTGPU_PAGE % 512,
			       event->bytes >> 10);
	}
	append(text,
	       " = faults %zu replays %zu in %zu copies %zu KB out %zu copies %zu KB "
	       "invalidates %zu "
	       "errors %llu",
	       faults, replays, copies[SOFTGPU_TO_VIDMEM], bytes[SOFTGPU_TO_VIDMEM] >> 10,
	       copies[SOFTGPU_FROM_VIDMEM], bytes[SOFTGPU_FROM_VIDMEM] >> 10, invalidates,
	       (unsigned long long)errors);
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

void test_reference(struct softgpu_tenant *tenant)
{
	static struct text text;
	static char line[TEXT_MAX];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		uint64_t *p = softgpu_managed(tenant, patterns[i].bytes);
		uint64_t errors = run_pattern(tenant, &patterns[i], p);
		bool found = find_reference(patterns[i].name, line);

		text.length = 0;
		describe(&text, &patterns[i], errors);
		munmap(p, patterns[i].bytes);
		if (guest_check(found && strcmp(text.bytes, line) == 0,
				"the driver does what it did: %s", patterns[i].name))
			continue;
		log_long("expected", found ? line : "(no line)");
		log_long("got", text.bytes);
	}
}
