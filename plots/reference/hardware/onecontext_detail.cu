// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What of a worker stands still while a kernel of its own context faults?
 *
 *     nvcc -O2 -arch=sm_90 onecontext_detail.cu -o onecontext_detail
 *     ./onecontext_detail >RESULT
 *     ./onecontext_detail pager PAGES THREADS SECONDS     in a process of its own: under MPS
 *     ./onecontext_detail worker                          beside it
 *
 * onecontext.cu saw kernels of 100 us wait. Here are two streams again, and workers of other
 * kinds. The pager's kernels touch a number of 64 KiB pages of managed memory, which lie on the
 * host, from blocks of some number of threads. Each worker runs for one or two seconds.
 *
 * Workers of one long kernel, a warp that looks at the clock all the time:
 *     spin       and touches no memory
 *     load       and reads 4 bytes of its own device memory (a new line each time)
 *     store      and writes them
 *     fence      and writes them, with a fence of the system behind each
 *     spin-wide  spin in every SM (one warp each); the figures are those of the first block
 * Printed: pauses of more than 10 us in it: how many, all of them, the longest.
 *
 * Workers of many short kernels in a queue, spin's, which end with a write of their times:
 *     chain      100 us each, times go to host memory
 *     chain-dev  the same, times go to device memory
 *     chain-long 5 ms each
 *     chain-load 100 us of load's
 * Printed: the same of what a kernel takes beyond its time, and of the times between kernels.
 *
 * Workers of one kernel at a time, launched each ms by the host into an idle stream:
 *     paced      100 us
 * Printed: the same of what the host waits beyond 150 us for a launch and its kernel.
 *
 * The same, but the kernel tells the host when it begins and ends, which the host sees in its
 * own memory:
 *     parts      100 us
 *     parts-long 5 ms
 * Printed: the same of what passes beyond 50 us in the call that launches it, and from there to its
 * begin; beyond its time from there to its end; and beyond 50 us from there until the host is told
 * that the stream is idle.
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(x)                                                           \
	do {                                                               \
		cudaError_t e_ = (x);                                      \
		if (e_ != cudaSuccess) {                                   \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(e_));                   \
			exit(1);                                           \
		}                                                          \
	} while (0)

typedef unsigned long long ull;

static const size_t PAGE = 64 << 10;
static const size_t MOST = 8192;     /* pages */
static const size_t LINES = 1 << 20; /* of 128 bytes, that load and store go through */
static const ull PAUSE_NS = 10000;
static const int KERNELS = 10000;

enum kind { SPIN, LOAD, STORE, FENCE };

struct pauses {
	ull count, sum, longest; /* ns */
};

__device__ static ull now(void)
{
	ull t;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	return t;
}

/* @times, if any: when it began and ended. */
__global__ void work(ull ns, int kind, volatile unsigned *lines, struct pauses *ret,
		     volatile ull *times)
{
	ull begin = now(), last = begin, t;
	struct pauses p = { 0, 0, 0 };
	unsigned line = 0, sum = 0;

	do {
		if (kind == LOAD)
			sum += lines[line * 32];
		if (kind == STORE || kind == FENCE)
			lines[line * 32] = line;
		if (kind == FENCE)
			__threadfence_system();
		line = (line + 1) % LINES;
		t = now() + (sum == 0x12345);
		if (t - last > PAUSE_NS) {
			p.count++;
			p.sum += t - last;
			p.longest = max(p.longest, t - last);
		}
		last = t;
	} while (t - begin < ns);
	if (threadIdx.x || blockIdx.x)
		return;
	if (ret)
		*ret = p;
	if (times) {
		times[0] = begin;
		times[1] = now();
	}
}

/* It tells the host in @seen when it has begun, and when it has done its work. */
__global__ void work_seen(ull ns, volatile unsigned *seen, unsigned number)
{
	ull begin = now();

	seen[0] = number;
	__threadfence_system();
	while (now() - begin < ns)
		;
	seen[1] = number;
	__threadfence_system();
}

__global__ void touch(volatile char *memory, size_t pages)
{
	size_t page = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (page < pages)
		memory[page * PAGE]++;
}

/* The pager: its kernels, and the times that they take. */
struct pager {
	std::atomic<bool> stop;
	char *memory;
	size_t pages;
	int threads;
	std::vector<double> ms;
};

