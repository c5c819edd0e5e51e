/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU for threads that really run side by side: page tables, a fault buffer and contents that
 * any number of them may use at once. Copies take a while now and then, and some of them fail, as
 * do some RPCs. For user space over POSIX threads and for a kernel: it knows the port and nothing
 * else, and breaks a GVM_ASSERT() where the core breaks a promise.
 *
 * Contents are a tag for each page, as on the toy GPU: what was stored must come back.
 */
#ifndef TESTS_RACE_GPU_H
#define TESTS_RACE_GPU_H

#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/fault.h"
#include "gvm/tsg.h"
#include "race_side.h"

#define RACE_CHUNKS 48u
#define RACE_SPACES 4u
#define RACE_BLOCKS 24u /* of a range; all ranges together are twice the device */
#define RACE_PAGES  (RACE_BLOCKS * GVM_PAGES_PER_BLOCK)
#define RACE_TSGS   8u
#define RACE_VA	    0x700000000000ull
#define RACE_QUEUE  32u

/* An address space with one range. Its cookie is the address of this. */
struct race_space {
	struct gvm_range range;
	struct gvm_spinlock lock; /* guards what follows */
	bool open;		  /* the range is there */
	u64 cancelled;		  /* faults, ever */
	struct race_pte {
		u32 chunk;
		u32 pages;    /* mapped ones */
		u32 writable; /* of these, those that may be written */
	} ptes[RACE_BLOCKS];
	/* Guarded by the range's lock. */
	u32 host[RACE_BLOCKS][GVM_PAGES_PER_BLOCK];
};

struct race_gpu {
	struct gvm_device device;
	struct gvm_memory memory;
	struct gvm_memory_ops memory_ops;
	struct gvm_fault_handler handler;
	struct race_space spaces[RACE_SPACES];
	struct gvm_waitqueue faulted;  /* for the queue to have something */
	struct gvm_waitqueue replayed; /* for replays to go up */
	struct gvm_waitqueue nowhere;  /* for nothing: to sleep in */

	struct gvm_spinlock lock; /* guards what follows */
	struct race_dice dice;
	u32 free[RACE_CHUNKS]; /* ring, longest free first */
	u32 free_first;
	u32 free_count;
	struct gvm_fault
		queue[RACE_QUEUE]; /* the fault buffer: one that is full loses records */
	u32 queued;
	u64 replays;
	u64 out_sequence;
	u64 copies_out, copies_in, services, hints;

	/* Guarded by whoever has the chunk: first by mappings of it, then by its range's lock. */
	u32 contents[RACE_CHUNKS][GVM_PAGES_PER_BLOCK];

	/* Guarded by the device's tsg_mutex. */
	u64 rpcs;
	bool tsg_disabled[RACE_TSGS];
};

extern struct race_gpu race_gpu;

/*
 * Make it, with its fault handler and a set of enum gvm_feature; destroy asserts that everything came
 * back.
 */
int race_gpu_init(u64 seed, u32 features);
void race_gpu_destroy(void);

/* A context makes the TSG with that id: it runs. */
void race_new_tsg(u32 id);

/* Sleep for @ns, or until the worker is stopped. */
void race_sleep(u64 ns);

/* Map a range of RACE_BLOCKS blocks in a space that has none, or take it away under everybody. */
int race_map_range(struct race_space *space, struct gvm_container *container, bool on_host);
void race_unmap_range(struct race_space *space);

/*
 * An access by the GPU: faults until the page is there, then stores *tag or loads it. Returns
 * false if the access was given up: its fault was cancelled, the worker is being stopped, or the GPU
 * is lost.
 */
bool race_access(struct race_space *space, u32 page, bool write, u32 *tag);

/* A fault that nobody waits for, as of a prefetch. */
void race_fault(struct race_space *space, u32 page, enum gvm_access access);

#endif
