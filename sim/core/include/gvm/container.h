/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU container: the processes of one tenant on one GPU, what they may use and what they use.
 * (GVM 4.2, Ghost 4.1: the gcgroup directory <tgid>/<gpu>/.)
 *
 * A container is reference counted. Each attached process holds one reference until it detaches, each
 * range of its memory another, since it may outlive the process. The last put frees it.
 */
#ifndef GVM_CONTAINER_H
#define GVM_CONTAINER_H

#include "gvm/device.h"

/* No limit: what "max" in a control file means. */
#define GVM_NO_LIMIT U64_MAX

/* Things that happened to a container's memory, counted since it was made (gmem.events). */
enum gvm_event {
	GVM_EVENT_HIGH,	 /* a charge was refused at gmem.limit.high */
	GVM_EVENT_HMEM,	 /* it had to give memory, and hmem.limit let nothing of it go */
	GVM_EVENT_OOM,	 /* a TSG died of a fault that no memory could be had for */
	GVM_EVENT_TAKEN, /* a chunk was taken by force, for the device's own driver */
	GVM_EVENTS,
};

/* What the scheduler keeps of a container while it has TSGs; guarded by the device's tsg_mutex. */
struct gvm_share {
	bool work;     /* seen at the last look; a frozen container's does not count */
	bool held;     /* its TSGs should be off the runlist */
	u64 slice_us;  /* timeslice in place of its own setting; 0: none */
	u64 quiet_ns;  /* priority: until then it is waited for, though it may have no work */
	u64 ran_ns;    /* weighted: GPU time used that has not been paid for */
	s64 credit_ns; /* weighted: GPU time that it is owed; negative: that it owes */
};

/* Watchers that a container can have. */
#define GVM_WATCHERS_MAX 4u

/*
 * A file that tells news of a container, and of its end, to those who wait on it. However many these
 * are, they are woken outside of the device's lock: a waker counts itself in first, and the owner
 * waits for it before the watcher goes. Guarded by the device's lock.
 */
struct gvm_watcher {
	struct list_head node; /* in gvm_container.listeners */
	struct gvm_waitqueue wait;
	struct gvm_waitqueue left; /* its owner, until wakers (and its readers) have left */
	u32 wakers;		   /* threads that are about to wake those who wait */
};

/* The watchers of a container that one thread is about to wake. */
struct gvm_wakers {
	struct gvm_watcher *watchers[GVM_WATCHERS_MAX];
	u32 count;
};

/*
 * For who has recorded news under the device's lock: count in as a waker of all watchers of the
 * container; and, without the lock, wake them. No reference is needed in between.
 * CONTEXT: begin: atomic, device's lock held; end: process.
 */
void gvm_watchers_wake_begin_locked(struct gvm_container *container, struct gvm_wakers *wakers);
void gvm_watchers_wake_end(struct gvm_device *device, const struct gvm_wakers *wakers);

/* Guarded by the device's lock unless a field says otherwise. */
struct gvm_container {
	struct gvm_device *device;
	struct list_head node;	     /* in gvm_device.containers */
	struct list_head owner_node; /* in gvm_device.owners, while it has bound chunks */
	u32 tgid; /* of the process that it is named after, one of its own; 0: of none */
	u32 refs;
	bool attached; /* findable by tgid; cleared when the last process detaches */
	u32 processes; /* attached processes (address spaces) */

	u64 gmem_high_bytes;   /* gmem.limit.high */
	u64 gmem_low_bytes;    /* gmem.limit.low */
	u64 hmem_bytes;	       /* hmem.limit */
	u64 charged_bytes;     /* reserved, bound and unevictable */
	u64 reserved_bytes;    /* of these, charged ahead of use: no chunk is bound yet */
	u64 unevictable_bytes; /* of these, contexts and page tables: never a victim */
	u64 peak_bytes;	       /* highest charged_bytes ever */
	u64 evicting_bytes;    /* of its picked chunks: all of it may become swap */
	u32 bound_chunks;      /* chunks on its ring, also those that others pay parts of */
	u64 swapped_bytes;     /* this container's bytes that live in host memory only */
	u64 clean_bytes;       /* its bytes on the device that host memory has, too */
	u64 events[GVM_EVENTS];
	u64 evicted_chunks; /* chunks that went after they were picked, ever */

	struct gvm_ring own; /* its chunks, GVM_ORDER_OWN */
	struct gvm_ring
		shielded;  /* its chunks that are off the global ring, GVM_ORDER_GLOBAL */
	bool is_protected; /* at or under gmem.limit.low */
	bool is_swap_full; /* hmem.limit has no room for one more chunk: nothing of it can go */

	struct list_head listeners; /* gvm_watcher.node */
	u32 listener_count;
	struct list_head listening; /* in gvm_device.listening, if it has listeners */

