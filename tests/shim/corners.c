// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tasks of an application that are rare or wrong: program.c runs them. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

/*
 * The application asks for a pool before it initializes CUDA, which fails, and then works on.
 */
static void task_early(int number)
{
	struct CUmemPoolHandle_st *pool;
	cu_ptr ptr;

	find_calls();
	printf("early %u\n", cu.cuDeviceGetDefaultMemPool(&pool, 0));
	open_device();
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
}

/*
 * The application was made for a later driver, whose call of a known name has one more
 * argument. For another call it asks for the first version.
 */
static void task_newer(int number)
{
	void *library;
	__typeof__(&cuGetProcAddress_v2) ask;
	__typeof__(&cuMemAlloc_v3) newer;
	__typeof__(&cuDevicePrimaryCtxReset) first;
	cu_ptr ptr;

	open_device();
	library = dlopen("libcuda.so.1", RTLD_NOW);
	ask = (__typeof__(ask))dlsym(library, "cuGetProcAddress_v2");
	for (int i = 0; i < number; i++) {
		CHECK(ask("cuMemAlloc", (void **)&newer, 99000, 0, NULL));
		CHECK(newer(&ptr, MIB, 1));
		printf("newer %llu\n", (unsigned long long)ptr);
	}
	CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	CHECK(ask("cuDevicePrimaryCtxReset", (void **)&first, 7000, 0, NULL));
	CHECK(first(0));
}

/* The first version of a call, as an older program asks for it by its symbol. */
static void task_first_version(int number)
{
	__typeof__(&cuDevicePrimaryCtxReset) first;
	cu_ptr ptr;

	open_device();
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	first = (__typeof__(first))dlsym(dlopen("libcuda.so.1", RTLD_NOW),
					 "cuDevicePrimaryCtxReset");
	CHECK(first(0));
}

static void ignore(int signal)
{
	(void)signal;
}

/* Signals come all the time, and interrupt system calls. */
static void task_signals(int number)
{
	struct sigaction action = { .sa_handler = ignore };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };
	size_t free_bytes, total;
	cu_ptr ptrs[8];

	open_device();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < number; i++) {
		for (int j = 0; j < 8; j++)
			CHECK(cu.cuMemAlloc_v2(&ptrs[j], MIB));
		for (int j = 0; j < 8; j++)
			CHECK(cu.cuMemFree_v2(ptrs[j]));
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("free %zu of %zu\n", free_bytes, total);
}

/* The process has no descriptor left. */
static void task_descriptors(int number)
{
	struct rlimit few = { 3, 3 };
	size_t free_bytes, total;
	cu_ptr ptr;
	int count = 0;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	setrlimit(RLIMIT_NOFILE, &few);
	while (count < number && cu.cuMemAlloc_v2(&ptr, MIB) == CU_OK)
		count++;
	CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
	printf("allocated %d, free %zu\n", count, free_bytes);
}

static void *end_capture(void *stream)
{
	struct CUgraph_st *graph;

	printf("end %u\n", cu.cuStreamEndCapture(stream, &graph));
	return NULL;
}

/* Another thread tries to end a capture, and may not. */
static void task_wrong_end(int number)
{
	struct CUgraph_st *graph;
	struct CUstream_st *stream;
	pthread_t thread;

	open_device();
	allocate_numbers();
	CHECK(cu.cuStreamCreate(&stream, 0));
	CHECK(cu.cuStreamBeginCapture_v2(stream, 0));
	pthread_create(&thread, NULL, end_capture, stream);
	pthread_join(thread, NULL);
	for (int i = 0; i < number; i++)
		launch(stream);
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	launch(stream);
	print_numbers();
}

static void task_no_list(int number)
{
	open_device();
	printf("launch %u\n",
	       cu.cuLaunchCooperativeKernelMultiDevice(NULL, (unsigned int)number, 0));
}

/*
 * The shim calls these of ours, as of any program that has functions of such names: a folder
 * goes between two steps, and the user has no more watches.
 */
static bool folder_goes, no_watches;

