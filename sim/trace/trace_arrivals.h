/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Other dates for the requests of a trace: at another rate, or drawn: trace_arrivals.c. */
#ifndef SIM_TRACE_TRACE_ARRIVALS_H
#define SIM_TRACE_TRACE_ARRIVALS_H

#include "engine/types.h"

struct sim_error;
struct trace;

/* How requests arrive. */
enum trace_arrivals {
	TRACE_ARRIVALS_RECORDED, /* as the trace has it */
	TRACE_ARRIVALS_POISSON,	 /* independently: gaps are exponential */
	TRACE_ARRIVALS_GAMMA, /* gaps of a Gamma distribution: more or less bursty than that */
};

/*
 * Give the requests of @trace dates of the kind @arrivals, at a mean of @rate_ppm / 10^6
 * requests a second; 0: at the mean rate of the trace. Lengths and order stay. @cv_ppm is the
 * deviation of Gamma's gaps over their mean, at least 0.01. The same @random, the same dates.
 * Returns 0, or -SIM_EXIT_USER: all requests have one date, and so no rate, or the last date
 * leaves 64 bits; then *err names no file.
 */
int trace_arrive(struct trace *trace, enum trace_arrivals arrivals, u64 rate_ppm, u64 cv_ppm,
		 u64 random, struct sim_error *err);

#endif
