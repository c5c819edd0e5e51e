// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tasks of an application with memory that has no address: arrays, and graphs that allocate. */
#include <dlfcn.h>
#include <stdio.h>

#include "program.h"

#define U8	     0x01u
#define HALF	     0x10u
#define FLOAT	     0x20u
#define BC1	     0x91u
#define NV12	     0xb0u
#define NOT_A_FORMAT 0x77u

static struct CUarray_st *array_of(struct shim_array3d asked)
{
	struct CUarray_st *array;

	CHECK(cu.cuArray3DCreate_v2(&array, (struct CUDA_ARRAY3D_DESCRIPTOR_st *)&asked));
	return array;
}

static void print_free(const char *what)
{
	size_t free_bytes, total;

	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("%s: used %zu\n", what, total - free_bytes);
}

static void print_levels(const char *what, struct shim_array3d *asked, unsigned int levels)
{
	struct CUmipmappedArray_st *array;

	CHECK(cu.cuMipmappedArrayCreate(&array, (struct CUDA_ARRAY3D_DESCRIPTOR_st *)asked,
					levels));
	print_free(what);
	CHECK(cu.cuMipmappedArrayDestroy(array));
}

/* What each kind of array takes, as cuMemGetInfo() says it. */
static void task_array_sizes(int number)
{
	static const struct {
		const char *name;
		struct shim_array3d asked;
	} kinds[] = {
		{ "bytes", { 1000, 0, 0, U8, 1, 0 } },
		{ "half4", { 10, 20, 0, HALF, 4, 0 } },
		{ "volume", { 10, 20, 30, FLOAT, 2, 0 } },
		{ "layers", { 10, 0, 30, FLOAT, 1, CU_ARRAY_LAYERED } },
		{ "blocks", { 64, 64, 0, BC1, 4, 0 } },
		{ "planes", { 64, 64, 0, NV12, 3, 0 } },
		{ "sparse", { 64, 64, 0, FLOAT, 1, CU_ARRAY_SPARSE } },
		{ "deferred", { 64, 64, 0, FLOAT, 1, CU_ARRAY_DEFERRED } },
		{ "unknown", { 64, 64, 0, NOT_A_FORMAT, 1, 0 } },
	};
	struct shim_array3d levels = { 8, 4, 0, FLOAT, 1, 0 };
	struct shim_array3d cubes = { 4, 4, 6, FLOAT, 1, CU_ARRAY_CUBEMAP };
	struct shim_array3d layers = { 8, 4, 3, FLOAT, 1, CU_ARRAY_LAYERED };
	struct shim_array flat = { 100, 3, FLOAT, 1 };
	struct CUarray_st *array;

	(void)number;
	open_device();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		array = array_of(kinds[i].asked);
		print_free(kinds[i].name);
		CHECK(cu.cuArrayDestroy(array));
	}
	CHECK(cu.cuArrayCreate_v2(&array, (struct CUDA_ARRAY_DESCRIPTOR_st *)&flat));
	print_free("flat");
	CHECK(cu.cuArrayDestroy(array));
	print_levels("levels", &levels, 4);
	print_levels("all levels", &levels, 100);
	print_levels("no levels", &levels, 0);
	print_levels("cube", &cubes, 3);
	print_levels("levels of layers", &layers, 4);
	print_free("end");
}

/* Arrays of a MiB until there is no more; then mistakes, and the end of the context. */
static void task_array_fill(int number)
{
	struct shim_array asked = { 1 << 18, 0, FLOAT, 1 }, wrong = { 1024, 0, FLOAT, 3 };
	struct CUarray_st *arrays[64];
	cu_result result = CU_OK;
	int count = 0;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	while (count < number && result == CU_OK) {
		result = cu.cuArrayCreate_v2(&arrays[count],
					     (struct CUDA_ARRAY_DESCRIPTOR_st *)&asked);
		count += result == CU_OK;
	}
	printf("arrays %d, then %u; memory %u\n", count, result, cu.cuMemAlloc_v2(&ptr, MIB));
	wait_for_line();
	CHECK(cu.cuArrayDestroy(arrays[--count]));
	printf("wrong %u %u\n",
	       cu.cuArrayCreate_v2(&arrays[count], (struct CUDA_ARRAY_DESCRIPTOR_st *)&wrong),
	       cu.cuArrayDestroy(NULL));
	wait_for_line();
	CHECK(cu.cuDevicePrimaryCtxReset_v2(0));
	wait_for_line();
}

/* A graph with a kernel, and as many nodes that allocate as NUMBER. */
static void task_graph_memory(int number)
{
	__typeof__(&fake_graph_add_memory) add_memory = (__typeof__(add_memory))dlsym(
		dlopen("libcuda.so.1", RTLD_NOW), "fake_graph_add_memory");
	struct CUgraphExec_st *exec;
	struct CUgraph_st *graph;

	open_device();
	allocate_numbers();
	CHECK(graph_create(&graph));
	graph_add(graph, kernel, arguments, NULL);
	for (int i = 0; i < number; i++)
		add_memory(graph);
	for (int i = 0; i < 2; i++) {
		CHECK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
		CHECK(cu.cuGraphLaunch(exec, NULL));
	}
	print_numbers();
}

const struct task array_tasks[] = {
	{ "array_sizes", task_array_sizes },
	{ "array_fill", task_array_fill },
	{ "graph_memory", task_graph_memory },
	{ NULL, NULL },
};
