/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A fake GPU from C. Each call returns 0, or an error number of <errno.h>, positive; what each
 * means is said in gvm_fakegpu.h. A context is a file descriptor: close() ends it.
 */
#ifndef FAKEGPU_LIB_H
#define FAKEGPU_LIB_H

#include <stddef.h>
#include <stdint.h>

#include "gvm_fakegpu.h"

/* Open /dev/gvm_fakegpu<gpu> and create a context of @tsgs TSGs, in the container of the process
 * @group_tgid (0: of the caller). */
int fakegpu_open(unsigned int gpu, uint32_t group_tgid, uint32_t tsgs, int *ret_context);

/* Open the device alone: for fakegpu_info(). */
int fakegpu_open_device(unsigned int gpu, int *ret_fd);

/* Map @bytes, zero or (on_host) with the pattern of @seed in host memory; and take them away. */
int fakegpu_map(int context, uint64_t bytes, uint64_t *ret_va);
int fakegpu_map_on_host(int context, uint64_t bytes, uint64_t seed, uint64_t *ret_va);
int fakegpu_unmap(int context, uint64_t va);

/* Give up what is in the whole pages of [va, va + bytes). */
int fakegpu_discard(int context, uint64_t va, uint64_t bytes);

/* Run a kernel by the first TSG, forward over every page: store a pattern, or check for it. A wrong
 * word is EBADMSG; *ret_first_va, if not NULL, is where the first one was found. */
int fakegpu_fill(int context, uint64_t va, uint64_t bytes, uint64_t seed);
int fakegpu_verify(int context, uint64_t va, uint64_t bytes, uint64_t seed,
		   uint64_t *ret_first_va);
int fakegpu_verify_zero(int context, uint64_t va, uint64_t bytes, uint64_t *ret_first_va);

/* Run any kernel; a wrong word is EBADMSG, and @launch says more. */
int fakegpu_launch(int context, struct gvm_fakegpu_launch *launch);

/* Let the GPU copy bytes between @va and a buffer. */
int fakegpu_load(int context, uint64_t va, void *bytes, size_t size);
int fakegpu_store(int context, uint64_t va, const void *bytes, size_t size);

/* Are the core's books in order? EUCLEAN: no. */
int fakegpu_check(int fd);

int fakegpu_info(int fd, struct gvm_fakegpu_info *ret_info);

#endif
