// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The memory of an LLM server on the GPU: loaded, asleep and awake
 * ================================================================
 *
 * vLLM's sleep mode gives the memory of a server back while its process stays:
 *
 *     sleep level 1     weights -> host, by the link    workspace, KV: dropped
 *     sleep level 2     weights: dropped                workspace, KV: dropped
 *     wake from 1       weights <- host, by the link    workspace, KV: fresh memory
 *     wake from 2       weights as at the start         workspace, KV: fresh memory
 *
 * Sources: vllm/device_allocator/cumem.py. sleep() copies tensors with the tag "weights" to
 * pinned memory by cudaMemcpy at level 1, and unmaps all. wake_up() maps all again, and copies
 * back what has a copy. Then sleep() empties PyTorch's cache, in which the workspace is. A
 * copy is one cudaMemcpy a tensor there, and one for all weights here. The pinned memory is the
 * process's own: no limit of a container counts it.
 *
 * The engine sleeps between two steps. vLLM asks its caller for an engine without requests
 * (LLM.sleep()). Since pull request 34528 sleep() pauses the scheduler first, in one of three
 * modes: "abort" ends running requests, "wait" awaits them, and "keep" keeps them. Here it is
 * "keep": an answer is late, and none is lost. Their KV is gone, so they are preempted
 * (Scheduler.reset_prefix_cache(reset_running_requests=True)): after the wake they are at the
 * front of the waiting queue, in order, and compute everything again. Prefixes are forgotten.
 * Requests that arrive meanwhile wait after them.
 *
 * After level 2, vLLM's caller loads the weights from disk (reload_weights()). As at the start,
 * reading the disk takes no time here: weights come from the host's memory.
 *
 * A server that sleeps has no memory to give, so it does not listen for pressure.
 */
#include "apps/app_cost.h"
#include "apps/llm_rank.h"

/* Blocking: run one kernel that passes over all memory of @accesses once. */
static int memory_pass(struct llm_rank *rank, const struct cuda_access *accesses, u32 count)
{
	const struct config *config = rank->env->config;
	const struct cfg_llm *cfg = rank->cfg;
	struct cuda_burst_config burst;
	struct app_work work = { 0 };
	u64 bytes = 0;

	for (u32 i = 0; i < count; i++)
		bytes += accesses[i].memory->bytes;
	app_work_add(&work, &config->gpu, 0,
		     app_bytes_ns(&config->gpu, cfg->memory_efficiency, bytes),
		     app_element_blocks(bytes));
	burst = (struct cuda_burst_config){
		.kernels = 1,
		.launch_ns = app_launch_ns(&config->host, cfg->kernel_launch, 1),
		.accesses = accesses,
		.access_count = count,
	};
	app_work_burst(&work, &config->gpu, &burst);
	return cuda_run(rank->env->cuda, &burst);
}

/* Blocking: the first kernels that use the weights load them. */
static int memory_load_weights(struct llm_rank *rank)
{
	struct cuda_access weights = cuda_access_all(&rank->weights, CUDA_READ);

	cuda_access_matrices(&weights, rank->cfg->weight_matrices);
	return memory_pass(rank, &weights, 1);
}

/* Blocking: write all of workspace and pool. */
static int memory_fill(struct llm_rank *rank)
{
	struct cuda_access fresh[] = { cuda_access_all(&rank->workspace, CUDA_WRITE),
				       cuda_access_all(&rank->kv, CUDA_WRITE) };

	return memory_pass(rank, fresh, ARRAY_SIZE(fresh));
}

int llm_memory_load(struct llm_rank *rank)
{
	int status = memory_load_weights(rank);

	return status ? status : memory_fill(rank);
}

int llm_memory_sleep(struct llm_rank *rank, u64 level)
{
	int status = 0;

	rank->on_host = level == 1;
	if (rank->on_host)
		status = cuda_memcpy(&rank->weights, 0, rank->weights.bytes, CUDA_HOST);
	if (!status)
		status = cuda_free(&rank->weights);
	if (!status)
		status = cuda_free(&rank->workspace);
	return status ? status : cuda_free(&rank->kv);
}

/* Allocations have the sizes of before, so what a step accesses is right again. */
int llm_memory_wake(struct llm_rank *rank)
{
	const struct cfg_llm *cfg = rank->cfg;
	u64 pool = (u64)rank->accesses[2].chunks << GVM_CHUNK_SHIFT;
	int status = app_malloc(rank->env, cfg->weights, !rank->on_host, &rank->weights);

	if (!status && rank->on_host)
		app_advise_weights(rank->env, &rank->weights);
	if (!status)
		status = app_malloc(rank->env, cfg->workspace, false, &rank->workspace);
	if (!status)
		status = app_malloc(rank->env, pool, false, &rank->kv);
	if (!status)
		status = rank->on_host ?
				 cuda_memcpy(&rank->weights, 0, cfg->weights, CUDA_DEVICE) :
				 memory_load_weights(rank);
	return status ? status : memory_fill(rank);
}