int mkdir(const char *path, mode_t mode);
int mkdir(const char *path, mode_t mode)
{
	const char *name = strrchr(path, '/');
	char folder[512];

	if (folder_goes && name &&
	    (atoi(name + 1) == getpid() || !strcmp(name, "/containers"))) {
		folder_goes = false;
		snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
		rmdir(folder);
	}
	return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int inotify_init1(int flags)
{
	if (!no_watches)
		return (int)syscall(SYS_inotify_init1, flags);
	errno = EMFILE;
	return -1;
}

/* Another process with the shim ends, and removes the folder that is empty. */
static void task_folder_goes(int number)
{
	folder_goes = true;
	task_fill(number);
}

static void task_no_watches(int number)
{
	no_watches = true;
	task_fill(number);
}

/* A process of the same number was killed, and left its files. */
static void task_fork_same_number(int number)
{
	char path[512];
	pid_t child = fork();

	if (child) {
		if (waitpid(child, NULL, 0) != child)
			fail("a child");
		return;
	}
	snprintf(path, sizeof(path), "%s/%d", getenv("GVM_SHIM_DIR"), (int)getpid());
	mkdir(getenv("GVM_SHIM_DIR"), 0755);
	mkdir(path, 0755);
	printf("child %d\n", (int)getpid());
	task_fill(number);
	exit(0);
}

/*
 * The program closes all descriptors but the first three, as daemons do, and has
 * files and pipes in their places. What it has there stays as it is. Then it
 * allocates until there is no more.
 */
static void task_closes(int number)
{
	int pipes[2], places = 0;
	char byte;
	cu_ptr ptr;

	open_device();
	allocate_numbers();
	launch(NULL);
	usleep(50000);
	close_range(3, ~0u, 0);
	if (pipe(pipes) || write(pipes[1], "12345678901234567890", 20) != 20)
		fail("a pipe");
	dup2(pipes[0], 50);
	dup2(pipes[1], 51);
	for (int fd = 3; fd < 40; fd++)
		dup2(fd % 2 == number % 2 ? 50 : fileno(tmpfile()), fd);
	for (int i = 0; i < 20; i++) {
		launch(NULL);
		usleep(5000);
	}
	for (int fd = 3; fd < 40; fd++)
		if (fd % 2 != number % 2 && lseek(fd, 0, SEEK_END))
			printf("something was written to %d\n", fd);
	while (poll(&(struct pollfd){ .fd = 50, .events = POLLIN }, 1, 0) == 1 &&
	       read(50, &byte, 1) == 1)
		places++;
	printf("%d bytes are in the pipe\n", places);
	places = 0;
	while (places < number && cu.cuMemAlloc_v2(&ptr, MIB) == CU_OK)
		places++;
	printf("allocated %d\n", places);
	print_numbers();
}

/*
 * As task_closes(), with counters in the places: on Linux all eventfds and inotify descriptors
 * have one inode. Nothing is added to a counter or taken from it, and a child of a fork keeps
 * all of them.
 */
static void task_closes_counters(int number)
{
	uint64_t count;
	int lost = 0, status;
	pid_t child;

	open_device();
	allocate_numbers();
	launch(NULL);
	usleep(50000);
	close_range(3, ~0u, 0);
	for (int i = 0; i < number; i++)
		if (eventfd(5, EFD_NONBLOCK) < 0)
			fail("an eventfd");
	for (int i = 0; i < 20; i++) {
		launch(NULL);
		usleep(5000);
	}
	child = fork();
	if (!child) {
		for (int i = 0; i < number; i++)
			lost += fcntl(3 + i, F_GETFD) < 0;
		_exit(lost);
	}
	if (waitpid(child, &status, 0) != child || status)
		printf("a child has lost %d counters\n", WEXITSTATUS(status));
	for (int i = 0; i < number; i++)
		if (read(3 + i, &count, sizeof(count)) != sizeof(count) || count != 5)
			printf("counter %d was changed\n", 3 + i);
	printf("done\n");
}

static int entries_of(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

/* A context, streams, a graph, all kinds of memory, and the end of the context. */
static void use_and_reset(void)
{
	struct CUctx_st *context;
	struct CUstream_st *streams[8];
	struct CUgraph_st *graph;
	struct CUgraphExec_st *exec;
	cu_ptr ptrs[64];

	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	allocate_numbers();
	for (int i = 0; i < 8; i++) {
		CHECK(cu.cuStreamCreate(&streams[i], 0));
		launch(streams[i]);
	}
	for (int i = 0; i < 64; i++)
		CHECK(i % 2 ? cu.cuMemAllocAsync(&ptrs[i], 4096, NULL) :
			      cu.cuMemAlloc_v2(&ptrs[i], 4096));
	CHECK(cu.cuStreamBeginCapture_v2(streams[0], 0));
	launch(streams[0]);
	CHECK(cu.cuStreamEndCapture(streams[0], &graph));
	CHECK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cu.cuGraphLaunch(exec, streams[0]));
	CHECK(cu.cuGraphExecDestroy(exec));
	for (int i = 0; i < 64; i++)
		CHECK(cu.cuMemFree_v2(ptrs[i]));
	for (int i = 0; i < 8; i++)
		CHECK(cu.cuStreamDestroy_v2(streams[i]));
	CHECK(cu.cuMemFree_v2(memory));
	CHECK(cu.cuDevicePrimaryCtxReset_v2(0));
}

/* NUMBER starts and ends of CUDA within a process, after as many that fill caches. */
static void task_cycles(int number)
{
	int threads = 0, descriptors = 0;
	size_t bytes = 0;

	find_calls();
	CHECK(cu.cuInit(0));
	for (int i = 0; i < 2 * number; i++) {
		if (i == number) {
			threads = entries_of("/proc/self/task");
			descriptors = entries_of("/proc/self/fd");
			bytes = mallinfo2().uordblks;
		}
		use_and_reset();
		usleep(5000);
	}
	printf("threads %d, descriptors %d, bytes %zd\n",
	       entries_of("/proc/self/task") - threads,
	       entries_of("/proc/self/fd") - descriptors,
	       (ssize_t)(mallinfo2().uordblks - bytes));
}

/* Graphs in graphs, NUMBER deep, a kernel in each. */
static void task_deep_graphs(int number)
{
	struct CUgraph_st *graph = NULL, *outer;
	struct CUgraphExec_st *exec;

	open_device();
	allocate_numbers();
	for (int i = 0; i < number; i++) {
		CHECK(graph_create(&outer));
		graph_add(outer, kernel, arguments, NULL);
		if (graph)
			graph_add(outer, NULL, NULL, graph);
		graph = outer;
	}
	CHECK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cu.cuGraphLaunch(exec, NULL));
	print_numbers();
}

