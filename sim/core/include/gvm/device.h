/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One GPU as the core sees it: its chunks, the containers that share it, two clock orders.
 *
 * LOCKING. Two locks, in this order:
 *   tsg_mutex   sleeping. TSG list and compute settings, and the RPCs that apply them.
 *   lock        leaf spinlock. Everything else. Held for bounded work only. Only a wait
 *               queue's own lock is taken under it, for a wake-up. Only atomic calls of the
 *               device are made under it.
 */
#ifndef GVM_DEVICE_H
#define GVM_DEVICE_H

#include "gvm/memory.h"

struct gvm_container;
struct gvm_lirs;
struct gvm_evictor;
struct gvm_predictor;
struct gvm_prefetcher;
struct gvm_scheduler;

/* The two orders in which a chunk stands (GVM 4.3, Figure 10). Each has its own hand. */
enum gvm_order {
	GVM_ORDER_GLOBAL, /* all chunks of the device whose container may lose them */
	GVM_ORDER_OWN,	  /* the chunks of one container */
	GVM_ORDERS,
};

/* The state of a chunk. */
enum gvm_chunk_state {
	GVM_CHUNK_FREE,	     /* charged to no container, on no ring */
	GVM_CHUNK_ALLOCATED, /* a reservation is tied to it; on no ring yet, cannot be picked */
	GVM_CHUNK_BOUND,     /* charged, on the rings of its owner, may be picked */
	GVM_CHUNK_EVICTING,  /* picked as a victim: still charged and on its rings */
};

/*
 * The core's record of a physical chunk, in a flat array indexed by the chunk's number: no
 * allocation and no search on any hot path. Guarded by the device's lock. The reference bits
 * are in gvm_device.referenced, the payers of parts of a chunk in gvm_device.payers.
 */
struct gvm_chunk {
	struct gvm_container *owner; /* it stands on this container's rings; NULL: free */
	u32 next[GVM_ORDERS];
	u32 prev[GVM_ORDERS];
	u32 bytes;	 /* charged for it, to all containers with a part */
	u32 clean_bytes; /* of these, with a copy in host memory; the owner's */
	u8 state;	 /* enum gvm_chunk_state */
	u8 stashed;	 /* in gvm_device.stash */
};

/* The reference bits of a chunk, one per hand: a use sets both. */
#define GVM_REFERENCED(order) (1u << (order))
#define GVM_REFERENCED_ALL    (GVM_REFERENCED(GVM_ORDER_GLOBAL) | GVM_REFERENCED(GVM_ORDER_OWN))

/*
 * A ring of chunks with a hand: the chunk looked at next, GVM_NO_CHUNK when empty. A ring has
 * no count of its chunks, and a chunk has no pointer to its global-order ring: a splice of one
 * ring into another could not update either in constant time.
 */
struct gvm_ring {
	u32 hand;
	/* GVM_HINT_FAULTS, see policy/hint.c. With GVM_LIRS: the end of the zone. */
	u32 front; /* the front hand; valid if lead is not 0 */
	u32 lead;  /* chunks that it is ahead; an upper bound after some have left */
	/* GVM_LIRS, see policy/lirs.c. */
	u32 ask;    /* the chunk after the window; valid if asked is not 0 */
	u32 asked;  /* chunks of the window; an upper bound likewise */
	u32 window; /* most chunks that it may have */
	u32 now;    /* chunks that have come in, ever: the ring's date; wraps */
};

/* How many entries one atomic pick may look at. */
#define GVM_PICK_LOOKS 64u

/* Of these, the looks for the hand of a global pick; the rest is for its last step. */
#define GVM_PICK_SWEEP_LOOKS 48u

/* Cold victims found ahead of need, outside the atomic path. */
#define GVM_STASH_SIZE 16u

