/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A second, naive statement of what charges, limits and the dual CLOCK should do, and of what a
 * suspended or lost device answers. It searches and shifts plain arrays and recomputes every
 * number on demand, so that a reader can see that it is right. It shares no code, constant or
 * data structure with sim/core. Its files: reference_model.c has containers, limits, charges
 * and the device's life, reference_hands.c victims, reference_remote.c remote mappings.
 *
 * A queue stands for a ring with a hand. The chunk under the hand is the first entry. A hand
 * that moves on sends it to the end. "Just behind the hand" is the end.
 *
 * There is one model per process, as there is one world. Each operation takes its arguments
 * from a struct model_op and returns what the core's call returns; a container is its slot. An
 * operation must be allowed (model_allows()): the model has no answer to one that the core
 * forbids.
 */
#ifndef TESTS_REFERENCE_MODEL_H
#define TESTS_REFERENCE_MODEL_H

#include "gvm/port.h"

#define MODEL_CHUNKS	 64u
#define MODEL_CONTAINERS 6u
#define MODEL_NONE	 0xffffffffu

/* Remote mappings: blocks of the range of a container, and TSGs. */
#define MODEL_BLOCKS 4u
#define MODEL_TSGS   4u

/* The operations, in the order of the table in model_case.c. */
enum model_op_kind {
	MODEL_ATTACH,
	MODEL_DETACH,
	MODEL_GET,
	MODEL_PUT,
	MODEL_FIND,
	MODEL_EMPTY, /* uncharge all of a container's chunks and cancel all its reservations */
	MODEL_RESERVE,
	MODEL_FORCE,
	MODEL_CANCEL,
	MODEL_BIND,
	MODEL_UNCHARGE,
	MODEL_EXCESS,
	MODEL_TOUCH,
	MODEL_PICK_OWN,
	MODEL_PICK_GLOBAL,
	MODEL_PICK_PROTECTED,
	MODEL_TAKE,
	MODEL_TAKE_RANGE,
	MODEL_IS_PICKED,
	MODEL_PUTBACK,
	MODEL_REFILL,
	MODEL_HIGH,
	MODEL_LOW,
	MODEL_HMEM,
	MODEL_CHARGE_PIN,
	MODEL_CHARGE_UNPIN,
	MODEL_PIN,
	MODEL_UNPIN,
	MODEL_SWAP_OUT,
	MODEL_SWAP_IN,
	MODEL_OOM,
	MODEL_QUIESCE,
	MODEL_RESUME,
	MODEL_LOSE,
	MODEL_ACTIVITY,	  /* begin an activity and end it at once */
	MODEL_MAP,	  /* make the container's range; no page of it comes to the device */
	MODEL_UNMAP,	  /* destroy it */
	MODEL_ACCESS,	  /* a TSG finishes an access */
	MODEL_RETURN,	  /* a fault of a TSG has brought a block in, so many times */
	MODEL_STUCK,	  /* does a block come in again and again for one access of a TSG? */
	MODEL_REMOTE,	  /* map pages of a block from host memory; the device may fail */
	MODEL_END_REMOTE, /* unmap all such pages of the container */
	MODEL_OPS,
};

struct model_op {
	u8 kind;      /* enum model_op_kind */
	u8 container; /* a slot; a new container takes the lowest free one */
	u8 chunk;     /* or a block of the container's range */
	u64 value;    /* by kind: a tgid, looks, chunks, an activity, a TSG, pages, or bytes */
};

/* The values of MODEL_RETURN and MODEL_REMOTE. */
#define MODEL_RETURN_MOST	  64u
#define MODEL_RETURN_TSG(value)	  ((u32)((value)&0xff))
#define MODEL_RETURN_TIMES(value) ((u32)((value) >> 8))
#define MODEL_REMOTE_PAGES(value) ((u32)(value))
#define MODEL_REMOTE_FAILS(value) ((value) >> 32 != 0)

/* A list of chunks or of containers, without repeats. */
struct model_queue {
	u32 entry[MODEL_CHUNKS];
	u32 count;
};

