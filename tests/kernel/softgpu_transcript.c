// SPDX-License-Identifier: MIT OR GPL-2.0
/* The transcript of what a driver does for a pattern: softgpu_patterns.h. */
#include "softgpu_patterns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 600
#define COPY_PAGES     16u /* of 4 KB in a page of 64 KB */
#define CHUNK_BYTES    (PATTERN_BLOCK_PAGES * 4096ull)
#define HELD_MAX_BYTES 65536
#define COPIES_MAX     1024u /* blocks with copies between two replays */

/* Copies of one block. */
struct copies {
	bool known;
	unsigned int range;
	size_t block;
	uint32_t pages; /* of 64 KB; 0: there are none */
};

static struct {
	void (*line)(const char *text);
	struct copies copies[2][COPIES_MAX]; /* of this batch, by direction: 1 is in */
	size_t count[2];
	unsigned int fault_range[PATTERN_WINDOW_MAX];
	size_t fault_block[PATTERN_WINDOW_MAX];
	size_t batch_faults; /* since the last replay; more than the array holds are counted */
	size_t faults, batches;
	size_t kb[2], number[2]; /* by direction: 1 is in */
	size_t evictions;
	struct copies stale[COPIES_MAX]; /* blocks with invalidates, in their order */
	size_t stale_count;
	bool stale_all;
	bool throttles; /* the pattern does */
	size_t invalidated;
	uint64_t usage[PATTERN_PROCESSES]; /* bytes, as last written */
	bool limited;		   /* there was a limit: copies to the host may end late */
	char held[HELD_MAX_BYTES]; /* lines that wait for these copies */
	size_t held_bytes;
} transcript;

__attribute__((format(printf, 3, 4))) static size_t put(char *text, size_t at, const char *fmt,
							...)
{
	va_list args;
	int got;

	va_start(args, fmt);
	got = vsnprintf(text + at, LINE_MAX_BYTES - at, fmt, args);
	va_end(args);
	at += got > 0 ? (size_t)got : 0;
	return at < LINE_MAX_BYTES ? at : LINE_MAX_BYTES - 1;
}

static void flush_held(void);

/* Write a line; under a limit once the copies to the host are written. */
static void write_line(const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (!transcript.limited) {
		transcript.line(text);
		return;
	}
	if (transcript.held_bytes + bytes > HELD_MAX_BYTES)
		flush_held();
	memcpy(transcript.held + transcript.held_bytes, text, bytes);
	transcript.held_bytes += bytes;
}

static void write_copies(bool in, const struct copies *copies)
{
	char text[LINE_MAX_BYTES];
	const char *comma = " ";
	size_t at = put(text, 0, in ? "in" : "out");

	if (copies->known)
		at = put(text, at, " %u.%zu", copies->range, copies->block);
	else
		at = put(text, at, " ?");
	for (unsigned int i = 0; i < 32 && copies->pages != UINT32_MAX; i++) {
		unsigned int first = i;

		if (!(copies->pages >> i & 1))
			continue;
		while (i < 31 && copies->pages >> (i + 1) & 1)
			i++;
		at = put(text, at, i > first ? "%s%u-%u" : "%s%u", comma, first, i);
		comma = ",";
	}
	if (in)
		write_line(text);
	else
		transcript.line(text);
}

static void flush_direction(bool in)
{
	for (size_t i = 0; i < transcript.count[in]; i++)
		write_copies(in, &transcript.copies[in][i]);
	transcript.count[in] = 0;
}

/* Write the copies that were gathered, those to the host first. */
static void flush_copies(void)
{
	if (!transcript.limited)
		flush_direction(false);
	flush_direction(true);
}

static int block_order(const void *a, const void *b)
{
	const struct copies *x = a, *y = b;

	if (x->range != y->range)
		return x->range < y->range ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* Copies of one block are one line, in the place of the first, if each has pages of its own. */
static void join_victims(void)
{
	struct copies *out = transcript.copies[0];
	size_t count = transcript.count[0], kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t same = kept;

		while (same && (block_order(&out[same - 1], &out[i]) ||
				out[same - 1].pages & out[i].pages))
			same--;
		if (same)
			out[same - 1].pages |= out[i].pages;
		else
			out[kept++] = out[i];
	}
	transcript.count[0] = kept;
	transcript.evictions -= count - kept;
}

/* The driver has done all its work: write the copies to the host, and what waited for them. */
static void flush_held(void)
{
	const char *text = transcript.held;

	join_victims();
	flush_direction(false);
	for (; text < transcript.held + transcript.held_bytes; text += strlen(text) + 1)
		transcript.line(text);
	transcript.held_bytes = 0;
}

/* Sorted: the driver invalidates in the order of the channels' work. */
static void flush_invalidates(void)
{
	char text[LINE_MAX_BYTES];
	size_t at = put(text, 0, "tlb");

	if (!transcript.stale_count && !transcript.stale_all)
		return;
	if (transcript.stale_all) {
		at = put(text, at, " all");
		transcript.invalidated++;
	}
	qsort(transcript.stale, transcript.stale_count, sizeof(transcript.stale[0]),
	      block_order);
	for (size_t i = 0; i < transcript.stale_count; i++) {
		if (i && !block_order(&transcript.stale[i - 1], &transcript.stale[i]))
			continue;
		at = put(text, at, " %u.%zu", transcript.stale[i].range,
			 transcript.stale[i].block);
		transcript.invalidated++;
	}
	write_line(text);
	transcript.stale_count = 0;
	transcript.stale_all = false;
}

