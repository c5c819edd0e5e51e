// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What ipc needs of a driver, and what it costs: addresses of managed memory, whether they come
 * back when it is freed and who else can have them meanwhile, what a pointer is said to be, how
 * long an allocation takes. Run it with the shim and without; no toolkit is needed.
 *
 *     cc -O2 ranges.c -o bin/ranges -ldl -lpthread
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ull << 20)

typedef int (*call)();
static void *library;

static call find(const char *name)
{
	call found = (call)dlsym(library, name);

	if (!found)
		printf("no %s\n", name);
	return found;
}

/* The lines of /proc/self/maps that lie in a range. */
static void print_maps(const char *when, unsigned long long start, unsigned long long bytes)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (fgets(line, sizeof(line), file)) {
		unsigned long long first, last;

		if (sscanf(line, "%llx-%llx", &first, &last) != 2 || last <= start ||
		    first >= start + bytes)
			continue;
		printf("maps %s %s", when, line);
		count++;
	}
	if (!count)
		printf("maps %s: nothing is there\n", when);
	fclose(file);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Which sizes of managed memory have a range of their own, which comes back? */
static void ranges(void)
{
	static const unsigned long long mibs[] = { 20, 24, 30, 32, 34,	40, 48,
						   60, 64, 70, 96, 100, 160 };

	for (size_t i = 0; i < sizeof(mibs) / sizeof(mibs[0]); i++) {
		unsigned long long ptr = 0, got = 0, bytes = mibs[i] * MIB;
		int result;

		if (find("cuMemAllocManaged")(&ptr, (size_t)bytes, 1))
			continue;
		find("cuMemsetD8_v2")(ptr, 1, (size_t)(2 * MIB));
		find("cuCtxSynchronize")();
		if (mibs[i] == 64)
			print_maps("in use", ptr, bytes);
		find("cuMemFree_v2")(ptr);
		if (mibs[i] == 64) {
			void *there;

			print_maps("freed", ptr, bytes);
			there = mmap((void *)ptr, 4096, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			printf("range: mmap() of freed addresses %s\n",
			       there == (void *)ptr ? "works: others may have them" :
						      "fails: they are the driver's");
			if (there == (void *)ptr)
				munmap(there, 4096);
		}
		result = find("cuMemAddressReserve")(&got, (size_t)bytes, (size_t)0, ptr, 0ull);
		printf("range %llu MiB at %llx, offset in 32 MiB %llx: error %d, %s\n", mibs[i],
		       ptr, ptr % (32 * MIB), result,
		       got == ptr ? "the same addresses" : "others");
		if (mibs[i] == 64)
			print_maps("reserved", ptr, bytes);
		if (!result)
			find("cuMemAddressFree")(got, (size_t)bytes);
	}
}

static int order(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

static void costs(void)
{
	static const unsigned long long kibs[] = { 1024, 2048, 20480, 262144 };
	static double alloc_us[64], free_us[64];

	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 64; j++) {
			unsigned long long ptr;
			double start = now_us();

			find("cuMemAlloc_v2")(&ptr, (size_t)(kibs[i] * 1024));
			alloc_us[j] = now_us() - start;
			find("cuMemsetD8_v2")(ptr, 1, (size_t)(kibs[i] * 1024));
			find("cuCtxSynchronize")();
			start = now_us();
			find("cuMemFree_v2")(ptr);
			free_us[j] = now_us() - start;
		}
		qsort(alloc_us, 64, sizeof(double), order);
		qsort(free_us, 64, sizeof(double), order);
		printf("cost %llu KiB: cuMemAlloc %.1f us, cuMemFree %.1f us (medians of 64)\n",
		       kibs[i], alloc_us[32], free_us[32]);
	}
}

/* Many allocations at once: addresses are enough, and memory is that of the pages in use. */
static void many(int count)
{
	unsigned long long *ptrs = calloc((size_t)count, sizeof(*ptrs));
	size_t before, after, total;
	double start;
	int made = 0;

	find("cuMemGetInfo_v2")(&before, &total);
	start = now_us();
	while (made < count && !find("cuMemAlloc_v2")(&ptrs[made], (size_t)(2 * MIB)))
		made++;
	printf("many: %d of %d allocations of 2 MiB, %.1f us each\n", made, count,
	       (now_us() - start) / (made ? made : 1));
	find("cuMemGetInfo_v2")(&after, &total);
	printf("many: cuMemGetInfo says %.0f MiB less\n", (double)(before - after) / 1048576);
	while (made)
		find("cuMemFree_v2")(ptrs[--made]);
}

