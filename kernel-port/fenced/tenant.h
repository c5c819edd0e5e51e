/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's share: one partition, streams, events and copies of modules. */
#ifndef KERNEL_PORT_FENCED_TENANT_H
#define KERNEL_PORT_FENCED_TENANT_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu.h"
#include "message.h"

#define TENANT_MODULES	 256u
#define TENANT_FUNCTIONS 4096u
#define TENANT_EVENTS	 4096u

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
};

/* One client. All is its own thread's, but @streams: the watch reads them under @lock. */
struct tenant {
	struct gpu *gpu;
	u64 id;
	int fd;
	int pid;
	u8 *window;
	u64 window_bytes;
	u64 base, bytes;  /* of its partition */
	cu_result failed; /* of a silent request, not yet told */
	pthread_mutex_t lock;
	struct tenant_stream streams[FENCED_STREAMS_MAX];
	struct CUevent_st *events[TENANT_EVENTS];
	struct CUmod_st *modules[TENANT_MODULES];
	struct tenant_function *functions[TENANT_FUNCTIONS];
	u32 function_count;
	u64 launches, refused;
	struct tenant *next; /* in the watch's list */
};

u64 tenant_now_ns(void);

/* Serve one client until it leaves; owns @fd. The argument of a thread is a struct tenant. */
void *tenant_run(void *data);

/* tenant_code.c */

/* Load PTX: patched, verified, with the bounds of the tenant's partition. */
cu_result tenant_load(struct tenant *tenant, u64 bytes, u64 *ret_module);
cu_result tenant_unload(struct tenant *tenant, u64 module);
cu_result tenant_function(struct tenant *tenant, const struct fenced_request *request,
			  struct fenced_reply *reply);
cu_result tenant_launch(struct tenant *tenant, const struct fenced_request *request);
struct tenant_function *tenant_function_of(struct tenant *tenant, u64 number);
void tenant_unload_all(struct tenant *tenant);

/* watch.c */

#define WATCH_ENDLESS 3 /* exit codes of the process that has the context */
#define WATCH_BROKEN  4

/* Watch all tenants from now on: a kernel that runs longer than @limit_ns ends this process. */
int watch_start(struct gpu *gpu, u64 limit_ns);
void watch_add(struct tenant *tenant);
void watch_remove(struct tenant *tenant);
/* The context is broken if the driver says so: then the process ends, and is started again. */
void watch_result(const struct tenant *tenant, cu_result result);

#endif
