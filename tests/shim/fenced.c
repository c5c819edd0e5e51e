// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Tasks of an application that loads code: program.c runs them. FATBINS is
 * the folder of fat binaries.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

#define MODES 5

static char *read_image(const char *name)
{
	char path[512], *bytes = calloc(1, 65536);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", FATBINS, name);
	file = fopen(path, "rb");
	if (!file || !fread(bytes, 1, 65535, file))
		fail(path);
	fclose(file);
	return bytes;
}

/* What the module has for bounds: those of a power of two around @inside? */
static void print_bounds(cu_result result, const unsigned long long *bounds, cu_ptr inside)
{
	if (result != CU_OK || !bounds[1]) {
		printf("no bounds\n");
		return;
	}
	printf("bounds of %llu, %s, mask %s\n", bounds[1],
	       bounds[0] % bounds[1] == 0 && inside - bounds[0] < bounds[1] ? "around memory" :
									      "elsewhere",
	       bounds[8] == bounds[1] - 1 ? "right" : "wrong");
}

/* Where the bounds are: the driver knows, and a fenced program does not. */
static cu_result find_bounds(struct CUmod_st *module, struct CUlib_st *library, cu_ptr *ret_ptr)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	cu_result (*bounds)(cu_ptr *, struct CUmod_st *), result;
	cu_ptr ptr;
	size_t bytes;

	if (!driver)
		fail(dlerror());
	*(void **)&bounds = dlsym(driver, "fake_bounds");
	result = library ? cu.cuLibraryGetGlobal(&ptr, &bytes, library, "gvmf_bounds") :
			   cu.cuModuleGetGlobal_v2(&ptr, &bytes, module, "gvmf_bounds");
	if (result != CU_SYMBOL_NOT_FOUND)
		fail("the program finds the bounds");
	if (module && cu.cuModuleGetGlobal_v2(&ptr, &bytes, module, "no such variable") !=
			      CU_SYMBOL_NOT_FOUND)
		fail("a variable that is not there");
	return bounds(ret_ptr, library ? (struct CUmod_st *)library : module);
}

/* Each kind of image, as a module and as a library. */
static void task_images(int number)
{
	static const char *const images[] = { "plain.fatbin", "lz4.fatbin", "zstd.fatbin",
					      "code.fatbin" };
	struct {
		unsigned int magic, version;
		const void *data;
		void *unused;
	} wrapper = { 0x466243b1, 1, NULL, NULL };
	struct CUmod_st *module;
	struct CUlib_st *library;
	cu_ptr ptr = 0, global = 0;
	cu_result result;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, (unsigned int)number * 1000u));
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		wrapper.data = read_image(images[i]);
		result = i % 2 ? cu.cuModuleLoadData(&module, wrapper.data) :
				 cu.cuModuleLoadFatBinary(&module, &wrapper);
		printf("%s: %u ", images[i], result);
		if (result == CU_OK) {
			result = find_bounds(module, NULL, &global);
			print_bounds(result, (unsigned long long *)(uintptr_t)global, ptr);
			CHECK(cu.cuModuleUnload(module));
		} else {
			printf("refused\n");
		}
		result = cu.cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0);
		printf("as a library: %u\n", result);
		if (result == CU_OK)
			CHECK(cu.cuLibraryUnload(library));
	}
	CHECK(cu.cuMemFree_v2(ptr));
}

