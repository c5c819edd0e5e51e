// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An LLM server in the manner of vLLM's V1 engine
 * ===============================================
 *
 * Start-up: the server has a share of the GPU (gpu_memory_utilization of the total memory). It
 * maps its weights and a workspace for activations. A KV pool takes the rest of the share. The
 * server then runs the model once, which loads the weights, and clears pool and workspace, as
 * vLLM does. So the whole share is resident before the first request. Reading the model from
 * disk, compiling and profiling take no time here. The process is started app.boot ahead of the
 * container's start. If the server is not ready by then, the client waits for it.
 *
 * Then it runs step after step while there is work:
 *
 *     schedule -> launch -> wait for the GPU -> tokens go out
 *
 * A step is one burst of kernels_per_step kernels, which the host launches one by one. An eager
 * decode step is bound by that (300 launches of 60 us make 18 ms, where the weights could be
 * read in 4), and the gaps between its kernels are there for others to use. A step of up to
 * graph_tokens tokens is a CUDA graph, with one launch. What a step costs the GPU is in
 * llm_step.h.
 *
 * A step touches all weights, the workspace, and every KV page on which a block in use lies: an
 * idle request's pages are touched too, since running requests are all in nearly every step.
 * The engine's own work for a step (schedule, fill the inputs, note the sampled tokens) does
 * not overlap with the GPU: it needs the tokens of the step before. It takes a time a step, a
 * time for each sequence, a time for each token of a prompt, and a time for each matrix
 * product of a new shape (host_per_..., llm_shapes.h). All of it passes before the
 * first launch, though a third follows the GPU's end. So the GPU starts that much too
 * late, and tokens leave in time.
 *
 * Requests and tokens pass the API server, a process with a core of its own (llm_frontend.h).
 *
 * With experts, a token uses some of each layer. A step reads those that one of its tokens
 * uses, if tokens choose alike and independently: few tokens read a part of the weights. Which
 * experts a step touches is drawn for each step (llm_experts.h).
 *
 * With prefix_caching, prompts of a trace with prefix hashes share KV blocks, as vLLM's
 * automatic prefix caching does (kv_prefix.h): their tokens are not computed again. Their
 * memory is the pool's, so the pool stays warm with what may be asked again.
 *
 * Events put the server to sleep and wake it (llm_memory.c). It follows them between two steps.
 *
 * With app.tensor_parallel the model is cut over several GPUs, whose ranks step together
 * (llm_group.h).
 *
 * With app.pressure it listens for pressure events and gives up the memory of free KV blocks
 * (llm_pressure.c).
 */
#include "apps/llm_server.h"

#include <stdlib.h>
#include <string.h>

#include "apps/llm_step.h"
#include "apps/llm_window.h"

/* Blocking: the scheduler, and the memory of the server's own rank. */
static int server_init(struct llm_server *server)
{
	const struct cfg_llm *cfg = server->cfg;
	u32 groups = llm_group_kv_groups(server->env);
	struct llm_window_groups layers = llm_window_group(cfg);
	struct llm_scheduler_config config = {
		.block_count = groups * KV_GROUP_BLOCKS,
		.block_tokens = (u32)cfg->block_tokens,
		.max_batched_tokens = (u32)cfg->max_batched_tokens,
		.max_sequences = (u32)cfg->max_sequences,
		.max_model_len = (u32)cfg->max_model_len,
		.prefix_caching = cfg->prefix_caching,
		.window = cfg->window_layers ? (u32)cfg->window : 0,
		.full_groups = layers.full,
		.window_groups = layers.windowed,
	};
	int status;

	INIT_LIST_HEAD(&server->open);
	INIT_LIST_HEAD(&server->arriving);
	if (!groups)
		return -ENOMEM;
	status = llm_scheduler_init(&server->scheduler, &config);
	if (!status)
		status = llm_shapes_init(&server->shapes, cfg);
	return status ? status : llm_rank_init(&server->rank, groups);
}

