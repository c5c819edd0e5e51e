/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The hooks in nvidia-uvm.ko: what the semantic patches of hooks/ call. Each name stands in
 * exactly one place of the driver. README.md says where and why.
 *
 * On a GPU that gvm_nvidia.ko does not manage each of them does nothing, or what the stock
 * driver does there.
 */
#ifndef GVM_UVM_HOOKS_H
#define GVM_UVM_HOOKS_H

#include "uvm_forward_decl.h"
#include "uvm_gpu.h"
#include "uvm_pmm_gpu.h"
#include "uvm_user_channel.h"
#include "uvm_va_block.h"
#include "uvm_va_range.h"

/* uvm_pmm_gpu.c: see gvm_uvm_gpus.c. */
void gvm_uvm_gpu_add(uvm_pmm_gpu_t *pmm);
void gvm_uvm_gpu_remove(uvm_pmm_gpu_t *pmm);

/* uvm_pmm_gpu.c: see gvm_uvm_pmm_tail.c. */
void gvm_uvm_chunk_freed(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void gvm_uvm_chunk_evicted(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void gvm_uvm_chunk_split(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void gvm_uvm_chunk_used(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void gvm_uvm_chunk_unused(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void gvm_uvm_chunk_discarded(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
uvm_gpu_chunk_t *gvm_uvm_victim(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *first);
void gvm_uvm_eviction_starts(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);
void gvm_uvm_eviction_fails(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk);

/* uvm_va_block.c: see gvm_uvm_block_tail.c. */
NV_STATUS gvm_uvm_alloc_chunk(uvm_va_block_t *block, uvm_va_block_retry_t *retry,
			      uvm_gpu_t *gpu, uvm_chunk_size_t size,
			      uvm_gpu_chunk_t **ret_chunk);

void gvm_uvm_promote(uvm_processor_id_t id, uvm_va_block_t *block,
		     uvm_service_block_context_t *service);
void gvm_uvm_swapped_out(uvm_va_block_t *block, uvm_gpu_id_t id, const uvm_page_mask_t *pages);
void gvm_uvm_swapped_in(uvm_va_block_t *block, uvm_gpu_id_t id, const uvm_page_mask_t *pages);
void gvm_uvm_swap_gone(uvm_va_block_t *block, uvm_gpu_id_t id);

/* uvm_gpu_replayable_faults.c: see gvm_uvm_faults_tail.c. */
bool gvm_uvm_fault_refused(uvm_fault_service_batch_context_t *batch_context,
			   uvm_fault_buffer_entry_t *entry, NV_STATUS *status);
bool gvm_uvm_fault_refused_again(uvm_fault_service_batch_context_t *batch_context,
				 uvm_fault_buffer_entry_t *entry, NV_STATUS *status);

/* uvm_global.c: see gvm_uvm_gpus.c. */
void gvm_uvm_suspend(void);
void gvm_uvm_resume(void);

/* uvm_va_range.c: see gvm_uvm_range.c. */
NV_STATUS gvm_uvm_range_made(const uvm_va_space_t *va_space, NvU64 first, NvU64 last);
NV_STATUS gvm_uvm_range_split(const uvm_va_space_t *va_space, NvU64 first);
void gvm_uvm_range_gone(uvm_va_space_t *va_space, NvU64 first, NvU64 last);

/* uvm_va_space.c: see gvm_uvm_space.c. */
NV_STATUS gvm_uvm_space_attach(uvm_va_space_t *va_space, uvm_gpu_t *gpu);
void gvm_uvm_space_detach_all(uvm_va_space_t *va_space);

/* uvm_policy.c: see gvm_uvm_space.c. */
NV_STATUS gvm_uvm_prefers(uvm_va_space_t *va_space, const NvProcessorUuid *uuid);

/* uvm_user_channel.c: see gvm_uvm_channel.c. */
NV_STATUS gvm_uvm_channel_attach(uvm_user_channel_t *user_channel);
void gvm_uvm_channel_detach(uvm_user_channel_t *user_channel);

struct gvm_uvm_channel;
struct gvm_uvm_gpu;
struct gvm_uvm_services;
struct gvm_uvm_space;

/* gvm_uvm_channel.c: services, with the contracts of gvm_uvm_services. */
int gvm_uvm_tsg_set_timeslice(const struct gvm_uvm_channel *channel, u64 timeslice_us);
int gvm_uvm_tsg_preempt(const struct gvm_uvm_channel *channel);
int gvm_uvm_channels_disable(const struct gvm_uvm_channel *const *channels, u32 count,
			     bool disable, bool preempt);

/* gvm_uvm_pmm_tail.c: all services. */
extern const struct gvm_uvm_services gvm_uvm_services;

/*
 * Remember ours for a channel of nvidia-uvm's: 0 or -errno. drop: forget it, and return it,
 * or NULL. CONTEXT: process.
 */
int gvm_uvm_channel_keep(struct gvm_uvm_gpu *gpu, const uvm_user_channel_t *user_channel,
			 struct gvm_uvm_channel *channel);
struct gvm_uvm_channel *gvm_uvm_channel_drop(struct gvm_uvm_gpu *gpu,
					     const uvm_user_channel_t *user_channel);

/*
 * The GPU, if it is managed, or NULL. Structs of the driver have no field of ours, so that only
 * the files with hooks are compiled anew. CONTEXT: atomic, while nvidia-uvm holds the GPU.
 */
struct gvm_uvm_gpu *gvm_uvm_find(const uvm_pmm_gpu_t *pmm);

/*
 * Take the root chunk that make_room() has returned, or a free one instead. NV_OK: it is
 * pinned, as from uvm_pmm_gpu_alloc(), and @tracker has the copies to wait for. Else it is free
 * again. CONTEXT: process.
 */
NV_STATUS gvm_uvm_chunk_take(uvm_pmm_gpu_t *pmm, u32 index, uvm_tracker_t *tracker,
			     uvm_gpu_chunk_t **ret_chunk);

/* The VA space there, or NULL: it is not attached. CONTEXT: atomic. */
struct gvm_uvm_space *gvm_uvm_space_find(uvm_pmm_gpu_t *pmm, const uvm_va_space_t *va_space);

/* The same by the GPU's number in the VA space. CONTEXT: atomic. */
struct gvm_uvm_space *gvm_uvm_space_on(const uvm_va_space_t *va_space, uvm_gpu_id_t id);

/* Is the VA space attached on a managed GPU? CONTEXT: atomic. */
bool gvm_uvm_is_attached(const uvm_va_space_t *va_space);

/*
 * enter: attach it, unless it is. leave_all: detach it from all GPUs.
 * CONTEXT: process, no lock.
 */
NV_STATUS gvm_uvm_space_enter(uvm_pmm_gpu_t *pmm, const uvm_va_space_t *va_space);
void gvm_uvm_space_leave_all(const uvm_va_space_t *va_space);

/*
 * @call with these addresses for each managed GPU where the VA space is attached, until one
 * fails. Returns 0 or its error. CONTEXT: process, while nvidia-uvm holds the VA space.
 */
int gvm_uvm_each_space(const uvm_va_space_t *va_space,
		       int (*call)(struct gvm_uvm_space *space, u64 first, u64 last), u64 first,
		       u64 last);

/*
 * While a thread allocates for a VA space, gvm_uvm_victim() finds it here. One lives on the
 * stack of each such thread.
 */
struct gvm_uvm_request {
	struct list_head node;
	struct task_struct *task;
	struct gvm_uvm_space *space;
};

/* CONTEXT: process. */
void gvm_uvm_request_begin(uvm_pmm_gpu_t *pmm, struct gvm_uvm_request *request,
			   struct gvm_uvm_space *space);
void gvm_uvm_request_end(uvm_pmm_gpu_t *pmm, struct gvm_uvm_request *request);

/*
 * The VA space that the calling thread allocates for, or NULL. CONTEXT: atomic, PMM list lock
 * held.
 */
struct gvm_uvm_space *gvm_uvm_requester(uvm_pmm_gpu_t *pmm);

/* 0 as NV_OK, an errno of gvm_uvm_calls as the status that nvidia-uvm has for it. */
NV_STATUS gvm_uvm_status(int error);

#endif