/* A library that is loaded before there is a context has its bounds at the first launch. */
static void task_early_library(int number)
{
	struct CUlib_st *library;
	struct CUctx_st *context;
	cu_ptr global = 0;
	cu_result result;

	find_calls();
	CHECK(cu.cuInit(0));
	CHECK(cu.cuLibraryLoadData(&library, read_image("plain.fatbin"), NULL, NULL, 0, NULL,
				   NULL, 0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	allocate_numbers();
	result = find_bounds(NULL, library, &global);
	print_bounds(result, (unsigned long long *)(uintptr_t)global, memory);
	launch(NULL);
	print_bounds(result, (unsigned long long *)(uintptr_t)global, memory);
	(void)number;
}

/* Memory that would lie outside of the partition is refused; what fits is inside. */
static void task_partition(int number)
{
	cu_ptr ptrs[2], managed;
	size_t free_bytes, total;

	open_device();
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("free %zu of %zu\n", free_bytes, total);
	CHECK(cu.cuMemAlloc_v2(&ptrs[0], MIB));
	CHECK(cu.cuMemAllocAsync(&ptrs[1], MIB, NULL));
	printf("apart %d\n", ptrs[1] - ptrs[0] >= MIB && ptrs[1] - ptrs[0] < 64 * MIB);
	printf("managed %u\n", cu.cuMemAllocManaged(&managed, MIB, CU_MANAGED_GLOBAL));
	printf("too much %u\n", cu.cuMemAlloc_v2(&managed, (unsigned int)number * MIB));
	printf("a free of nothing %d\n", cu.cuMemFree_v2(ptrs[0] + 512) == CU_OK);
	CHECK(cu.cuMemFreeAsync(ptrs[1], NULL));
	CHECK(cu.cuMemFree_v2(ptrs[0]));
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("free %zu of %zu\n", free_bytes, total);
}

static size_t resident_bytes(void)
{
	size_t pages[2] = { 0, 0 };
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%zu %zu", &pages[0], &pages[1]) != 2)
		fail("/proc/self/statm");
	fclose(file);
	return pages[1] * (size_t)sysconf(_SC_PAGESIZE);
}

/* A program that loads and unloads code for ever. */
static void task_libraries(int number)
{
	const char *image = read_image("plain.fatbin");
	struct CUlib_st *library;
	size_t before = 0;

	open_device();
	allocate_numbers();
	for (int i = 0; i < 2 * number; i++) {
		if (i == number)
			before = resident_bytes();
		CHECK(cu.cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cu.cuLibraryUnload(library));
	}
	printf("grown by %zu KiB\n", (resident_bytes() - before) / 1024);
}

/* The context goes with its memory, again and again: there is room for the next one. */
static void task_resets(int number)
{
	struct CUctx_st *context;
	int count[2] = { 0, 0 };
	cu_ptr ptr;

	find_calls();
	CHECK(cu.cuInit(0));
	for (int i = 0; i < 2; i++) {
		CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
		CHECK(cu.cuCtxSetCurrent(context));
		while (count[i] < number && cu.cuMemAlloc_v2(&ptr, MIB) == CU_OK)
			count[i]++;
		CHECK(cu.cuDevicePrimaryCtxReset_v2(0));
	}
	printf("allocated %d, %d\n", count[0], count[1]);
}

/* Load a file of these bytes, which has @size bytes in all. */
static void load_file(const char *what, const void *bytes, size_t count, off_t size)
{
	char path[] = "/tmp/gvm-fenced-XXXXXX";
	int fd = mkstemp(path);
	struct CUmod_st *module;

	if (fd < 0 || write(fd, bytes, count) != (ssize_t)count || ftruncate(fd, size))
		fail(path);
	close(fd);
	printf("%s: %u\n", what, cu.cuModuleLoad(&module, path));
	unlink(path);
}

/* Files that are no fat binaries, or too much of one. */
static void task_files(int number)
{
	const struct {
		unsigned int magic, version;
		unsigned long long address;
	} wrapper = { 0x466243b1, 1, 0x4141414141414141 };
	const char *image = read_image("plain.fatbin");
	struct CUmod_st *module;

	open_device();
	load_file("whole", image, 2088, 2088);
	load_file("wrapper", &wrapper, sizeof(wrapper), sizeof(wrapper));
	for (size_t cut = 2; cut < 2088; cut = 3 * cut)
		load_file("cut", image, cut, (off_t)cut);
	load_file("large", image, 2088, (off_t)number << 30);
	printf("none: %u\n", cu.cuModuleLoad(&module, "/none/file"));
}

const struct task fenced_tasks[] = {
	{ "images", task_images },
	{ "early_library", task_early_library },
	{ "partition", task_partition },
	{ "libraries", task_libraries },
	{ "files", task_files },
	{ "resets", task_resets },
	{ NULL, NULL },
};
