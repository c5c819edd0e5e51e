/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A C library for a fake GPU. Each call returns 0 or a positive error number of <errno.h>;
 * gvm_fakegpu.h explains the errors. A context is a file descriptor: fakegpu_close() ends it.
 */
#ifndef FAKEGPU_LIB_H
#define FAKEGPU_LIB_H

#include <stddef.h>
#include <stdint.h>

#include "gvm_fakegpu.h"

/* Open /dev/gvm_fakegpu<gpu> and create a context of @tsgs TSGs, in the container of process
 * @group_tgid (0: of the caller). */
int fakegpu_open(unsigned int gpu, uint32_t group_tgid, uint32_t tsgs, int *ret_context);
void fakegpu_close(int context);

/* Open the device without a context, for fakegpu_info() and fakegpu_check(). */
int fakegpu_open_device(unsigned int gpu, int *ret_fd);

/* Map @bytes of zeros, or (on_host) of the pattern of @seed in host memory. Unmap them. */
int fakegpu_map(int context, uint64_t bytes, uint64_t *ret_va);
int fakegpu_map_on_host(int context, uint64_t bytes, uint64_t seed, uint64_t *ret_va);
int fakegpu_unmap(int context, uint64_t va);

/* Discard the data of the whole pages of [va, va + bytes). */
int fakegpu_discard(int context, uint64_t va, uint64_t bytes);

/* Run a kernel by the first TSG, forward over every page: store a pattern, or verify it. A
 * wrong word is EBADMSG; *ret_first_va, if not NULL, is the address of the first one found. */
int fakegpu_fill(int context, uint64_t va, uint64_t bytes, uint64_t seed);
int fakegpu_verify(int context, uint64_t va, uint64_t bytes, uint64_t seed,
		   uint64_t *ret_first_va);
int fakegpu_verify_zero(int context, uint64_t va, uint64_t bytes, uint64_t *ret_first_va);

/* Run any kernel. A wrong word is EBADMSG, and @launch has the results. */
int fakegpu_launch(int context, struct gvm_fakegpu_launch *launch);

/* Let the GPU copy bytes between @va and a buffer. */
int fakegpu_load(int context, uint64_t va, void *bytes, size_t size);
int fakegpu_store(int context, uint64_t va, const void *bytes, size_t size);

/* Are the core's books in order? EUCLEAN: no. */
int fakegpu_check(int fd);

int fakegpu_info(int fd, struct gvm_fakegpu_info *ret_info);

#endif
