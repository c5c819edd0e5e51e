// SPDX-License-Identifier: MIT OR GPL-2.0
/* What a user seldom means with the settings of an LLM server: told before a run. */
#include <stdio.h>

#include "apps/llm_server.h"

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
	return *text;
}
