/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The structs of the CUDA runtime, below its parts. See cuda.h. */
#ifndef SIM_CUDA_TYPES_H
#define SIM_CUDA_TYPES_H

#include "gpu/process.h"

/*
 * Launches of a channel that have not ended, before the next one blocks its thread. As measured
 * with one stream, of kernels with up to 2 KB of parameters and of graphs
 * (plots/reference/hardware/h200-580-queue.txt). Streams have channels of their own, up to 8 on
 * hardware.
 */
#define CUDA_RING_LAUNCHES 1022u

/* What an application, or a library under it, tells the driver of new memory (cuMemAdvise). */
enum cuda_advice {
	CUDA_NO_ADVICE,
	CUDA_PREFER_DEVICE,	 /* CU_MEM_ADVISE_SET_PREFERRED_LOCATION, the GPU */
	CUDA_ACCESSED_BY_DEVICE, /* CU_MEM_ADVISE_SET_ACCESSED_BY, the GPU */
	CUDA_READ_MOSTLY,	 /* CU_MEM_ADVISE_SET_READ_MOSTLY */
};

struct cuda_context;
struct cuda_library;
struct cuda_op;

/*
 * A stream: its operations start in the order of their calls, each when the one before has
 * ended. Made by cuda_stream_create(); the runtime owns it.
 */
struct cuda_stream {
	struct cuda_context *context;
	struct cuda_stream *next;     /* of the context's, NULL at the end */
	struct fifo_channel *channel; /* of its kernels: the TSG's first one, or own */
	struct fifo_channel own;
	struct cuda_op *first; /* operations that have not ended, in order */
	struct cuda_op *last;
};

/*
 * A place in a stream. Owned by the caller, all-zero at first: nothing recorded, which counts
 * as reached. It stays until what was recorded is reached.
 */
struct cuda_event {
	struct cuda_context *context;
	u64 serial;  /* of the operation that recorded it last */
	u64 date_ns; /* when that was reached; 0: not yet */
};

enum cuda_op_kind {
	CUDA_OP_BURST,	/* kernels */
	CUDA_OP_COPY,	/* over the link */
	CUDA_OP_RECORD, /* an event */
	CUDA_OP_WAIT,	/* for an event */
};

/*
 * One operation of a stream. The runtime owns it from the call to its end, and uses it again.
 */
struct cuda_op {
	struct cuda_op *next; /* of its stream, or of the context's free ones */
	struct cuda_stream *stream;
	enum cuda_op_kind kind;
	u64 serial; /* calls of a context are numbered from 1 */
	bool started;
	bool ended;
	/* kernels after it do not wait: only kernels of the channel and records are ahead */
	bool open;
	/* kernels; of a copy: its accesses, if any page of it is missing */
	struct fifo_burst burst;
	struct gmmu_touch *touches;
	u32 touch_room;
	struct pcie_copy copy;
	enum pcie_direction direction;
	struct cuda_event *event; /* recorded; borrowed */
	u64 awaited;		  /* serial of the record that a wait is for */
};

/*
 * The GPU context of a process. Owned by the caller: cuda_context_create(),
 * cuda_context_destroy(). All calls of one context come from one actor, but cuda_discard().
 */
struct cuda_context {
	struct sim_process *process; /* borrowed */
	struct cuda_device *device;  /* it counts launches of this context */
	struct list_head node;	     /* in cuda_device.contexts */
	struct cuda_stream stream;   /* the default one, and the first of its list of streams */
	struct cuda_op *free;	     /* ended, to be used again */
	u64 serial;		     /* of the last operation */
	u32 unfinished;		     /* operations that have not ended */
	u32 unstarted;		     /* of these, have not started */
	u32 copies;		     /* of these, are on the link */
	int status;		     /* 0, or how the first operation failed that did */
	struct eng_waitq waitq;	     /* for operations to end */
	struct eng_timer starter;    /* starts operations whose turn has come */
	u64 copied_bytes[PCIE_DIRECTIONS]; /* by copies that have ended */
	void *library_data;		   /* the device's library's, of this context */
	u64 launches_reported;		   /* kernels that the driver was told of */
	u64 ends_reported;
};

/*
 * A GPU as the CUDA runtime of its processes sees it. Owned by the caller: cuda_device_init(),
 * start and stop around sim_gpu_start() and _stop().
 */
struct cuda_device {
	struct sim_gpu *gpu;	   /* borrowed */
	struct list_head contexts; /* cuda_context.node */
	struct eng_timer report_timer;
	u64 report_interval_ns;
	const struct cuda_library *library; /* between applications and CUDA; NULL: none */
	void *library_data;
	bool policy_reads; /* a policy of gvmd reads launch counts: report them in any case */
};

#endif
