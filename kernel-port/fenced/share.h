/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's share: one partition, streams, events and copies of modules. */
#ifndef KERNEL_PORT_FENCED_SHARE_H
#define KERNEL_PORT_FENCED_SHARE_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu.h"
#include "message.h"
#include "sample.h"

#define TENANT_MODULES	 256u
#define TENANT_FUNCTIONS 4096u
#define TENANT_EVENTS	 4096u
#define CONTROL_PATH_MAX 512u

/* A stream, and a mark behind some of its work that has not ended yet, for the watch. */
struct tenant_stream {
	struct CUstream_st *stream; /* NULL: no such stream */
	struct CUevent_st *mark;
	_Atomic u64 marked_ns; /* when the mark was queued; 0: none is outstanding */
};

struct tenant_function {
	struct CUfunc_st *function; /* NULL: its module is unloaded */
	u32 module;
	u32 count; /* of parameters */
	u32 bytes; /* of all of them */
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
	int pid;
	u8 *window;
	u64 window_bytes;
	u64 base, bytes;  /* of its partition */
	u64 margin;	  /* bytes at each end of it, and of others', that hold no data */
	cu_result failed; /* of a silent request, not yet told */
	pthread_mutex_t lock;
	struct tenant_stream streams[FENCED_STREAMS_MAX];
	struct CUevent_st *events[TENANT_EVENTS];
	struct CUmod_st *modules[TENANT_MODULES];
	struct tenant_function *functions[TENANT_FUNCTIONS];
	u32 function_count;
	u64 launches, refused;
	struct sample sample;
	_Atomic u64 used;    /* bytes of its partition that are allocated */
	bool has_files;	     /* control.c */
	char stat[256];	     /* what fence.stat holds */
	char current[32];    /* what gmem.current holds */
	struct tenant *next; /* in the watch's list */
};

#endif
