/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* An LLM server on the machine of apps_fixture.h, and the trace that its client replays. */
#ifndef LLM_SERVER_FIXTURE_H
#define LLM_SERVER_FIXTURE_H

#include "apps/llm_server.h"
#include "apps_fixture.h"

#define ARRIVALS_MAX 16

/* First requests come at 10 ms, long after start-up. */
#define ZERO (10 * MS)

extern struct cfg_llm llm;
extern struct trace_request arrivals[ARRIVALS_MAX];
extern struct trace trace;

/* The machine, and a server whose steps are easy sums. The trace is empty. */
void init_llm(void);

/* Add a request to the trace, @at_ns after its zero. */
void arrive(u64 at_ns, u32 prompt, u32 response);

/* Record @index of the log is a request that failed when it was sent, at @at. */
void expect_refused(size_t index, u64 at, enum app_reason reason);

#endif
