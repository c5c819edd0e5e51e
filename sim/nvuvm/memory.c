// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The model as a memory manager: struct gvm_memory_ops over the other files of this folder. The
 * contracts are in gvm/memory.h.
 */
#include "nvuvm/memory.h"

#include "nvuvm/advice.h"
#include "nvuvm/evict.h"
#include "nvuvm/hooks.h"
#include "nvuvm/migrate.h"
#include "nvuvm/pmm.h"
#include "nvuvm/range.h"
#include "nvuvm/rm.h"
#include "nvuvm/service.h"

/* Frameworks fill memory through staging buffers, so the host has large pages for it. */
static int uvm_range_init(void *data, struct gvm_range *range,
			  const struct gvm_range_config *config)
{
	return nvuvm_range_init(data, range, config, false);
}

static void uvm_range_destroy(void *data, struct gvm_range *range)
{
	nvuvm_range_destroy(data, range);
}

static void uvm_space_close(void *data, void *space)
{
	struct nvuvm *nvuvm = data;

	gvm_memory_close_space(&nvuvm->memory, space);
}

static void uvm_service(void *data, void *space, struct gvm_fault *faults, u32 count,
			struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;
	struct gvm_range *range;
	u32 run;

	for (u32 done = 0; done < count; done += run) {
		run = gvm_memory_enter_run(&nvuvm->memory, space, faults + done, count - done,
					   &range);
		if (!range) {
			faults[done].status = -EFAULT;
			continue;
		}
		nvuvm_service(nvuvm, range, faults + done, run, fence);
		gvm_range_leave(range);
	}
}

static void uvm_batch_end(void *data)
{
	nvuvm_batch_end(data);
}

static bool uvm_evictable(void *data, u32 chunk)
{
	return nvuvm_chunk_evictable(data, chunk);
}

static int uvm_evict(void *data, u32 chunk, struct gvm_eviction *eviction)
{
	struct nvuvm *nvuvm = data;

	if (nvuvm->config.mmu->evict_begin)
		nvuvm->config.mmu->evict_begin(nvuvm->config.gpu);
	return nvuvm_evict_chunk(nvuvm, chunk, eviction);
}

static void uvm_release(void *data, u32 chunk)
{
	nvuvm_pmm_release(data, chunk);
}

static int uvm_unevictable_add(void *data, struct gvm_unevictable *taken, u64 bytes)
{
	return nvuvm_rm_take(data, taken, bytes);
}

static void uvm_unevictable_remove(void *data, struct gvm_unevictable *taken, u64 bytes)
{
	nvuvm_rm_return(data, taken, bytes);
}

static int uvm_limit_write(void *data, struct gvm_container *container, u64 bytes)
{
	const struct nvuvm *nvuvm = data;

	return nvuvm->config.hooks->limit_write ?
		       nvuvm->config.hooks->limit_write(data, container, bytes) :
		       0;
}

/* The published GVM's write may leave usage above the limit, until its next refill: limit.c. */
static bool uvm_enforces_limit(void *data)
{
	const struct nvuvm *nvuvm = data;

	return nvuvm->config.limits;
}

static int uvm_migrate(void *data, struct gvm_range *range, enum gvm_processor to)
{
	return nvuvm_migrate(data, range, to == GVM_PROCESSOR_GPU ? NVUVM_GPU : NVUVM_CPU);
}

static int uvm_advise(void *data, struct gvm_range *range, enum gvm_advice advice)
{
	return nvuvm_advise(data, range, advice);
}

static u64 uvm_discard(void *data, struct gvm_range *range, u64 offset, u64 bytes)
{
	(void)data;
	return gvm_range_discard(range, offset, bytes);
}

/* RM takes chunks that the core's books do not see, and refills keep some free. */
static u32 uvm_free_chunks(void *data)
{
	const struct nvuvm *nvuvm = data;

	return nvuvm->free.count + nvuvm->config.mmu->free_chunks(nvuvm->config.gpu);
}

static int uvm_check(void *data)
{
	struct nvuvm *nvuvm = data;

	return gvm_memory_check(&nvuvm->memory);
}

const struct gvm_memory_ops nvuvm_memory_ops = {
	.range_init = uvm_range_init,
	.range_destroy = uvm_range_destroy,
	.space_close = uvm_space_close,
	.service = uvm_service,
	.batch_end = uvm_batch_end,
	.evictable = uvm_evictable,
	.evict = uvm_evict,
	.release = uvm_release,
	.free_chunks = uvm_free_chunks,
	.unevictable_add = uvm_unevictable_add,
	.unevictable_remove = uvm_unevictable_remove,
	.limit_write = uvm_limit_write,
	.enforces_limit = uvm_enforces_limit,
	.migrate = uvm_migrate,
	.advise = uvm_advise,
	.discard = uvm_discard,
	.check = uvm_check,
};
