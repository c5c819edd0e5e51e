/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A GPU that is a few arrays, for tests of the service and block layers: a script of faults, a
 * ring of chunks with contents, a log of calls. Work on its engines is done when it is started, so
 * fences have always passed, unless a test holds back the copies out.
 *
 * Contents are a tag for each page. A page that was never written reads 0; what a test stores must
 * come back wherever it has been meanwhile.
 */
#ifndef TESTS_TOY_GPU_H
#define TESTS_TOY_GPU_H

#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/fault.h"

#include <check.h>

#define TOY_CHUNKS     16u
#define TOY_CHUNKS_MAX 64u
#define TOY_RANGES_MAX 8u
#define TOY_BLOCKS_MAX 96u
#define TOY_VA	       0x700000000000ull

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

/* An address space with one range; its cookie is the address of this. */
struct toy_space {
	struct gvm_range range;
	bool mapped;
	u32 host[TOY_BLOCKS_MAX][GVM_PAGES_PER_BLOCK]; /* tags in host memory */
	/* PTEs: what was mapped, and what of it permits writes. */
	u32 readable[TOY_BLOCKS_MAX];
	u32 writable[TOY_BLOCKS_MAX];
	u32 chunk[TOY_BLOCKS_MAX];
	u8 priority;
	u64 died_in; /* the batch that cancelled a fault of it last */
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
	u32 free[TOY_CHUNKS_MAX];			   /* ring, longest free first */
	u32 free_first;
	u32 free_count;
	struct toy_call calls[4096];
	u32 call_count;
	u64 kinds[TOY_CALL_KINDS]; /* calls of each kind, ever */
	u64 pages[TOY_CALL_KINDS]; /* pages that they were about */
	u32 services;
	u32 fail_copy;	    /* the copy in that fails, counted from 1; 0: none */
	u32 fail_out;	    /* the copy out that fails, counted from 1; U32_MAX: all; 0: none */
	int out_error;	    /* what it fails with; 0: -EIO */
	int copy_error;	    /* what fail_copy fails with; 0: -EIO */
	int wait_error;	    /* what a wait for a fence returns */
	u32 refuse_alloc;   /* so many allocations fail, room or not */
	u32 refuse_looks;   /* so many looks find a chunk in service, whether it is or not */
	u32 locks_most;	    /* most ranges that were locked at once while a copy was started */
	bool out_in_flight; /* no copy out has passed */
	u64 out_sequence;
	int replay_error;	     /* what a replay returns */
	u32 host_waits;		     /* fences that were waited for */
	void (*on_evict)(u32 chunk); /* called for each victim, unless NULL */
	struct gvm_range_stats stats;
	struct gvm_fence fence;
};

extern struct toy toy;

/* Make it with @chunks chunks; destroy expects that everything came back and the books balance. */
void toy_init(u32 chunks);
void toy_init_with(u32 chunks, u32 features);
void toy_destroy(void);

/* Attach and detach a container. */
struct gvm_container *toy_attach(u32 tgid);

/* Map a range of @bytes as address space number @space, and take it away. */
struct gvm_range *toy_map_range(u32 space, struct gvm_container *container, u64 bytes,
				bool on_host);
void toy_unmap_range(u32 space);

/* Take away all that is still mapped. */
void toy_unmap_all(void);

/* Write a control file of a container, as an operator would; it has to be accepted. */
void toy_write_file(struct gvm_container *container, const char *file, const char *text);

/* Put a fault into the script; service all that is there, and expect @batches batches. */
void toy_fault(u32 space, u64 page, enum gvm_access access);
void toy_service_all(void);

/*
 * As the GPU would: make an access, faulting until the page is there. Returns false if the fault
 * was cancelled. A store leaves @tag in the page, a load expects what was stored last.
 */
bool toy_store(u32 space, u64 page, u32 tag);
bool toy_load(u32 space, u64 page, u32 tag);

/* A store into, and a load from, the first page of @count blocks, each with a tag of its own. */
void toy_store_blocks(u32 space, u32 first, u32 count);
void toy_load_blocks(u32 space, u32 first, u32 count);

/* Is anything of a block on the device? */
bool toy_on_device(u32 space, u32 block);

/* Kill the running thread, for good, where a test can do that to itself. */
#ifdef __KERNEL__
#define TOY_CAN_KILL false
#else
#define TOY_CAN_KILL true
#endif
void toy_kill(void);

/* The log has this call at @index. */
void toy_expect_call(u32 index, enum toy_call_kind kind, u32 chunk, u32 first, u32 count);

#endif
