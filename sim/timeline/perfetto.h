/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Writes a trace in Perfetto's protobuf format (trace.proto), packet by packet, with
 * protobuf-c. Dates are ns of simulated time.
 */
#ifndef SIM_TIMELINE_PERFETTO_H
#define SIM_TIMELINE_PERFETTO_H

#include <stdbool.h>
#include <stdio.h>

#include "engine/types.h"

/* Owned by the caller: perfetto_begin(), perfetto_end(). */
struct perfetto {
	FILE *stream; /* borrowed */
	void *zstd;   /* stream of zstd; NULL: not compressed */
	u8 *packet;   /* buffer of one packet */
	size_t packet_room;
	u64 tracks;    /* made so far: the last one's uuid */
	u64 last_flow; /* the last flow's number */
	int error;     /* first errno */
};

/* What a counter counts. */
enum perfetto_unit {
	PERFETTO_PLAIN,
	PERFETTO_BYTES,
};

/* Begin a trace in @stream. Errors are kept until perfetto_end(). */
void perfetto_begin(struct perfetto *perfetto, FILE *stream, bool compress);
/* End it and free what it holds. Returns 0 or an errno. */
int perfetto_end(struct perfetto *perfetto);

/* Make a group, a track or a counter, and return its uuid. A track is in a group. */
u64 perfetto_group(struct perfetto *perfetto, const char *name);
u64 perfetto_track(struct perfetto *perfetto, u64 group, const char *name);
u64 perfetto_counter(struct perfetto *perfetto, u64 group, const char *name,
		     enum perfetto_unit unit);

#define PERFETTO_NUMBERS 2

/* An annotation with a number. @key NULL: none, and none after it. */
struct perfetto_number {
	const char *key;
	u64 value;
};

/* More about an event; all may be empty. */
struct perfetto_more {
	const char *category;
	const char *key, *text; /* an annotation, with a text */
	struct perfetto_number numbers[PERFETTO_NUMBERS];
	u64 flow;	      /* an arrow begins here; 0: none */
	const u64 *flows_end; /* arrows that end here */
	size_t flows_end_count;
};

/* A slice, an instant, and a value. @more may be NULL. */
void perfetto_slice_begin(struct perfetto *perfetto, u64 track, u64 date_ns, const char *name,
			  const struct perfetto_more *more);
void perfetto_slice_end(struct perfetto *perfetto, u64 track, u64 date_ns);
void perfetto_instant(struct perfetto *perfetto, u64 track, u64 date_ns, const char *name,
		      const struct perfetto_more *more);
void perfetto_value(struct perfetto *perfetto, u64 counter, u64 date_ns, u64 value);

#endif
