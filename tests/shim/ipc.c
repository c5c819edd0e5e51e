// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tasks of applications that share memory between processes: program.c runs them. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

struct CUipcMemHandle_st {
	unsigned char bytes[64];
};

static struct CUipcMemHandle_st handle;

static unsigned int *numbers_at(cu_ptr ptr)
{
	return (unsigned int *)(uintptr_t)ptr;
}

static void fill(cu_ptr ptr, size_t bytes)
{
	for (size_t i = 0; i < bytes / 4; i++)
		numbers_at(ptr)[i] = (unsigned int)i * 2654435761u;
}

static void print_sum(cu_ptr ptr, size_t bytes)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < bytes / 4; i++)
		sum = sum * 31 + numbers_at(ptr)[i];
	printf("sum %08x\n", sum);
}

/* What an application can ask of a pointer; this one lies within the allocation. */
static void print_pointer(cu_ptr start)
{
	struct CUctx_st *context = NULL;
	unsigned int type = 0, handles = 9;
	unsigned char managed = 2, can = 2;
	size_t size = 0, range = 0;
	cu_ptr first = 0, at = start + 100;

	CHECK(cu.cuPointerGetAttribute(&managed, CU_POINTER_IS_MANAGED, at));
	CHECK(cu.cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, at));
	CHECK(cu.cuPointerGetAttribute(&size, CU_POINTER_SIZE, at));
	CHECK(cu.cuPointerGetAttribute(&can, CU_POINTER_CAN_IPC, at));
	CHECK(cu.cuPointerGetAttribute(&handles, CU_POINTER_HANDLES, at));
	CHECK(cu.cuPointerGetAttribute(&context, CU_POINTER_CONTEXT, at));
	CHECK(cu.cuMemGetAddressRange_v2(&first, &range, at));
	printf("managed %u type %u size %zu %zu start %d can %u handles %u context %d\n",
	       managed, type, size, range, first == start, can, handles, context != NULL);
}

static void print_handle(void)
{
	printf("handle ");
	for (size_t i = 0; i < sizeof(handle); i++)
		printf("%02x", handle.bytes[i]);
	printf("\n");
}

static void read_handle(void)
{
	const char *text = getenv("IPC_HANDLE");

	if (!text || strlen(text) != 2 * sizeof(handle))
		fail("no handle");
	for (size_t i = 0; i < sizeof(handle); i++)
		if (sscanf(text + 2 * i, "%2hhx", &handle.bytes[i]) != 1)
			fail("a handle that is none");
}

/* Export NUMBER KiB; show them when others had their turn; free them. */
static void task_ipc_export(int number)
{
	struct CUipcMemHandle_st again = { "" };
	size_t bytes = (size_t)number * 1024;
	size_t free_bytes, before, total;
	cu_result result;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemGetInfo_v2(&before, &total));
	CHECK(cu.cuMemAlloc_v2(&ptr, bytes));
	fill(ptr, bytes);
	print_pointer(ptr);
	result = cu.cuIpcGetMemHandle(&handle, ptr);
	printf("export %u\n", result);
	print_sum(ptr, bytes);
	print_pointer(ptr);
	if (result == CU_OK) {
		CHECK(cu.cuIpcGetMemHandle(&again, ptr + 300));
		printf("again %d\n", !memcmp(&again, &handle, sizeof(handle)));
		print_handle();
	}
	wait_for_line();
	print_sum(ptr, bytes);
	CHECK(getenv("IPC_ASYNC") ? cu.cuMemFreeAsync(ptr, NULL) : cu.cuMemFree_v2(ptr));
	if (cu.cuMemFree_v2(ptr) == CU_OK)
		fail("it was freed twice");
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("freed %d\n", free_bytes == before);
	wait_for_line();
}