static void pointer(const char *when, unsigned long long ptr)
{
	static const struct {
		const char *name;
		unsigned int number;
	} asked[] = {
		{ "context", 1 }, { "type", 2 },     { "buffer", 7 }, { "managed", 8 },
		{ "device", 9 },  { "can_ipc", 10 }, { "start", 11 }, { "size", 12 },
		{ "mapped", 13 }, { "handles", 14 }, { "rdma", 15 },  { "access", 16 },
	};
	unsigned long long base = 0;
	size_t size = 0;

	printf("pointer %s:", when);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		unsigned long long value = 0;
		int result = find("cuPointerGetAttribute")(&value, asked[i].number, ptr + 100);

		if (result)
			printf(" %s E%d", asked[i].name, result);
		else if (asked[i].number == 1)
			printf(" %s %d", asked[i].name, value != 0);
		else if (asked[i].number == 11)
			printf(" %s %d", asked[i].name, value == ptr);
		else if (asked[i].number != 7)
			printf(" %s %llu", asked[i].name, value);
	}
	find("cuMemGetAddressRange_v2")(&base, &size, ptr + 100);
	printf(" range %zu %d\n", size, base == ptr);
}

static volatile int stop;

/* What other threads of a program do with addresses. */
static void *idle(void *unused)
{
	return unused;
}

static void *churn(void *unused)
{
	unsigned int turn = 0;

	while (!stop) {
		size_t bytes = (4096ull << (turn++ % 16));
		void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_t thread;

		if (!pthread_create(&thread, NULL, idle, NULL))
			pthread_join(thread, NULL);
		free(malloc(1 << 20));
		munmap(some, bytes);
	}
	return unused;
}

static unsigned long maps, reservations; /* each by one thread */

/* Ranges of 1 to 64 MiB: as long as those that exports give up for a moment. */
static void *map(void *unused)
{
	void *some[64];

	for (; !stop; maps += 64) {
		for (size_t i = 0; i < 64; i++)
			some[i] = mmap(NULL, (i + 1) * MIB, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (size_t i = 0; i < 64; i++)
			munmap(some[i], (i + 1) * MIB);
	}
	return unused;
}

/* Addresses from the driver. */
static void *reserve(void *context)
{
	unsigned long long range, managed;

	find("cuCtxSetCurrent")(context);
	for (; !stop; reservations++) {
		int reserved = find("cuMemAddressReserve")(&range, (size_t)(64 * MIB),
							   (size_t)0, 0ull, 0ull);

		if (!find("cuMemAllocManaged")(&managed, (size_t)(64 * MIB), 1))
			find("cuMemFree_v2")(managed);
		if (!reserved)
			find("cuMemAddressFree")(range, (size_t)(64 * MIB));
	}
	return NULL;
}

/* Exports beside threads that take addresses: how long they take, and whether the program lives. */
static void exports(int count)
{
	static double took_us[1000];
	void *context = NULL;
	pthread_t threads[6];
	char handle[64];
	unsigned long long ptr;
	int done = 0;

	find("cuMemAlloc_v2")(&ptr, (size_t)(20 * MIB));
	pointer("before", ptr);
	printf("export: error %d\n", find("cuIpcGetMemHandle")(handle, ptr));
	pointer("behind", ptr);
	printf("freed: error %d\n", find("cuMemFree_v2")(ptr));
	printf("freed again: error %d\n", find("cuMemFree_v2")(ptr));
	find("cuCtxGetCurrent")(&context);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	pthread_create(&threads[4], NULL, map, NULL);
	pthread_create(&threads[5], NULL, reserve, context);
	for (int i = 0; i < count; i++) {
		double start;
		unsigned int back = 0;

		find("cuMemAlloc_v2")(&ptr, (size_t)(20 * MIB));
		find("cuMemsetD32_v2")(ptr, 77 + i, (size_t)(5 * MIB));
		find("cuCtxSynchronize")();
		start = now_us();
		if (find("cuIpcGetMemHandle")(handle, ptr))
			break;
		took_us[i] = now_us() - start;
		find("cuMemcpyDtoH_v2")(&back, ptr + 20 * MIB - 4, (size_t)4);
		done += back == (unsigned int)(77 + i);
		find("cuMemFree_v2")(ptr);
		fflush(stdout);
	}
	stop = 1;
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	qsort(took_us, (size_t)count, sizeof(double), order);
	printf("exports: %d of %d of 20 MiB are right, beside six threads (%lu mappings, %lu "
	       "of "
	       "the driver's); median %.0f us, most %.0f us\n",
	       done, count, maps, reservations, took_us[count / 2], took_us[count - 1]);
}

int main(int argc, char **argv)
{
	void *context;
	int device;

	setvbuf(stdout, NULL, _IOLBF, 0);
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library || find("cuInit")(0) || find("cuDeviceGet")(&device, 0) ||
	    find("cuDevicePrimaryCtxRetain")(&context, device) ||
	    find("cuCtxSetCurrent")(context))
		return 1;
	if (argc > 1 && strstr(argv[1], "ranges"))
		ranges();
	if (argc > 1 && strstr(argv[1], "exports"))
		exports(argc > 2 ? atoi(argv[2]) : 200);
	if (argc > 1 && strstr(argv[1], "costs"))
		costs();
	if (argc > 1 && strstr(argv[1], "many"))
		many(argc > 2 ? atoi(argv[2]) : 4000);
	return 0;
}
