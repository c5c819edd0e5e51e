/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the users of an application saw: its requests, images or rounds. */
#ifndef SIM_APPS_APP_LOG_H
#define SIM_APPS_APP_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/stats.h"
#include "engine/types.h"

/* How a request or an image ended. */
enum app_outcome {
	APP_COMPLETED,
	APP_FAILED,  /* it never gets an answer: enum app_reason */
	APP_DROPPED, /* in flight when the client stopped, or the run ended */
};

/* Why a request or an image failed. */
enum app_reason {
	APP_NO_REASON, /* it did not fail */
	APP_REFUSED,   /* the client had as many requests open as it can hold */
	APP_TOO_LONG,  /* its tokens never fit into the server's model or KV cache */
	/* the context died, as a fault found no memory; or it had died before */
	APP_OUT_OF_MEMORY,
	APP_KILLED, /* the context was killed: by a fault of another client of its MPS server */
	APP_STOPPED, /* an event stopped the container, or it had not booted again yet */
	APP_ERROR,   /* a real log has another error */
	APP_REASONS,
};

/* Gaps between the tokens of a request. */
enum app_gaps {
	APP_GAPS_COMPLETED, /* of requests that completed */
	APP_GAPS_OTHERS,    /* of requests that did not */
	APP_GAPS_OPEN, /* from the last token of such a request to its end: no token came */
	APP_GAP_KINDS,
};

/* One request or image. Dates in ns of simulated time; 0: did not happen. */
struct app_record {
	u64 id;
	u64 arrival_ns;
	u64 start_ns; /* a server took it out of its queue for the first time */
	u64 first_ns; /* first token; an image's only date is its end */
	u64 finish_ns;
	u32 prompt_tokens;
	u32 output_tokens;
	u32 preemptions;   /* a server took its KV blocks away: it computed everything again */
	u32 cached_tokens; /* of its prompt, in the server's prefix cache when it started */
	enum app_outcome outcome;
	enum app_reason reason;
};

/* So many different gaps are kept as they are; above, so many significant bits of them. */
#define APP_LOG_VALUES_MAX ((size_t)1 << 20)
#define APP_LOG_VALUE_BITS 13

/*
 * What an application logged. Owned by it.
 *
 * Every request that a client sent has a record, in order of arrival. A long run has millions.
 * So records that have ended leave the memory from the front, in that order, for a file without
 * a name in scratch_folder; app_log_next() reads them back. Those that are open, and some that
 * ended last, stay. If the file cannot be written, all stay.
 */
struct app_log {
	struct app_record *records; /* from number passed on; app_log_at() */
	size_t record_count;	    /* of all */
	size_t record_room;
	size_t passed;		    /* records in the scratch file */
	const char *scratch_folder; /* borrowed; NULL: all records stay in memory */
	int scratch;		    /* descriptor of the file, once records have passed */
	/*
	 * Inter-token gaps of all requests, pooled; by enum app_gaps. The first ones are in
	 * folded: sequences of a step have the same gap, so a long run has far fewer values
	 * than gaps. Above APP_LOG_VALUES_MAX different values these are rounded to
	 * APP_LOG_VALUE_BITS bits, which changes a percentile and the mean by 0.007 % at most.
	 */
	struct {
		u64 *ns; /* in the order in which they came */
		size_t count;
		size_t room;
		struct stats_weights folded;
	} gaps[APP_GAP_KINDS];
	u64 zero_ns;	       /* a trace's dates count from here; 0: no client has begun */
	bool has_zero;	       /* of an open loop of phases: zero_ns is known, and may be 0 */
	bool warming;	       /* it warms up: its launches and memory are not counted yet */
	u64 warm_ns;	       /* date at which that ended; 0: it did not warm up */
	u64 end_ns;	       /* the client stopped; 0: the log ends with the run */
	bool has_prefix_cache; /* cached_tokens are known */
	bool has_server; /* start_ns and preemptions are known: a client's log has neither */
};

/*
 * Append a record, or a gap. Return 0 or -ENOMEM. The new record is the last one. Pointers to
 * records are valid until the next one is added.
 */
int app_log_add(struct app_log *log, const struct app_record *record);
int app_log_add_gap(struct app_log *log, enum app_gaps kind, u64 gap_ns);
void app_log_destroy(struct app_log *log);

/*
 * Append a record of what was asked for at @arrival_ns. It says "dropped" until app_log_end(),
 * as the run may end first. Returns 0 or -ENOMEM; *ret_record is valid until the next record.
 */
int app_log_begin(struct app_log *log, u64 arrival_ns, struct app_record **ret_record);

/* Record number @index, which is in memory: it is open, or the last one. */
static inline struct app_record *app_log_at(const struct app_log *log, size_t index)
{
	return &log->records[index - log->passed];
}

#define APP_LOG_READ 512

/* Reads all records in order. Begin with the log and zeros. */
struct app_log_reader {
	const struct app_log *log;
	size_t next; /* record */
	size_t have; /* records of the buffer, the last of which is number next - 1 + left */
	size_t left; /* of them, not returned yet */
	bool failed; /* the scratch file cannot be read */
	struct app_record buffer[APP_LOG_READ];
};

/* The next record, valid until the next call. NULL: there are no more, or it has failed. */
const struct app_record *app_log_next(struct app_log_reader *reader);

#endif
