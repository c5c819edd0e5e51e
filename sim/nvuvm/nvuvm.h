/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A model of NVIDIA's UVM driver (open-gpu-kernel-modules 575, uvm_*.c) and, by two switches, of
 * the published GVM driver, which is a patch to it. It manages the memory of one simulated GPU in
 * place of the core's block layer. nvuvm.c describes the whole. Simulator only.
 */
#ifndef SIM_NVUVM_NVUVM_H
#define SIM_NVUVM_NVUVM_H

#include "gvm/block.h"

struct nvuvm;

/* Arguments of nvuvm_create(). All pointers are borrowed while the model exists. */
struct nvuvm_config {
	struct gvm_device *device; /* initialised */
	const struct gvm_mmu_ops
		*mmu;	  /* the device's own: its chunk_alloc stands for RM's PMA */
	void *gpu;	  /* passed to every call of mmu */
	bool core_policy; /* the core decides at the hooks: policy.c. Excludes the next two */
	bool limits;	  /* the published GVM's limits and victims by container */
	bool fast_path;	  /* its promotion to 2 MB and its lazy freeing */
	bool host_fragmented; /* an eviction gets 4 KB pages, unless fast_path insists on 2 MB */
};

/* Where pages can be. */
enum nvuvm_processor {
	NVUVM_CPU = GVM_PROCESSOR_CPU,
	NVUVM_GPU = GVM_PROCESSOR_GPU,
	NVUVM_NOBODY,
};

/* Events since the start. */
struct nvuvm_stats {
	u64 rounds;	      /* visits of a block with pages to bring in */
	u64 restarts;	      /* of these, given up to make room, and tried again */
	u64 throttled;	      /* faults not serviced, because their page is thrashing */
	u64 deferred;	      /* blocks not serviced: no room in this batch */
	u64 promoted;	      /* blocks brought in whole by the published GVM's promotion */
	u64 pages_prefetched; /* pages brought in that did not fault */
	u64 copies_in;	      /* CE copies: one for each run, or for each 4 KB */
	u64 copies_out;
	u64 refills;	     /* calls of the device's allocator that returned something */
	u64 evictions;	     /* chunks taken from blocks, for any reason */
	u64 evictions_own;   /* of these, by a container above its limit, from itself */
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
 * Start and stop its thread, which exists only with fast_path. start returns 0 or -ENOMEM. stop
 * returns all free chunks of the model to the device; no other call may be running. CONTEXT:
 * process.
 */
int nvuvm_start(struct nvuvm *nvuvm);
void nvuvm_stop(struct nvuvm *nvuvm);

/* The model as a memory manager; the argument is the model. The second one is for core_policy. */
extern const struct gvm_memory_ops nvuvm_memory_ops;
extern const struct gvm_memory_ops nvuvm_policy_memory_ops;

/*
 * gvm_range_init() and gvm_range_destroy() of a range that the model services. @small_host_pages:
 * data that the CPU wrote is in 4 KB pages; else in 2 MB chunks where a block is full. init
 * returns the errors of gvm_range_init(). CONTEXT: process.
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
 * gvm_memory_ops.unevictable_add and release, for contexts and page tables. RM allocates them
 * from the device and charges them to no container. If the device is full, the model returns its
 * free chunks, then evicts the first chunk in global order, of any container
 * (uvm_pmm_gpu_pma_evict_pages). add returns 0, -ENOMEM, or the error of an eviction. CONTEXT:
 * process, no range's lock held.
 */
int nvuvm_rm_take(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes);
void nvuvm_rm_release(struct nvuvm *nvuvm, struct gvm_unevictable *taken);

/*
 * A limit write of the published GVM: evict the container's chunks in order of address until it
 * has no more than @bytes, and wait for the copies. The caller sets the limit afterwards. Faults
 * of the container wait meanwhile; faults between the return and the new limit still see the old
 * one. Returns 0 or -EINTR. CONTEXT: process, no range's lock held.
 */
int nvuvm_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes);

/*
 * The CPU touches @pages of a block. Pages on the device migrate to the host, and the call waits
 * for the copies. New pages are created on the host. Returns 0, -EFAULT (behind the end of the
 * range), -EINTR or the error of a copy. CONTEXT: process, no range's lock held.
 */
int nvuvm_cpu_touch(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages);

/*
 * cudaMemPrefetchAsync() of a whole range to the GPU or to the CPU, and the wait for it. Returns
 * 0, -EAGAIN (no room for all of it now), or an error that gvm_range_service() gives to a fault.
 * CONTEXT: process, no range's lock held.
 */
int nvuvm_migrate(struct nvuvm *nvuvm, struct gvm_range *range, enum nvuvm_processor to);

/*
 * Bytes of host memory behind the managed memory of a container. They are kept when data moves to
 * the device, so they only grow while its ranges exist. CONTEXT: atomic.
 */
u64 nvuvm_host_bytes(struct nvuvm *nvuvm, const struct gvm_container *container);

const struct nvuvm_stats *nvuvm_stats(const struct nvuvm *nvuvm);

#endif
