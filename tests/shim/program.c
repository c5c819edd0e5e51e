// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An application that knows nothing of the shim: program WAY TASK [NUMBER].
 *
 * WAY is how it finds CUDA: linked (the loader does it), dlsym, or ask (cuGetProcAddress, as a
 * statically linked CUDA runtime does). TASK is one of the functions below. It prints what it
 * did, so that a run with the shim and one without can be compared.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

#define WAY_VERSION 12080

struct program_calls cu;

void (*hold)(void);
void (*release)(void);
void (*end_first)(unsigned long count);
__typeof__(&fake_graph_create) graph_create;
__typeof__(&fake_graph_add) graph_add;
static const char *way;
static const char *self;

void fail(const char *what)
{
	printf("failed: %s\n", what);
	fflush(stdout);
	_exit(1);
}

void check(cu_result result, const char *what)
{
	if (result != CU_OK) {
		printf("error %u\n", result);
		fail(what);
	}
}

static void find_linked(void)
{
#ifdef LINKED
#define TAKE(symbol, ...) cu.symbol = symbol;
	FAKE_CALLS(TAKE)
#undef TAKE
#else
	fail("this program is not linked with libcuda");
#endif
}

void find_calls(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&cuGetProcAddress_v2) ask;

	if (!library)
		fail(dlerror());
	hold = (void (*)(void))dlsym(library, "fake_hold");
	release = (void (*)(void))dlsym(library, "fake_release");
	end_first = (void (*)(unsigned long))dlsym(library, "fake_end_first");
	graph_create = (__typeof__(graph_create))dlsym(library, "fake_graph_create");
	graph_add = (__typeof__(graph_add))dlsym(library, "fake_graph_add");
	if (!strcmp(way, "linked")) {
		find_linked();
		return;
	}
	if (!strcmp(way, "dlsym")) {
#define TAKE(symbol, ...) cu.symbol = (__typeof__(cu.symbol))dlsym(library, #symbol);
		FAKE_CALLS(TAKE)
#undef TAKE
		return;
	}
	ask = (__typeof__(ask))dlsym(library, "cuGetProcAddress_v2");
#define TAKE(symbol, name, version, per_thread)                                       \
	CHECK(ask(name, (void **)&cu.symbol, version > 12000 ? version : WAY_VERSION, \
		  per_thread ? CU_PROC_PER_THREAD : 0, NULL));
	FAKE_CALLS(TAKE)
#undef TAKE
}

void open_device(void)
{
	struct CUctx_st *context;

	find_calls();
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
}

/* Kernels: arguments are an array and its length. */

static void add_one(void **parameters)
{
	unsigned int *numbers = *(unsigned int **)parameters[0];
	unsigned int count = *(unsigned int *)parameters[1];

	for (unsigned int i = 0; i < count; i++)
		numbers[i] = numbers[i] * 3 + i;
}

struct CUfunc_st *const kernel = (struct CUfunc_st *)(uintptr_t)add_one;
cu_ptr memory;
unsigned int length = 1000;
void *arguments[2] = { &memory, &length };