/* Ideas beyond the papers: off unless asked for. */
enum gvm_feature {
	GVM_CLEAN_DROP = 1,	  /* evict unwritten pages without a copy: block/clean.c */
	GVM_PRIORITY_BATCHES = 2, /* serve faults in order of priority: service/fault.c */
	GVM_HINT_FAULTS = 4,	  /* see whether a resident chunk is used: policy/hint.c */
	GVM_LIRS = 8,		  /* evict by reuse distance, see policy/lirs.c */
	GVM_OWNER_PREFETCH = 16,  /* swap before the turn, see policy/predictor.c */
};

/*
 * What the core does on a device by itself or for a user. Each activity can be stopped as a
 * whole. They are stopped in this order: see service/quiesce.c.
 */
enum gvm_activity {
	GVM_ACTIVITY_EVICTORS,	/* a round of a background evictor */
	GVM_ACTIVITY_SCHEDULER, /* a round of the compute scheduler */
	GVM_ACTIVITY_WRITERS,	/* a write to a control file, or a new TSG: reclaim and RPCs */
	GVM_ACTIVITY_FAULTS,	/* fetching and servicing a batch of faults */
	GVM_ACTIVITIES,
};

/* Where a device stands between gvm_device_quiesce() and gvm_device_resume(). */
enum gvm_quiesce {
	GVM_RUNS,
	GVM_IS_QUIESCING, /* its activities are being stopped */
	GVM_IS_QUIESCED,
	GVM_IS_RESUMING, /* the settings of its TSGs are being applied */
};

/* A device, as its driver describes it. */
struct gvm_device_config {
	const char *name;			 /* borrowed for the device's life */
	u32 chunk_count;			 /* at least 1 */
	const struct gvm_gpu_ops *ops;		 /* borrowed for the device's life */
	void *gpu;				 /* passed to every call of ops */
	const struct gvm_memory_ops *memory_ops; /* its memory manager; borrowed likewise */
	void *memory; /* passed to every call of memory_ops; or set in the device later */
	u64 default_timeslice_us; /* timeslice of a new TSG */
	u32 features;		  /* set of enum gvm_feature */
	bool sub_chunks; /* containers may get parts of a chunk: each page has a payer */
	/*
	 * With sub_chunks: all charges are gvm_charge_reserve_bytes(), so gmem.limit.high holds for
	 * bytes, however many chunks they lie in.
	 */
	bool byte_limits;
};

/* One GPU. */
struct gvm_device {
	const char *name;
	const struct gvm_gpu_ops *ops;
	void *gpu;
	const struct gvm_memory_ops *memory_ops;
	void *memory;
	u64 default_timeslice_us;
	u32 features;	  /* set of enum gvm_feature; never changes */
	bool byte_limits; /* as in the configuration */
	u32 chunk_count;

	struct gvm_mutex tsg_mutex;
	struct list_head compute; /* gvm_container.compute_node: those with TSGs; tsg_mutex */
	u64 apply_passes; /* settings applied to the TSGs of a container, ever; tsg_mutex */

