/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Prefetch before the turn (GVM_OWNER_PREFETCH): which blocks a container will touch next, and
 * the thread that brings them in. policy/predictor.c explains the idea.
 */
#ifndef GVM_PREDICTOR_H
#define GVM_PREDICTOR_H

#include "gvm/container.h"

/* Blocks that one call of gvm_memory_ops.prefetch brings in. */
#define GVM_PREFETCH_BATCH 8u

/* Most blocks that may be expected at once: the links that a prediction follows. */
#define GVM_PREFETCH_MOST 256u

/* No slot of gvm_predictor.slots. */
#define GVM_NO_SLOT 0xffffffffu

/* Which of the predicted blocks is missing: where it is. */
struct gvm_prefetch {
	void *space; /* the device's cookie of its address space */
	u64 va;
	bool probe; /* leave it unmapped, so that its first use faults */
	/* Set by the memory manager. */
	bool done; /* it has come in */
	bool late; /* it was not yet here when a fault asked for it */
};

/* A block that a container has used. Guarded by the device's lock, as all of this file. */
struct gvm_predictor_slot {
	const struct gvm_container *container; /* only compared; NULL: free */
	void *space;
	u64 va;
	u32 next;      /* the slot of the block that the container used after it */
	bool away;     /* it was evicted */
	bool probe;    /* it is not mapped, so its first use faults */
	bool expected; /* it was prefetched; whether it is used is not known yet */
};

/* What the prefetch of a device knows. */
struct gvm_predictor {
	struct gvm_predictor_slot *slots;
	u32 mask;	/* buckets less one */
	u64 prefetched; /* blocks, ever */
	u64 used;	/* of these, known to have been used */
	u64 late;	/* of these, a fault came while they were under way */
	u64 wasted;	/* of these, evicted before that was known */
};

/* Make and free what a device needs; without the feature they do nothing. CONTEXT: process. */
int gvm_predictor_init(struct gvm_device *device);
void gvm_predictor_destroy(struct gvm_device *device);

/*
 * A fault of the container asked for a block that has data. Does nothing without the feature.
 * CONTEXT: atomic.
 */
void gvm_predictor_used(struct gvm_container *container, void *space, u64 va);

/* The container's turn is over. CONTEXT: atomic. */
void gvm_predictor_end_turn(struct gvm_container *container);

/* The block has left the device. Likewise. CONTEXT: atomic. */
void gvm_predictor_evicted(struct gvm_container *container, void *space, u64 va);

/*
 * Up to @max blocks, at most GVM_PREFETCH_BATCH, that the container will use next and that are
 * not on the device. @window: most blocks that may be expected of it at once. Returns how many
 * are in @blocks. 0: they are all there, or the predictions are too often wrong. CONTEXT:
 * atomic.
 */
u32 gvm_predictor_next(struct gvm_container *container, u32 window, struct gvm_prefetch *blocks,
		       u32 max);

/* The blocks that are done have come in for the container. CONTEXT: atomic. */
void gvm_predictor_expect(struct gvm_container *container, const struct gvm_prefetch *blocks,
			  u32 count);

/* The thread that prefetches on one device. */
struct gvm_prefetcher {
	struct gvm_device *device;
	struct gvm_worker worker;
	struct gvm_waitqueue wait;
	bool kicked;  /* guarded by the device's lock */
	u64 block_ns; /* time that a block takes: the mean of the last ones; 0: unknown */
	bool busy;    /* a container had work at the last look; only the worker uses these */
	u64 slice_ns; /* at the last look: of the owner */
	u32 since_probe;
	const struct gvm_container *owner; /* at the last look; only compared */
	u64 turn_ns;   /* since when, or since when its present slice runs */
	u64 rounds;    /* that brought blocks in; only the worker writes it */
	u64 too_short; /* rounds for which the turn was too short; likewise */
};

/*
 * Start and stop the thread of a device. start: 0, -EBUSY (the device has one already),
 * -EOPNOTSUPP (not with this feature off, or with this memory manager) or -ENOMEM. stop: does
 * nothing if @prefetcher was not started. CONTEXT: process.
 */
int gvm_prefetcher_start(struct gvm_prefetcher *prefetcher, struct gvm_device *device);
void gvm_prefetcher_stop(struct gvm_prefetcher *prefetcher);

/* A batch of faults was served: wake the thread. CONTEXT: atomic. */
void gvm_prefetcher_kick(struct gvm_device *device);

/*
 * One round: look whose turn it is and whose comes next, and bring in what the next one needs.
 * Returns the blocks that were brought in. CONTEXT: process.
 */
u32 gvm_prefetcher_round(struct gvm_prefetcher *prefetcher);

#endif
