// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Memory that has no address, and calls that managed memory answers in another way: a line for
 * each. It needs no CUDA toolkit: it finds the calls by dlsym(). At most 2 GiB are allocated.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB	    (1u << 20)
#define FLOAT	    0x20
#define SYNC_MEMOPS 6

struct array {
	size_t width, height;
	unsigned int format, channels;
};

struct array3d {
	size_t width, height, depth;
	unsigned int format, channels, flags;
};

struct prop {
	unsigned int type, handle_types, location_type;
	int location_id;
	void *security;
	unsigned char flags[8];
};

static void *library;

static void *find(const char *name)
{
	void *call = dlsym(library, name);

	if (!call) {
		printf("no call %s\n", name);
		exit(1);
	}
	return call;
}

static void check(int result, const char *what)
{
	if (result) {
		printf("%s: error %d\n", what, result);
		exit(1);
	}
}

static size_t free_mib(void)
{
	int (*info)(size_t * free_bytes, size_t * total) = find("cuMemGetInfo_v2");
	size_t free_bytes, total;

	check(info(&free_bytes, &total), "cuMemGetInfo");
	return free_bytes / MIB;
}

/* Arrays of 64 MiB, until there is no more or there are 32. */
static void arrays(void)
{
	int (*create)(void **array, const struct array *asked) = find("cuArrayCreate_v2");
	int (*create3d)(void **array, const struct array3d *asked) = find("cuArray3DCreate_v2");
	int (*create_levels)(void **array, const struct array3d *asked, unsigned int levels) =
		find("cuMipmappedArrayCreate");
	int (*destroy)(void *array) = find("cuArrayDestroy");
	int (*destroy_levels)(void *array) = find("cuMipmappedArrayDestroy");
	struct array asked = { 4096, 4096, FLOAT, 1 };
	struct array3d cube = { 256, 256, 256, FLOAT, 1, 0 },
		       flat = { 4096, 4096, 0, FLOAT, 1, 0 };
	void *made[32], *one;
	int count = 0, result = 0;
	size_t before = free_mib(), with;

	while (count < 32 && !(result = create(&made[count], &asked)))
		count++;
	with = free_mib();
	printf("arrays %d, then error %d, %zu MiB of %zu taken\n", count, result, before - with,
	       before);
	while (count)
		check(destroy(made[--count]), "cuArrayDestroy");
	check(create3d(&one, &cube), "cuArray3DCreate");
	with = free_mib();
	check(destroy(one), "cuArrayDestroy");
	printf("volume of 64 MiB: %zu MiB\n", before - with);
	check(create_levels(&one, &flat, 13), "cuMipmappedArrayCreate");
	with = free_mib();
	check(destroy_levels(one), "cuMipmappedArrayDestroy");
	printf("levels of 85 MiB: %zu MiB; all given back: %s\n", before - with,
	       free_mib() == before ? "yes" : "no");
}

/* What cuMemAlloc() gave is written in stream order and freed in it, again and again. */
static void late_frees(void)
{
	int (*alloc)(uint64_t * ptr, size_t bytes) = find("cuMemAlloc_v2");
	int (*free_async)(uint64_t ptr, void *stream) = find("cuMemFreeAsync");
	int (*set)(uint64_t ptr, unsigned int value, size_t count, void *stream) =
		find("cuMemsetD32Async");
	int (*copy)(void *to, uint64_t from, size_t bytes, void *stream) =
		find("cuMemcpyDtoHAsync_v2");
	int (*create)(void **stream, unsigned int flags) = find("cuStreamCreate");
	int (*synchronize)(void *stream) = find("cuStreamSynchronize");
	size_t before = free_mib();
	unsigned int last[64], wrong = 0;
	void *stream;
	uint64_t ptr;
	int result = 0;

	check(create(&stream, 1), "cuStreamCreate");
	for (unsigned int i = 0; i < 64 && !result; i++) {
		check(alloc(&ptr, 64 * MIB), "cuMemAlloc");
		check(set(ptr, i, 16 * MIB, stream), "cuMemsetD32Async");
		check(copy(&last[i], ptr + 64 * MIB - 4, 4, stream), "cuMemcpyDtoHAsync");
		result = free_async(ptr, stream);
	}
	check(synchronize(stream), "cuStreamSynchronize");
	for (unsigned int i = 0; i < 64; i++)
		wrong += last[i] != i;
	printf("late frees: error %d, wrong %u, all given back: %s\n", result, wrong,
	       free_mib() == before ? "yes" : "no");
}

/* Memory for a network card, and managed memory for a reserved address, which CUDA may not have. */
static void answers(void)
{
	int (*alloc)(uint64_t * ptr, size_t bytes) = find("cuMemAlloc_v2");
	int (*free_now)(uint64_t ptr) = find("cuMemFree_v2");
	int (*set)(const void *value, unsigned int attribute, uint64_t ptr) =
		find("cuPointerSetAttribute");
	int (*create)(uint64_t * handle, size_t bytes, const struct prop *prop,
		      unsigned long long flags) = find("cuMemCreate");
	int (*release)(uint64_t handle) = find("cuMemRelease");
	struct prop prop = { .type = 2, .location_type = 1 };
	unsigned int on = 1;
	uint64_t ptr, handle;
	int result;

	check(alloc(&ptr, 2 * MIB), "cuMemAlloc");
	printf("SYNC_MEMOPS: error %d\n", set(&on, SYNC_MEMOPS, ptr));
	check(free_now(ptr), "cuMemFree");
	result = create(&handle, 2 * MIB, &prop, 0);
	printf("cuMemCreate of managed memory: error %d\n", result);
	if (!result)
		check(release(handle), "cuMemRelease");
}

int main(void)
{
	int (*init)(unsigned int flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	void *context;

	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	init = find("cuInit");
	retain = find("cuDevicePrimaryCtxRetain");
	set_current = find("cuCtxSetCurrent");
	check(init(0), "cuInit");
	check(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(set_current(context), "cuCtxSetCurrent");
	answers();
	late_frees();
	arrays();
	return 0;
}
