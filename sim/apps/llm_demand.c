// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The least GPU time that the requests of a trace take on an LLM server. A server whose
 * requests need more than there is cannot keep up: its queue grows until they end.
 *
 * It is a bound from below. Weights are read once for as many tokens of answers as there can be
 * sequences in a step. Arithmetic hides behind that, or that behind arithmetic. Attention reads
 * the KV cache of each answer once a token. The host, the rest of a step and the other
 * containers cost nothing.
 */
#include "apps/app_cost.h"
#include "apps/llm_model.h"
#include "apps/llm_server.h"

/* Sums over the requests that come within the run. */
struct demand {
	u64 requests;
	unsigned __int128 prompt_tokens;
	unsigned __int128 output_tokens;
	unsigned __int128 read_tokens; /* of KV, by all steps that decode */
};

static struct demand demand_sum(const struct app_env *env)
{
	const struct cfg_llm *cfg = env->container->app;
	const struct cfg_client *client = &cfg->client;
	u64 begin = env->container->start + client->first_request;
	const struct trace *trace = env->prepared;
	struct demand demand = { 0 };

	for (size_t i = 0; i < trace->count; i++) {
		const struct trace_request *request = &trace->requests[i];
		u64 date = llm_client_date_ns(env, begin, i);
		u64 output = request->response_tokens[client->trace.response];

		if (date >= env->config->duration ||
		    (client->stop && date >= begin + client->stop))
			break;
		demand.requests++;
		demand.prompt_tokens += request->prompt_tokens;
		demand.output_tokens += output;
		demand.read_tokens +=
			(unsigned __int128)output * (request->prompt_tokens + output / 2);
	}
	return demand;
}

/*
 * Bytes of KV of a token that is kept, and read, however long its sequence is: those of layers
 * without a sliding window.
 */
static u64 demand_kv_bytes(const struct cfg_llm *cfg)
{
	u64 layers = max(cfg->layers, 1ull);
	u64 windowed = cfg->window ? cfg->window_layers : 0;

	return (u64)((unsigned __int128)cfg->kv_bytes_per_token * (layers - windowed) / layers);
}

/* The most sequences of the mean length that a step can have. */
static u64 demand_sequences(const struct cfg_llm *cfg, const struct cfg_gpu *gpu,
			    const struct demand *demand)
{
	u64 memory = (u64)((unsigned __int128)gpu->memory_total * cfg->gpu_memory_utilization /
			   CFG_PPM);
	u64 used = cfg->weights + cfg->workspace;
	u64 tokens = (memory > used ? memory - used : 0) / max(demand_kv_bytes(cfg), 1ull);
	u64 context = (u64)(demand->read_tokens / demand->output_tokens) + 1;

	return max(min(tokens / context, cfg->max_sequences), 1ull);
}

u64 llm_least_gpu_ns(const struct app_env *env, u64 *ret_within_ns)
{
	const struct cfg_llm *cfg = llm_group_cfg(env);
	const struct cfg_gpu *gpu = &env->config->gpu;
	struct demand demand = { 0 };
	u64 steps, weights, compute;

	if (!cfg->client.users && env->prepared)
		demand = demand_sum(env);
	if (!demand.requests || !demand.output_tokens)
		return 0;
	*ret_within_ns =
		env->config->duration - env->container->start - cfg->client.first_request;
	if (cfg->client.stop)
		*ret_within_ns = min(*ret_within_ns, cfg->client.stop);
	if (cfg->prefix_caching)
		demand.prompt_tokens = 0;
	steps = (u64)(demand.output_tokens / demand_sequences(cfg, gpu, &demand));
	weights = app_bytes_ns(
		gpu, cfg->memory_efficiency,
		(unsigned __int128)(cfg->weights - cfg->embeddings - cfg->expert_weights) *
			steps);
	demand.output_tokens += demand.prompt_tokens;
	compute = cfg->quantization == LLM_FP8 ?
			  app_flops_fp8_ns(gpu, cfg->efficiency,
					   demand.output_tokens * cfg->flops_per_token) :
			  app_flops_ns(gpu, cfg->efficiency,
				       demand.output_tokens * cfg->flops_per_token);
	return max(weights, compute) +
	       app_bytes_ns(gpu, cfg->kv_bandwidth, demand.read_tokens * demand_kv_bytes(cfg));
}
