/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU for threads that really run side by side: any number of threads may use its page
 * tables, fault buffer and contents at once. Now and then a copy takes some time. Some copies
 * and some RPCs fail. It runs in user space over POSIX threads and in a kernel: it knows the
 * port and nothing else. Where the core breaks a promise, a GVM_ASSERT() fails.
 *
 * Contents are one tag for each page, as on the toy GPU: a load must return the tag that was
 * stored.
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
#define RACE_BLOCKS 24u /* per space; with chunks of their own they take twice the device */
#define RACE_BIG    12u /* of these, in one range; each of the others is a small range */
#define RACE_SMALL  8u	/* pages of a small range */
#define RACE_RANGES (1 + RACE_BLOCKS - RACE_BIG)
#define RACE_PAGES  (RACE_BLOCKS * GVM_PAGES_PER_BLOCK) /* a small range has only its first */
#define RACE_TSGS   8u
#define RACE_VA	    0x700000000000ull
#define RACE_QUEUE  32u

/* An address space. Its cookie is the address of this. */
struct race_space {
	struct gvm_range ranges[RACE_RANGES]; /* the first one is big */
	struct gvm_spinlock lock;	      /* guards the fields up to @ptes */
	bool open;			      /* the ranges are mapped */
	u64 cancelled;			      /* cancelled faults, ever */
	u64 accesses;			      /* finished accesses of its one TSG, ever */
	bool together; /* in an instruction over many blocks: none of its copies fails */
	struct race_pte {
		u32 chunk;
		u32 offset_pages;
		u32 pages;    /* mapped pages of the chunk */
		u32 writable; /* of these, pages that permit writes */
		u32 remote;   /* pages mapped from host memory */
	} ptes[RACE_BLOCKS];
	/*
	 * Remote pages: guarded by @lock, since the GPU uses them. Others: guarded by the lock
	 * of the block's range.
	 */
	u32 host[RACE_BLOCKS][GVM_PAGES_PER_BLOCK];
};

struct race_gpu {
	struct gvm_device device;
	struct gvm_memory memory;
	struct gvm_memory_ops memory_ops;
	struct gvm_fault_handler handler;
	struct race_space spaces[RACE_SPACES];
	struct gvm_waitqueue faulted;  /* waits for a fault in the queue */
	struct gvm_waitqueue replayed; /* waits for a replay */
	struct gvm_waitqueue nowhere;  /* never woken: for race_sleep() */

	struct gvm_spinlock lock; /* guards the fields up to @part_chunk */
	struct race_dice dice;
	u32 free[RACE_CHUNKS]; /* ring; the chunk freed first comes first */
	u32 free_first;
	u32 free_count;
	struct gvm_fault queue[RACE_QUEUE]; /* fault buffer: when full, it drops records */
	u32 queued;
	u64 replays;
	u64 out_sequence;
	u64 copies_out, copies_in, services, hints, partial_evictions, remotes;
	u32 part_chunk; /* the last one in which a part was copied or cleared */

	/*
	 * No lock of its own: an access holds the lock of its space, a copy that of its range.
	 */
	u32 contents[RACE_CHUNKS][GVM_PAGES_PER_BLOCK];

	/* Guarded by the device's tsg_mutex. */
	u64 rpcs;
	bool tsg_disabled[RACE_TSGS];
};

extern struct race_gpu race_gpu;

/*
 * Make the GPU and its fault handler, with a set of enum gvm_feature. race_gpu_destroy()
 * asserts that all chunks are free and the books balance.
 */
int race_gpu_init(u64 seed, u32 features);
void race_gpu_destroy(void);

/* A context makes the TSG with that id. The TSG starts enabled. */
void race_new_tsg(u32 id);

/* Sleep for @ns, or until the worker is stopped. */
void race_sleep(u64 ns);

/* The chunk that a part is in service in, or was. */
u32 race_part_chunk(void);

/* A random number of the GPU itself. */
u32 race_gpu_roll(u32 below);

/* The PTEs of the block at @va. The lock of the space is held. */
struct race_pte *race_pte(struct race_space *space, u64 va);

#endif
