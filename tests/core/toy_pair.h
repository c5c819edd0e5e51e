/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The toy GPU (toy_gpu.h) with two containers. */
#ifndef TESTS_CORE_TOY_PAIR_H
#define TESTS_CORE_TOY_PAIR_H

#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES

static struct gvm_container *one, *two;

/* Make the GPU and its containers. */
static inline void begin(u32 chunks)
{
	toy_init(chunks);
	one = toy_attach(1);
	two = toy_attach(2);
}

/* Unmap all ranges. Nothing is left in host memory, and all chunks come back. */
static inline void end(void)
{
	toy_unmap_all();
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert_uint_eq(two->swapped_bytes, 0);
	gvm_container_detach(one);
	gvm_container_detach(two);
	toy_destroy();
}

#endif
