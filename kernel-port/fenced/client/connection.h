/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A process's connection with gvmfenced. */
#ifndef KERNEL_PORT_FENCED_CLIENT_CONNECTION_H
#define KERNEL_PORT_FENCED_CLIENT_CONNECTION_H

#include <stddef.h>

#include "cuda_calls.h"
#include "message.h"

/*
 * Send a request, and wait for its reply if it has one. @in: bytes that go into the window
 * before; @out: bytes that come from it afterwards; of @request->b or, with @in, @in_bytes.
 * Returns the manager's result; FENCED_NO_MANAGER if it is gone, which one line on stderr says.
 * Threads may call it at the same time. @ret_reply may be NULL.
 */
cu_result connection_call(const struct fenced_request *request, const void *in, size_t in_bytes,
			  void *out, size_t out_bytes, struct fenced_reply *ret_reply);

/* Connect with GVM_FENCED_SOCKET and ask for GVM_FENCED_MEMORY. Once in a process. */
cu_result connection_open(void);

#endif