/* A block of a container's range: the pages with data in host memory, those mapped there. */
struct model_block {
	u32 on_host, remote;
	u32 tsg, times; /* it came in so many times in a row for this TSG */
	u64 accesses;	/* that the TSG had finished, each time */
};

struct model_container {
	bool live;
	u32 tgid, refs, processes;
	u64 high_bytes, low_bytes, hmem_bytes;
	u32 reserved, pinned, peak;
	u64 swapped_bytes, high_events, oom_events, taken_events, evicted;
	u64 hmem_events, remote_events;
	bool mapped; /* it has a range */
	struct model_block block[MODEL_BLOCKS];
	struct model_queue own;	     /* its chunks in its own order */
	struct model_queue shielded; /* the chunks of @own that are off the global order */
};

struct model_chunk {
	u32 owner; /* a slot, or MODEL_NONE */
	bool evicting, pinned;
	bool used_own, used_global; /* since the hand last passed */
};

struct model {
	u32 chunk_count;
	struct model_chunk chunk[MODEL_CHUNKS];
	struct model_container container[MODEL_CONTAINERS];
	struct model_queue global, stash;
	u32 containers;
	/* containers with chunks, in their order of giving: others, and shielded ones */
	struct model_queue turns;
	struct model_queue shielded_turns;
	u32 asks; /* how often the device was asked about a chunk */
	bool quiesced, lost;
	u64 accesses[MODEL_TSGS];
};

extern struct model model;

void model_init(u32 chunk_count);

/* Is the operation allowed now? */
bool model_allows(const struct model_op *op);

/* Bytes charged, and whether the container is at or under its low limit. */
u64 model_charged_bytes(const struct model_container *container);
bool model_is_protected(const struct model_container *container);

/*
 * Is there no room for one more chunk under its hmem limit? Chunks that are being evicted
 * count.
 */
bool model_is_full(const struct model_container *container);

/* Bytes that count against its hmem limit: swapped ones, and chunks that are being evicted. */
u64 model_host_bytes(const struct model_container *container);

/* Of the swapped bytes, those of its range; and what is allowed there: reference_remote.c. */
u64 model_range_bytes(const struct model_container *container);
bool model_allows_remote(const struct model_op *op);

/* Chunks charged over all containers. */
u32 model_bound(void);

u32 model_attach(const struct model_op *op);
u32 model_detach(const struct model_op *op);
u32 model_get(const struct model_op *op);
u32 model_put(const struct model_op *op);
u32 model_find(const struct model_op *op);
u32 model_empty(const struct model_op *op);
u32 model_reserve(const struct model_op *op);
u32 model_force(const struct model_op *op);
u32 model_cancel(const struct model_op *op);
u32 model_bind(const struct model_op *op);
u32 model_uncharge(const struct model_op *op);
u32 model_excess(const struct model_op *op);
u32 model_touch(const struct model_op *op);
u32 model_pick_own(const struct model_op *op);
u32 model_pick_global(const struct model_op *op);
u32 model_pick_protected(const struct model_op *op);
u32 model_take(const struct model_op *op);
u32 model_take_range(const struct model_op *op);
u32 model_is_picked(const struct model_op *op);
u32 model_putback(const struct model_op *op);
u32 model_refill(const struct model_op *op);
u32 model_high(const struct model_op *op);
u32 model_low(const struct model_op *op);
u32 model_hmem(const struct model_op *op);
u32 model_charge_pin(const struct model_op *op);
u32 model_charge_unpin(const struct model_op *op);
u32 model_pin(const struct model_op *op);
u32 model_unpin(const struct model_op *op);
u32 model_swap_out(const struct model_op *op);
u32 model_swap_in(const struct model_op *op);
u32 model_oom(const struct model_op *op);
u32 model_quiesce(const struct model_op *op);
u32 model_resume(const struct model_op *op);
u32 model_lose(const struct model_op *op);
u32 model_activity(const struct model_op *op);
u32 model_map(const struct model_op *op);
u32 model_unmap(const struct model_op *op);
u32 model_access(const struct model_op *op);
u32 model_return(const struct model_op *op);
u32 model_stuck(const struct model_op *op);
u32 model_remote(const struct model_op *op);
u32 model_end_remote(const struct model_op *op);

#endif
