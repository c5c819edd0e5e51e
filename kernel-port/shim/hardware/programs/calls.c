// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What CUDA's calls cost the thread that makes them: "call NAME MEDIAN MEAN", in ns, over
 * batches of calls. The GPU is idle before each batch. It needs no CUDA toolkit: it finds the
 * calls by dlsym(), and the driver compiles its kernel.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS	64
#define BATCHES 400
#define BYTES	(1 << 20)

static const char code[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			   ".visible .entry empty(.param .u64 p)\n{\n\tret;\n}\n";

static void *library, *function, *stream, *event;
static uint64_t memory[CALLS];

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

static int (*launch_kernel)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			    unsigned by, unsigned bz, unsigned shared, void *stream,
			    void **parameters, void **extra);
static int (*mem_alloc)(uint64_t *ptr, size_t bytes);
static int (*mem_free)(uint64_t ptr);
static int (*alloc_async)(uint64_t *ptr, size_t bytes, void *stream);
static int (*free_async)(uint64_t ptr, void *stream);
static int (*get_info)(size_t *free_bytes, size_t *total);
static int (*stream_synchronize)(void *stream);
static int (*event_record)(void *event, void *stream);
static int (*event_query)(void *event);
static int (*synchronize)(void);

static int launch(int i)
{
	static uint64_t argument;
	void *parameters[1] = { &argument };

	argument = memory[i];
	return launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static int launch_and_wait(int i)
{
	int result = launch(i);

	return result ? result : stream_synchronize(stream);
}

static int allocate(int i)
{
	return mem_alloc(&memory[i], BYTES);
}

static int give_back(int i)
{
	return mem_free(memory[i]);
}

static int allocate_async(int i)
{
	return alloc_async(&memory[i], BYTES, stream);
}

static int give_back_async(int i)
{
	return free_async(memory[i], stream);
}

static int ask_info(int unused)
{
	size_t free_bytes, total;

	(void)unused;
	return get_info(&free_bytes, &total);
}

static int wait_idle(int unused)
{
	(void)unused;
	return stream_synchronize(stream);
}

static int record(int unused)
{
	(void)unused;
	return event_record(event, stream);
}

static int query(int unused)
{
	(void)unused;
	return event_query(event);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct measured {
	const char *name;
	int (*call)(int i);
	double ns[BATCHES]; /* of a call, by batch */
};

/* Measure calls that belong together, as an allocation and its end, in turn. */
static void measure(struct measured *calls, int count)
{
	for (int batch = -20; batch < BATCHES; batch++) /* the first ones warm up */
		for (int c = 0; c < count; c++) {
			uint64_t start;

			check(synchronize(), "cuCtxSynchronize");
			start = now_ns();
			for (int i = 0; i < CALLS; i++)
				check(calls[c].call(i), calls[c].name);
			if (batch >= 0)
				calls[c].ns[batch] = (double)(now_ns() - start) / CALLS;
		}
	for (int c = 0; c < count; c++) {
		double sum = 0;

		for (int i = 0; i < BATCHES; i++)
			sum += calls[c].ns[i];
		qsort(calls[c].ns, BATCHES, sizeof(double), by_value);
		printf("call %s %.0f %.0f\n", calls[c].name, calls[c].ns[BATCHES / 2],
		       sum / BATCHES);
	}
}

int main(void)
{
	static struct measured singles[] = {
		{ .name = "launch", .call = launch },
		{ .name = "launch+wait", .call = launch_and_wait },
		{ .name = "info", .call = ask_info },
		{ .name = "stream-wait", .call = wait_idle },
		{ .name = "event-record", .call = record },
		{ .name = "event-query", .call = query },
	};
	static struct measured memory_calls[] = {
		{ .name = "alloc", .call = allocate },
		{ .name = "free", .call = give_back },
	};
	static struct measured pool_calls[] = {
		{ .name = "alloc-async", .call = allocate_async },
		{ .name = "free-async", .call = give_back_async },
	};
	void *context, *module;
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*load)(void **module, const void *code);
	int (*get_function)(void **function, void *module, const char *name);
	int (*stream_create)(void **stream, unsigned flags);
	int (*event_create)(void **event, unsigned flags);
	int (*init)(unsigned flags);

	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
#define FIND(variable, name) (variable) = (__typeof__(variable))find(name)
	FIND(init, "cuInit");
	FIND(retain, "cuDevicePrimaryCtxRetain");
	FIND(set_current, "cuCtxSetCurrent");
	FIND(load, "cuModuleLoadData");
	FIND(get_function, "cuModuleGetFunction");
	FIND(stream_create, "cuStreamCreate");
	FIND(event_create, "cuEventCreate");
	FIND(launch_kernel, "cuLaunchKernel");
	FIND(mem_alloc, "cuMemAlloc_v2");
	FIND(mem_free, "cuMemFree_v2");
	FIND(alloc_async, "cuMemAllocAsync");
	FIND(free_async, "cuMemFreeAsync");
	FIND(get_info, "cuMemGetInfo_v2");
	FIND(stream_synchronize, "cuStreamSynchronize");
	FIND(event_record, "cuEventRecord");
	FIND(event_query, "cuEventQuery");
	FIND(synchronize, "cuCtxSynchronize");
	check(init(0), "cuInit");
	check(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	check(set_current(context), "cuCtxSetCurrent");
	check(load(&module, code), "cuModuleLoadData");
	check(get_function(&function, module, "empty"), "cuModuleGetFunction");
	check(stream_create(&stream, 1), "cuStreamCreate");
	check(event_create(&event, 2), "cuEventCreate");
	measure(memory_calls, 2);
	measure(pool_calls, 2);
	for (int i = 0; i < CALLS; i++)
		check(allocate(i), "cuMemAlloc");
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		measure(&singles[i], 1);
	return 0;
}