/* The program goes to another folder, as daemons do. */
static void task_moves(int number)
{
	open_device();
	allocate_numbers();
	if (chdir("/"))
		fail("chdir");
	for (int i = 0; i < number; i++)
		launch(NULL);
}

static void *launch_once(void *unused)
{
	struct CUctx_st *context;
	unsigned int none = 0;
	void *nothing[2] = { &memory, &none };

	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	CHECK(cu.cuLaunchKernel_ptsz(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, nothing, NULL));
	return unused;
}

/*
 * NUMBER threads, one after the other, each with its default stream. The launch of
 * the last one does not end.
 */
static void task_threads(int number)
{
	pthread_t thread;

	open_device();
	for (int i = 0; i < number; i++) {
		if (i == number - 1)
			hold();
		pthread_create(&thread, NULL, launch_once, NULL);
		pthread_join(thread, NULL);
	}
	wait_for_line();
	release();
}

/* NUMBER blocks, of which the fifth has two MiB, and is then used until a line comes. */
static void task_cold(int number)
{
	static cu_ptr ptrs[64];
	char text[16];

	/* poll() below sees no line that lies in a buffer of stdio. */
	setvbuf(stdin, NULL, _IONBF, 0);
	open_device();
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemAlloc_v2(&ptrs[i], i == 4 ? 2 * MIB : MIB));
	wait_for_line();
	memory = ptrs[4] + MIB;
	length = 16;
	for (struct pollfd line = { .fd = 0, .events = POLLIN }; poll(&line, 1, 1) == 0;)
		launch(NULL);
	if (!fgets(text, sizeof(text), stdin))
		_exit(2);
	for (int i = 0; i < number; i++)
		CHECK(cu.cuMemFree_v2(ptrs[i]));
	wait_for_line();
}

