/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Another trace that could have been recorded in place of this one. */
#ifndef SIM_TRACE_TRACE_RESAMPLE_H
#define SIM_TRACE_TRACE_RESAMPLE_H

#include "trace/trace.h"

/* What is drawn anew. */
enum trace_draw {
	TRACE_DRAW_NOTHING,
	TRACE_DRAW_GAPS, /* the times between arrivals; requests and the load over time stay */
	/* requests with their dates and lengths: another day of the same users */
	TRACE_DRAW_REQUESTS,
};

/*
 * Replace the requests of @trace by a local block bootstrap in blocks of @block_ns. The same
 * @random, the same requests. Returns 0; -SIM_EXIT_USER: the draw has no request;
 * -SIM_EXIT_RUNTIME: out of memory, or too many requests. On failure @trace is unchanged and
 * *err names no file. @block_ns is not 0.
 */
int trace_resample(struct trace *trace, enum trace_draw draw, u64 block_ns, u64 random,
		   struct sim_error *err);

#endif
