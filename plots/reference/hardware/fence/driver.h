/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* CUDA's driver without a toolkit, and the bounds of a partition, for the programs of this folder. */
#ifndef FENCE_DRIVER_H
#define FENCE_DRIVER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef unsigned int u32;
typedef u64 address; /* of the GPU */
typedef void *handle;

/* A function of the driver, and the pointer that is to have it. */
struct driver_function {
	const char *name;
	void *where;
};

/* End the program, or the child of a fork, if a call fails. */
#define MUST(call)                                                                       \
	do {                                                                             \
		int must_status = (call);                                                \
		if (must_status) {                                                       \
			printf("%s:%d: error %d: %s\n", __FILE__, __LINE__, must_status, \
			       #call);                                                   \
			fflush(stdout);                                                  \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

/* Find @count functions in the driver's library, or end the program. */
static inline void load_driver(const struct driver_function *functions, size_t count)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < count; i++) {
		void *found = library ? dlsym(library, functions[i].name) : NULL;

		if (!found) {
			printf("no %s in libcuda.so.1\n", functions[i].name);
			exit(1);
		}
		*(void **)functions[i].where = found;
	}
}

/* What a fenced module has as gvmf_bounds: as in kernel-port/guardian/bounds.h. */
struct bounds {
	u64 base, size, reciprocal, unused[5], masks[8];
};

static inline struct bounds bounds_of(u64 base, u64 size)
{
	struct bounds bounds = { .base = base, .size = size };

	bounds.reciprocal = ~0ull / size;
	for (int i = 0; i < 8; i++)
		bounds.masks[i] = (size - 1) & ~((1ull << i) - 1);
	return bounds;
}

#endif
