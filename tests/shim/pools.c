// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tasks of an application that has pools, or frees memory late: program.c runs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program.h"

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/*
 * NUMBER times an allocation, a moment, and another one: each time more
 * memory and a longer moment.
 */
static void task_pairs(int number)
{
	cu_ptr ptrs[2];

	open_device();
	for (int i = 0; i < number; i++) {
		size_t bytes = 4096 * ((size_t)i + 1);
		double until;

		CHECK(cu.cuMemAlloc_v2(&ptrs[0], bytes));
		until = now_us() + 2 * i;
		while (now_us() < until)
			;
		CHECK(cu.cuMemAlloc_v2(&ptrs[1], bytes));
		wait_for_line();
		CHECK(cu.cuMemFree_v2(ptrs[0]));
		CHECK(cu.cuMemFree_v2(ptrs[1]));
		wait_for_line();
	}
}

/* An application that has chosen a pool gets its memory from that one: it is exported, say. */
static void task_own_pool(int number)
{
	struct shim_pool_props props = {
		CU_ALLOC_PINNED, 1, CU_LOCATION_DEVICE, 0, NULL, 0, ""
	};
	struct CUmemPoolHandle_st *pool;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemPoolCreate(&pool, (struct CUmemPoolProps_st *)&props));
	CHECK(cu.cuDeviceSetMemPool(0, pool));
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAllocAsync(&ptr, MIB, NULL));
}

/* An application that asks for managed memory from pools is told that it has it. */
static void task_managed_pool(int number)
{
	struct shim_pool_props props = {
		CU_ALLOC_MANAGED, 0, CU_LOCATION_DEVICE, 0, NULL, 0, ""
	};
	struct CUmemPoolHandle_st *pool;
	unsigned char managed[2] = { 2, 2 };
	cu_ptr ptrs[2];

	open_device();
	CHECK(cu.cuMemPoolCreate(&pool, (struct CUmemPoolProps_st *)&props));
	for (int i = 0; i < number; i++) {
		CHECK(cu.cuMemAllocFromPoolAsync(&ptrs[0], MIB, pool, NULL));
		CHECK(cu.cuMemAllocAsync(&ptrs[1], MIB, NULL));
		for (int j = 0; j < 2; j++)
			CHECK(cu.cuPointerGetAttribute(&managed[j], CU_POINTER_IS_MANAGED,
						       ptrs[j]));
		printf("managed %u %u\n", managed[0], managed[1]);
		CHECK(cu.cuDeviceSetMemPool(0, pool));
	}
}

static unsigned int type_of(cu_ptr ptr)
{
	unsigned int type = 0;

	CHECK(cu.cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, ptr));
	return type;
}

static bool default_is_current(void)
{
	struct CUmemPoolHandle_st *current, *whole;

	CHECK(cu.cuDeviceGetMemPool(&current, 0));
	CHECK(cu.cuDeviceGetDefaultMemPool(&whole, 0));
	return current == whole;
}

static unsigned long long used_of(struct CUmemPoolHandle_st *pool)
{
	unsigned long long bytes = 0;

	CHECK(cu.cuMemPoolGetAttribute(pool, 7, &bytes)); /* used now */
	return bytes;
}

/* The answers of calls about pools. A managed pool gives the same. */
static void task_pools(int number)
{
	struct shim_pool_props props = {
		CU_ALLOC_PINNED, 0, CU_LOCATION_DEVICE, 0, NULL, 0, ""
	};
	struct CUmemPoolHandle_st *pool;
	cu_ptr ptr;

	open_device();
	printf("at first %d\n", default_is_current());
	CHECK(cu.cuMemPoolCreate(&pool, (struct CUmemPoolProps_st *)&props));
	CHECK(cu.cuDeviceSetMemPool(0, pool));
	printf("with another %d\n", default_is_current());
	CHECK(cu.cuMemAllocAsync(&ptr, MIB, NULL));
	printf("type %u of it %llu\n", type_of(ptr), used_of(pool));
	CHECK(cu.cuMemPoolDestroy(pool));
	printf("without it %d\n", default_is_current());
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAllocAsync(&ptr, MIB, NULL));
	printf("type %u\n", type_of(ptr));
	CHECK(cu.cuDeviceGetDefaultMemPool(&pool, 0));
	printf("destroyed %u\n", cu.cuMemPoolDestroy(pool));
	CHECK(cu.cuDeviceSetMemPool(0, pool));
	printf("default again %d\n", default_is_current());
	CHECK(cu.cuMemAllocAsync(&ptr, MIB, NULL));
	printf("type %u\n", type_of(ptr));
}

