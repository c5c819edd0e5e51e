/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The hook points of NVIDIA's driver: where it asks for a decision and another policy can
 * answer. Each call is named and documented by the function of open-gpu-kernel-modules (535 to
 * 595) that it stands in. Two policies implement the table:
 *
 *     driver.c   the driver's own decisions, and the published GVM's patch to them
 *     policy.c   the core's, as gvm.ko makes them at the same points of the real nvidia-uvm
 *
 *     a fault     service_block_pages --> alloc_begin --> alloc_end --> (copies, PTEs)
 *                                            |  ^
 *                                 no room    v  | again
 *                                         make_room
 *     its batch   space_end, batch_end
 *     RM          make_room_for_rm
 *     a limit     limit_write
 *
 * Two more hook points need no call here, since both policies keep the core's books:
 * free_chunk() uncharges (gvm_uncharge() in the core's block functions), and
 * block_mark_memory_used() is a touch (gvm_clock_touch() there, nvuvm_pmm_mark_used() here).
 */
#ifndef SIM_NVUVM_HOOKS_H
#define SIM_NVUVM_HOOKS_H

#include "gvm/evict.h"
#include "nvuvm/types.h"

/* The decisions. No call may be NULL unless it says so. @nvuvm is the model. */
struct nvuvm_hooks {
	/*
	 * block_alloc_gpu_chunk(), before its first allocation, which does not evict. Returns
	 * 0, or -EDQUOT: @owner has to give a chunk first (UVM: NV_ERR_NO_MEMORY, so the
	 * allocation takes its evicting path). CONTEXT: the VA block's lock held.
	 */
	int (*alloc_begin)(struct nvuvm *nvuvm, struct nvuvm_container *owner);
	/*
	 * block_alloc_gpu_chunk(), at its end, after an alloc_begin of 0. @allocated: there is
	 * a chunk, and its charge is reserved on return. Else nothing is reserved on return.
	 * CONTEXT: the VA block's lock held.
	 */
	void (*alloc_end)(struct nvuvm *nvuvm, struct nvuvm_container *owner, bool allocated);
	/*
	 * pick_and_evict_root_chunk(), for a block of @owner: evict a chunk of any container
	 * (@need is GVM_NEED_MEMORY), or @owner's own chunks until it is within its limit
	 * (GVM_NEED_CHARGE). Returns 0: nvuvm.held has a chunk, or a second try makes sense;
	 * -EAGAIN: not in this batch; -ENOENT: no container can give a chunk; -ENOSPC:
	 * hmem.limit permits no eviction; -EINTR, or the error of a copy. UVM picks under its
	 * list lock (pick_root_chunk_to_evict(): gvm_clock_pick_own() and _global() are atomic
	 * for that) and evicts without it. CONTEXT: process, no range's lock held.
	 */
	int (*make_room)(struct nvuvm *nvuvm, struct nvuvm_container *owner,
			 enum gvm_need need);
	/*
	 * uvm_pmm_gpu_pma_evict_pages(): evict one chunk of any container and give it to the
	 * device, for RM's allocation on behalf of @container. A policy may refuse;
	 * nvuvm_evict_range() asks none. Returns 0; -EBUSY: try again; -ENOMEM: no container
	 * gives a chunk; -EINTR, or the error of a copy. CONTEXT: process, no range's lock
	 * held; RM's locks are held in UVM.
	 */
	int (*make_room_for_rm)(struct nvuvm *nvuvm, struct gvm_container *container);
	/*
	 * service_fault_batch_block_locked(), before uvm_va_block_service_locked(). Returns the
	 * pages to bring in: @faulted and others that are not resident. @ret_promoted: this is
	 * the whole block, out of one chunk of 2 MB on the host. So it is one copy and one PTE,
	 * and no page is looked at. CONTEXT: the VA block's lock held.
	 */
	u32 (*service_block_pages)(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
				   u32 faulted, bool *ret_promoted);
	/*
	 * service_fault_batch(), where it leaves a VA space: @blocks of @owner had faults. Or
	 * NULL. CONTEXT: process, no range's lock held.
	 */
	void (*space_end)(struct nvuvm *nvuvm, struct nvuvm_container *owner, u32 blocks);
	/*
	 * uvm_parent_gpu_service_replayable_faults(), after service_fault_batch() and before
	 * the replay. The chunks of the batch can be evicted again. Or NULL. CONTEXT: process,
	 * no range's lock held.
	 */
	void (*batch_end)(struct nvuvm *nvuvm);
	/*
	 * gvm_memory_ops.limit_write: the published GVM's debugfs file. Or NULL. CONTEXT:
	 * process.
	 */
	int (*limit_write)(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes);
};

#endif
