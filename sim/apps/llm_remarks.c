// SPDX-License-Identifier: MIT OR GPL-2.0
/* What a user seldom means with the settings of an LLM server: told before a run, or after it. */
#include <stdio.h>

#include "apps/llm_server.h"

#define NS_PER_S 1000000000ull

/* Requests that come within the run, and those of them whose prompts the server refuses. */
struct prompts {
	u64 count;
	u64 too_long;
};

static struct prompts prompts_count(const struct app_env *env)
{
	const struct cfg_llm *cfg = env->container->app;
	const struct cfg_client *client = &cfg->client;
	u64 begin = env->container->start + client->first_request;
	const struct trace *trace = env->prepared;
	struct prompts prompts = { 0 };

	for (size_t i = 0; trace && i < trace->count; i++) {
		u64 date = client->users ? begin : llm_client_date_ns(env, begin, i);

		if (date >= env->config->duration ||
		    (client->stop && date >= begin + client->stop))
			break;
		prompts.count++;
		prompts.too_long += trace->requests[i].prompt_tokens > cfg->max_model_len;
	}
	return prompts;
}

bool llm_remark(const struct app_env *env, u32 index, char *text, size_t size)
{
	const struct cfg_llm *cfg = env->container->app;
	const struct cfg_app_trace *trace = &cfg->client.trace;
	const struct trace *requests = env->prepared;
	struct prompts prompts = prompts_count(env);

	*text = '\0';
	if (prompts.too_long && !index--)
		snprintf(text, size,
			 "app.max_model_len: %llu tokens are less than %llu of %llu prompts "
			 "have, which fail as too long",
			 cfg->max_model_len, prompts.too_long, prompts.count);
	else if (cfg->client.users && (trace->rate || trace->divide != CFG_PPM) && !index--)
		snprintf(text, size,
			 "app.trace.%s: has no effect, as the users of app.client.users send "
			 "when they have their answers",
			 trace->rate ? "rate" : "divide");
	else if (requests && cfg->client.users > requests->count && !index--)
		snprintf(text, size,
			 "app.client.users: %llu of %llu users send nothing, as the trace has "
			 "%zu requests",
			 cfg->client.users - requests->count, cfg->client.users,
			 requests->count);
	return *text;
}

bool llm_remark_after(const struct app_env *env, char *text, size_t size)
{
	const struct cfg_llm *cfg = env->container->app;
	const struct trace *requests = env->prepared;
	u64 end_ns = env->log->end_ns;

	*text = '\0';
	if (cfg->client.users && requests && requests->count &&
	    env->log->record_count == requests->count && end_ns &&
	    end_ns < env->config->duration)
		snprintf(text, size,
			 "app.client.users: the users had all answers at %llu.%03llu s, and "
			 "nothing more to ask: the trace has %zu request%s",
			 end_ns / NS_PER_S, end_ns / 1000000 % 1000, requests->count,
			 requests->count == 1 ? "" : "s");
	return *text;
}
