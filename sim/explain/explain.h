/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Why a request took its time: from requests.csv and activity.csv of a results folder.
 *
 * The time of a request has three phases: its queue, until its server first works on it; its
 * prefill, until the first token; its decode, until the end. In each phase, the server's
 * container did one thing at a time on its GPU. Each nanosecond of a phase has one cause, so
 * the causes of all phases add up to the request's time.
 *
 * A row of activity.csv that runs is up to 10 ms long and holds several kernels. Where a phase
 * begins or ends within one, its compute is divided in proportion.
 */
#ifndef SIM_EXPLAIN_EXPLAIN_H
#define SIM_EXPLAIN_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>

#include "config/config.h"

struct sim_error;

enum explain_phase {
	EXPLAIN_QUEUE,
	EXPLAIN_PREFILL,
	EXPLAIN_DECODE,
	EXPLAIN_PHASES,
};

enum explain_cause {
	EXPLAIN_COMPUTE,   /* kernels of its container; in its queue, for other requests */
	EXPLAIN_SLOW,	   /* these took longer with a part of the GPU */
	EXPLAIN_FAULTS,	   /* its container waited for its own faults */
	EXPLAIN_SWITCHING, /* its context was being loaded */
	EXPLAIN_HELD,	   /* its container was held or frozen, or no other one was loaded */
	EXPLAIN_HOST,	   /* nothing to execute: the host prepared, or did not launch */
	EXPLAIN_CAUSES,
};

/* A request, and its time in ns by phase and cause. */
struct explain {
	char container[CFG_NAME_MAX];
	char kind[CFG_NAME_MAX]; /* "request" */
	char system[CFG_NAME_MAX];
	u64 id;
	u64 arrival_ns, start_ns, first_ns, finish_ns; /* 0: did not happen */
	u64 end_ns; /* of what is explained: its end, or that of the run */
	u64 tokens_in, tokens_out, preemptions;
	char outcome[CFG_NAME_MAX];
	u64 causes[EXPLAIN_PHASES][EXPLAIN_CAUSES];
	/* Others that held the GPU, by index into names: with work, and with faults. */
	u64 others_compute[EXPLAIN_PHASES][CFG_CONTAINERS_MAX];
	u64 others_faults[EXPLAIN_PHASES][CFG_CONTAINERS_MAX];
	char names[CFG_CONTAINERS_MAX][CFG_NAME_MAX];
	size_t name_count;
};

/*
 * Explain a request of the results folder @path: "12", "vllm:12", "worst" or "vllm:worst". The
 * worst one waited longest for its first token, or has none. Returns 0 or a negative enum
 * sim_exit.
 */
int explain_request(struct explain *explain, const char *path, const char *request,
		    struct sim_error *err);

/* Begin and length of a phase; 0 if the request did not come to it. */
u64 explain_phase_ns(const struct explain *explain, enum explain_phase phase);

/* All of it as JSON, in ns; a new reference. NULL: out of memory. */
json_t *explain_json(const struct explain *explain);

/* Names of phases in JSON. */
extern const char *const explain_phases[EXPLAIN_PHASES];

#endif
