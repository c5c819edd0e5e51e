/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU made of RAM, on real threads and real locks. It implements gvm/ops.h, and the service
 * and block layers of the core run over it unchanged:
 *
 *      SM kthreads --touch--> page table --miss--> fault buffer --> the core's fault handler
 *          ^                      ^                                        |
 *          |                      '---- map, unmap ----- block layer <-----'
 *          '------------- replay -----------'                |
 *                                                      copy engine kthreads
 *
 * LOCKING, outermost first. The locks from the third line on are leaves, taken one at a time,
 * with two exceptions: the TSGs' xa_lock is taken over fakegpu.lock, and over the core's device
 * lock.
 *   fakegpu_context.mutex   changes of an address space by its process. Sleeping.
 *   (the core's: a range's lock, the device's)
 *   fakegpu_page_table.lock PTEs, and the bytes that an access finds through them
 *   fakegpu.lock            runlist, TSGs and their jobs; memory that is free
 *   fakegpu.engine_lock     queues of the copy engines
 *   fakegpu_fault_buffer.lock
 */
#ifndef FAKEGPU_H
#define FAKEGPU_H

#include "gvm/block.h"
#include "gvm/evictor.h"
#include "gvm/fault.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"

#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/refcount.h>
#include <linux/xarray.h>

#include "gvm_fakegpu.h"

#define FAKEGPU_WARPS	     16u   /* warps that an SM keeps in flight; all can be stalled */
#define FAKEGPU_ACCESS_BYTES 4096u /* bytes that a warp touches for a look at the page table */
#define FAKEGPU_FAULTS	     48u   /* records in the fault buffer: few, so that some are lost */
#define FAKEGPU_COPIES	     32u   /* copies in an engine's queue */
#define FAKEGPU_SMS_MAX	     16u
#define FAKEGPU_HOST_SHARE \
	4ull /* times the GPU's chunks: limit of a context's blocks that begin on the host */

struct fakegpu;
struct fakegpu_sm;
struct gvm_member;

/* 2 MB of host memory. A reference is held by its block, and by each copy until it is done. */
struct fakegpu_host {
	struct fakegpu *gpu;
	refcount_t refs;
	void *bytes;
};

/* One copy or clear. */
struct fakegpu_copy {
	struct fakegpu_host *host; /* its host memory: a reference; NULL: a clear */
	void *to;
	const void *from; /* NULL: clear */
	size_t bytes;
	struct gvm_fence after; /* earlier operations on the same chunk, on any engine */
};

/* A copy engine. Guarded by the GPU's engine_lock, except for done. */
struct fakegpu_engine {
	struct fakegpu *gpu;
	struct gvm_worker worker;
	enum gvm_engine which;
	u64 submitted; /* copies so far: the sequence number of the newest one */
	u64 done;      /* copies that have ended; stored with release, read with acquire */
	u64 bytes;     /* of the submitted copies */
	struct fakegpu_copy queue[FAKEGPU_COPIES];
};

/* The PTEs of a block of 2 MB. Guarded by the page table's lock. */
struct fakegpu_pte {
	void *chunk;	/* its bytes */
	void *host;	/* the bytes of remote pages */
	u32 pages;	/* mapped ones */
	u32 writable;	/* of these */
	u32 remote;	/* of these, in host memory */
	u64 arrived_in; /* the data has arrived when both engines are done with these numbers */
	u64 arrived_clear;
};

/* The page table of an address space. A mapping makes all its tables at once. */
struct fakegpu_page_table {
	struct fakegpu *gpu;
	spinlock_t lock;
	struct xarray ptes; /* struct fakegpu_pte by va >> GVM_CHUNK_SHIFT */
};

/* One managed allocation. */
struct fakegpu_mapping {
	struct list_head node; /* in fakegpu_context.mappings */
	struct gvm_range range;
	struct fakegpu_pte *ptes;   /* one for each block */
	struct fakegpu_host **host; /* one for each block, or NULL; range's lock */
	u64 host_blocks;	    /* blocks that began on the host; counted in the context */
};

/* A kernel. Its memory belongs to the thread that launches it. Guarded by the GPU's lock. */
struct fakegpu_job {
	struct list_head node; /* in fakegpu_tsg.jobs */
	struct gvm_fakegpu_launch *launch;
	u8 *load;	 /* not NULL: copy the bytes here, in place of launch->op */
	const u8 *store; /* not NULL: copy the bytes from here, likewise */
	u64 pages;	 /* pages to touch; in each part, if instructions touch several */
	u64 part_bytes;	 /* from a part to the next one */
	u64 next_page;	 /* for the next warp; only the running SM uses it and the results */
	u64 multiplier;	 /* of the shuffle */
	bool aborted;
	bool done;
	int status;
};

/* A warp, which touches one page. Only the running SM uses it. */
struct fakegpu_warp {
	u64 va;
	u64 end;
	u64 replays;  /* stalled until the GPU's count of replays is higher */
	u64 fault_ns; /* its access first faulted then; 0: it did not */
	bool stalled;
};

/* A TSG. Guarded by the GPU's lock, except for its warps. */
struct fakegpu_tsg {
	struct fakegpu_context *context;
	struct gvm_tsg core;
	u32 id;
	struct list_head node; /* in fakegpu.runlist, if it is ready and on no SM */
	struct list_head jobs;
	struct fakegpu_sm *sm; /* the SM that it is on, or NULL */
	u64 scheduled_ns;      /* when its turn on that SM began */
	u64 runtime_ns;	       /* time on SMs in its turns before that */
	u64 timeslice_us;
	bool enabled;
	bool preempt; /* it was asked to leave its SM */
	int error;    /* the error that it died of; 0: alive */
	u64 accesses; /* instructions that have finished; only the running SM writes it */
	u32 warp_count;
	struct fakegpu_warp warps[FAKEGPU_WARPS];
};

/* An address space and its TSGs: an open file. */
struct fakegpu_context {
	struct fakegpu *gpu;
	refcount_t refs; /* the file holds it */
	struct mutex mutex;
	u32 id;				    /* its name in faults */
	bool created;			    /* released after the fields below are set */
	struct gvm_member *member;	    /* of the process that created it */
	struct gvm_container *container;    /* the member's; NULL: not created */
	struct gvm_unevictable unevictable; /* its buffers and page tables */
	bool evicts;			    /* it uses the container's evictor */
	struct fakegpu_page_table table;
	u64 next_va;
	spinlock_t lock; /* guards the list with the mutex: either to read, both to write */
	struct list_head mappings; /* fakegpu_mapping.node */
	u32 mapping_count;	   /* guarded by the mutex */
	u64 host_blocks;	   /* of its mappings; guarded likewise */
	u32 tsg_count;
	struct gvm_tsg_share share; /* another container's share of the first TSG; or empty */
	struct fakegpu_tsg tsgs[GVM_FAKEGPU_TSGS_MAX];
};

/* The software fault buffer. */
struct fakegpu_fault_buffer {
	spinlock_t lock;
	struct gvm_fault records[FAKEGPU_FAULTS];
	u32 get;
	u32 count;
	u64 faults;
	u64 lost;
	u64 replays;
	wait_queue_head_t posted;   /* the fault handler waits for records */
	wait_queue_head_t replayed; /* SMs without a warp that can run wait for a replay */
};

/*
 * A streaming multiprocessor: a thread that runs one TSG at a time. A TSG runs on one SM at a
 * time.
 */
struct fakegpu_sm {
	struct fakegpu *gpu;
	struct gvm_worker worker;
	struct hrtimer timer;
	bool expired; /* the timeslice is over */
};

/* A GPU: /dev/gvm_fakegpu<n>. */
struct fakegpu {
	/* Set once, or with locks of their own. */
	struct gvm_device *device;
	struct gvm_memory memory;
	struct gvm_fault_handler handler;
	struct gvm_evictor evictor;
	struct gvm_scheduler scheduler; /* not started if the runlist's turns decide alone */
	struct miscdevice misc;
	char name[24];

	u8 *bytes; /* all chunks */
	u32 chunk_count;
	atomic_t copies;	    /* copies and clears asked for, to let every n-th fail */
	atomic_t outs;		    /* copies to the host, likewise */
	atomic_t host_chunks;	    /* structs fakegpu_host that exist */
	atomic_t partial_evictions; /* evictions in which a part of the chunk stayed */
	atomic_t rpcs;		    /* RPCs asked for, to let every n-th fail */
	bool lost;		    /* the GPU fell off the bus */

	/* Guarded by the xa_lock of each. */
	struct xarray contexts; /* struct fakegpu_context by id */
	u32 next_context;
	struct xarray tsgs; /* struct fakegpu_tsg by id */
	u32 next_tsg;

	spinlock_t lock; /* guards the fields up to the next lock */
	u32 *free;	 /* ring of free chunks, longest free first */
	u32 free_first;
	u32 free_count;
	struct list_head runlist; /* fakegpu_tsg.node */
	u64 switches;		  /* see gvm_fakegpu_info */
	wait_queue_head_t work;	  /* SMs wait for a TSG on the runlist */
	wait_queue_head_t idle;	  /* waits for jobs to end, and for TSGs to leave */

	spinlock_t engine_lock; /* guards the two fields below */
	struct fakegpu_engine engines[GVM_ENGINES];
	struct gvm_fence *last; /* for each chunk: the last operations started on it */
	wait_queue_head_t
		copied; /* engines wait for work, other threads for fences and room in queues */

	struct fakegpu_fault_buffer faults;

	u32 sm_count; /* set once */
	struct fakegpu_sm sms[FAKEGPU_SMS_MAX];
};

/* Count an operation. Should it fail, as every @every-th does (0: none)? CONTEXT: atomic. */
static inline bool fakegpu_fails(atomic_t *count, u32 every)
{
	return every && (u32)atomic_inc_return(count) % every == 0;
}

/* memory.c: chunks. init: 0 or -ENOMEM. CONTEXT: process; alloc and free: atomic. */
int fakegpu_memory_init(struct fakegpu *gpu);
void fakegpu_memory_destroy(struct fakegpu *gpu);
int fakegpu_chunk_alloc(void *gpu, u32 *ret_chunk);
void fakegpu_chunk_free(void *gpu, u32 chunk);
u32 fakegpu_free_chunks(void *memory); /* gvm_memory_ops.free_chunks */
void *fakegpu_chunk_bytes(struct fakegpu *gpu, u32 chunk);

/*
 * The host memory of a block. alloc returns *@host, and makes it, filled with zeros, if it is
 * NULL. It returns NULL without memory. put drops a reference. free is gvm_mmu_ops.host_free.
 * CONTEXT: process.
 */
struct fakegpu_host *fakegpu_host_alloc(struct fakegpu *gpu, struct fakegpu_host **host,
					gfp_t flags);
void fakegpu_host_put(struct fakegpu_host *host);
void fakegpu_host_free(void *gpu, struct gvm_range *range, u32 index);

/* copy_engine.c. Start and stop the engines; the copy calls of gvm_mmu_ops. */
int fakegpu_engines_start(struct fakegpu *gpu);
void fakegpu_engines_stop(struct fakegpu *gpu);
int fakegpu_copy_in(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
int fakegpu_copy_out(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
int fakegpu_clear(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence);
int fakegpu_fence_wait(void *gpu, const struct gvm_fence *fence);
bool fakegpu_fence_passed(void *gpu, const struct gvm_fence *fence);

/* A fence over all operations started on a chunk. CONTEXT: atomic. */
struct gvm_fence fakegpu_chunk_fence(struct fakegpu *gpu, u32 chunk);

/* Wait until all operations that have been started are done; never long. CONTEXT: process. */
void fakegpu_engines_drain(struct fakegpu *gpu);

/*
 * page_table.c. reserve makes the tables of a mapping: 0 or -ENOMEM. release removes them; none
 * of their pages may be mapped any more. CONTEXT: process.
 */
void fakegpu_page_table_init(struct fakegpu_page_table *table, struct fakegpu *gpu);
void fakegpu_page_table_destroy(struct fakegpu_page_table *table);
int fakegpu_page_table_reserve(struct fakegpu_page_table *table, u64 va,
			       struct fakegpu_pte *ptes, u32 count);
void fakegpu_page_table_release(struct fakegpu_page_table *table, u64 va, u32 count);
void fakegpu_map(void *gpu, void *space, u64 va, u32 chunk, u32 offset_pages, u32 page_mask,
		 enum gvm_access access);
void fakegpu_unmap(void *gpu, void *space, u64 va, u32 page_mask);

int fakegpu_map_remote(void *gpu, struct gvm_range *range, u32 index, u32 page_mask,
		       u32 empty_mask);

/*
 * Accesses: lock the page table, find the byte at @va (NULL: the access faults), use it, and
 * unlock. CONTEXT: atomic.
 */
void fakegpu_access_lock(struct fakegpu_page_table *table);
void *fakegpu_access_find(struct fakegpu_page_table *table, u64 va, bool write);
void fakegpu_access_unlock(struct fakegpu_page_table *table);

/* fault_buffer.c. post returns the number of replays so far. CONTEXT: atomic. */
void fakegpu_faults_init(struct fakegpu_fault_buffer *buffer);
u64 fakegpu_fault_post(struct fakegpu *gpu, const struct gvm_fault *fault);
u64 fakegpu_replays(struct fakegpu *gpu);
u32 fakegpu_fetch_faults(void *gpu, struct gvm_fault *faults, u32 max);
int fakegpu_wait_for_faults(void *gpu);
int fakegpu_flush_and_replay(void *gpu, const struct gvm_fence *fence);

/*
 * scheduling.c: the core's scheduler, chosen by the module's parameters. start: 0, -EINVAL
 * (there is no such scheduler or tracking, or the interval is 0) or -ENOMEM. CONTEXT: process.
 */
int fakegpu_scheduling_start(struct fakegpu *gpu);
void fakegpu_scheduling_stop(struct fakegpu *gpu);

/* sm.c. start: 0 or -ENOMEM. CONTEXT: process. */
int fakegpu_sms_start(struct fakegpu *gpu, u32 count);
void fakegpu_sms_stop(struct fakegpu *gpu);

/*
 * tsg.c: the runlist. create gives a TSG its id. destroy needs a TSG without jobs. run runs a
 * job and waits for its end; a signal takes the job off the GPU. It returns the job's status:
 * see gvm_fakegpu_launch. CONTEXT: process.
 */
int fakegpu_tsg_create(struct fakegpu_context *context, struct fakegpu_tsg *tsg);
void fakegpu_tsg_destroy(struct fakegpu_tsg *tsg);
int fakegpu_job_run(struct fakegpu_tsg *tsg, struct fakegpu_job *job);

/*
 * For SMs. take: the next TSG of the runlist, or NULL. leave: give the TSG back. CONTEXT:
 * atomic.
 */
struct fakegpu_tsg *fakegpu_tsg_take(struct fakegpu_sm *sm);
void fakegpu_tsg_leave(struct fakegpu_sm *sm, struct fakegpu_tsg *tsg);

/*
 * The next work of the TSG on an SM: its first job; or NULL: it leaves. Ends jobs that have
 * been given up. With @stalled warps the TSG is not switched out, unless its job has been given
 * up. *ret_due: the TSG is due to leave, and no warp makes a new access. CONTEXT: atomic.
 */
struct fakegpu_job *fakegpu_tsg_job(struct fakegpu_sm *sm, struct fakegpu_tsg *tsg,
				    bool stalled, bool *ret_due);

/* End a job whose work is done. CONTEXT: atomic. */
void fakegpu_job_done(struct fakegpu_tsg *tsg, struct fakegpu_job *job);

/*
 * Has the SM's TSG or job been given up, so that stalled warps need not wait? CONTEXT: atomic.
 */
bool fakegpu_tsg_given_up(struct fakegpu_tsg *tsg);

/* RPCs of gvm_gpu_ops. kill: a TSG dies of @error. CONTEXT: process; sample, kill: atomic. */
int fakegpu_tsg_set_timeslice(void *gpu, u32 id, u64 timeslice_us);
int fakegpu_tsgs_disable(void *gpu, const u32 *ids, u32 count, bool preempt);
int fakegpu_tsgs_enable(void *gpu, const u32 *ids, u32 count);
int fakegpu_tsg_preempt(void *gpu, u32 id);
u64 fakegpu_tsg_accesses(void *gpu, u32 id);
void fakegpu_tsg_sample(void *gpu, u32 id, struct gvm_tsg_sample *ret_sample);
void fakegpu_tsg_kill(struct fakegpu *gpu, u32 id, int error);

/* Is a TSG dead or gone? CONTEXT: atomic. */
bool fakegpu_tsg_is_dead(struct fakegpu *gpu, u32 id);

/*
 * driver.c: the other tasks of a GPU's driver. quiesce, resume: see gvm/quiesce.h. lose: the
 * GPU is gone for good. take: evict a range of chunks for RM; 0 or -EINVAL. share: the
 * container of @tgid uses the first TSG of a context, too; 0, -EBUSY, or an error of
 * gvm_process_find(). CONTEXT: process.
 */
int fakegpu_quiesce(struct fakegpu *gpu, u64 timeout_us);
int fakegpu_resume(struct fakegpu *gpu);
int fakegpu_lose(struct fakegpu *gpu);
int fakegpu_take(struct fakegpu *gpu, struct gvm_fakegpu_take *take);
int fakegpu_share(struct fakegpu_context *context, u32 tgid);

/* context.c: the calls of a process. CONTEXT: process. */
struct fakegpu_context *fakegpu_context_open(struct fakegpu *gpu);
void fakegpu_context_close(struct fakegpu_context *context);
int fakegpu_context_create(struct fakegpu_context *context,
			   const struct gvm_fakegpu_create *create);
int fakegpu_context_map(struct fakegpu_context *context, struct gvm_fakegpu_map *map);
int fakegpu_context_unmap(struct fakegpu_context *context, u64 va);
int fakegpu_context_discard(struct fakegpu_context *context,
			    const struct gvm_fakegpu_span *span);

/* context.c: gvm_memory_ops.service and gvm_gpu_ops.space_priority. */
void fakegpu_service(void *memory, void *space, struct gvm_fault *faults, u32 count,
		     struct gvm_fence *fence);
u8 fakegpu_space_priority(void *gpu, const void *space);

#endif
