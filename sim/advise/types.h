/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The structs of advice; see advise.h. */
#ifndef SIM_ADVISE_TYPES_H
#define SIM_ADVISE_TYPES_H

#include <jansson.h>

#include "sweep/sweep_numbers.h"

#define ADVISE_TEXT_MAX 256

/* What is asked. Texts are borrowed. */
struct advise_question {
	const char *scenario;
	const char *out; /* folder, which exists */
	const char *const *sets;
	size_t set_count;
	size_t runs;   /* at most so many, but for those of seeds and hurts of the last one */
	size_t seeds;  /* of an interval; 1: none */
	double target; /* share of requests that keep a promise */
};

/* What is wanted of a container. */
struct advise_container {
	char name[CFG_NAME_MAX];
	char promises[APP_PROMISES][SWEEP_NAME_MAX]; /* metrics; shares of requests */
	size_t promise_count;
	char rate[SWEEP_NAME_MAX]; /* metric of its progress; empty: none is known */
	bool managed;		   /* its memory is that of cudaMallocManaged */
	bool eager;		   /* an LLM server that launches each kernel */
	/* Its load: the one that the scenario sets. 0: it is another one. */
	u64 trace_divide; /* ppm, of an open loop */
	u64 trace_rate;	  /* likewise */
	u64 users;	  /* of a closed loop */
	/*
	 * Of a server with a promise: the part of the memory that it takes in the scenario, and
	 * the least that it starts with. 0: it is none.
	 */
	u64 share_percent;
	u64 least_share_percent;
};

/* What came of a candidate, by container. */
struct advise_outcome {
	struct run_estimate promises[APP_PROMISES];
	struct run_estimate rate;
	double progress; /* rate over that of the yardstick; NAN: not known */
};

struct advise_candidate {
	json_t *keys;  /* object: path and text */
	size_t number; /* in the order of search */
	size_t gpus;
	bool ran;
	char cannot[ADVISE_TEXT_MAX]; /* why it cannot run; empty: it can */
	char failed[ADVISE_TEXT_MAX]; /* containers that died */
	char why[ADVISE_TEXT_MAX];    /* the first of them, and why it died */
	size_t kept;		      /* promises */
	double share;		      /* the least share of a promise */
	double progress;	      /* the least of those without a promise, or of all */
	struct advise_outcome *outcomes;
};

/* How something that gets worse hurts. */
struct advise_hurt {
	const char *words; /* "a quarter more requests" */
	struct advise_candidate *candidate;
};

#define ADVISE_HURTS_MAX 5

/* Owned by the caller: advise_make(), advise_destroy(). */
struct advise {
	const struct advise_question *question;
	char scenario[PATH_MAX]; /* as the stages name it */
	struct advise_container *containers;
	size_t container_count;
	size_t promise_count;
	u64 memory; /* of the scenario's first GPU */
	u64 duration_ns;
	char profile[CFG_NAME_MAX];
	size_t gpu_count; /* of the scenario */
	/*
	 * In the order of search. A stage adds candidates at the end and then tries them:
	 * those from number tried on wait for their runs.
	 */
	struct advise_candidate **candidates;
	size_t count;
	size_t tried;
	size_t runs; /* that the search has used, made or found */
	struct advise_candidate *yardstick;
	struct advise_candidate *best;	       /* NULL: none can run */
	struct advise_candidate *finalists[4]; /* under several seeds, best first */
	size_t finalist_count;
	struct advise_hurt hurts[ADVISE_HURTS_MAX]; /* the first one: as it is */
	size_t hurt_count;
	bool out_of_runs;
};

#endif