void transcript_begin(const struct pattern *pattern, void (*line)(const char *text))
{
	char text[LINE_MAX_BYTES];

	memset(&transcript, 0, sizeof(transcript));
	transcript.line = line;
	transcript.throttles = pattern_throttles(pattern);
	put(text, 0, "pattern %s", pattern->name);
	line(text);
}

void transcript_fault(unsigned int range, size_t page)
{
	size_t number = transcript.batch_faults++;

	transcript.faults++;
	if (number >= PATTERN_WINDOW_MAX)
		return;
	transcript.fault_range[number] = range;
	transcript.fault_block[number] = page / PATTERN_BLOCK_PAGES;
}

void transcript_copy(bool in, bool known, unsigned int range, size_t page, size_t pages,
		     unsigned int copies)
{
	size_t block = page / PATTERN_BLOCK_PAGES;
	size_t first = page % PATTERN_BLOCK_PAGES / COPY_PAGES;
	size_t end = (page % PATTERN_BLOCK_PAGES + pages + COPY_PAGES - 1) / COPY_PAGES;
	size_t count = transcript.count[in];
	struct copies *last = &transcript.copies[in][count ? count - 1 : 0];

	if (!count || last->known != known || last->range != range || last->block != block) {
		if (count == COPIES_MAX && transcript.limited)
			flush_held();
		else if (count == COPIES_MAX)
			flush_copies();
		last = &transcript.copies[in][transcript.count[in]++];
		*last = (struct copies){ known, range, block, 0 };
		transcript.evictions += !in;
	}
	for (size_t i = first; i < end && i < 32; i++)
		last->pages |= (uint32_t)1 << i;
	transcript.kb[in] += pages * 4;
	transcript.number[in] += copies;
}

void transcript_invalidate(unsigned int range, size_t page)
{
	if (transcript.stale_count == COPIES_MAX)
		flush_invalidates();
	transcript.stale[transcript.stale_count++] =
		(struct copies){ true, range, page / PATTERN_BLOCK_PAGES, 0 };
}

void transcript_invalidate_all(void)
{
	transcript.stale_all = true;
}

void transcript_settled(void)
{
	transcript.stale_count = 0;
	transcript.stale_all = false;
}

void transcript_replay(void)
{
	char text[LINE_MAX_BYTES];
	size_t at = put(text, 0, "replay");
	size_t count = transcript.batch_faults;

	if (transcript.throttles && !transcript.count[0] && !transcript.count[1]) {
		transcript.faults -= count;
		transcript.batch_faults = 0;
		return;
	}
	flush_copies();
	flush_invalidates();
	transcript.batches++;
	for (size_t i = 0, run; i < count && i < PATTERN_WINDOW_MAX; i += run) {
		for (run = 1; i + run < count && i + run < PATTERN_WINDOW_MAX &&
			      transcript.fault_block[i + run] == transcript.fault_block[i] &&
			      transcript.fault_range[i + run] == transcript.fault_range[i];)
			run++;
		at = put(text, at, " %u.%zu*%zu", transcript.fault_range[i],
			 transcript.fault_block[i], run);
	}
	if (count > PATTERN_WINDOW_MAX)
		put(text, at, " and %zu", count - PATTERN_WINDOW_MAX);
	write_line(text);
	transcript.batch_faults = 0;
}

/* What the write has evicted comes first. */
void transcript_limit(unsigned int process, size_t chunks)
{
	char text[LINE_MAX_BYTES];

	flush_copies();
	flush_invalidates();
	if (transcript.limited)
		flush_held();
	transcript.limited = true;
	if (chunks == PATTERN_NO_LIMIT)
		put(text, 0, "limit %u none", process);
	else
		put(text, 0, "limit %u %zu", process, chunks);
	transcript.line(text);
}

void transcript_usage(unsigned int process, uint64_t bytes)
{
	char text[LINE_MAX_BYTES];
	size_t at;

	flush_held();
	if (bytes == transcript.usage[process])
		return;
	transcript.usage[process] = bytes;
	at = put(text, 0, "usage %u %llu", process, (unsigned long long)bytes / CHUNK_BYTES);
	if (bytes % CHUNK_BYTES)
		put(text, at, " and %llu bytes", (unsigned long long)bytes % CHUNK_BYTES);
	transcript.line(text);
}

void transcript_end(void)
{
	char text[LINE_MAX_BYTES];

	flush_copies();
	flush_invalidates();
	if (transcript.limited)
		flush_held();
	put(text, 0,
	    "total faults %zu batches %zu in %zu KB out %zu KB evictions %zu invalidated %zu "
	    "copies in %zu out %zu",
	    transcript.faults, transcript.batches, transcript.kb[1], transcript.kb[0],
	    transcript.evictions, transcript.invalidated, transcript.number[1],
	    transcript.number[0]);
	transcript.line(text);
}