/* One kernel on each of two GPUs, in a context of the first one. */
static void task_both_gpus(int number)
{
	struct shim_launch_params each[2] = { 0 };
	struct CUctx_st *contexts[2];

	find_calls();
	CHECK(cu.cuInit(0));
	for (int device = 1; device >= 0; device--) {
		each[device] = (struct shim_launch_params){ .function = kernel,
							    .parameters = arguments };
		CHECK(cu.cuDevicePrimaryCtxRetain(&contexts[device], device));
		CHECK(cu.cuCtxSetCurrent(contexts[device]));
		CHECK(cu.cuStreamCreate(&each[device].stream, 0));
	}
	length = 0;
	hold();
	for (int i = 0; i < number; i++)
		CHECK(cu.cuLaunchCooperativeKernelMultiDevice(
			(struct CUDA_LAUNCH_PARAMS_st *)each, 2, 0));
	wait_for_line();
	release();
	wait_for_line();
}

/* The context goes by a call that the shim does not know, as a green one may. */
static void task_lost_context(int number)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&fake_lose_context) lose =
		(__typeof__(lose))dlsym(library, "fake_lose_context");
	struct CUctx_st *context;

	open_device();
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	lose(context);
	length = 0;
	for (int i = 0; i < number; i++)
		launch(NULL);
	wait_for_line();
}

/* MiB by MiB up to NUMBER on the second GPU, then on the first. */
static void task_two_gpus(int number)
{
	struct CUctx_st *context;
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, 1 << 20));
	wait_for_line();
	for (int device = 1; device >= 0; device--) {
		int count = 0;

		CHECK(cu.cuDevicePrimaryCtxRetain(&context, device));
		CHECK(cu.cuCtxSetCurrent(context));
		while (count < number && cu.cuMemAlloc_v2(&ptr, 1 << 20) == CU_OK)
			count++;
		printf("GPU %d: %d\n", device, count);
	}
	wait_for_line();
}

/*
 * Beside its own calls, a program has others that are the driver's: in a namespace of
 * their own, or of a plug-in.
 */
static void task_elsewhere(int number)
{
	void *library;
	cu_result (*plug_in)(cu_ptr * ptr, size_t bytes);
	cu_ptr ptr;

	open_device();
	CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	if (number == 0) {
		library = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
		if (!library)
			fail(dlerror());
		return;
	}
	library = dlopen(PLUG_IN, RTLD_NOW | (number == 1 ? RTLD_DEEPBIND : 0));
	if (!library)
		fail(dlerror());
	plug_in = (__typeof__(plug_in))dlsym(library, "plug_in_allocate");
	CHECK(plug_in(&ptr, MIB));
	if (number == 1) {
		/* The shim does not know it, and frees it all the same. */
		CHECK(cu.cuMemFree_v2(ptr));
		CHECK(plug_in(&ptr, MIB));
		CHECK(cu.cuMemFreeAsync(ptr, NULL));
	}
}

/* A launch every 4 ms. The shim looks every 2 ms, so it sees each one end before the next. */
static void task_beats(int number)
{
	const struct timespec pause = { 0, 4000000 };

	open_device();
	allocate_numbers();
	launch(NULL);
	wait_for_line();
	for (int i = 1; i < number; i++) {
		launch(NULL);
		nanosleep(&pause, NULL);
	}
	wait_for_line();
}

const struct task corner_tasks[] = {
	{ "early", task_early },
	{ "beats", task_beats },
	{ "newer", task_newer },
	{ "elsewhere", task_elsewhere },
	{ "signals", task_signals },
	{ "descriptors", task_descriptors },
	{ "first_version", task_first_version },
	{ "wrong_end", task_wrong_end },
	{ "no_list", task_no_list },
	{ "moves", task_moves },
	{ "cycles", task_cycles },
	{ "folder_goes", task_folder_goes },
	{ "no_watches", task_no_watches },
	{ "fork_same_number", task_fork_same_number },
	{ "closes", task_closes },
	{ "closes_counters", task_closes_counters },
	{ "deep_graphs", task_deep_graphs },
	{ "threads", task_threads },
	{ "cold", task_cold },
	{ "two_gpus", task_two_gpus },
	{ "both_gpus", task_both_gpus },
	{ "lost_context", task_lost_context },
	{ NULL, NULL },
};
