/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The memory of the running test. The runner frees the rest after the test. CONTEXT: process.
 */
#ifndef GVM_CORETEST_MEMORY_H
#define GVM_CORETEST_MEMORY_H

#include <linux/types.h>

/* Zeroed memory, or NULL: out of memory. coretest_free() takes NULL. */
void *coretest_calloc(size_t bytes);
void coretest_free(void *memory);

/* Free what the test left. In user space the exit of its process does this. */
void coretest_free_all(void);

#endif
