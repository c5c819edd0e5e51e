// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The application "llm-server" as a scenario sees it: its keys, their checks, and the trace and
 * memory that are prepared before the run. The server's actor is in llm_server.c.
 */
#include <stdio.h>

#include "apps/app_cost.h"
#include "apps/llm_model.h"
#include "apps/llm_server.h"
#include "config/check.h"
#include "engine/error.h"

/* Constants of the model and of the server are required; a profile gives them. */
#define LLM(type_, member_, min_, max_, help_) \
	CFG_APP_KEY(#member_, type_, struct cfg_llm, member_, help_, CFG_RANGE(min_, max_))
#define CLIENT(leaf_, type_, member_, help_, ...) \
	CFG_APP_KEY(leaf_, type_, struct cfg_llm, client.member_, help_, __VA_ARGS__)

#define FRONTEND(member_, help_)                                                             \
	CFG_APP_KEY("frontend." #member_, DURATION, struct cfg_llm, frontend.member_, help_, \
		    CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s"))

/* A key that few models have. */
#define LLM_OPTION(type_, member_, max_, help_)                                          \
	CFG_APP_KEY(#member_, type_, struct cfg_llm, member_, help_, CFG_RANGE(0, max_), \
		    CFG_DEFAULT("0"))

static const struct cfg_key llm_server_keys[] = {
	CFG_APP_KEY("model", MODEL, struct cfg_llm, model,
		    "config.json of Hugging Face, or its folder: the model's numbers follow "
		    "from it",
		    CFG_DEFAULT("")),
	CFG_APP_KEY("quantization", ENUM, struct cfg_llm, quantization,
		    "of the weights; default: as the model says", .words = llm_quantizations,
		    CFG_DEFAULT("none")),
	LLM(SIZE, weights, 1, 16 * CFG_TIB, "bytes of the model's weights"),
	LLM_OPTION(SIZE, embeddings, 16 * CFG_TIB,
		   "bytes of weights in a table that a step hardly reads"),
	LLM_OPTION(SIZE, expert_weights, 16 * CFG_TIB, "bytes of weights of all experts"),
	CFG_APP_KEY(
		"tensor_parallel", INTEGER, struct cfg_llm, tensor_parallel,
		"GPUs that the model is cut over: the server's, and one of a container with "
		"app.type \"llm-rank\" for each further one",
		CFG_RANGE(1, 64), CFG_DEFAULT("1")),
	LLM_OPTION(SIZE, token_bytes, CFG_GIB,
		   "bytes of a token's hidden values, which tensor parallelism adds up"),
	LLM_OPTION(INTEGER, experts, CFG_COUNT_MAX, "experts of a layer; 0: a dense model"),
	LLM_OPTION(INTEGER, experts_per_token, CFG_COUNT_MAX,
		   "experts of a layer that a token uses"),
	LLM(SIZE, kv_bytes_per_token, 1, CFG_GIB,
	    "bytes of the KV cache per token, of all layers"),
	LLM_OPTION(
		INTEGER, window, 1 << 24,
		"tokens that layers with a sliding window look back at most; 0: no layer has "
		"one"),
	LLM_OPTION(INTEGER, window_layers, CFG_COUNT_MAX,
		   "layers with a sliding window, of app.layers"),
	LLM(SIZE, workspace, 0, 16 * CFG_TIB, "bytes of activations that the server reserves"),
	LLM(PPM, gpu_memory_utilization, 1, CFG_PPM, "share of gpu.memory_total that it takes"),
	LLM(INTEGER, block_tokens, 1, 1024, "tokens of a KV block"),
	LLM(INTEGER, max_batched_tokens, 1, 1 << 20, "token budget of a step"),
	LLM(INTEGER, max_sequences, 1, 1 << 16, "most sequences in a step"),
	LLM(INTEGER, max_model_len, 2, 1 << 24, "most tokens of a sequence"),
	CFG_APP_KEY("prefix_caching", BOOL, struct cfg_llm, prefix_caching,
		    "KV blocks of equal prefixes are shared, and kept while memory lasts; the "
		    "trace has prefix hashes",
		    CFG_DEFAULT("false")),
	LLM(INTEGER, flops_per_token, 1, CFG_FLOPS_MAX,
	    "FLOP of a token in all layers, without attention"),
	LLM(INTEGER, head_flops, 0, CFG_FLOPS_MAX, "FLOP of the logits of a sequence"),
	LLM(SIZE, traffic_per_token, 0, CFG_BANDWIDTH_MAX,
	    "bytes of activations that a token moves in device memory"),
	LLM(INTEGER, attention_flops, 0, CFG_FLOPS_MAX,
	    "FLOP of one query token per earlier token, all layers"),
	LLM_OPTION(INTEGER, latent_decode_flops, CFG_FLOPS_MAX,
		   "likewise, for a sequence that decodes over a latent KV cache; 0: the cache "
		   "is not latent"),
	LLM_OPTION(INTEGER, latent_expand_flops, CFG_FLOPS_MAX,
		   "FLOP that expand a token of a latent KV cache for the chunk of a prompt "
		   "after it"),
	CFG_APP_KEY("attention_tile", INTEGER, struct cfg_llm, attention_tile,
		    "query tokens that attention computes for a decoding sequence",
		    CFG_RANGE(1, 1024), CFG_DEFAULT("1")),
	CFG_APP_KEY("attention_group", INTEGER, struct cfg_llm, attention_group,
		    "query heads that share a key head, and a tile in a step without prefill",
		    CFG_RANGE(1, 1024), CFG_DEFAULT("1")),
	LLM(PPM, efficiency, 1, CFG_PPM,
	    "share of gpu.flops_bf16 that its matrix products reach"),
	CFG_APP_KEY(
		"product_ridge", PPM, struct cfg_llm, product_ridge,
		"by how much a matrix product takes longer than its arithmetic and than its "
		"traffic where both would take equally long",
		CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0")),
	LLM(PPM, attention_efficiency, 1, CFG_PPM,
	    "share of gpu.flops_bf16_mma that attention reaches"),
	CFG_APP_KEY("attention_wgmma", PPM, struct cfg_llm, attention_wgmma,
		    "share of gpu.flops_bf16 that attention reaches on a GPU with gpu.wgmma: "
		    "FlashAttention 3; 0: it is FlashAttention 2 there, too",
		    CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0")),
	LLM(PPM, memory_efficiency, 1, CFG_PPM,
	    "share of gpu.memory_bandwidth that its kernels reach"),
	LLM(PPM, kv_bandwidth, 1, CFG_PPM,
	    "share of gpu.memory_bandwidth at which attention reads KV"),
	LLM(INTEGER, kernels_per_step, 1, APP_KERNELS_MAX, "kernels of a step"),
	CFG_APP_KEY("weight_matrices", INTEGER, struct cfg_llm, weight_matrices,
		    "weight matrices, each touched at once by one kernel; 0: bit by bit",
		    CFG_RANGE(0, CFG_COUNT_MAX), CFG_DEFAULT("0")),
	CFG_APP_KEY("layers", INTEGER, struct cfg_llm, layers,
		    "layers, each of which touches its part of the KV at once; 0: bit by bit",
		    CFG_RANGE(0, CFG_COUNT_MAX), CFG_DEFAULT("0")),
	LLM(DURATION, kernel_launch, 0, CFG_SEC,
	    "host time of a launch, on the reference host"),
	CFG_APP_KEY("host_per_step", DURATION, struct cfg_llm, host_per_step,
		    "host time of a step beside its launches, on the reference host",
		    CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	CFG_APP_KEY("host_per_sequence", DURATION, struct cfg_llm, host_per_sequence,
		    "likewise, for each sequence of the step", CFG_RANGE(0, CFG_SEC),
		    CFG_DEFAULT("0s")),
	CFG_APP_KEY("host_per_prompt_token", DURATION, struct cfg_llm, host_per_prompt_token,
		    "likewise, for each token of a prompt in the step", CFG_RANGE(0, CFG_SEC),
		    CFG_DEFAULT("0s")),
	CFG_APP_KEY(
		"host_per_new_shape", DURATION, struct cfg_llm, host_per_new_shape,
		"likewise, for each matrix product with a number of tokens that the process "
		"has not had",
		CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	CFG_APP_KEY("graph_tokens", INTEGER, struct cfg_llm, graph_tokens,
		    "a step of up to so many tokens is one CUDA graph: one launch for all its "
		    "kernels",
		    CFG_RANGE(0, 1 << 20), CFG_DEFAULT("0")),
	FRONTEND(per_request,
		 "time that the API server's event loop works on a request, reference host"),
	FRONTEND(request_wait, "time that a request waits then to be tokenized with others"),
	FRONTEND(per_prompt_token, "time to tokenize a token of a prompt, reference host"),
	FRONTEND(per_step,
		 "time that the event loop works on the tokens of a step, reference host"),
	FRONTEND(per_token, "and on each of them"),
	FRONTEND(client, "time that the client's event loop works on a token, reference host"),
	CFG_APP_KEY("boot", DURATION, struct cfg_llm, boot,
		    "its process starts this long before the container's start",
		    CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("5s")),
	CLIENT("slo_ttft", DURATION, slo_ttft, "promised time to the first token; 0s: none",
	       CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("0s")),
	CLIENT("slo_itl", DURATION, slo_itl,
	       "promised mean time between the tokens of a request; 0s: none",
	       CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("0s")),
	CLIENT("trace.file", TRACE, trace.file, "requests that the client replays"),
	APP_TRACE_KEYS(struct cfg_llm, client.trace),
	CLIENT("client.start", DURATION, first_request,
	       "from the container's start to the first request", CFG_RANGE(0, CFG_RUN_MAX),
	       CFG_DEFAULT("0s")),
	CLIENT("client.stop", DURATION, stop,
	       "from the first request to the last; 0s: requests do not stop",
	       CFG_RANGE(0, CFG_RUN_MAX), CFG_DEFAULT("0s")),
	CLIENT("client.users", INTEGER, users,
	       "users of a closed loop, who go through the trace once and wait for an answer "
	       "before they ask again; 0: open loop, requests come at their dates",
	       CFG_RANGE(0, 1 << 20), CFG_DEFAULT("0")),
	CLIENT("client.think", DURATION, think,
	       "closed loop: from an answer to the user's next request", CFG_RANGE(0, CFG_HOUR),
	       CFG_DEFAULT("0s")),
	CLIENT("client.max_open", INTEGER, max_open, "most open requests; 0: no limit",
	       CFG_RANGE(0, CFG_COUNT_MAX), CFG_DEFAULT("0")),
	CLIENT("client.drop_in_flight", BOOL, drop_in_flight,
	       "requests in flight at client.stop are dropped", CFG_DEFAULT("false")),
};

/* Parts are no larger than the whole. The rest is as vLLM itself demands. */
static int llm_server_check(struct cfg_load *load, const struct cfg_container *container)
{
	const struct cfg_llm *llm = container->app;

	if (llm->embeddings >= llm->weights)
		return cfg_reject_app(load, container, "embeddings",
				      "%llu is too much, allowed: less than weights, %llu",
				      llm->embeddings, llm->weights);
	if (llm->expert_weights > llm->weights - llm->embeddings)
		return cfg_reject_app(load, container, "expert_weights",
				      "%llu is too much, allowed: at most weights without "
				      "embeddings, %llu",
				      llm->expert_weights, llm->weights - llm->embeddings);
	if (llm->window_layers > llm->layers || !llm->window != !llm->window_layers)
		return cfg_reject_app(load, container, "window_layers",
				      "%llu is wrong, allowed: from 1 to layers, %llu, with a "
				      "window, and 0 without one",
				      llm->window_layers, llm->layers);
	if (llm->window && llm->prefix_caching)
		return cfg_reject_app(load, container, "prefix_caching",
				      "is not modelled for layers with a sliding window, "
				      "allowed: false, or a window of 0");
	if (llm->experts_per_token > llm->experts || (llm->experts && !llm->experts_per_token))
		return cfg_reject_app(load, container, "experts_per_token",
				      "%llu is wrong, allowed: from 1 to experts, %llu",
				      llm->experts_per_token, llm->experts);
	if (app_trace_contradicts(&llm->client.trace))
		return cfg_reject_app(load, container, "trace.rate",
				      "is given with trace.divide, allowed: one of them; a "
				      "trace.divide of 1 is none");
	if (llm->client.think && !llm->client.users)
		return cfg_reject_app(load, container, "client.think",
				      "is for a closed loop, allowed: with client.users");
	if (llm->max_sequences <= llm->max_batched_tokens)
		return 0;
	return cfg_reject_app(load, container, "max_sequences",
			      "%llu is too many, allowed: at most max_batched_tokens, %llu",
			      (u64)llm->max_sequences, (u64)llm->max_batched_tokens);
}

#define LISTENERS                                                                            \
	"load, for a container with app.type \"llm-server\" without client.users, sleep or " \
	"wake for one with app.type \"llm-server\""

/* Each server can sleep. The load of an open loop can change. */
static int llm_server_check_event(struct cfg_load *load, const struct cfg_container *container,
				  const struct cfg_event *event, size_t index)
{
	const struct cfg_llm *llm = container->app;

	if (event->sleep || event->wake || (event->load && !llm->client.users))
		return 0;
	if (event->load)
		return cfg_reject_event(load, index, "load", "its users are a closed loop",
					LISTENERS);
	return cfg_reject_event(load, index, event->touch[0] ? "touch" : "exit",
				"its container listens to load, sleep and wake only",
				"a container with app.type \"pages\" and app.pattern "
				"\"events\"");
}

/* Report that the server's share of the GPU is too small, and the least one that is not. */
static int reject_share(const struct app_env *env, struct sim_error *err)
{
	u64 least = llm_rank_least_percent(llm_group_cfg(env), &env->config->gpu, 1);
	char allowed[96];

	if (least > 100)
		snprintf(allowed, sizeof(allowed),
			 "a GPU with %llu %% of that, or a smaller model",
			 (unsigned long long)least);
	else
		snprintf(allowed, sizeof(allowed), "%llu.%02llu and more, for more KV blocks",
			 (unsigned long long)least / 100, (unsigned long long)least % 100);
	return sim_user_error(
		err,
		"%s:containers.%s.app.gpu_memory_utilization: this share of "
		"gpu.memory_total does not hold weights and workspace, allowed: %s",
		env->config->file, env->container->name, allowed);
}

/*
 * The server's share of the GPU has to hold weights, workspace and some KV blocks. Prepared is
 * the trace that the client replays.
 */
static int llm_server_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_llm *cfg = env->container->app;
	const struct trace *trace;
	int status = llm_group_prepare(env, err);

	if (status)
		return status;
	if (!llm_rank_groups(llm_group_cfg(env), &env->config->gpu))
		return reject_share(env, err);
	status = app_trace_prepare(env, &cfg->client.trace, err);
	trace = env->prepared;
	if (status || !cfg->prefix_caching ||
	    (trace->hash_tokens && trace->hash_tokens % cfg->block_tokens == 0))
		return status;
	return sim_user_error(err,
			      "%s:containers.%s.app.prefix_caching: %s, allowed: false, or a "
			      "trace whose prefix hashes stand for a multiple of block_tokens, "
			      "%llu",
			      env->config->file, env->container->name,
			      trace->hash_tokens ?
				      "the trace's hashes do not end where KV blocks do" :
				      "the trace has no prefix hashes",
			      (u64)cfg->block_tokens);
}

static void llm_server_discard(struct app_env *env)
{
	llm_group_discard(env);
	app_trace_discard(env);
}

/* As a deployment waits until the server is ready. */
static u64 llm_server_ahead_ns(const struct cfg_container *container)
{
	const struct cfg_llm *cfg = container->app;

	return cfg->boot;
}

const struct sim_app llm_server_app = {
	.keys = {
		.name = "llm-server",
		.summary = "vLLM serving one model to a client that replays a trace",
		CFG_KEYS(llm_server_keys),
		.bytes = sizeof(struct cfg_llm),
		.derive = llm_model_derive,
		.check = llm_server_check,
		.check_event = llm_server_check_event,
		.listeners = LISTENERS,
	},
	.report = &report_requests,
	.prepare = llm_server_prepare,
	.discard = llm_server_discard,
	.ahead_ns = llm_server_ahead_ns,
	.least_gpu_ns = llm_least_gpu_ns,
	.remark = llm_remark,
	.remark_after = llm_remark_after,
	.run = llm_server_run,
	.log_absence = llm_client_log_absence,
};
