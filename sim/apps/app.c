// SPDX-License-Identifier: MIT OR GPL-2.0
/* What applications share; see app.h. */
#include "apps/app.h"

#include "apps/app_cost.h"
#include "engine/error.h"
#include "engine/random.h"

int app_listen(const struct app_env *env, struct gvm_listener *listener)
{
	return env->listens ? cuda_listen(env->cuda, listener) : 0;
}

int app_start_late(const struct app_env *env)
{
	u64 random = random_begin(env->config->seed, env->container->name);
	u64 late_ns = random_below(&random, env->config->jitter.start + 1);

	return late_ns ? eng_sleep_until(eng_now() + late_ns) : 0;
}

int app_begin(const struct app_env *env, u64 arrival_ns, struct app_record **ret_record)
{
	return eng_interrupted() ? -EINTR : app_log_begin(env->log, arrival_ns, ret_record);
}

int app_host_work(const struct app_env *env, u64 ns)
{
	ns = app_host_ns(&env->config->host, ns);
	return ns ? eng_sleep_until(eng_now() + ns) : 0;
}

int app_check_cycles(const struct app_env *env, const char *key, struct sim_error *err)
{
	const struct cfg_gpu *gpu = &env->config->gpu;

	if (gpu->sms && gpu->clock)
		return 0;
	return sim_user_error(err,
			      "%s:containers.%s.app.%s: has cycles, allowed: on a GPU with "
			      "gpu.sms and gpu.clock",
			      env->config->file, env->container->name, key);
}

int app_check_prefetch(const struct app_env *env, const char *key, const char *without,
		       struct sim_error *err)
{
	const struct cfg_container *container = env->container;

	if (container->memory != CFG_MEMORY_MANAGED)
		return sim_user_error(
			err,
			"%s:containers.%s.app.%s: needs managed memory, allowed: %s, "
			"or app.memory managed",
			env->config->file, container->name, key, without);
	if (!env->can_prefetch)
		return sim_user_error(
			err,
			"%s:containers.%s.app.%s: %s cannot prefetch, allowed: %s, "
			"or a system with NVIDIA's driver",
			env->config->file, container->name, key, env->config->system->name,
			without);
	return 0;
}

int app_malloc(const struct app_env *env, u64 bytes, bool on_host,
	       struct cuda_memory *ret_memory)
{
	int status = env->container->memory == CFG_MEMORY_MANAGED ?
			     cuda_malloc_managed(env->cuda, bytes, on_host, ret_memory) :
			     cuda_malloc(env->cuda, bytes, on_host, ret_memory);

	if (!status && on_host)
		app_advise_weights(env, ret_memory);
	return status;
}

void app_advise_weights(const struct app_env *env, const struct cuda_memory *memory)
{
	if (env->container->read_mostly)
		cuda_advise(memory, CUDA_READ_MOSTLY);
}

enum app_reason app_death(const struct app_env *env)
{
	if (env->stopping)
		return APP_STOPPED;
	return cuda_died_of_memory(env->cuda) ? APP_OUT_OF_MEMORY : APP_KILLED;
}

void app_log_end(const struct app_env *env, struct app_record *record, int status)
{
	bool fails = status || app_is_late(env);

	if ((status == -EINTR || app_is_late(env)) && !env->stopping)
		return;
	record->outcome = fails ? APP_FAILED : APP_COMPLETED;
	if (fails)
		record->reason = app_death(env);
	record->finish_ns = app_now_ns(env);
}
