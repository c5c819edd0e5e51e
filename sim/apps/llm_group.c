// SPDX-License-Identifier: MIT OR GPL-2.0
/* The ranks of an LLM server, and the application "llm-rank"; see llm_group.h. */
#include "apps/llm_group.h"

#include <stdlib.h>
#include <string.h>

#include "apps/llm_step.h"
#include "engine/error.h"

/* Keys of a rank, under "containers.<name>.app.". */
struct cfg_llm_rank {
	char server[CFG_NAME_MAX]; /* the container of its server */
	u64 boot;		   /* ns that its process starts ahead of the container */
};

/* What server and ranks share. */
struct llm_group {
	struct cfg_llm share;
	u32 followers; /* ranks beside the server's own */
	u32 present;   /* of these, have their memory and take orders */
	u32 busy;      /* of these, are not done with the order */
	u64 serial;    /* of the order: 0 is none */
	struct llm_order order;
	int status;		 /* of the first rank that failed, or 0 */
	bool over;		 /* the server has ended */
	bool failed;		 /* with an error */
	struct eng_waitq ranks;	 /* ranks: for an order, or the end */
	struct eng_waitq server; /* the server: for ranks */
};

/* Is @container, which may be of any type, a rank of the server @name? */
static bool group_has(const char *name, const struct cfg_container *container)
{
	const struct cfg_llm_rank *cfg = container->app;

	return container->enabled && container->app_type == &llm_rank_app.keys &&
	       !strcmp(cfg->server, name);
}

/* Events cannot stop a member. */
static int group_check_events(const struct config *config, const char *name,
			      struct sim_error *err)
{
	for (size_t i = 0; i < config->event_count; i++) {
		const struct cfg_event *event = &config->events[i];

		if ((event->stop || event->restart) && !strcmp(event->container, name))
			return sim_user_error(
				err,
				"%s:events.%zu.%s: its container is a part of a server with "
				"tensor_parallel, allowed: other containers",
				config->file, event->number, event->stop ? "stop" : "restart");
	}
	return 0;
}

/* What the server's own keys must say for it to be cut. */
static int group_check_server(const struct app_env *env, struct sim_error *err)
{
	const struct cfg_llm *cfg = env->container->app;
	const char *wrong =
		!cfg->layers	  ? "app.layers is missing" :
		!cfg->token_bytes ? "app.token_bytes is missing" :
		!cfg->latent_decode_flops && cfg->kv_bytes_per_token % cfg->tensor_parallel ?
				    "it does not divide kv_bytes_per_token" :
		cfg->kernels_per_step + LLM_LAYER_REDUCTIONS * cfg->layers > APP_KERNELS_MAX ?
				    "with two all-reduces a layer a step has more "
				    "than 1000000 kernels" :
		env->listens ? "app.pressure is true" :
			       NULL;

	if (!wrong)
		return group_check_events(env->config, env->container->name, err);
	return sim_user_error(err, "%s:containers.%s.app.tensor_parallel: %s, allowed: 1",
			      env->config->file, env->container->name, wrong);
}

/* One rank less than tensor_parallel says is in other containers, all on different GPUs. */
static int group_check_ranks(const struct app_env *env, struct sim_error *err)
{
	const struct cfg_llm *cfg = env->container->app;
	const struct config *config = env->config;
	u64 count = 0;

	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *rank = &config->containers[i];

		if (!group_has(env->container->name, rank))
			continue;
		count++;
		for (size_t k = 0; k < config->container_count; k++) {
			const struct cfg_container *other = &config->containers[k];

			if ((other == env->container ||
			     (k < i && group_has(env->container->name, other))) &&
			    config_gpu_index(config, other) == config_gpu_index(config, rank))
				return sim_user_error(
					err,
					"%s:containers.%s.gpu: is the GPU of \"%s\", too, "
					"allowed: a GPU for each rank of a server",
					config->file, rank->name, other->name);
		}
	}
	if (count == cfg->tensor_parallel - 1)
		return 0;
	return sim_user_error(err,
			      "%s:containers.%s.app.tensor_parallel: %llu containers with "
			      "app.type \"llm-rank\" name it as app.server, allowed: %llu",
			      config->file, env->container->name, count,
			      (u64)cfg->tensor_parallel - 1);
}