void launch(struct CUstream_st *stream)
{
	CHECK(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

void wait_for_line(void)
{
	char line[16];

	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		_exit(2);
}

void allocate_numbers(void)
{
	CHECK(cu.cuMemAlloc_v2(&memory, length * sizeof(unsigned int)));
	memset((void *)(uintptr_t)memory, 0, length * sizeof(unsigned int));
}

void print_numbers(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < length; i++)
		sum = sum * 31 + ((unsigned int *)(uintptr_t)memory)[i];
	printf("sum %u\n", sum);
}

/* Every way to launch: 5 + 3 * NUMBER kernels by calls, 4 * 7 by graphs. */
static void task_launches(int number)
{
	struct shim_launch_config config = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	struct shim_launch_params each[2] = { { .function = kernel, .parameters = arguments },
					      { .function = kernel, .parameters = arguments } };
	struct CUgraph_st *child, *graph;
	struct CUgraphExec_st *exec;
	struct CUgraphNode_st *last;
	struct CUstream_st *stream;

	open_device();
	allocate_numbers();
	CHECK(cu.cuStreamCreate(&stream, 0));
	for (int i = 0; i < number; i++) {
		launch(NULL);
		launch(stream);
		CHECK(cu.cuLaunchKernel_ptsz(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments,
					     NULL));
	}
	config.stream = stream;
	CHECK(cu.cuLaunchKernelEx((struct CUlaunchConfig_st *)&config, kernel, arguments,
				  NULL));
	CHECK(cu.cuLaunchCooperativeKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments));
	each[0].stream = each[1].stream = stream;
	CHECK(cu.cuLaunchCooperativeKernelMultiDevice((struct CUDA_LAUNCH_PARAMS_st *)each, 2,
						      0));
	if (cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) == CU_OK)
		fail("a launch of nothing");
	launch(CU_LEGACY);
	/* A child graph of two kernels, and two kernels by a capture. */
	CHECK(graph_create(&child));
	graph_add(child, kernel, arguments, NULL);
	graph_add(child, kernel, arguments, NULL);
	CHECK(cu.cuStreamBeginCapture_v2(stream, 0));
	launch(stream);
	launch(stream);
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	graph_add(graph, NULL, NULL, child);
	last = graph_add(graph, kernel, arguments, NULL);
	CHECK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 4; i++)
		CHECK(cu.cuGraphLaunch(exec, stream));
	CHECK(cu.cuGraphNodeSetEnabled(exec, last, 0));
	CHECK(cu.cuGraphNodeSetEnabled(exec, last, 0));
	CHECK(cu.cuGraphLaunch(exec, stream));
	CHECK(cu.cuGraphNodeSetEnabled(exec, last, 1));
	CHECK(cu.cuGraphLaunch(exec, stream));
	CHECK(cu.cuGraphExecDestroy(exec));
	print_numbers();
	CHECK(cu.cuMemFree_v2(memory));
	CHECK(cu.cuStreamDestroy_v2(stream));
}

/* All kinds of memory, all freed. */
static void task_memory(int number)
{
	struct shim_allocation_prop prop = { 1, 0, CU_LOCATION_DEVICE, 0 };
	struct shim_pool_props props = {
		CU_ALLOC_PINNED, 0, CU_LOCATION_DEVICE, 0, NULL, 0, ""
	};
	struct CUmemPoolHandle_st *pool;
	unsigned long long handle;
	unsigned char managed = 2;
	size_t pitch, before, after, total;
	cu_ptr ptrs[5], range;

	open_device();
	CHECK(cu.cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < number; i++) {
		CHECK(cu.cuMemAlloc_v2(&ptrs[0], MIB));
		CHECK(cu.cuMemAllocPitch_v2(&ptrs[1], &pitch, 1000, 100, 4));
		CHECK(cu.cuMemAllocAsync(&ptrs[2], 3 * MIB, NULL));
		CHECK(cu.cuMemAllocManaged(&ptrs[3], MIB, CU_MANAGED_GLOBAL));
		CHECK(cu.cuMemPoolCreate(&pool, (struct CUmemPoolProps_st *)&props));
		CHECK(cu.cuMemAllocFromPoolAsync(&ptrs[4], MIB, pool, NULL));
		CHECK(cu.cuMemCreate(&handle, 2 * MIB, (struct CUmemAllocationProp_st *)&prop,
				     0));
		CHECK(cu.cuMemAddressReserve(&range, 2 * MIB, 0, 0, 0));
		CHECK(cu.cuMemMap(range, 2 * MIB, 0, handle, 0));
		CHECK(cu.cuMemRelease(handle));
		CHECK(cu.cuPointerGetAttribute(&managed, CU_POINTER_IS_MANAGED, ptrs[0] + 100));
		printf("managed %u pitch %zu\n", managed, pitch);
		CHECK(cu.cuMemFree_v2(ptrs[0]));
		CHECK(cu.cuMemFree_v2(ptrs[1]));
		CHECK(cu.cuMemFreeAsync(ptrs[2], NULL));
		CHECK(cu.cuMemFree_v2(ptrs[3]));
		CHECK(cu.cuMemFree_v2(ptrs[4]));
		CHECK(cu.cuMemUnmap(range, 2 * MIB));
		CHECK(cu.cuMemAddressFree(range, 2 * MIB));
	}
	CHECK(cu.cuMemFree_v2(0));
	if (cu.cuMemFree_v2(12345) == CU_OK)
		fail("a free of nothing");
	CHECK(cu.cuMemGetInfo_v2(&after, &total));
	printf("free %zu of %zu, %s\n", after, total,
	       before == after ? "as before" : "changed");
}