/* Open what another process has exported NUMBER times, change it, and close it once too often. */
static void task_ipc_open(int number)
{
	cu_ptr ptr = 0, again = 0;
	cu_result result = CU_OK;
	size_t bytes = 0;

	open_device();
	read_handle();
	for (int i = 0; i < number; i++) {
		result = cu.cuIpcOpenMemHandle_v2(&again, handle, CU_IPC_PEER);
		if (i && again != ptr)
			fail("it was opened at another address");
		ptr = again;
	}
	printf("open %u\n", result);
	if (result != CU_OK || getenv("IPC_DRIVER")) {
		printf("at %llx\n", ptr);
		return;
	}
	CHECK(cu.cuMemGetAddressRange_v2(NULL, &bytes, ptr));
	print_sum(ptr, bytes);
	print_pointer(ptr);
	if (cu.cuIpcGetMemHandle(&handle, ptr) == CU_OK)
		fail("the memory of another process was exported");
	for (size_t i = 0; i < bytes / 4; i++)
		numbers_at(ptr)[i] ^= (unsigned int)i + 5;
	wait_for_line();
	print_sum(ptr, bytes);
	for (int i = 0; i <= number; i++)
		printf("close %u\n", cu.cuIpcCloseMemHandle(ptr));
}

/* Two allocations are exported, and opened here: as a driver says it, that cannot be. */
static void task_ipc_self(int number)
{
	cu_ptr ptr, opened = 0;

	open_device();
	for (int i = 0; i < number; i++) {
		CHECK(cu.cuMemAlloc_v2(&ptr, 4 * MIB));
		CHECK(cu.cuIpcGetMemHandle(&handle, ptr));
		printf("open %u\n", cu.cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_PEER));
		printf("flags %u\n", cu.cuIpcOpenMemHandle_v2(&opened, handle, 8));
	}
}

/* The first version of the call, by its symbol and by its version. */
static void task_ipc_first(int number)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&cuGetProcAddress_v2) ask =
		(__typeof__(ask))dlsym(library, "cuGetProcAddress_v2");
	__typeof__(&cuIpcOpenMemHandle) open[2] = { (
		__typeof__(&cuIpcOpenMemHandle))dlsym(library, "cuIpcOpenMemHandle") };
	unsigned int *word;
	cu_ptr ptr;

	open_device();
	read_handle();
	CHECK(ask("cuIpcOpenMemHandle", (void **)&open[1], 4010, 0, NULL));
	for (int i = 0; i < number; i++) {
		ptr = 0;
		printf("open %u\n", open[i](&ptr, handle, CU_IPC_PEER));
		word = numbers_at(ptr);
		if (getenv("IPC_DRIVER"))
			printf("at %llx\n", ptr);
		else
			printf("second %x\n", word[1]);
	}
}

/* What was exported goes with its context; then the same once more. */
static void task_ipc_reset(int number)
{
	struct CUctx_st *context;
	cu_ptr ptr;

	open_device();
	for (int i = 0; i < number; i++) {
		CHECK(cu.cuMemAlloc_v2(&ptr, 3 * MIB));
		CHECK(cu.cuIpcGetMemHandle(&handle, ptr));
		CHECK(cu.cuDevicePrimaryCtxReset_v2(0));
		CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
		CHECK(cu.cuCtxSetCurrent(context));
	}
}

static void task_ipc_capture(int number)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, (unsigned int)number * MIB));
	CHECK(cu.cuStreamCreate(&stream, 0));
	CHECK(cu.cuStreamBeginCapture_v2(stream, 0));
	printf("export %u\n", cu.cuIpcGetMemHandle(&handle, ptr));
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	printf("export %u\n", cu.cuIpcGetMemHandle(&handle, ptr));
	CHECK(cu.cuStreamBeginCapture_v2(stream, 0));
	printf("export %u\n", cu.cuIpcGetMemHandle(&handle, ptr));
	CHECK(cu.cuStreamEndCapture(stream, &graph));
}

static bool is_mapped(cu_ptr ptr)
{
	return !msync((void *)(uintptr_t)ptr, 4096, MS_ASYNC);
}

/* Exported memory is freed while a stream is captured: its addresses are its own until later. */
static void task_ipc_free_captured(int number)
{
	struct CUstream_st *stream;
	struct CUgraph_st *graph;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, (unsigned int)number * MIB));
	CHECK(cu.cuIpcGetMemHandle(&handle, ptr));
	CHECK(cu.cuStreamCreate(&stream, 0));
	CHECK(cu.cuStreamBeginCapture_v2(stream, CU_CAPTURE_RELAXED));
	CHECK(cu.cuMemFree_v2(ptr));
	usleep(50000);
	printf("in the capture: mapped %d, free %u\n", is_mapped(ptr), cu.cuMemFree_v2(ptr));
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	for (int i = 0; i < 1000 && is_mapped(ptr); i++)
		usleep(10000);
	printf("behind it: mapped %d\n", is_mapped(ptr));
}

