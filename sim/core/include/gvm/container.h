/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU container: the processes of one tenant on one GPU, with their limits and their usage.
 * (GVM 4.2, Ghost 4.1: the gcgroup directory <tgid>/<gpu>/.)
 *
 * A container is reference counted. Each attached process holds one reference until it
 * detaches. Each range of its memory holds another, since a range may outlive the process. The
 * last put frees it.
 */
#ifndef GVM_CONTAINER_H
#define GVM_CONTAINER_H

#include "gvm/device.h"

/* No limit: "max" in a control file. */
#define GVM_NO_LIMIT U64_MAX

/* Events of a container's memory, counted since the container was made (gmem.events). */
enum gvm_event {
	GVM_EVENT_HIGH,	  /* a charge was refused at gmem.limit.high */
	GVM_EVENT_HMEM,	  /* it had to give a chunk, and hmem.limit had no room for one */
	GVM_EVENT_OOM,	  /* a TSG died of a fault for which there was no memory */
	GVM_EVENT_TAKEN,  /* the device's own driver took a chunk by force */
	GVM_EVENT_REMOTE, /* pages were mapped in host memory, for a stuck access or by advice */
	GVM_EVENTS,
};

/* The scheduler's state of a container that has TSGs; guarded by the device's tsg_mutex. */
struct gvm_share {
	bool work;     /* it had work at the last look; a frozen container has none */
	bool held;     /* its TSGs should be off the runlist */
	u64 slice_us;  /* timeslice in place of its own setting; 0: none */
	u64 quiet_ns;  /* priority: until then it counts as busy, even without work */
	u64 ran_ns;    /* weighted: GPU time used and not paid for yet */
	s64 credit_ns; /* weighted: its credit in GPU time; negative: its debt */
};

/* Watchers that a container can have. */
#define GVM_WATCHERS_MAX 4u

/*
 * A file on which threads wait for news of a container or for its end. Any number of threads
 * may wait, so they are woken outside of the device's lock. A waker counts itself in first,
 * under the lock, and the watcher's owner waits until all wakers have left. Guarded by the
 * device's lock.
 */
struct gvm_watcher {
	struct list_head node; /* in gvm_container.listeners */
	struct gvm_waitqueue wait;
	struct gvm_waitqueue left; /* its owner waits here until wakers and readers have left */
	u32 wakers;		   /* threads that are about to wake the waiting threads */
};

/* The watchers of a container that one thread is about to wake. */
struct gvm_wakers {
	struct gvm_watcher *watchers[GVM_WATCHERS_MAX];
	u32 count;
};

/*
 * A thread has recorded news under the device's lock. begin: count the thread in as a waker of
 * all watchers of the container. end: wake them, without the lock. The thread needs no
 * reference in between. CONTEXT: begin: atomic, device's lock held; end: process.
 */
void gvm_watchers_wake_begin_locked(struct gvm_container *container, struct gvm_wakers *wakers);
void gvm_watchers_wake_end(struct gvm_device *device, const struct gvm_wakers *wakers);

/* A run of addresses of one address space. The ranges that are made in it have one payer. */
struct gvm_window {
	void *space; /* the device's cookie of the address space */
	u64 va;	     /* aligned to a block */
	u64 bytes;   /* whole blocks; 0: closed */
};

/*
 * What GVM_OWNER_PREFETCH knows of a container's use of its memory (policy/predictor.c). Guarded by
 * the device's lock.
 */
struct gvm_turn {
	bool known;   /* it has used a block */
	u32 last;     /* the slot of the block that it used last */
	u32 cursor;   /* the slot up to which its next blocks have been looked at */
	u32 ahead;    /* links from last to cursor, at most */
	u32 expected; /* prefetched blocks ahead of it */
	u32 unproved; /* prefetched blocks that it is past, since the last probe */
	/* blocks that its present turn needed and that were away, or there only by prefetch */
	u32 missed;
	u32 budget; /* missed of its last turn, less those prefetched since */
	u32 right;  /* its predictions, the latest ones */
	u32 wrong;
};

/* Guarded by the device's lock unless a field says otherwise. */
struct gvm_container {
	struct gvm_device *device;
	struct list_head node; /* in gvm_device.containers */
	/* in gvm_device.owners or .shielded_owners, while it has bound chunks */
	struct list_head owner_node;
	u32 tgid; /* of the process that it is named after, one of its own; 0: no name */
	u32 refs;
	bool attached; /* can be joined by tgid; cleared when the last process detaches */
	u32 processes; /* attached processes (address spaces) */