int llm_group_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_llm *cfg = env->container->app;
	struct llm_group *group;
	int status;

	if (cfg->tensor_parallel == 1)
		return 0;
	status = group_check_server(env, err);
	if (!status)
		status = group_check_ranks(env, err);
	if (status)
		return status;
	group = calloc(1, sizeof(*group));
	if (!group)
		return sim_runtime_error(err, "out of memory");
	llm_rank_share(cfg, &group->share);
	group->followers = (u32)(cfg->tensor_parallel - 1);
	env->shared = group;
	return 0;
}

void llm_group_discard(struct app_env *env)
{
	free(env->shared);
	env->shared = NULL;
}

const struct cfg_llm *llm_group_cfg(const struct app_env *env)
{
	const struct llm_group *group = env->shared;

	return group ? &group->share : env->container->app;
}

u32 llm_group_kv_groups(const struct app_env *env)
{
	const struct cfg_llm *cfg = llm_group_cfg(env);
	u32 groups = llm_rank_groups(cfg, &env->config->gpu);
	const struct app_env *other;

	if (!env->shared)
		return groups;
	list_for_each_entry(other, env->all, node) {
		if (group_has(env->container->name, other->container))
			groups = min(groups, llm_rank_groups(cfg, &other->config->gpu));
	}
	return groups;
}

/* Blocking: follow an order, or the part of it that @rank has. */
static int rank_follow(struct llm_rank *rank, const struct llm_order *order)
{
	switch (order->kind) {
	case LLM_ORDER_LOAD:
		return llm_memory_load(rank);
	case LLM_ORDER_STEP:
		return llm_rank_compute(rank, order->step, order->pool);
	case LLM_ORDER_SLEEP:
		return llm_memory_sleep(rank, order->level);
	case LLM_ORDER_WAKE:
		return llm_memory_wake(rank);
	}
	return -EINVAL;
}

int llm_group_order(struct llm_rank *own, const struct llm_order *order)
{
	struct llm_group *group = own->env->shared;
	int status = 0;

	if (!group)
		return rank_follow(own, order);
	while (!status && !group->status && group->present < group->followers)
		status = eng_wait(&group->server, ENG_NEVER, true);
	if (status || group->status)
		return status ? status : group->status;
	group->order = *order;
	group->busy = group->followers;
	group->serial++;
	eng_wake_all(&group->ranks);
	status = rank_follow(own, order);
	while (!status && !group->status && group->busy)
		status = eng_wait(&group->server, ENG_NEVER, true);
	return status ? status : group->status;
}

void llm_group_end(const struct app_env *env, bool failed)
{
	struct llm_group *group = env->shared;

	if (!group || group->over)
		return;
	group->over = true;
	group->failed = failed;
	eng_wake_all(&group->ranks);
}

void llm_group_wait_end(const struct app_env *env)
{
	struct llm_group *group = env->shared;

	while (group && group->present)
		eng_wait(&group->server, ENG_NEVER, false);
}

/* Blocking: follow the orders of @group until it is over. Returns 0 or as llm_group_order(). */
static int rank_live(struct llm_rank *rank, struct llm_group *group)
{
	u64 done = 0; /* an order comes when all ranks are there, so this rank has seen all */
	int status = 0;

	group->present++;
	eng_wake_all(&group->server);
	while (!status && !group->over) {
		if (group->serial == done) {
			status = eng_wait(&group->ranks, ENG_NEVER, true);
			continue;
		}
		done = group->serial;
		status = rank_follow(rank, &group->order);
		if (!status)
			group->busy--;
		eng_wake_all(&group->server);
	}
	if (status && !group->status)
		group->status = status;
	/* Until the context is gone, a step that was interrupted reads the server's pool. */
	cuda_context_destroy(rank->env->cuda);
	group->present--;
	eng_wake_all(&group->server);
	return status;
}