static void page(struct pager *pager)
{
	cudaMemLocation host = { cudaMemLocationTypeHost, 0 };
	cudaStream_t stream;
	cudaEvent_t begin, end;
	float ms;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	while (pager->pages && !pager->stop) {
		CHECK(cudaMemPrefetchAsync(pager->memory, pager->pages * PAGE, host, 0,
					   stream));
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaEventRecord(begin, stream));
		touch<<<(pager->pages + pager->threads - 1) / pager->threads, pager->threads, 0,
			stream>>>(pager->memory, pager->pages);
		CHECK(cudaEventRecord(end, stream));
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
		pager->ms.push_back(ms);
	}
	CHECK(cudaStreamDestroy(stream));
}

static void note(struct pauses *p, double ns)
{
	if (ns <= PAUSE_NS)
		return;
	p->count++;
	p->sum += (ull)ns;
	p->longest = std::max(p->longest, (ull)ns);
}

static void print_pauses(const char *what, const struct pauses *p)
{
	printf("; %s %llu, %.1f ms, longest %.3f ms", what, p->count, p->sum / 1e6,
	       p->longest / 1e6);
}

static unsigned *lines;
static struct pauses *found;
static ull *host_times, *device_times;
static cudaStream_t stream;

static void run_long(int kind, int blocks)
{
	*found = {};
	work<<<blocks, 32, 0, stream>>>(1000000000ull, kind, lines, found, NULL);
	CHECK(cudaStreamSynchronize(stream));
	print_pauses("pauses", found);
}

static void run_chain(ull ns, int kind, bool device)
{
	ull *times = device ? device_times : host_times;
	int kernels = std::min((int)(1000000000ull / ns), KERNELS);
	struct pauses inside = {}, between = {};
	std::vector<cudaEvent_t> marks;

	for (int i = 0; i < kernels; i++) {
		if (i % 100 == 99) {
			cudaEvent_t mark;

			CHECK(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming));
			CHECK(cudaEventRecord(mark, stream));
			marks.push_back(mark);
			/* A launch into a full ring would hold CUDA's lock, and the pager up. */
			while (marks.size() > 3 &&
			       cudaEventQuery(marks[marks.size() - 4]) == cudaErrorNotReady)
				std::this_thread::yield();
		}
		work<<<1, 32, 0, stream>>>(ns, kind, lines, NULL, times + 2 * i);
	}
	CHECK(cudaStreamSynchronize(stream));
	for (cudaEvent_t mark : marks)
		CHECK(cudaEventDestroy(mark));
	if (device)
		CHECK(cudaMemcpy(host_times, times, kernels * 16, cudaMemcpyDeviceToHost));
	for (int i = 10; i < kernels; i++) {
		note(&inside, (double)(host_times[2 * i + 1] - host_times[2 * i]) - ns);
		note(&between, (double)host_times[2 * i] - (double)host_times[2 * i - 1]);
	}
	print_pauses("inside", &inside);
	print_pauses("between", &between);
}

static void run_paced(void)
{
	auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(2);
	struct pauses waits = {};

	while (std::chrono::steady_clock::now() < stop) {
		auto begin = std::chrono::steady_clock::now();
		double ns;

		work<<<1, 32, 0, stream>>>(100000ull, SPIN, lines, NULL, host_times);
		CHECK(cudaStreamSynchronize(stream));
		ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() -
							      begin)
			     .count();
		note(&waits, ns - 150000);
		std::this_thread::sleep_until(begin + std::chrono::milliseconds(1));
	}
	print_pauses("waits", &waits);
}

static double ns_since(std::chrono::steady_clock::time_point *from)
{
	auto to = std::chrono::steady_clock::now();
	double ns = std::chrono::duration<double, std::nano>(to - *from).count();

	*from = to;
	return ns;
}

static void run_parts(ull kernel_ns)
{
	volatile unsigned *seen = (volatile unsigned *)host_times;
	auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(2);
	struct pauses call = {}, before = {}, inside = {}, after = {};

	seen[0] = seen[1] = 0;
	for (unsigned i = 1; std::chrono::steady_clock::now() < stop; i++) {
		auto begin = std::chrono::steady_clock::now(), date = begin;

		work_seen<<<1, 1, 0, stream>>>(kernel_ns, seen, i);
		note(&call, ns_since(&date) - 50000);
		while (seen[0] != i)
			;
		note(&before, ns_since(&date) - 50000);
		while (seen[1] != i)
			;
		note(&inside, ns_since(&date) - kernel_ns);
		while (cudaStreamQuery(stream) == cudaErrorNotReady)
			;
		note(&after, ns_since(&date) - 50000);
		std::this_thread::sleep_until(begin + std::chrono::milliseconds(1));
	}
	print_pauses("call", &call);
	print_pauses("before", &before);
	print_pauses("inside", &inside);
	print_pauses("after", &after);
}

