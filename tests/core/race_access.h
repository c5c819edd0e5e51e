/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What runs on the race's GPU: the ranges of its address spaces, and accesses of the GPU to
 * them. The GPU, as drivers see it, is in race_gpu.h.
 */
#ifndef TESTS_RACE_ACCESS_H
#define TESTS_RACE_ACCESS_H

#include "race_gpu.h"

/*
 * Map the ranges of a space without any; unmap them while other threads use them.
 */
void race_map(struct race_space *space, struct gvm_container *container, bool on_host);
void race_unmap(struct race_space *space);

/* A random page of a space that a range has. */
u32 race_page(struct race_dice *dice);

/* Discard up to @count pages from @page on, in one range. Returns how many. */
u32 race_discard(struct race_space *space, u32 page, u32 count);

/*
 * An access by the GPU: it faults until the page is there, then stores *tag or loads it.
 * Returns false if the access ends early: its fault was cancelled, the worker is being stopped,
 * or the GPU is lost.
 */
bool race_access(struct race_space *space, u32 page, bool write, u32 *tag);

/*
 * Accesses by another TSG, to a page of each block of a space: each stores the tag that the
 * page has, if a PTE allows it, and faults never. So the GPU also writes while a thread waits
 * for a fault.
 */
void race_peek(struct race_dice *dice);

/*
 * One instruction of a warp, which stores @tag to page @in_block of each of @count blocks. It
 * finishes when all of these pages are mapped at once. Meanwhile some of them are discarded.
 * Returns false as race_access() does; then it has stored nothing.
 */
bool race_store_together(struct race_space *space, u32 first, u32 count, u32 in_block, u32 tag);

/* Write a fault record and return at once, as a prefetch does. */
void race_fault(struct race_space *space, u32 page, enum gvm_access access);

#endif
