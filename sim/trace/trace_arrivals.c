// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Arrivals at a given rate
 * ========================
 *
 * Recorded arrivals at another rate are the recorded dates times one factor: bursts stay, and
 * come sooner one after the other. The mean rate of n requests over a span is n / span, as
 * "gvmsim trace info" prints it.
 *
 * Drawn arrivals have independent gaps, the first one from zero to the first request:
 *
 *     poisson    exponential gaps. Users who know nothing of each other.
 *     gamma      Gamma distributed gaps with shape 1 / cv^2, where cv is their deviation over
 *                their mean. cv 1 is poisson; above 1, requests come in bursts; below 1,
 *                evenly. vLLM's benchmark client draws so; its --burstiness is the shape.
 *
 * Gamma variates are Marsaglia's and Tsang's ("A simple method for generating gamma variables",
 * 2000): d v with v = (1 + c x)^3 and a normal x, accepted if ln u < x^2 / 2 + d - d v
 * + d ln v. Normal ones are Marsaglia's polar pairs. A shape below 1 is drawn as shape
 * + 1, times u^(1 / shape).
 *
 * A result must be the same on every machine. Sums, products, quotients and square roots are;
 * log() and exp() of libm are not. So both are made here from those four.
 */
#include "trace/trace_arrivals.h"

#include "engine/error.h"
#include "engine/random.h"
#include "trace/trace.h"

#include <limits.h>
#include <math.h>

#define TRACE_PPM	 1000000ull
#define TRACE_NS_PER_SEC 1000000000ull

/* Bits of a logarithm after the point: more than a gap of a day in ns has. */
#define LOG_BITS 48

/* A random number above 0 and up to 1. */
static double draw_unit(u64 *random)
{
	return (double)((random_next(random) >> 11) + 1) * 0x1p-53;
}

/* The binary logarithm of @x > 0: squaring doubles it, and each doubling gives a digit. */
static double log2_portable(double x)
{
	double digit = 1, log = 0;

	while (x >= 2) {
		x /= 2;
		log += 1;
	}
	while (x < 1) {
		x *= 2;
		log -= 1;
	}
	for (int i = 0; i < LOG_BITS; i++) {
		digit /= 2;
		x *= x;
		if (x >= 2) {
			x /= 2;
			log += digit;
		}
	}
	return log;
}

static double ln_portable(double x)
{
	return log2_portable(x) * 0x1.62e42fefa39efp-1; /* ln 2 */
}

/* 2 to the power of @x <= 0: the digits of x choose among square roots of square roots of 2. */
static double exp2_portable(double x)
{
	double result = 1, root = 2, digit = 1;

	if (x < -1000)
		return 0;
	while (x <= -1) {
		result /= 2;
		x += 1;
	}
	x = -x;
	for (int i = 0; i < LOG_BITS; i++) {
		root = sqrt(root);
		digit /= 2;
		if (x >= digit) {
			x -= digit;
			result /= root;
		}
	}
	return result;
}

static double draw_normal(u64 *random)
{
	double a, b, s;

	do {
		a = 2 * draw_unit(random) - 1;
		b = 2 * draw_unit(random) - 1;
		s = a * a + b * b;
	} while (s >= 1 || s == 0);
	return a * sqrt(-2 * ln_portable(s) / s);
}

/* A Gamma variate of that shape, divided by its mean, which is the shape. */
static double draw_gamma(u64 *random, double shape)
{
	double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
	double x, v, u, small = 1;

	if (shape < 1)
		small = exp2_portable(log2_portable(draw_unit(random)) / shape);
	do {
		do {
			x = draw_normal(random);
			v = 1 + c * x;
		} while (v <= 0);
		v = v * v * v;
		u = draw_unit(random);
	} while (ln_portable(u) >= x * x / 2 + d - d * v + d * ln_portable(v));
	return d * v * small / shape;
}

/* The recorded dates, so that all requests take @span_ns instead of @recorded_ns. */
static int arrive_recorded(struct trace *trace, u64 recorded_ns, u64 span_ns,
			   struct sim_error *err)
{
	unsigned __int128 last = trace->requests[trace->count - 1].arrival_ns;

	if (last * span_ns / recorded_ns > U64_MAX)
		return sim_user_error(err,
				      "at this rate the times leave the range of 584 years");
	for (size_t i = 0; i < trace->count; i++) {
		unsigned __int128 date = trace->requests[i].arrival_ns;

		trace_pass(trace, i);
		trace->requests[i].arrival_ns = (u64)(date * span_ns / recorded_ns);
	}
	return 0;
}

int trace_arrive(struct trace *trace, enum trace_arrivals arrivals, u64 rate_ppm, u64 cv_ppm,
		 u64 random, struct sim_error *err)
{
	double cv = (double)cv_ppm / TRACE_PPM, mean_ns, date = 0;
	unsigned __int128 wanted;
	u64 recorded_ns;

	if (!trace->count || (arrivals == TRACE_ARRIVALS_RECORDED && !rate_ppm))
		return 0;
	recorded_ns =
		trace->requests[trace->count - 1].arrival_ns - trace->requests[0].arrival_ns;
	if (!recorded_ns && (!rate_ppm || arrivals == TRACE_ARRIVALS_RECORDED))
		return sim_user_error(err, "all requests have one date, and so no rate");
	wanted = recorded_ns;
	if (rate_ppm)
		wanted = (unsigned __int128)trace->count * TRACE_NS_PER_SEC * TRACE_PPM /
			 rate_ppm;
	if (wanted > U64_MAX / 2)
		return sim_user_error(err,
				      "at this rate the times leave the range of 584 years");
	if (arrivals == TRACE_ARRIVALS_RECORDED)
		return arrive_recorded(trace, recorded_ns, (u64)wanted, err);
	mean_ns = (double)wanted / (double)trace->count;
	for (size_t i = 0; i < trace->count; i++) {
		trace_pass(trace, i);
		date += mean_ns * (arrivals == TRACE_ARRIVALS_POISSON ?
					   -ln_portable(draw_unit(&random)) :
					   draw_gamma(&random, 1 / (cv * cv)));
		if (date >= 0x1p63)
			return sim_user_error(
				err, "at this rate the times leave the range of 292 years");
		trace->requests[i].arrival_ns = (u64)date;
	}
	return 0;
}