static void run_worker(const char *name)
{
	cudaDeviceProp prop;

	CHECK(cudaGetDeviceProperties(&prop, 0));
	if (!strcmp(name, "spin"))
		run_long(SPIN, 1);
	else if (!strcmp(name, "load"))
		run_long(LOAD, 1);
	else if (!strcmp(name, "store"))
		run_long(STORE, 1);
	else if (!strcmp(name, "fence"))
		run_long(FENCE, 1);
	else if (!strcmp(name, "spin-wide"))
		run_long(SPIN, prop.multiProcessorCount);
	else if (!strcmp(name, "chain"))
		run_chain(100000, SPIN, false);
	else if (!strcmp(name, "chain-dev"))
		run_chain(100000, SPIN, true);
	else if (!strcmp(name, "chain-long"))
		run_chain(5000000, SPIN, false);
	else if (!strcmp(name, "chain-load"))
		run_chain(100000, LOAD, false);
	else if (!strcmp(name, "parts"))
		run_parts(100000);
	else if (!strcmp(name, "parts-long"))
		run_parts(5000000);
	else
		run_paced();
}

static void print_pager(struct pager *pager)
{
	double sum = 0;

	std::sort(pager->ms.begin(), pager->ms.end());
	for (double ms : pager->ms)
		sum += ms;
	printf("; pager %zu kernels, %.1f ms, median %.3f, longest %.3f\n", pager->ms.size(),
	       sum, pager->ms.empty() ? 0 : pager->ms[pager->ms.size() / 2],
	       pager->ms.empty() ? 0 : pager->ms.back());
	fflush(stdout);
}

static const char *const names[] = { "spin",	   "load",  "store",	 "fence",
				     "spin-wide",  "chain", "chain-dev", "chain-long",
				     "chain-load", "paced", "parts",	 "parts-long" };

int main(int argc, char **argv)
{
	static const struct {
		size_t pages;
		int threads;
	} cases[] = { { 0, 32 },     { 256, 32 },   { 256, 256 },   { 4096, 32 },
		      { 4096, 128 }, { 4096, 256 }, { 4096, 1024 }, { 8192, 32 } };
	bool apart = argc > 1; /* one of two processes */
	bool works = !apart || !strcmp(argv[1], "worker");
	char *memory;

	CHECK(cudaMallocManaged(&memory, MOST * PAGE));
	CHECK(cudaMalloc(&lines, LINES * 128));
	CHECK(cudaMemset(lines, 0, LINES * 128));
	CHECK(cudaMallocHost(&found, sizeof(*found)));
	CHECK(cudaMallocHost(&host_times, KERNELS * 16));
	CHECK(cudaMalloc(&device_times, KERNELS * 16));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	work<<<1, 32, 0, stream>>>(1000, SPIN, lines, NULL, NULL);
	work_seen<<<1, 1, 0, stream>>>(1000, (volatile unsigned *)host_times, 1);
	touch<<<1, 32, 0, stream>>>(memory, 1);
	CHECK(cudaStreamSynchronize(stream));
	if (!works) {
		struct pager pager = {
			{ false }, memory, strtoul(argv[2], NULL, 0), atoi(argv[3]), {}
		};
		std::thread thread(page, &pager);

		std::this_thread::sleep_for(std::chrono::seconds(atoi(argv[4])));
		pager.stop = true;
		thread.join();
		printf("pager %zu %zu", pager.pages,
		       (pager.pages + pager.threads - 1) / pager.threads);
		print_pager(&pager);
		return 0;
	}
	for (const auto &c : cases) {
		for (const char *name : names) {
			struct pager pager = {
				{ false }, memory, apart ? 0 : c.pages, c.threads, {}
			};
			std::thread thread(page, &pager);

			if (apart)
				printf("%s", name);
			else
				printf("%s %zu %zu", name, c.pages,
				       (c.pages + c.threads - 1) / c.threads);
			run_worker(name);
			pager.stop = true;
			thread.join();
			print_pager(&pager);
		}
		if (apart)
			break;
	}
	return 0;
}
