/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What gvmfenced and its clients say to each other, over a Unix socket that keeps
 * messages apart (SOCK_SEQPACKET). Bytes of copies and PTX texts lie in a window: a
 * memfd that both have mapped.
 *
 *     client  HELLO with the window   -> manager   a partition, or why there is none
 *             a request               ->           carries it out on the client's own streams
 *                                     <- a reply, but not for those of FENCED_SILENT
 *
 * A failure of a silent request is the result of the next one that has a reply, as CUDA
 * returns errors of earlier launches. The manager trusts nothing here: sizes, addresses
 * and numbers are checked.
 */
#ifndef KERNEL_PORT_FENCED_MESSAGE_H
#define KERNEL_PORT_FENCED_MESSAGE_H

#include <stddef.h>

#include "engine/types.h"

#define FENCED_SOCKET	   "/run/gvm-fenced.sock"
#define FENCED_VERSION	   1u
#define FENCED_WINDOW	   (64ull << 20)
#define FENCED_DATA_MAX	   4096u /* bytes of kernel parameters, and of names */
#define FENCED_PARAMS_MAX  256u
#define FENCED_STREAMS_MAX 64u
#define FENCED_NO_MANAGER  709u /* CUDA_ERROR_CONTEXT_IS_DESTROYED: the manager has gone */

enum fenced_call {
	FENCED_HELLO,	  /* a: version, b: bytes wanted; the window as a descriptor */
	FENCED_ATTRIBUTE, /* a: attribute of the device. Reply a: its value */
	FENCED_NAME,	  /* Reply data: the device's name */
	FENCED_MEMORY,	  /* Reply a: free, b: all bytes of the partition */
	FENCED_ALLOC,	  /* a: bytes. Reply a: address */
	FENCED_FREE,	  /* a: address */
	FENCED_COPY_IN,	  /* a: address, b: bytes, from the start of the window */
	FENCED_COPY_OUT,  /* a: address, b: bytes, to the start of the window */
	FENCED_COPY,	  /* a: to, c: from, b: bytes */
	FENCED_SET,	 /* a: address, b: elements, c: value, d: bytes of an element, 1 or 4 */
	FENCED_LOAD,	 /* a: bytes of PTX in the window. Reply a: module */
	FENCED_UNLOAD,	 /* a: module */
	FENCED_FUNCTION, /* a: module, data: name. Reply a: function, data: offsets, sizes */
	FENCED_FUNCTION_SET,   /* a: function, b: attribute, c: value */
	FENCED_FUNCTION_GET,   /* a: function, b: attribute. Reply a: value */
	FENCED_LAUNCH,	       /* a: function, grid, block, shared; data: parameters. Silent */
	FENCED_STREAM_CREATE,  /* Reply a: stream */
	FENCED_STREAM_DESTROY, /* stream */
	FENCED_STREAM_QUERY,   /* stream */
	FENCED_STREAM_WAIT,    /* until all of @stream has ended */
	FENCED_STREAM_EVENT,   /* stream waits for event a. Silent */
	FENCED_EVENT_CREATE,   /* a: flags. Reply a: event */
	FENCED_EVENT_DESTROY,  /* a: event */
	FENCED_EVENT_RECORD,   /* a: event, stream. Silent */
	FENCED_EVENT_QUERY,    /* a: event */
	FENCED_EVENT_WAIT,     /* a: event */
	FENCED_EVENT_TIME,     /* a, b: events. Reply a: bits of a float, milliseconds */
	FENCED_WAIT,	       /* until all streams of this client are empty */
	FENCED_CALLS
};

#define FENCED_SILENT(call)                                          \
	((call) == FENCED_LAUNCH || (call) == FENCED_STREAM_EVENT || \
	 (call) == FENCED_EVENT_RECORD)

struct fenced_request {
	u32 call;
	u32 stream; /* 0: the client's default stream */
	u64 a, b, c, d;
	u32 grid[3], block[3], shared;
	u32 bytes; /* of data */
	u8 data[FENCED_DATA_MAX];
};

struct fenced_reply {
	u32 result; /* a CUresult */
	u32 bytes;  /* of data */
	u64 a, b;
	u8 data[FENCED_DATA_MAX]; /* of FENCED_FUNCTION: u32 count, and offset and size of each */
};

#define FENCED_REQUEST_HEAD offsetof(struct fenced_request, data)
#define FENCED_REPLY_HEAD   offsetof(struct fenced_reply, data)

#endif