/* A child lives on when its parent, which has exported memory, has ended. */
static void task_ipc_fork(int number)
{
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, (unsigned int)number * MIB));
	fill(ptr, (unsigned int)number * MIB);
	CHECK(cu.cuIpcGetMemHandle(&handle, ptr));
	print_handle();
	fflush(stdout);
	if (!fork()) {
		struct pollfd input = { .fd = 0 }; /* for POLLHUP */

		close(1);
		poll(&input, 1, -1);
		_exit(0);
	}
	wait_for_line();
}

/* It closes all that it does not know, before it exports memory and after that. */
static void task_ipc_close_all(int number)
{
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, 2 * MIB));
	allocate_numbers();
	launch(NULL);
	if (number) {
		printf("export %u\n", cu.cuIpcGetMemHandle(&handle, ptr));
		print_handle();
	}
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	launch(NULL);
	usleep(50000);
	printf("export %u\n", cu.cuIpcGetMemHandle(&handle, ptr));
	wait_for_line();
	printf("freed %u\n", cu.cuMemFree_v2(ptr));
}

static _Atomic bool enough;

static void *map_again_and_again(void *unused)
{
	void *maps[64];

	while (!enough) {
		for (size_t i = 0; i < 64; i++)
			maps[i] = mmap(NULL, (i + 1) * MIB, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (size_t i = 0; i < 64; i++)
			munmap(maps[i], (i + 1) * MIB);
	}
	return unused;
}

/* Export NUMBER times, while others take addresses. */
static void task_ipc_beside_maps(int number)
{
	pthread_t threads[4];
	int right = 0;
	cu_ptr ptr;

	open_device();
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, map_again_and_again, NULL);
	for (int i = 0; i < number; i++) {
		CHECK(cu.cuMemAlloc_v2(&ptr, 2 * MIB));
		numbers_at(ptr)[i] = (unsigned int)i + 9;
		CHECK(cu.cuIpcGetMemHandle(&handle, ptr));
		right += numbers_at(ptr)[i] == (unsigned int)i + 9;
		CHECK(cu.cuMemFree_v2(ptr));
	}
	enough = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("right %d\n", right);
}

static int early_map = -1, early_errno, early_unmap = -1;

/* It runs before the constructors of libraries. */
static void map_early(void)
{
	char *map;

	errno = 5;
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	early_map = map != MAP_FAILED && !map[9];
	early_unmap = munmap(map, 4096);
	early_errno = errno;
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = map_early;

static void task_maps(int number)
{
	off_t far = ((off_t)number << 32) + 8192;
	int fd = memfd_create("far", MFD_CLOEXEC), status = -1;
	Dl_info info = { NULL, NULL, NULL, NULL };
	void *found = dlsym(RTLD_DEFAULT, "munmap");
	char *map, *map64;
	pid_t child;

	dladdr(found, &info);
	printf("the shim's %d\n", info.dli_fname && strstr(info.dli_fname, "libgvm_shim"));
	printf("early %d %d %d\n", early_map, early_errno, early_unmap);
	if (ftruncate(fd, far + 4096) || pwrite(fd, "\t", 1, far) != 1)
		fail("no far file");
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, far);
	map64 = mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, far);
	printf("far %d %d ", *map, memcmp(map, map64, 4096));
	printf("%d\n", munmap(map, 4096) | munmap(map64, 4096));
	map = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("wrong %d %d ", map == MAP_FAILED, errno);
	errno = 0;
	munmap((char *)&early_map + 1, 4096);
	printf("%d\n", errno);
	fflush(stdout);
	child = fork();
	if (!child) {
		map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		_exit(map == MAP_FAILED || munmap(map, 4096));
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
}

const struct task ipc_tasks[] = {
	{ "ipc_export", task_ipc_export },
	{ "ipc_open", task_ipc_open },
	{ "ipc_self", task_ipc_self },
	{ "ipc_first", task_ipc_first },
	{ "ipc_reset", task_ipc_reset },
	{ "ipc_capture", task_ipc_capture },
	{ "ipc_free_captured", task_ipc_free_captured },
	{ "ipc_fork", task_ipc_fork },
	{ "ipc_close_all", task_ipc_close_all },
	{ "ipc_beside_maps", task_ipc_beside_maps },
	{ "maps", task_maps },
	{ NULL, NULL },
};
