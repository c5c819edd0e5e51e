/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's share: one partition, streams, events and copies of modules. */
#ifndef KERNEL_PORT_FENCED_SHARE_H
#define KERNEL_PORT_FENCED_SHARE_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu.h"
#include "message.h"

#define TENANT_MODULES	  256u
#define TENANT_FUNCTIONS  4096u
#define TENANT_EVENTS	  4096u
#define CONTROL_PATH_MAX  512u

#define SAMPLE_SLOTS	  64u /* counted launches that have not ended */
#define SAMPLE_EVERY_MAX  1000000000u
#define SAMPLE_ATTRIBUTES 16u /* attributes of functions that are set for both copies */

/* A module as the client has sent it, and its copy that counts. */
struct sample_module {
	char *text;		 /* PTX; NULL: it is not kept, or not needed any more */
	struct CUmod_st *module; /* the copy; NULL: not loaded yet */
	bool refused;		 /* it has none */
	cu_ptr found;		 /* its PATCH_FOUND */
	u64 seen;		 /* wild accesses of launches that have ended */
};

/* A counted launch: what its module had found after it. */
struct sample_slot {
	struct CUevent_st *copied;    /* after the copy of @found */
	struct sample_module *module; /* NULL: the slot is free, or the module is unloaded */
};

/* What sampling has found so far. Guarded by the tenant's lock. */
struct sample_counts {
	u64 sampled;	    /* launches of copies that count */
	u64 found_launches; /* of these, that had wild accesses */
	u64 found_accesses; /* wild accesses */
	u64 last_address;   /* one of them; 0: none */
	u64 refused_modules;
};

/* A client's sampling. All-zero has none. Guarded by the tenant's lock, but for @every. */
struct sample {
	_Atomic u32 every; /* one launch of so many, on average; 0: none */
	bool on;	   /* the manager keeps what is needed */
	u64 random;
	struct sample_counts counts;
	struct sample_slot slots[SAMPLE_SLOTS]; /* a ring: @used of them, from @first on */
	u32 first, used;
	u64 (*words)[2];	       /* of each slot, where the GPU writes: pinned */
	struct sample_module *modules; /* of each of the tenant's */
};

/*
 * A stream, and what of its work has not ended yet, for the watch. The client's thread queues a
 * mark after a launch if the watch waits for nothing. Launches after the mark have none of
 * their own: once the mark has passed, the watch waits until the stream is empty. The watch
 * queues no mark itself: its thread would block where the stream's queue is full.
 */
struct tenant_stream {
	struct CUstream_st *stream; /* NULL: no such stream */
	struct CUevent_st *mark;
	_Atomic u64 marked_ns; /* since when the watch waits; 0: for nothing */
	_Atomic bool whole;    /* for the whole stream, and not for the mark */
	_Atomic bool more;     /* there was a launch after the mark */
};

#define TENANT_BOUNDS 3u /* words of bounds in a kernel's parameters, at most */

struct tenant_function {
	struct CUfunc_st *function; /* NULL: its module is unloaded */
	u32 module;
	u32 count;     /* of parameters */
	u32 bytes;     /* of all of them */
	u32 bounds_at; /* where bounds stand after them; of modules that have them in parameters */
	u32 offsets[FENCED_PARAMS_MAX], sizes[FENCED_PARAMS_MAX];
	char *name;		   /* NULL: without sampling */
	struct CUfunc_st *counted; /* of the module's copy that counts; NULL: not asked for */
	u32 attributes_set;	   /* bits */
	int attributes[SAMPLE_ATTRIBUTES];
};

/*
 * One client. All is its own thread's, but @streams, @sample and the files: the watch
 * uses them under @lock.
 */
struct tenant {
	struct gpu *gpu;
	u64 id;
	int fd;
	enum gvm_fence_mode mode; /* of its code */
	int pid;		  /* that gvmfenced sees; 0: it is in another PID namespace */
	u8 *window;
	u64 window_bytes;
	u64 base, bytes;  /* of its partition */
	u64 margin;	  /* bytes at each end of it, and of others', that hold no data */
	cu_result failed; /* of a silent request, not yet told */
	pthread_mutex_t lock;
	struct tenant_stream streams[FENCED_STREAMS_MAX];
	struct CUevent_st *events[TENANT_EVENTS];
	struct CUmod_st *modules[TENANT_MODULES];
	/* Of modules that have their bounds in parameters: how many words. 0: in constants */
	u8 bounds_words[TENANT_MODULES];
	u64 bounds[TENANT_BOUNDS];
	struct tenant_function *functions[TENANT_FUNCTIONS];
	u32 function_count;
	_Atomic u64 launches; /* the watch tells it */
	u64 refused;
	struct sample sample;
	_Atomic u64 used;    /* bytes of its partition that are allocated */
	bool has_files;	     /* control.c */
	char stat[256];	     /* what fence.stat holds */
	char current[32];    /* what gmem.current holds */
	struct tenant *next; /* in the watch's list */
};

#endif
