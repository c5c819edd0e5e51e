// SPDX-License-Identifier: MIT OR GPL-2.0
/* Contexts, memory and bursts of the CUDA runtime; see cuda.h. */
#include "cuda/cuda.h"

#include <stdlib.h>

#include "cuda/device.h"

/* A burst of the runtime, with room for a copy of what it accesses. */
struct cuda_burst {
	struct cuda_burst *next;
	struct fifo_burst burst;
	struct gmmu_touch *touches;
	u32 touch_room;
};

void cuda_context_create(struct cuda_context *context, struct cuda_device *device,
			 struct sim_process *process)
{
	*context = (struct cuda_context){ .process = process, .device = device };
	list_add_tail(&context->node, &device->contexts);
}

/* Bursts end in the order of their launches: put those that have ended on the free list. */
static void context_recycle(struct cuda_context *context)
{
	while (context->first && context->first->burst.finished) {
		struct cuda_burst *burst = context->first;

		context->first = burst->next;
		burst->next = context->free;
		context->free = burst;
	}
	if (!context->first)
		context->last = NULL;
}

void cuda_context_destroy(struct cuda_context *context)
{
	struct cuda_burst *burst;

	context_recycle(context);
	if (context->first) {
		struct fifo_tsg *tsg = &context->process->tsg;

		fifo_kill(tsg->fifo, tsg->id);
		context_recycle(context);
	}
	while ((burst = context->free)) {
		context->free = burst->next;
		free(burst->touches);
		free(burst);
	}
}

void cuda_process_exit(struct cuda_context *context)
{
	if (!context->process)
		return;
	cuda_device_forget(context);
	sim_process_exit(context->process);
	cuda_context_destroy(context);
	context->process = NULL;
}

int cuda_malloc_managed(struct cuda_context *context, u64 bytes, bool on_host,
			struct cuda_memory *ret_memory)
{
	struct gvm_range *range;

	*ret_memory = (struct cuda_memory){ .context = context };
	if (!bytes)
		return 0;
	range = sim_process_map(context->process, bytes, on_host);
	if (!range)
		return -ENOMEM;
	ret_memory->va = range->va;
	ret_memory->bytes = bytes;
	ret_memory->chunks = range->block_count;
	ret_memory->range = range;
	return 0;
}

struct cuda_access cuda_access_all(const struct cuda_memory *memory, enum cuda_mode mode)
{
	return (struct cuda_access){ .memory = memory, .chunks = memory->chunks, .mode = mode };
}

struct cuda_access cuda_access_head(const struct cuda_memory *memory, u64 bytes,
				    enum cuda_mode mode)
{
	struct cuda_access access = cuda_access_all(memory, mode);
	u64 chunks = (bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;

	access.chunks = (u32)min(chunks, (u64)memory->chunks);
	return access;
}

/* A free burst with room for @accesses, or NULL. */
static struct cuda_burst *context_take_burst(struct cuda_context *context, u32 accesses)
{
	struct cuda_burst *burst = context->free;

	if (burst)
		context->free = burst->next;
	else
		burst = calloc(1, sizeof(*burst));
	if (burst && burst->touch_room < accesses) {
		struct gmmu_touch *touches =
			reallocarray(burst->touches, accesses, sizeof(*touches));

		if (!touches) {
			burst->next = context->free;
			context->free = burst;
			return NULL;
		}
		burst->touches = touches;
		burst->touch_room = accesses;
	}
	return burst;
}

static struct gmmu_touch access_touch(const struct cuda_access *access)
{
	return (struct gmmu_touch){
		.va = access->memory->va + ((u64)access->first << GVM_CHUNK_SHIFT),
		.block_count = access->chunks,
		.masks = access->masks,
		.groups = access->groups,
		.blocks_per_mask = access->chunks_per_mask,
		.access = access->mode == CUDA_WRITE ? GVM_ACCESS_WRITE : GVM_ACCESS_READ,
	};
}

int cuda_launch(struct cuda_context *context, const struct cuda_burst_config *config)
{
	struct cuda_burst *burst;

	context_recycle(context);
	burst = context_take_burst(context, config->access_count);
	if (!burst)
		return -ENOMEM;
	burst->next = NULL;
	burst->burst = (struct fifo_burst){
		.kernels = config->kernels,
		.kernel_ns = config->kernel_ns,
		.launch_ns = config->launch_ns,
		.occupancy_ppm = config->occupancy_ppm,
		.pages_at_once = config->pages_at_once,
		.faults_per_page = config->faults_per_page,
		.touches = burst->touches,
	};
	for (u32 i = 0; i < config->access_count; i++)
		if (config->accesses[i].chunks)
			burst->touches[burst->burst.touch_count++] =
				access_touch(&config->accesses[i]);
	if (context->last)
		context->last->next = burst;
	else
		context->first = burst;
	context->last = burst;
	fifo_submit(&context->process->tsg, &burst->burst);
	return 0;
}

int cuda_synchronize(struct cuda_context *context)
{
	return context->last ? fifo_wait(&context->last->burst) : 0;
}

int cuda_run(struct cuda_context *context, const struct cuda_burst_config *config)
{
	int status = cuda_launch(context, config);

	return status ? status : cuda_synchronize(context);
}

int cuda_prefetch(const struct cuda_memory *memory, enum cuda_location to)
{
	if (!memory->range)
		return 0;
	return sim_process_prefetch(memory->context->process, memory->range,
				    to == CUDA_HOST ? GVM_PROCESSOR_CPU : GVM_PROCESSOR_GPU);
}

u64 cuda_discard(const struct cuda_memory *memory, u64 offset, u64 bytes)
{
	u64 freed;

	if (!memory->range)
		return 0;
	freed = sim_process_discard(memory->context->process, memory->range, offset, bytes);
	eng_pay_debt();
	return freed;
}
