/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A model of NVIDIA's UVM driver (open-gpu-kernel-modules 575, uvm_*.c) and, by two switches, of
 * the published GVM driver, which is a patch to it. It looks after the memory of one simulated GPU
 * in place of the core's block service; the story is told in nvuvm.c. Simulator only.
 */
#ifndef SIM_NVUVM_NVUVM_H
#define SIM_NVUVM_NVUVM_H

#include "gvm/block.h"

struct nvuvm;

/* What nvuvm_create() needs. All borrowed for the model's life. */
struct nvuvm_config {
	struct gvm_device *device; /* initialised */
	const struct gvm_mmu_ops
		*mmu;	  /* the device's own: its chunk_alloc stands for RM's PMA */
	void *gpu;	  /* passed to every call of mmu */
	bool core_policy; /* the core decides at the hooks: policy.c. Without the next two */
	bool limits;	  /* the published GVM's limits and victims by container */
	bool fast_path;	  /* its promotion to 2 MB and its lazy freeing */
	bool host_fragmented; /* an eviction gets 4 KB pages, unless fast_path insists on 2 MB */
};

/* Who can have pages. */
enum nvuvm_processor {
	NVUVM_CPU = GVM_PROCESSOR_CPU,
	NVUVM_GPU = GVM_PROCESSOR_GPU,
	NVUVM_NOBODY,
};

/* Events, ever. */
struct nvuvm_stats {
	u64 rounds;	      /* visits of a block that had pages to bring in */
	u64 restarts;	      /* of these, given up to make room and begun again */
	u64 throttled;	      /* faults left to come again, against thrashing */
	u64 deferred;	      /* blocks left to fault again: no room in this batch */
	u64 promoted;	      /* blocks brought in whole by the published GVM's promotion */
	u64 pages_prefetched; /* pages brought in that did not fault */
	u64 copies_in;	      /* CE copies: one for each run, or for each 4 KB */
	u64 copies_out;
	u64 refills;	     /* calls of the device's allocator that returned something */
	u64 evictions;	     /* chunks taken from blocks, for whatever reason */
	u64 evictions_own;   /* of these, of a container above its limit, by itself */
	u64 evictions_limit; /* of these, by a limit write */
	u64 lazy_given;	     /* of these, given to the lazy-free thread */
	u64 lazy_returned;   /* of these, given back by it */
};

/*
 * Make the model for a device. Returns NULL when there is no memory.
 * destroy: after stop, when no range is left.
 */
struct nvuvm *nvuvm_create(const struct nvuvm_config *config);
void nvuvm_destroy(struct nvuvm *nvuvm);

/*
 * Start and stop its thread (there is one with fast_path only). start: 0 or -ENOMEM. stop gives
 * all chunks that it keeps back to the device; nobody may be at work in it. CONTEXT: process.
 */
int nvuvm_start(struct nvuvm *nvuvm);
void nvuvm_stop(struct nvuvm *nvuvm);

/* The model as a memory manager; the argument is the model. The second one is for core_policy. */
extern const struct gvm_memory_ops nvuvm_memory_ops;
extern const struct gvm_memory_ops nvuvm_policy_memory_ops;

/*
 * gvm_range_init() and gvm_range_destroy() of a range that the model services. @small_host_pages:
 * what the CPU wrote lies in pages of 4 KB, else in chunks of 2 MB where it covers them. init
 * returns what gvm_range_init() does. CONTEXT: process.
 */
int nvuvm_range_init(struct nvuvm *nvuvm, struct gvm_range *range,
		     const struct gvm_range_config *config, bool small_host_pages);
void nvuvm_range_destroy(struct nvuvm *nvuvm, struct gvm_range *range);

/* gvm_memory_ops.service for faults that are all in one range. CONTEXT: process. */
void nvuvm_service(struct nvuvm *nvuvm, struct gvm_range *range, struct gvm_fault *faults,
		   u32 count, struct gvm_fence *fence);

/* All faults of a batch have been serviced; the replay is next. CONTEXT: atomic. */
void nvuvm_batch_end(struct nvuvm *nvuvm);

/* gvm_memory_ops.evict and evictable, with their contracts. */
int nvuvm_evict_chunk(struct nvuvm *nvuvm, u32 chunk, struct gvm_eviction *eviction);
bool nvuvm_chunk_evictable(const struct nvuvm *nvuvm, u32 chunk);

/*
 * gvm_memory_ops.unevictable_add and release: contexts and page tables, which RM takes for itself from
 * the device's own allocator and gives back there, and which nobody is charged. If there is none, what the model keeps free goes back, then the first chunk in global
 * order is evicted (uvm_pmm_gpu_pma_evict_pages), whoever's it is. add returns 0, -ENOMEM, or an
 * eviction's error. CONTEXT: process, no range's lock held.
 */
int nvuvm_rm_take(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes);
void nvuvm_rm_release(struct nvuvm *nvuvm, struct gvm_unevictable *taken);

/*
 * What the published GVM does when a limit is written, before it sets it: evict the container's
 * chunks in order of address until it has no more than @bytes, and wait for the copies. Faults of
 * the container are not served meanwhile; those that come between return and the caller's setting
 * of the limit slip in. Returns 0 or -EINTR. CONTEXT: process, no range's lock held.
 */
int nvuvm_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes);

/*
 * The CPU touches @pages of a block: those on the device migrate to the host, and the call waits
 * for that; those that exist nowhere come into being there. Returns 0, -EFAULT (behind the range's
 * end), -EINTR or a copy's error. CONTEXT: process, no range's lock held.
 */
int nvuvm_cpu_touch(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages);

/*
 * cudaMemPrefetchAsync() of a whole range to the GPU or to the CPU, and the wait for it. Returns 0,
 * -EAGAIN (no room for all of it just now), or what gvm_range_service() gives a fault for status.
 * CONTEXT: process, no range's lock held.
 */
int nvuvm_migrate(struct nvuvm *nvuvm, struct gvm_range *range, enum nvuvm_processor to);

/*
 * Bytes of host memory behind the managed memory of a container. They are not given back when
 * data moves to the device, so this is the most that there ever was. CONTEXT: atomic.
 */
u64 nvuvm_host_bytes(struct nvuvm *nvuvm, const struct gvm_container *container);

const struct nvuvm_stats *nvuvm_stats(const struct nvuvm *nvuvm);

#endif