/* Blocking: let all ranks do something. @step and @level as in struct llm_order. */
static int server_order(struct llm_server *server, enum llm_order_kind kind,
			const struct llm_step *step, u64 level)
{
	const struct llm_order order = {
		.kind = kind,
		.level = level,
		.step = step,
		.pool = &server->scheduler.pool,
	};

	return llm_group_order(&server->rank, &order);
}

/* What the host does for a step beside launching it, on the reference host. */
static u64 server_host_ns(struct llm_server *server, const struct llm_step *step)
{
	const struct cfg_llm *cfg = server->cfg;
	u64 ns = cfg->host_per_step + step->sequences * cfg->host_per_sequence +
		 step->prefill_tokens * cfg->host_per_prompt_token;

	if (llm_step_tokens(step) > cfg->graph_tokens)
		ns += llm_shapes_meet(&server->shapes, step) * cfg->host_per_new_shape;
	return ns;
}

/*
 * The tokens of a step go out, in batches as the API server takes them. A client that has gone
 * meanwhile gets nothing. Returns 0 or -ENOMEM.
 */
static int server_emit(struct llm_server *server)
{
	const struct llm_scheduler *scheduler = &server->scheduler;
	u32 count = scheduler->emitted_count;
	u64 sent_ns = 0;
	int status = 0;

	for (u32 i = 0; i < count && !server->client_done && !status; i++) {
		if (i % LLM_FRONTEND_BATCH == 0)
			sent_ns = llm_frontend_send(&server->frontend, &server->cfg->frontend,
						    &server->env->config->host, eng_now(), i,
						    min(count - i, LLM_FRONTEND_BATCH));
		status = llm_session_emit(server,
					  container_of(scheduler->emitted[i],
						       struct llm_session, request),
					  sent_ns);
	}
	return status;
}

/* Blocking: one step. */
static int server_step(struct llm_server *server)
{
	struct llm_scheduler *scheduler = &server->scheduler;
	struct llm_step step;
	int status;

	llm_scheduler_schedule(scheduler, &step);
	for (u32 i = scheduler->running_count - step.admitted; i < scheduler->running_count;
	     i++)
		llm_session_start(server, container_of(scheduler->running[i],
						       struct llm_session, request));
	status = app_host_work(server->env, server_host_ns(server, &step));
	if (!status)
		status = server_order(server, LLM_ORDER_STEP, &step, 0);
	if (status)
		return status;
	llm_scheduler_complete(scheduler);
	return server_emit(server);
}

/*
 * The next event that puts the server to sleep or wakes it; NULL: none is left. Earlier ones
 * than the container's start, or than the restart, are not this process's.
 */
static const struct cfg_event *server_event(struct llm_server *server)
{
	const struct app_env *env = server->env;
	const struct config *config = env->config;

	for (; server->event < config->event_count; server->event++) {
		const struct cfg_event *event = &config->events[server->event];

		if ((event->sleep || event->wake) && event->at >= server->begun_ns &&
		    !strcmp(event->container, env->container->name))
			return event;
	}
	return NULL;
}

/*
 * Blocking: go to sleep, or wake, between two steps. A server that sleeps, or is awake, stays
 * as it is. Returns 0, -EIO, -EINTR or -ENOMEM.
 */
static int server_sleep(struct llm_server *server, u64 level)
{
	if (server->asleep)
		return 0;
	llm_pressure_stop(server);
	llm_scheduler_reset(&server->scheduler);
	server->asleep = true;
	return server_order(server, LLM_ORDER_SLEEP, NULL, level);
}

static int server_wake(struct llm_server *server)
{
	int status;

	if (!server->asleep)
		return 0;
	status = server_order(server, LLM_ORDER_WAKE, NULL, 0);
	if (!status)
		status = llm_pressure_start(server);
	server->asleep = status != 0;
	return status;
}

/* Blocking: follow an event. Returns 0, -EIO, -EINTR or -ENOMEM. */
static int server_follow(struct llm_server *server, const struct cfg_event *event)
{
	server->event++;
	return event->sleep ? server_sleep(server, event->sleep) : server_wake(server);
}

