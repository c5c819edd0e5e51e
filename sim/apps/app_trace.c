// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/app_trace.h"

#include <stdlib.h>

#include "apps/app.h"
#include "engine/error.h"
#include "engine/random.h"
#include "trace/trace_arrivals.h"
#include "trace/trace_read.h"
#include "trace/trace_resample.h"

/* A date that no run reaches, and that can still be added to others. */
#define FAR_NS (ENG_NEVER / 4)

const char *const app_trace_arrivals[] = {
	[TRACE_ARRIVALS_RECORDED] = "recorded",
	[TRACE_ARRIVALS_POISSON] = "poisson",
	[TRACE_ARRIVALS_GAMMA] = "gamma",
	NULL,
};

const char *const app_trace_responses[] = {
	[TRACE_RESPONSE_GENERATED] = "generated",
	[TRACE_RESPONSE_RECORDED] = "recorded",
	NULL,
};

int app_trace_prepare(struct app_env *env, const struct cfg_app_trace *cfg,
		      struct sim_error *err)
{
	u64 seed = random_begin(env->config->seed, env->container->name);
	struct trace *trace = malloc(sizeof(*trace));
	int status;

	if (!trace)
		return sim_runtime_error(err, "out of memory");
	trace_init(trace);
	trace->store.folder = env->log->scratch_folder;
	env->prepared = trace;
	status = trace_read(cfg->file, TRACE_BAD_ROWS_FAIL, trace, err);
	if (status)
		return status;
	status = trace_arrive(trace, (enum trace_arrivals)cfg->arrivals, cfg->rate, cfg->cv,
			      random_begin(seed, "arrivals"), err);
	if (status)
		return trace_error_at(cfg->file, err, status);
	status = trace_resample(
		trace, (enum trace_draw)env->config->jitter.arrivals,
		(u64)((unsigned __int128)env->config->jitter.block * cfg->divide / CFG_PPM),
		seed, err);
	return status ? trace_error_at(cfg->file, err, status) : 0;
}

void app_trace_discard(struct app_env *env)
{
	if (env->prepared)
		trace_destroy(env->prepared);
	free(env->prepared);
	env->prepared = NULL;
}

u64 app_trace_offset_ns(const struct trace *trace, const struct cfg_app_trace *cfg,
			size_t index)
{
	unsigned __int128 arrival = trace->requests[index].arrival_ns;

	trace_pass(trace, index);
	return (u64)min(arrival * CFG_PPM / cfg->divide, (unsigned __int128)FAR_NS);
}