/* Allocate MiB by MiB until there is no more. */
void task_fill(int number)
{
	static cu_ptr ptrs[4096];
	size_t free_bytes, total, device;
	int count = 0;

	open_device();
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	CHECK(cu.cuDeviceTotalMem_v2(&device, 0));
	printf("free %zu of %zu, device %zu\n", free_bytes, total, device);
	while (count < number && cu.cuMemAlloc_v2(&ptrs[count], MIB) == CU_OK)
		count++;
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("allocated %d, free %zu\n", count, free_bytes);
	wait_for_line();
	while (count)
		CHECK(cu.cuMemFree_v2(ptrs[--count]));
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("freed, free %zu\n", free_bytes);
	if (number)
		wait_for_line();
}

/* 64 streams of NUMBER launches each, by 8 threads. */
static void *launch_on_streams(void *argument)
{
	struct CUstream_st *streams[8];
	struct CUctx_st *context;
	int number = *(int *)argument;
	unsigned int none = 0;
	void *nothing[2] = { &memory, &none };

	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	for (int i = 0; i < 8; i++)
		CHECK(cu.cuStreamCreate(&streams[i], 1));
	for (int i = 0; i < 8 * number; i++)
		CHECK(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, streams[i % 8], nothing,
					NULL));
	return NULL;
}

static void task_streams(int number)
{
	pthread_t threads[8];

	open_device();
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, launch_on_streams, &number);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	printf("launched\n");
}

/* Launches that do not end before they are told to. */
static void task_pending(int number)
{
	open_device();
	allocate_numbers();
	hold();
	for (int i = 0; i < number; i++)
		launch(NULL);
	wait_for_line();
	release();
	wait_for_line();
	print_numbers();
	CHECK(cu.cuMemFree_v2(memory));
}

/*
 * Three times NUMBER launches, each when it is told to; then those of the first two times end.
 */
static void task_queue(int number)
{
	open_device();
	allocate_numbers();
	hold();
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < number; j++)
			launch(NULL);
		wait_for_line();
	}
	end_first(2 * (unsigned long)number);
	wait_for_line();
	release();
	CHECK(cu.cuMemFree_v2(memory));
}

/* The parent forks before it uses the GPU: NUMBER children, which end by _exit() or exit(). */
static void task_fork(int number)
{
	for (int i = 0; i < number; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			open_device();
			allocate_numbers();
			launch(NULL);
			if (i % 2)
				_exit(0);
			exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			fail("a child");
	}
	open_device();
	allocate_numbers();
	launch(NULL);
	print_numbers();
}

/*
 * The parent has used the GPU; the child has not, and ends. A vfork() child
 * only runs another program.
 */
static void task_fork_late(int number)
{
	int status;
	pid_t child;

	open_device();
	allocate_numbers();
	launch(NULL);
	for (int i = 0; i < number; i++) {
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
		child = vfork();
		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
	}
	launch(NULL);
	wait_for_line();
	print_numbers();
}