/*
 * Blocking: until the client is done and no event is left. Returns 0, -EIO, -EINTR or -ENOMEM.
 * A client that is done may have left requests behind, which are not computed.
 */
static int server_serve(struct llm_server *server)
{
	const struct cfg_event *event = server_event(server);
	int status = 0;

	while (!status && !server->status && (!server->client_done || event)) {
		u64 event_ns = event ? event->at : ENG_NEVER;

		llm_sessions_admit(server);
		if (event_ns <= eng_now())
			status = server_follow(server, event);
		else if (server->client_done)
			status = eng_sleep_until(event_ns);
		else if (!server->asleep && llm_scheduler_busy(&server->scheduler))
			status = server_step(server);
		else
			status = eng_wait(&server->work,
					  min(llm_sessions_next_ns(server), event_ns), true);
		if (status == -ETIMEDOUT)
			status = 0;
		event = server_event(server);
	}
	return status ? status : server->status;
}

/*
 * Blocking: end the client. The client of a dead server first sends all its requests, which
 * fail. Any other client has ended, or is interrupted.
 */
static void server_end_client(struct llm_server *server)
{
	int status = 0;

	while (server->dead && !server->client_done && !status)
		status = eng_wait(&server->work, ENG_NEVER, true);
	eng_interrupt(server->client);
	eng_join(server->client);
}

/* Blocking: the life of a server that is ready. */
static int server_live(struct llm_server *server)
{
	int status;

	server->client = eng_spawn("llm-client", llm_client_main, server);
	if (!server->client)
		return -ENOMEM;
	status = server->dead ? -EIO : llm_pressure_start(server);
	if (!status)
		status = server_serve(server);
	server->dead = status == -EIO || server->env->stopping;
	if (server->dead)
		server->death = app_death(server->env);
	llm_group_end(server->env, server->dead);
	if (server->env->stopping)
		eng_interrupt(server->client);
	llm_pressure_stop(server);
	/*
	 * A process whose context died ends, and its memory goes back. So does a stopped one.
	 */
	if (server->dead)
		cuda_process_exit(server->env->cuda);
	if (llm_sessions_close(server, server->dead))
		status = -ENOMEM;
	server_end_client(server);
	return status;
}

/* When an event stops this server, which starts now; ENG_NEVER: none does. */
static u64 server_stop_ns(const struct app_env *env)
{
	for (size_t i = 0; i < env->config->event_count; i++) {
		const struct cfg_event *event = &env->config->events[i];

		if ((event->stop || event->restart) && event->at > eng_now() &&
		    !strcmp(event->container, env->container->name))
			return event->at;
	}
	return ENG_NEVER;
}

int llm_server_run(const struct app_env *env)
{
	struct llm_server server = { .env = env,
				     .cfg = llm_group_cfg(env),
				     .rank = { .env = env,
					       .cfg = llm_group_cfg(env),
					       .server = env->container->name },
				     .begun_ns = max(env->container->start, (u64)eng_now()),
				     .drop_ns = ENG_NEVER,
				     .stop_ns = server_stop_ns(env) };
	int status = server_init(&server);

	env->log->has_server = true;
	env->log->has_prefix_cache = server.cfg->prefix_caching;
	if (!status)
		status = server_order(&server, LLM_ORDER_LOAD, NULL, 0);
	server.dead = status == -EIO;
	server.death = app_death(env);
	/* No client comes to one that is to end already, though nothing interrupted the loading. */
	if ((!status || server.dead) && !eng_interrupted())
		status = server_live(&server);
	/* Until all contexts are gone, a step that was interrupted reads the masks. */
	cuda_context_destroy(env->cuda);
	llm_group_end(env, status != 0 && status != -EINTR);
	llm_group_wait_end(env);
	free(server.users.next_ns);
	llm_rank_destroy(&server.rank);
	llm_shapes_destroy(&server.shapes);
	llm_scheduler_destroy(&server.scheduler);
	return status == -EINTR ? 0 : status;
}
