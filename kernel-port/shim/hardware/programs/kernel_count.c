// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Counts the kernels that the GPU ran, by NVIDIA's profiler interface (CUPTI), in any program:
 * CUDA_INJECTION64_PATH names this library, and libcuda loads it. It needs no
 * header of CUPTI: five calls, whose prototypes are in its documentation. Writes
 * "cupti PID N" to the file KERNEL_COUNT.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KIND_CONCURRENT_KERNEL 10
#define BUFFER		       (4 << 20)

static int (*enable)(int kind);
static int (*callbacks)(void (*request)(uint8_t **, size_t *, size_t *),
			void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
static int (*next)(uint8_t *buffer, size_t valid, void **record);
static int (*flush)(uint32_t flag);
static int (*dropped)(void *context, uint32_t stream, size_t *count);
static unsigned long kernels, lost;

static void request(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;
	size_t count = 0;

	(void)size;
	while (next(buffer, valid, &record) == 0)
		kernels += *(uint32_t *)record == KIND_CONCURRENT_KERNEL;
	if (!dropped(context, stream, &count))
		lost += count;
	free(buffer);
}

static void report(void)
{
	const char *path = getenv("KERNEL_COUNT");
	FILE *file;

	flush(1);
	file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "cupti %d %lu dropped %lu\n", (int)getpid(), kernels, lost);
	fclose(file);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *path = getenv("CUPTI_LIBRARY");
	void *cupti = dlopen(path ? path : "libcupti.so.13", RTLD_NOW);

	if (!cupti) {
		fprintf(stderr, "kernel_count: %s\n", dlerror());
		return 0;
	}
	*(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
	*(void **)&callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&next = dlsym(cupti, "cuptiActivityGetNextRecord");
	*(void **)&flush = dlsym(cupti, "cuptiActivityFlushAll");
	*(void **)&dropped = dlsym(cupti, "cuptiActivityGetNumDroppedRecords");
	if (callbacks(request, complete) || enable(KIND_CONCURRENT_KERNEL)) {
		fprintf(stderr, "kernel_count: CUPTI refuses\n");
		return 0;
	}
	atexit(report);
	return 1;
}
