/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The core's side of remote mappings in cases: a range for each container. No page of it is
 * ever on the device: it is in host memory, mapped there or not, or it has no data.
 */
#ifndef TESTS_CASE_REMOTE_H
#define TESTS_CASE_REMOTE_H

#include "gvm/block.h"

void case_remote_init(struct gvm_device *device);
void case_remote_destroy(void);

/* Make the range of the container in @slot, and destroy it. */
int case_remote_map(u32 slot, struct gvm_container *container);
void case_remote_unmap(u32 slot);

/* A fault of @tsg has brought the block in, @times times. */
void case_remote_return(u32 slot, u32 block, u32 tsg, u32 times);
bool case_remote_is_stuck(u32 slot, u32 block, u32 tsg);

/* Map pages of a block from host memory. @fails: the device cannot. */
int case_remote_map_pages(u32 slot, u32 block, u32 pages, bool fails);
void case_remote_end(const struct gvm_container *container);

/* The block of a container that has a range. */
const struct gvm_block *case_remote_block(u32 slot, u32 block);

#endif