	struct gvm_evictor *evictor; /* keeps part of its limit free, or NULL */
	u32 evictor_users;	     /* processes that use it */

	/*
	 * Compute settings; guarded by the device's tsg_mutex. timeslice_us, weight and priority are
	 * written under both locks and read under either.
	 */
	struct list_head tsgs;	       /* gvm_tsg.node */
	struct list_head compute_node; /* in gvm_device.compute, while it has TSGs */
	u32 shared_tsgs;	       /* that it uses and another container as well */
	u64 timeslice_us; /* what its TSGs should have, unless the scheduler knows better */
	u32 weight;	  /* compute.weight */
	u8 priority;	  /* last compute.priority written; see gvm_container_priority() */
	bool frozen;	  /* what its TSGs should be */
	struct gvm_share share;

	/* Launches reported by the user-space shim (gcgroup.stat). */
	u64 kernels_submitted;
	u64 kernels_ended;
	u64 kick_ns; /* from then on a launch kicks the scheduler again */
};

/*
 * Are its chunks no victims of the global order, so that they leave its ring (see clock.c)? Device's
 * lock held. CONTEXT: atomic.
 */
static inline bool gvm_container_is_shielded(const struct gvm_container *container)
{
	return container->is_protected || container->is_swap_full;
}

/*
 * Find the container of @tgid on @device, or make it, and count one more process in it.
 * Returns 0 and a reference in *ret_container, -ENOMEM, or -EIO: the device is dead.
 * CONTEXT: process.
 */
int gvm_container_attach(struct gvm_device *device, u32 tgid,
			 struct gvm_container **ret_container);

/*
 * Make a container named @tgid, or without a name: 0, and count one process in it; no attached
 * container has that name. join counts one more, and takes a reference; the container has a process
 * already. Returns 0 and a reference in *ret_container, -ENOMEM, or -EIO: the device is dead.
 * CONTEXT: create: process; join: atomic.
 */
int gvm_container_create(struct gvm_device *device, u32 tgid,
			 struct gvm_container **ret_container);
void gvm_container_join(struct gvm_container *container);

/*
 * The process that the container was named after has gone while others stay: from here on @tgid, one
 * of these, names it; 0: none does. A process that gets the old tgid later gets a container of its own. No
 * container of @tgid may be attached, unless it is 0. CONTEXT: atomic.
 */
void gvm_container_rename(struct gvm_container *container, u32 tgid);

/*
 * A process of the container has gone; its chunks must have been uncharged. Drops the
 * reference that gvm_container_attach() gave. CONTEXT: process.
 */
void gvm_container_detach(struct gvm_container *container);

/* Find the attached container of @tgid. Returns a reference, or NULL. CONTEXT: atomic. */
struct gvm_container *gvm_container_find(struct gvm_device *device, u32 tgid);

/* Take or drop a reference. CONTEXT: get: atomic; put: process (the last one frees). */
void gvm_container_get(struct gvm_container *container);
void gvm_container_put(struct gvm_container *container);

/*
 * Count @submitted launches and @ended completions (the shim's ioctl). Who reports a launch has the
 * scheduler look, if need be: gvm_scheduler_kick_launch(). CONTEXT: atomic.
 */
void gvm_container_count_kernels(struct gvm_container *container, u64 submitted, u64 ended);

/*
 * The container's compute.priority, without the lock that guards it: maybe the one before a write
 * that is under way. CONTEXT: atomic.
 */
static inline u8 gvm_container_priority(const struct gvm_container *container)
{
	return READ_ONCE(container->priority);
}

/*
 * Launches as one reporter counts them: an open file of the user-space shim. When it closes, also
 * because the shim was killed, none of its launches stays pending. Owner's memory; guarded by the
 * device's lock.
 */
struct gvm_launches {
	struct gvm_container *container; /* a reference; NULL: not open */
	u64 submitted;
	u64 ended;
};

/*
 * Report for @container, count as gvm_container_count_kernels() does, and end. Close: launches that were
 * submitted and did not end count as ended. Nothing for a handle that is not open.
 * CONTEXT: open, close: process; count: atomic.
 */
void gvm_launches_open(struct gvm_launches *launches, struct gvm_container *container);
void gvm_launches_count(struct gvm_launches *launches, u64 submitted, u64 ended);
void gvm_launches_close(struct gvm_launches *launches);

/* Count an event. CONTEXT: atomic. */
void gvm_container_count_event(struct gvm_container *container, enum gvm_event event);

/*
 * A TSG of the container has died of a fault with this status (gvm_gpu_ops.cancel_fault). Counted as
 * GVM_EVENT_OOM, unless the address was wrong (-EFAULT). CONTEXT: atomic.
 */
static inline void gvm_container_count_death(struct gvm_container *container, int status)
{
	if (status != -EFAULT)
		gvm_container_count_event(container, GVM_EVENT_OOM);
}

#endif