	u64 gmem_high_bytes;	  /* gmem.limit.high */
	u64 gmem_low_bytes;	  /* gmem.limit.low */
	u64 hmem_limit_bytes;	  /* hmem.limit */
	u64 charged_bytes;	  /* reserved, bound and unevictable */
	u64 reserved_bytes;	  /* of these, charged ahead of use: no chunk is bound yet */
	u64 unevictable_bytes;	  /* of these, contexts and page tables: never a victim */
	u64 peak_bytes;		  /* highest charged_bytes ever, with those of its children */
	u64 evicting_bytes;	  /* of its picked chunks: all of them may become swap */
	u64 evicting_clean_bytes; /* of these, clean: they have their place on the host */
	u32 bound_chunks;	  /* chunks on its ring; other containers may pay for parts */
	u64 swapped_bytes;	  /* its bytes that are in host memory only */
	u64 clean_bytes;	  /* its bytes on the device with a copy in host memory */
	u64 events[GVM_EVENTS];
	u64 evicted_chunks; /* picked chunks that left, ever */

	struct gvm_ring own; /* its chunks, GVM_ORDER_OWN */
	/* its chunks that are off the global ring, GVM_ORDER_GLOBAL */
	struct gvm_ring shielded;
	bool is_protected; /* under gmem.limit.low with one chunk less */
	/* hmem.limit has no room for one more chunk: only clean ones can go */
	bool is_swap_full;

	/*
	 * Children by address range (policy/child.c). A container without children and parent
	 * has zeros here.
	 */
	struct gvm_container *parent; /* a reference; never changes; NULL: not a child */
	struct list_head children;    /* gvm_container.sibling, in the order of their making */
	struct list_head sibling;
	u32 child_count;	  /* children that exist; read without the lock as well */
	u32 child_number;	  /* of a child: its name among its parent's */
	u64 children_bytes;	  /* charged_bytes of all children */
	u64 low_bytes;		  /* part of gmem.limit.low that holds for its own memory */
	bool is_family_full;	  /* of a parent: hmem.limit has no room for one more chunk */
	struct gvm_window window; /* of a child */

	struct list_head listeners; /* gvm_watcher.node */
	u32 listener_count;
	struct list_head listening; /* in gvm_device.listening, if it has listeners */

	/*
	 * gvm_root.node: its chunks with room for parts (block/part.c). Guarded by
	 * gvm_memory.parts_lock.
	 */
	struct list_head roomy;

	struct gvm_evictor *evictor; /* keeps part of its limit free, or NULL */
	u32 evictor_users;	     /* processes that use it */
	struct gvm_turn turn;

	/*
	 * Compute settings; guarded by the device's tsg_mutex. timeslice_us, weight and
	 * priority are written under both locks and read under either.
	 */
	struct list_head tsgs;	       /* gvm_tsg.node */
	struct list_head compute_node; /* in gvm_device.compute, while it has TSGs */
	u32 shared_tsgs;	       /* TSGs that it shares with other containers */
	u64 timeslice_us;	       /* wished for its TSGs; share.slice_us goes first */
	u32 weight;		       /* compute.weight */
	u8 priority; /* last compute.priority written; see gvm_container_priority() */
	bool frozen; /* its TSGs should be frozen */
	struct gvm_share share;

	/* Launches reported by the user-space shim (gcgroup.stat). */
	u64 kernels_submitted;
	u64 kernels_ended;
	u64 kick_ns; /* a launch before this time does not kick the scheduler */
};

/*
 * The bytes of device memory that the container occupies: its chunks, its reservations
 * and its unevictable memory. Only with sub_chunks more than charged_bytes. Device's lock held.
 * CONTEXT: atomic.
 */
static inline u64 gvm_container_occupied_bytes(const struct gvm_container *container)
{
	return ((u64)container->bound_chunks << GVM_CHUNK_SHIFT) + container->reserved_bytes +
	       container->unevictable_bytes;
}

/*
 * Is the container shielded? The global order has no victims among its chunks, so they leave
 * the global ring (policy/shield.c). Device's lock held. CONTEXT: atomic.
 */
static inline bool gvm_container_is_shielded(const struct gvm_container *container)
{
	return container->is_protected || container->is_swap_full;
}

