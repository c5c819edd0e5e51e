/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The thrashing detection of NVIDIA's driver; thrash.c describes it. */
#ifndef SIM_NVUVM_THRASH_H
#define SIM_NVUVM_THRASH_H

#include "gvm/memory.h"

#define NVUVM_THRASH_THRESHOLD	   3u /* uvm_perf_thrashing_threshold, events */
#define NVUVM_THRASH_PIN_THRESHOLD 10u
#define NVUVM_THRASH_LAPSE_NS	   500000ull
#define NVUVM_THRASH_NAP_NS	   (1 * NVUVM_THRASH_LAPSE_NS)
#define NVUVM_THRASH_EPOCH_NS	   (2000 * NVUVM_THRASH_LAPSE_NS)
#define NVUVM_THRASH_PIN_NS	   (300 * NVUVM_THRASH_LAPSE_NS)
#define NVUVM_THRASH_RESETS_MAX	   4u

/* Where pages can be. */
enum nvuvm_processor {
	NVUVM_CPU = GVM_PROCESSOR_CPU,
	NVUVM_GPU = GVM_PROCESSOR_GPU,
	NVUVM_NOBODY,
};

/* The advice for a fault. */
enum nvuvm_hint {
	NVUVM_HINT_NONE,
	NVUVM_HINT_THROTTLE, /* do not service it now; it faults again */
	NVUVM_HINT_PIN,	     /* let the page live in one place, and map it there */
};

/* One page of a block that may be thrashing. */
struct nvuvm_thrash_page {
	u64 last_ns;	     /* last migration; 0: none */
	u64 throttle_end_ns; /* of the throttling period */
	u64 pin_deadline_ns; /* if it is pinned */
	u8 events;	     /* migrations within a lapse of the one before; saturates */
	u8 throttles;	     /* while not pinned; saturates */
	u8 processors;	     /* mask of enum nvuvm_processor that use it */
	u8 throttled;	     /* mask */
	u8 favoured;	     /* enum nvuvm_processor: not throttled in this period */
	u8 pinned_to;	     /* enum nvuvm_processor; NVUVM_NOBODY: not pinned */
};

/* The history of one block. All zero: none, and nothing to free. */
struct nvuvm_thrash {
	u64 last_ns;	       /* last migration of any page; 0: none */
	u64 last_thrashing_ns; /* last one of a thrashing page */
	u32 thrashing;	       /* pages */
	u32 pinned;	       /* of these */
	u8 last_processor;     /* enum nvuvm_processor */
	u8 resets;
	u8 pin_count; /* since the last reset; saturates */
	/* GVM_PAGES_PER_BLOCK; NULL until two processors use the block */
	struct nvuvm_thrash_page *pages;
};

/* @pages have migrated to @to, not by eviction. The block's lock is held. CONTEXT: process. */
void nvuvm_thrash_migrated(struct nvuvm_thrash *thrash, u32 pages, enum nvuvm_processor to,
			   u64 now_ns);

/*
 * Returns the advice for a fault of @requester on a page that is elsewhere. With
 * NVUVM_HINT_PIN, *ret_residency is the processor that gets the page. The block's lock is held.
 * CONTEXT: process.
 */
enum nvuvm_hint nvuvm_thrash_hint(struct nvuvm_thrash *thrash, u32 page,
				  enum nvuvm_processor requester, u64 now_ns,
				  enum nvuvm_processor *ret_residency);

/* Forget the history of a block. CONTEXT: process. */
void nvuvm_thrash_destroy(struct nvuvm_thrash *thrash);

#endif
