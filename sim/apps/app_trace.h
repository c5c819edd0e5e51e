/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The trace that an application's requests come from, with the dates that its keys ask for. */
#ifndef SIM_APPS_APP_TRACE_H
#define SIM_APPS_APP_TRACE_H

#include "config/config.h"
#include "trace/trace.h"

struct app_env;
struct sim_error;

/* Keys under "containers.<name>.app.trace.". */
struct cfg_app_trace {
	char file[CFG_TEXT_MAX]; /* resolved against the scenario's folder */
	u64 divide;		 /* ppm: arrival times are divided by it */
	u64 arrivals;		 /* enum trace_arrivals */
	u64 rate;		 /* ppm of a request a second; 0: as it is */
	u64 cv;			 /* ppm, of Gamma */
	u64 response;		 /* enum trace_response */
};

extern const char *const app_trace_arrivals[];	/* words of "arrivals" */
extern const char *const app_trace_responses[]; /* words of "response" */

/*
 * Rows of these keys for the struct of an application: @base_ is the member in front of theirs.
 * The key of the file is the application's.
 */
#define APP_TRACE_KEYS(struct_, base_)                                                         \
	CFG_APP_KEY("trace.divide", PPM, struct_, base_.divide,                                \
		    "arrival times are divided by it", CFG_RANGE(1, 1000000 * 1000000ull),     \
		    CFG_DEFAULT("1")),                                                         \
		CFG_APP_KEY("trace.rate", PPM, struct_, base_.rate,                            \
			    "requests a second, in the mean; 0: as the trace has it, divided " \
			    "by trace.divide",                                                 \
			    CFG_RANGE(0, 1000000 * 1000000ull), CFG_DEFAULT("0")),             \
		CFG_APP_KEY("trace.arrivals", ENUM, struct_, base_.arrivals,                   \
			    "dates of requests: as recorded, or drawn by the seed at that "    \
			    "mean rate",                                                       \
			    .words = app_trace_arrivals, CFG_DEFAULT("recorded")),             \
		CFG_APP_KEY("trace.cv", PPM, struct_, base_.cv,                                \
			    "gamma: deviation of the gaps over their mean; 1 is poisson, "     \
			    "more is burstier",                                                \
			    CFG_RANGE(CFG_PPM / 100, 10 * CFG_PPM), CFG_DEFAULT("1")),         \
		CFG_APP_KEY("trace.response", ENUM, struct_, base_.response,                   \
			    "lengths of answers: as the trace recorded them, or generated",    \
			    .words = app_trace_responses, CFG_DEFAULT("generated"))

/* Are rate and divide both given? For the check of an application. */
static inline bool app_trace_contradicts(const struct cfg_app_trace *cfg)
{
	return cfg->rate && cfg->divide != CFG_PPM;
}

/*
 * Read the trace of @cfg for @env, which owns it as env->prepared, also if this fails. Returns
 * 0 or a negative enum sim_exit. Discard it in the end.
 */
int app_trace_prepare(struct app_env *env, const struct cfg_app_trace *cfg,
		      struct sim_error *err);
void app_trace_discard(struct app_env *env);

/* When request @index of @trace comes, ns after the client's zero; far away at most. */
u64 app_trace_offset_ns(const struct trace *trace, const struct cfg_app_trace *cfg,
			size_t index);

#endif
