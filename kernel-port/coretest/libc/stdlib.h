/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The part of <stdlib.h> that the tests of the core use; see check.h. */
#ifndef GVM_CORETEST_STDLIB_H
#define GVM_CORETEST_STDLIB_H

#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/types.h>

#include "coretest_memory.h"

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

static inline void *calloc(size_t count, size_t bytes)
{
	return coretest_calloc(array_size(count, bytes));
}

static inline void free(void *memory)
{
	coretest_free(memory);
}

/* There is no environment. */
static inline char *getenv(const char *name)
{
	return NULL;
}

static inline unsigned long long strtoull(const char *text, char **end, int base)
{
	return simple_strtoull(text, end, (unsigned int)base);
}

#endif
