// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What an application hears of memory pools: a line for each question. The lines have to be the same with the shim as
 * without, but for those of "cpu": 1 where the CPU can read the memory, which is managed then. The last lines are raw answers to
 * questions about managed memory. It needs no CUDA toolkit.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB	   (1u << 20)
#define PINNED	   1
#define MANAGED	   2
#define DEVICE	   1
#define HOST	   2
#define ATTACH_ALL 1

struct props {
	unsigned int type, handle_types, location_type;
	int location;
	void *security;
	size_t most;
	unsigned char rest[56];
};

static void *library;

/* A driver that has not the call answers like this. */
static int missing(void)
{
	return -1;
}

static void *find(const char *name)
{
	void *call = dlsym(library, name);

	return call ? call : (void *)missing;
}

#define CALL(name, ...) ((int (*)())find(name))(__VA_ARGS__)

static void *pool_of(const char *call)
{
	void *pool = NULL;

	CALL(call, &pool, 0);
	return pool;
}

static int default_is_current(void)
{
	return pool_of("cuDeviceGetMemPool") == pool_of("cuDeviceGetDefaultMemPool");
}

/* Attribute 7: bytes in use. */
static long used(void *pool)
{
	uint64_t bytes = 0;
	int result = CALL("cuMemPoolGetAttribute", pool, 7, &bytes);

	return result ? -result : (long)bytes;
}

/* Memory type, an error as a negative number; and whether the CPU can read it. */
static void tell_memory(const char *what, int result, uint64_t ptr)
{
	unsigned int type = 0;
	int ends[2], readable;

	CALL("cuCtxSynchronize");
	if (!result)
		result = -CALL("cuPointerGetAttribute", &type, 2, ptr);
	printf("%s: %d type %u\n", what, result, type);
	if (result || pipe(ends))
		return;
	readable = write(ends[1], (void *)(uintptr_t)ptr, 1) == 1;
	printf("cpu %s %d\n", what, readable);
	close(ends[0]);
	close(ends[1]);
}

static uint64_t allocate(const char *what)
{
	uint64_t ptr = 0;
	int result = CALL("cuMemAllocAsync", &ptr, (size_t)MIB, NULL);

	tell_memory(what, result, ptr);
	return ptr;
}

static void *create(unsigned int type, unsigned int location)
{
	struct props props = { .type = type, .location_type = location };
	void *pool = NULL;

	printf("create %u %u: %d\n", type, location, CALL("cuMemPoolCreate", &pool, &props));
	return pool;
}

static void chosen_pool(void)
{
	void *pool = create(PINNED, DEVICE);
	uint64_t ptr;

	printf("choose: %d\n", CALL("cuDeviceSetMemPool", 0, pool));
	printf("default is current: %d\n", default_is_current());
	ptr = allocate("chosen");
	printf("used of it %ld\n", used(pool));
	printf("free: %d\n", CALL("cuMemFreeAsync", ptr, NULL));
	CALL("cuCtxSynchronize");
	printf("destroy: %d\n", CALL("cuMemPoolDestroy", pool));
	printf("default is current: %d\n", default_is_current());
}

static void default_pool(void)
{
	void *pool = pool_of("cuDeviceGetDefaultMemPool");
	uint64_t keep = ~0ull;
	uint64_t ptr = allocate("default");

	printf("used of it %ld\n", used(pool));
	/* What a framework's allocator sets: the release threshold, and three ways to use memory again. */
	printf("attribute 4: %d\n", CALL("cuMemPoolSetAttribute", pool, 4, &keep));
	for (int attribute = 1; attribute <= 3; attribute++)
		printf("attribute %d: %d\n", attribute,
		       CALL("cuMemPoolSetAttribute", pool, attribute, &(int){ 1 }));
	printf("trim: %d\n", CALL("cuMemPoolTrimTo", pool, (size_t)0));
	printf("free: %d\n", CALL("cuMemFree_v2", ptr));
	printf("destroy: %d\n", CALL("cuMemPoolDestroy", pool));
	printf("choose: %d\n", CALL("cuDeviceSetMemPool", 0, pool));
	printf("default is current: %d\n", default_is_current());
}

static void host_pool(void)
{
	void *pool = create(PINNED, HOST), *stream = NULL, *address = NULL;
	uint64_t ptr = 0;
	int result;

	CALL("cuStreamCreate", &stream, 1);
	result = CALL("cuMemAllocFromPoolAsync", &ptr, (size_t)MIB, pool, stream);
	tell_memory("host", result, ptr);
	printf("address: %d\n", CALL("cuPointerGetAttribute", &address, 4, ptr));
	printf("free: %d\n", CALL("cuMemFreeAsync", ptr, stream));
}

static void free_in_order(void)
{
	uint64_t ptr = 0;

	CALL("cuMemAlloc_v2", &ptr, (size_t)MIB);
	printf("cuMemAlloc, cuMemFreeAsync: %d\n", CALL("cuMemFreeAsync", ptr, NULL));
	CALL("cuMemAllocManaged", &ptr, (size_t)MIB, ATTACH_ALL);
	printf("cuMemAllocManaged, cuMemFreeAsync: %d\n", CALL("cuMemFreeAsync", ptr, NULL));
	printf("sync: %d\n", CALL("cuCtxSynchronize"));
}

/* Does the driver use a pool of managed memory that it is given as the current one? */
static void managed_pool(void)
{
	void *pool = create(MANAGED, DEVICE);

	printf("choose: %d\n", CALL("cuDeviceSetMemPool", 0, pool));
	printf("it is current: %d\n", pool_of("cuDeviceGetMemPool") == pool);
	allocate("behind it");
	printf("used of it %ld\n", used(pool));
}

static void open_context(void)
{
	void *context = NULL;

	CALL("cuDevicePrimaryCtxRetain", &context, 0);
	CALL("cuCtxSetCurrent", context);
}

int main(void)
{
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library || CALL("cuInit", 0))
		return 1;
	open_context();
	printf("default is current: %d\n", default_is_current());
	default_pool();
	chosen_pool();
	host_pool();
	free_in_order();
	managed_pool();
	allocate("before a reset");
	printf("reset: %d\n", CALL("cuDevicePrimaryCtxReset_v2", 0));
	open_context();
	allocate("behind a reset");
	printf("used of the default pool %ld\n", used(pool_of("cuDeviceGetDefaultMemPool")));
	return 0;
}
