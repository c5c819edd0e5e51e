/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The patterns of softgpu_patterns.h on the real driver. */
#ifndef SOFTGPU_JUDGE_H
#define SOFTGPU_JUDGE_H

#include "softgpu_guest.h"
#include "softgpu_patterns.h"

/* What else is done with the events of the patterns. */
struct judge_observer {
	void (*begin)(const struct pattern *pattern);
	void (*event)(const struct softgpu_event *event);
	/* @errors: accesses that failed. */
	void (*end)(const struct pattern *pattern, uint64_t errors);
};

/* How a driver limits processes. Each call returns 0 or the errno. */
struct judge_limits {
	/* The caller has limits of its own from now on. NULL: it has. */
	int (*enter)(void);
	int (*set)(int pid, size_t chunks); /* or PATTERN_NO_LIMIT */
	int (*usage)(int pid, uint64_t *ret_bytes);
};

/*
 * Run @count patterns and write their transcripts to the console, each line after "judge: ".
 * UVM has @chunks chunks of 2 MB for managed memory. @observer: or NULL. limited: under a limit
 * of process 0, of @limit chunks.
 */
void judge_run(struct softgpu_tenant *tenant, const struct pattern *patterns, size_t count,
	       size_t chunks, const struct judge_observer *observer);
void judge_run_limited(struct softgpu_tenant *tenant, const struct pattern *patterns,
		       size_t count, size_t chunks, size_t limit,
		       const struct judge_limits *limits);

/* The second word of each page says which page it is. */
#define JUDGE_MARK	0x5ca1000000000000ull
#define JUDGE_MARK_MASK 0xffff000000000000ull
#define JUDGE_WORDS	(SOFTGPU_PAGE / sizeof(uint64_t))

static inline uint64_t judge_mark(unsigned int range, size_t page)
{
	return JUDGE_MARK | (uint64_t)range << 32 | page;
}

/* What a process does with one of its ranges. */
struct judge_call {
	enum {
		JUDGE_MAP,
		JUDGE_UNMAP,
		JUDGE_WRITE, /* the pages of walk, by the CPU */
		JUDGE_ADVISE,
		JUDGE_MIGRATE,
		JUDGE_DISCARD, /* walk.count blocks from walk.first on */
	} what;
	unsigned int range; /* its number, its address and its size */
	uintptr_t address;
	size_t blocks;
	struct pattern_walk walk;
	enum pattern_advice advice;
	bool to_gpu;
};

/*
 * A process with a tenant of its own. The GPU's accesses are asked for by its parent. pid 0: it
 * is the caller itself, and its tenant is there already.
 */
struct judge_process {
	int pid;
	int calls; /* the parent's ends of two pipes */
	int answers;
	struct softgpu_tenant tenant; /* of a child only the client's number */
};

/*
 * Start a child that is a tenant, and end it. @enter: what it does before, or NULL. ask: let
 * the process make a call. Returns 0, an NV_STATUS or a negative errno.
 */
int judge_process_start(struct judge_process *process, unsigned int client, int (*enter)(void));
int judge_process_ask(struct judge_process *process, const struct judge_call *call);
void judge_process_end(struct judge_process *process);

#endif