/* The environment of the container @name. It exists, and is enabled. */
static const struct app_env *rank_server(const struct app_env *env, const char *name)
{
	const struct app_env *other;

	list_for_each_entry(other, env->all, node) {
		if (!strcmp(other->container->name, name))
			return other;
	}
	return NULL;
}

static int llm_rank_run(const struct app_env *env)
{
	const struct cfg_llm_rank *cfg = env->container->app;
	const struct app_env *server = rank_server(env, cfg->server);
	struct llm_group *group = server->shared;
	struct llm_rank rank = { .env = env, .cfg = &group->share, .server = cfg->server };
	int status = llm_rank_init(&rank, llm_group_kv_groups(server));

	if (!status)
		status = rank_live(&rank, group);
	cuda_context_destroy(env->cuda);
	llm_rank_destroy(&rank);
	if (!status && group->failed)
		return -EIO;
	return status == -EINTR ? 0 : status;
}

/*
 * A rank names a server that has ranks, allocates as that does, and its GPU holds what the
 * server's does.
 */
static int llm_rank_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_llm_rank *cfg = env->container->app;
	const struct config *config = env->config;
	const struct cfg_container *server = NULL;
	const struct cfg_llm *llm;
	struct cfg_llm share;

	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];

		if (container->enabled && !strcmp(container->name, cfg->server) &&
		    !strcmp(container->app_type->name, "llm-server"))
			server = container;
	}
	llm = server ? server->app : NULL;
	if (!llm || llm->tensor_parallel == 1)
		return sim_user_error(err,
				      "%s:containers.%s.app.server: \"%s\" has no ranks, "
				      "allowed: a container with app.type \"llm-server\" and "
				      "app.tensor_parallel above 1",
				      config->file, env->container->name, cfg->server);
	if (env->container->memory != server->memory) {
		const char *memory =
			server->memory == CFG_MEMORY_MANAGED ? "managed" : "unmanaged";

		return sim_user_error(err,
				      "%s:containers.%s.app.memory: its server \"%s\" has %s "
				      "memory, allowed: %s",
				      config->file, env->container->name, cfg->server, memory,
				      memory);
	}
	llm_rank_share(llm, &share);
	if (!llm_rank_groups(&share, &config->gpu))
		return sim_user_error(
			err,
			"%s:containers.%s.gpu: is too small for a rank of \"%s\", "
			"allowed: a GPU of which app.gpu_memory_utilization holds "
			"weights and workspace, with room for KV blocks",
			config->file, env->container->name, cfg->server);
	return group_check_events(config, env->container->name, err);
}

static u64 llm_rank_ahead_ns(const struct cfg_container *container)
{
	const struct cfg_llm_rank *cfg = container->app;

	return cfg->boot;
}

static const struct cfg_key llm_rank_keys[] = {
	CFG_APP_KEY("server", NAME, struct cfg_llm_rank, server,
		    "container with app.type \"llm-server\" whose rank this is"),
	CFG_APP_KEY("boot", DURATION, struct cfg_llm_rank, boot,
		    "its process starts this long before the container's start",
		    CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("5s")),
};

/* Its users are the server's, so it has no metrics. */
static const struct app_report report_rank = {
	.type = "llm-rank",
	.record = "step",
};

const struct sim_app llm_rank_app = {
	.keys = {
		.name = "llm-rank",
		.summary = "a further rank of an llm-server with tensor parallelism, on a GPU of its own",
		CFG_KEYS(llm_rank_keys),
		.bytes = sizeof(struct cfg_llm_rank),
	},
	.report = &report_rank,
	.prepare = llm_rank_prepare,
	.ahead_ns = llm_rank_ahead_ns,
	.run = llm_rank_run,
};