/* This program again, in the same process. */
static void task_exec(int number)
{
	char text[16];

	open_device();
	allocate_numbers();
	launch(NULL);
	snprintf(text, sizeof(text), "%d", number);
	execl(self, self, way, "launches", text, (char *)NULL);
	fail("exec");
}

/* A thread that still launches while the process ends. */
static void *launch_for_ever(void *unused)
{
	struct CUctx_st *context;

	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	for (;;)
		cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
	return unused;
}

static void task_exit_launching(int number)
{
	pthread_t thread;

	open_device();
	allocate_numbers();
	for (int i = 0; i < number; i++)
		pthread_create(&thread, NULL, launch_for_ever, NULL);
	usleep(20000);
	printf("leaving\n");
}

/* A signal handler ends the process, whatever the thread below it holds. */
static void leave(int signal)
{
	(void)signal;
	_exit(0);
}

static void task_exit_in_handler(int number)
{
	cu_ptr ptr;

	open_device();
	signal(SIGALRM, leave);
	ualarm((useconds_t)number, 0);
	for (;;) {
		CHECK(cu.cuMemAlloc_v2(&ptr, 100));
		CHECK(cu.cuMemFree_v2(ptr));
	}
}

/* The context goes with all of its memory. */
static void task_reset(int number)
{
	cu_ptr ptr;

	open_device();
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	length = 0;
	launch(NULL);
	CHECK(cu.cuDevicePrimaryCtxReset_v2(0));
	wait_for_line();
}

static void task_export(int number)
{
	unsigned int exported = 0, for_devices = 0, on = 1;
	char handle[64];

	open_device();
	allocate_numbers();
	for (int i = 0; i < number; i++) {
		exported += cu.cuIpcGetMemHandle((struct CUipcMemHandle_st *)handle, memory) ==
			    CU_OK;
		for_devices +=
			cu.cuPointerSetAttribute(&on, CU_POINTER_SYNC_MEMOPS, memory) == CU_OK;
	}
	printf("exported %u, for devices %u\n", exported, for_devices);
	/* No memory at all, and another attribute: nothing is to be said of them. */
	if (cu.cuIpcGetMemHandle((struct CUipcMemHandle_st *)handle, 4096) == CU_OK ||
	    cu.cuPointerSetAttribute(&on, CU_POINTER_SYNC_MEMOPS, 4096) == CU_OK ||
	    cu.cuPointerSetAttribute(&on, CU_POINTER_HOST, memory) == CU_OK)
		fail("what is not there was exported");
}

/* NULL in what dlsym() returns stays NULL, and RTLD_NEXT stays the caller's. */
static void task_symbols(int number)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	printf("%d %d %d\n", dlsym(library, "cuNoSuchCall") == NULL,
	       dlsym(RTLD_NEXT, "malloc") != NULL, dlsym(RTLD_DEFAULT, "printf") != NULL);
	(void)number;
}

static const struct task plain_tasks[] = {
	{ "launches", task_launches },
	{ "memory", task_memory },
	{ "fill", task_fill },
	{ "streams", task_streams },
	{ "pending", task_pending },
	{ "queue", task_queue },
	{ "fork", task_fork },
	{ "fork_late", task_fork_late },
	{ "exec", task_exec },
	{ "exit_launching", task_exit_launching },
	{ "reset", task_reset },
	{ "exit_in_handler", task_exit_in_handler },
	{ "export", task_export },
	{ "symbols", task_symbols },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	static const struct task *const tables[] = { plain_tasks, corner_tasks, fork_tasks,
						     pool_tasks,  fenced_tasks, array_tasks,
						     ipc_tasks,	  frozen_tasks };

	if (argc < 3)
		return 2;
	self = argv[0];
	way = argv[1];
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct task *task = tables[i]; task->name; task++)
			if (!strcmp(argv[2], task->name)) {
				task->run(argc > 3 ? atoi(argv[3]) : 1);
				return 0;
			}
	return 2;
}
