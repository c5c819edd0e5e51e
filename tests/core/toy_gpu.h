/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU that is a few arrays, for tests of the service and block layers: a script of faults, a
 * ring of chunks with contents, and a log of calls. An engine does its work when the work is
 * started, so a fence has always passed, unless a test holds back the copies out.
 *
 * Contents are one tag for each page. A page that was never written reads 0. A load must return
 * the tag that was stored, wherever the page has been meanwhile.
 */
#ifndef TESTS_TOY_GPU_H
#define TESTS_TOY_GPU_H

#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/fault.h"

#include <check.h>

#define TOY_CHUNKS	16u
#define TOY_CHUNKS_MAX	64u
#define TOY_RANGES_MAX	8u
#define TOY_BLOCKS_MAX	96u
#define TOY_VA		0x700000000000ull
#define TOY_REPLAYS_MAX 1000u

enum toy_call_kind {
	TOY_COPY,
	TOY_CLEAR,
	TOY_OUT,
	TOY_MAP,
	TOY_UNMAP,
	TOY_FREE,
	TOY_REPLAY,
	TOY_CANCEL,
	TOY_CALL_KINDS,
};

struct toy_call {
	enum toy_call_kind kind;
	u32 chunk;
	u32 first;
	u32 count;
};

/*
 * An address space with one range; a test may make others in it. Its cookie is the address of
 * this struct.
 */
struct toy_space {
	struct gvm_range range;
	bool mapped;
	u32 host[TOY_BLOCKS_MAX][GVM_PAGES_PER_BLOCK]; /* tags in host memory */
	/* PTEs: the mapped pages, and those of them that permit writes. */
	u32 readable[TOY_BLOCKS_MAX];
	u32 writable[TOY_BLOCKS_MAX];
	u32 chunk[TOY_BLOCKS_MAX];
	u32 offset_pages[TOY_BLOCKS_MAX];
	u32 remote[TOY_BLOCKS_MAX]; /* of the readable ones: in host memory */
	u8 priority;
	u64 died_in; /* the last batch that cancelled a fault of it */
};

struct toy {
	struct gvm_device device;
	struct gvm_memory memory;
	struct gvm_memory_ops memory_ops;
	struct gvm_fault_handler handler;
	struct gvm_fault script[8192];
	u32 script_length;
	u32 script_next;
	struct toy_space spaces[TOY_RANGES_MAX];
	u32 contents[TOY_CHUNKS_MAX][GVM_PAGES_PER_BLOCK]; /* tags on the device */
	u32 free[TOY_CHUNKS_MAX];			   /* ring, freed first comes first */
	u32 free_first;
	u32 free_count;
	struct toy_call calls[4096];
	u32 call_count;
	u64 kinds[TOY_CALL_KINDS]; /* calls of each kind, ever */
	u64 pages[TOY_CALL_KINDS]; /* pages of these calls */
	u32 services;
	u64 accesses; /* finished accesses */
	struct gvm_mmu_ops mmu_ops;
	u32 fail_copy;	    /* the copy in that fails, counted from 1; 0: none */
	u32 fail_out;	    /* the copy out that fails, counted from 1; U32_MAX: all; 0: none */
	int out_error;	    /* the error of fail_out; 0: -EIO */
	int fail_remote;    /* the result of remote mappings */
	int copy_error;	    /* the error of fail_copy; 0: -EIO */
	int wait_error;	    /* the result of a wait for a fence */
	u32 refuse_alloc;   /* this many allocations fail, even with free chunks */
	u32 looks;	    /* calls of the operation evictable() */
	u32 refuse_looks;   /* this many looks find the chunk in service */
	u32 locks_most;	    /* most range locks held at once when a copy started */
	bool out_in_flight; /* copies out stay in flight */
	u64 out_sequence;
	int replay_error;	     /* the result of a replay */
	u32 host_waits;		     /* waits for a fence */
	void (*on_evict)(u32 chunk); /* called for each victim, unless NULL */
	struct gvm_range_stats stats;
	struct gvm_fence fence;
};

extern struct toy toy;

/*
 * Make the GPU with @chunks chunks. toy_destroy() checks that all came back and the books
 * balance.
 */
void toy_init(u32 chunks);
void toy_init_with(u32 chunks, u32 features);
void toy_init_parts(u32 chunks, u32 features); /* small blocks share chunks */
void toy_destroy(void);

/* Attach a process of group @tgid, and expect success. */
struct gvm_container *toy_attach(u32 tgid);

/* Map a range of @bytes in address space @space, and unmap it. */
struct gvm_range *toy_map_range(u32 space, struct gvm_container *container, u64 bytes,
				bool on_host);
void toy_unmap_range(u32 space);

/* Unmap all ranges that are still mapped. */
void toy_unmap_all(void);

/* Write a control file of a container, as an operator does. The write must succeed. */
void toy_write_file(struct gvm_container *container, const char *file, const char *text);

/* Add a fault to the script. Service all faults of the script. */
void toy_fault(u32 space, u64 page, enum gvm_access access);
void toy_service_all(void);

/*
 * An access by the GPU: it faults until the page is there. Returns false if the fault was
 * cancelled. A store leaves @tag in the page; a load expects the last stored tag.
 */
bool toy_store(u32 space, u64 page, u32 tag);
bool toy_load(u32 space, u64 page, u32 tag);

/*
 * One instruction of a warp, which stores to the first page of each of @count blocks. It
 * finishes when all of them are mapped at once, and else all that are not fault. Returns the
 * number of replays that it needed; 0: a fault was cancelled; TOY_REPLAYS_MAX: it never
 * finished.
 */
u32 toy_store_together(u32 space, u32 first, u32 count, u32 tag);

/* Store to, or load from, the first page of each of @count blocks, each with its own tag. */
void toy_store_blocks(u32 space, u32 first, u32 count);
void toy_load_blocks(u32 space, u32 first, u32 count);

/* Map a range of @blocks for @container, and store to each of them. */
void toy_fill(u32 space, struct gvm_container *container, u32 blocks);

/* Has the block a page on the device? */
bool toy_on_device(u32 space, u32 block);

/* Kill the running thread, for good, where a test can do that to itself. */
#ifdef __KERNEL__
#define TOY_CAN_KILL false
#else
#define TOY_CAN_KILL true
#endif
void toy_kill(void);

/* Expect this call in the log at @index. */
void toy_expect_call(u32 index, enum toy_call_kind kind, u32 chunk, u32 first, u32 count);

#endif