/* Pools of the host's memory, of more than the GPU's limit. */
static void task_host_pool(int number)
{
	struct shim_pool_props props = { CU_ALLOC_PINNED, 0, 2, 0, NULL, 0, "" };
	struct CUmemPoolHandle_st *pool;
	void *address = NULL;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemPoolCreate(&pool, (struct CUmemPoolProps_st *)&props));
	CHECK(cu.cuMemAllocFromPoolAsync(&ptr, (unsigned int)number * MIB, pool, NULL));
	CHECK(cu.cuPointerGetAttribute(&address, CU_POINTER_HOST, ptr));
	printf("type %u address %d\n", type_of(ptr), address != NULL);
	CHECK(cu.cuMemFreeAsync(ptr, NULL));
}

/* A pool of the second GPU, in a context of the first one. */
static void task_other_pool(int number)
{
	struct shim_pool_props props = {
		CU_ALLOC_PINNED, 0, CU_LOCATION_DEVICE, 1, NULL, 0, ""
	};
	struct CUmemPoolHandle_st *pool;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemPoolCreate(&pool, (struct CUmemPoolProps_st *)&props));
	printf("%u\n",
	       cu.cuMemAllocFromPoolAsync(&ptr, (unsigned int)number * MIB, pool, NULL));
}

/* cuMemFreeAsync() is for memory of cuMemAlloc(), too. */
static void task_free_in_order(int number)
{
	cu_ptr ptr;

	open_device();
	for (int i = 0; i < number; i++) {
		CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
		CHECK(cu.cuMemFreeAsync(ptr, NULL));
	}
	CHECK(cu.cuMemAllocManaged(&ptr, MIB, CU_MANAGED_GLOBAL));
	printf("managed %u\n", cu.cuMemFreeAsync(ptr, NULL));
}

/* Managed memory beyond what the GPU has, and device memory beside it. */
static void task_oversubscribe(int number)
{
	static cu_ptr ptrs[64];
	size_t free_bytes, total;
	int managed = 0, device = 0;
	cu_ptr ptr;

	open_device();
	while (managed < number &&
	       cu.cuMemAllocManaged(&ptrs[managed], MIB, CU_MANAGED_GLOBAL) == CU_OK)
		managed++;
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("managed %d, free %zu of %zu", managed, free_bytes, total);
	while (cu.cuMemAlloc_v2(&ptr, MIB) == CU_OK)
		device++;
	printf(", device %d\n", device);
	while (managed)
		CHECK(cu.cuMemFree_v2(ptrs[--managed]));
	printf("again %u\n", cu.cuMemAlloc_v2(&ptr, MIB));
}

/* Memory of a pool outlives the context that it was allocated in. */
static void task_pool_reset(int number)
{
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	CHECK(cu.cuMemAllocAsync(&ptr, (unsigned int)number * MIB, NULL));
	CHECK(cu.cuDevicePrimaryCtxReset_v2(0));
}

/* The driver refuses to free memory: it is still there. */
static void task_refused_free(int number)
{
	size_t free_bytes, total;
	cu_ptr ptr[16];

	open_device();
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAlloc_v2(&ptr[i], MIB));
	wait_for_line();
	setenv("FAKE_NO_FREE", "1", 1);
	for (int i = 0; i < number; i++)
		printf("free %u\n", cu.cuMemFree_v2(ptr[i]));
	unsetenv("FAKE_NO_FREE");
	wait_for_line();
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("free %zu of %zu\n", free_bytes, total);
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemFree_v2(ptr[i]));
	wait_for_line();
}

const struct task pool_tasks[] = {
	{ "pairs", task_pairs },
	{ "own_pool", task_own_pool },
	{ "managed_pool", task_managed_pool },
	{ "pools", task_pools },
	{ "host_pool", task_host_pool },
	{ "other_pool", task_other_pool },
	{ "pool_reset", task_pool_reset },
	{ "free_in_order", task_free_in_order },
	{ "oversubscribe", task_oversubscribe },
	{ "refused_free", task_refused_free },
	{ NULL, NULL },
};