/*
 * For tables of blocks: a hash of the block at @va of a process of @container. Two steps of a
 * multiplicative hash, so that neighbours in memory are far apart. CONTEXT: atomic, device's
 * lock held, since gvm_container_rename() changes the container's name.
 */
static inline u64 gvm_block_hash(const struct gvm_container *container, u64 va)
{
	u64 hash =
		((va >> GVM_CHUNK_SHIFT) ^ (u64)container->tgid << 40) * 0x9E3779B97F4A7C15ull;

	return (hash ^ hash >> 32) * 0xBF58476D1CE4E5B9ull;
}

/*
 * Slots of such a table: a power of two, at least four for each chunk of the device. CONTEXT:
 * atomic.
 */
static inline u64 gvm_block_table_slots(const struct gvm_device *device)
{
	u64 slots = 8;

	while (slots < 4ull * device->chunk_count)
		slots *= 2;
	return slots;
}

/*
 * Find the container of @tgid on @device, or make it, and count one more process in it.
 * Returns 0 and a reference in *ret_container, -ENOMEM, or -EIO: the device is dead.
 * CONTEXT: process.
 */
int gvm_container_attach(struct gvm_device *device, u32 tgid,
			 struct gvm_container **ret_container);

/*
 * create: make a container named @tgid (0: without a name) and count one process in it. No
 * attached container may have that name. Returns 0 and a reference in *ret_container, -ENOMEM,
 * or -EIO: the device is dead. join: count one more process in a container that has one
 * already, and take a reference. CONTEXT: create: process; join: atomic.
 */
int gvm_container_create(struct gvm_device *device, u32 tgid,
			 struct gvm_container **ret_container);
void gvm_container_join(struct gvm_container *container);

/*
 * Memory for a container with the settings of a new one, which is in no list yet; gvm_free()
 * frees it. Returns NULL: none. For policy/child.c. CONTEXT: process.
 */
struct gvm_container *gvm_container_alloc(struct gvm_device *device, u32 tgid);

/*
 * Name the container after another of its processes, @tgid (0: no name), since the process that
 * it was named after has gone. A later process with the old tgid gets a container of its own.
 * No attached container may have the name @tgid, unless it is 0. CONTEXT: atomic.
 */
void gvm_container_rename(struct gvm_container *container, u32 tgid);

/*
 * A process of the container has gone; its chunks must have been uncharged. Drops the
 * reference of gvm_container_attach(), create or join. CONTEXT: process.
 */
void gvm_container_detach(struct gvm_container *container);

/* Take or drop a reference. CONTEXT: get: atomic; put: process (the last one frees). */
void gvm_container_get(struct gvm_container *container);
void gvm_container_put(struct gvm_container *container);

/*
 * Count @submitted launches and @ended completions (the shim's ioctl). The caller calls
 * gvm_scheduler_kick_launch() after a launch. CONTEXT: atomic.
 */
void gvm_container_count_kernels(struct gvm_container *container, u64 submitted, u64 ended);

/*
 * The container's compute.priority, read without its lock. It may be the old value while a
 * write is under way. CONTEXT: atomic.
 */
static inline u8 gvm_container_priority(const struct gvm_container *container)
{
	return READ_ONCE(container->priority);
}

/*
 * Launches that one open file of the user-space shim reports. When the file is closed, also
 * because the shim was killed, none of its launches stays pending. Owner's memory; guarded by
 * the device's lock.
 */
struct gvm_launches {
	struct gvm_container *container; /* a reference; NULL: not open */
	u64 submitted;
	u64 ended;
};

/*
 * open: begin to report for @container. count: as gvm_container_count_kernels(). close: launches
 * that were submitted and did not end count as ended; does nothing to a handle that is not open.
 * CONTEXT: open, close: process; count: atomic.
 */
void gvm_launches_open(struct gvm_launches *launches, struct gvm_container *container);
void gvm_launches_count(struct gvm_launches *launches, u64 submitted, u64 ended);
void gvm_launches_close(struct gvm_launches *launches);

/* Count an event. CONTEXT: atomic. */
void gvm_container_count_event(struct gvm_container *container, enum gvm_event event);

/*
 * A TSG of the container has died of a fault with this status (gvm_gpu_ops.cancel_fault).
 * Counted as GVM_EVENT_OOM, unless the address was wrong (-EFAULT). CONTEXT: atomic.
 */
static inline void gvm_container_count_death(struct gvm_container *container, int status)
{
	if (status != -EFAULT)
		gvm_container_count_event(container, GVM_EVENT_OOM);
}

#endif