	struct gvm_spinlock lock;
	struct gvm_chunk *chunks; /* chunk_count of them */
	/*
	 * With sub_chunks: the payer of each page, GVM_PAGES_PER_BLOCK for each chunk; an entry
	 * is NULL if the page is not charged. Without sub_chunks: NULL, a chunk is charged as a
	 * whole to its owner.
	 */
	struct gvm_container **payers;
	/*
	 * With sub_chunks: how many pieces of each page are charged: none if it has no payer, all
	 * GVM_PIECES_PER_PAGE if it was charged as a whole.
	 */
	u8 *pieces;
	/*
	 * GVM_REFERENCED bits, a byte for each chunk, in the memory behind the chunks. A use
	 * writes nothing else, and 64 chunks share a cache line. gvm_clock_touch() writes
	 * without the lock. A use that loses the race with a hand is forgotten, which costs one
	 * second chance.
	 */
	u8 *referenced;
	struct gvm_lirs *lirs;		 /* with GVM_LIRS, else NULL */
	struct gvm_predictor *predictor; /* with GVM_OWNER_PREFETCH, else NULL */
	struct gvm_ring global;
	struct list_head containers; /* gvm_container.node */
	/* gvm_container.owner_node: those with bound chunks, without or with shielded ones */
	struct list_head owners;
	struct list_head shielded_owners;
	u32 container_count;
	u32 bound_chunks;	   /* on rings, over all containers */
	u32 exposed_chunks;	   /* of these, of containers that are not shielded */
	u32 stuck_chunks;	   /* of these, of containers whose hmem.limit is used up */
	u32 evicting_chunks;	   /* of these, picked */
	u64 unevictable_bytes;	   /* beside these: contexts and page tables */
	u32 stash[GVM_STASH_SIZE]; /* longest cold first; validated when used */
	u32 stash_count;
	struct list_head listening;  /* gvm_container.listening: containers with listeners */
	struct gvm_evictor *evictor; /* of the device as a whole, or NULL */
	struct gvm_scheduler *scheduler;   /* kicks go to it; or NULL */
	struct gvm_prefetcher *prefetcher; /* likewise */

	bool credit_warned; /* a credit larger than its charge has been logged */
	bool lost;	    /* the GPU is gone for good; written once, read without the lock */
	bool dead;	    /* its books are broken; likewise */
	enum gvm_quiesce quiesce;      /* guarded by the lock */
	bool stopped[GVM_ACTIVITIES];  /* written under the lock, read without it as well */
	u32 active[GVM_ACTIVITIES];    /* threads that are inside */
	struct gvm_waitqueue activity; /* for the end of a stop, or the loss of the GPU */
	struct gvm_waitqueue idle;     /* the thread that quiesces: the end of an activity */
};

/*
 * Make a device. All memory that the core will ever need per chunk is allocated here.
 * Returns 0, -EINVAL (no chunks) or -ENOMEM. CONTEXT: process.
 */
int gvm_device_init(struct gvm_device *device, const struct gvm_device_config *config);

/*
 * Mark the books as broken, for gvm_is_broken(). Always true. CONTEXT: atomic, with or without
 * the lock.
 */
static inline bool gvm_device_set_dead(struct gvm_device *device)
{
	WRITE_ONCE(device->dead, true);
	return true;
}

/* Are the books broken? CONTEXT: atomic. */
static inline bool gvm_device_is_dead(const struct gvm_device *device)
{
	return READ_ONCE(device->dead);
}

/*
 * Is the invariant @condition of the device broken? Then the device is dead, and the caller
 * leaves its work undone. A dead device is lost as well (gvm/activity.h). Charges, picks and
 * references leave its books alone from now on: gvm_books_lock() refuses. None of its
 * containers is freed. User space aborts here. CONTEXT: atomic.
 */
#define gvm_is_broken(device, condition) (!GVM_HOLDS(condition) && gvm_device_set_dead(device))

/*
 * Take the leaf lock to use the books. Returns false: the device is dead, and the lock is not
 * held. CONTEXT: atomic.
 */
static inline bool gvm_books_lock(struct gvm_device *device)
{
	gvm_spin_lock(&device->lock);
	if (!device->dead)
		return true;
	gvm_spin_unlock(&device->lock);
	return false;
}

/* Is the feature on? CONTEXT: atomic. */
static inline bool gvm_has_feature(const struct gvm_device *device, enum gvm_feature feature)
{
	return device->features & feature;
}

/* Undo gvm_device_init(). No container may be left. CONTEXT: process. */
void gvm_device_destroy(struct gvm_device *device);

/*
 * Verify every invariant of the core's books: rings, owners, counts, limits, stash. Returns 0,
 * or -EUCLEAN after logging the first broken one. Looks at every chunk under the leaf lock: for
 * tests and debugging. CONTEXT: process.
 */
int gvm_check(struct gvm_device *device);

#endif
