// SPDX-License-Identifier: MIT OR GPL-2.0
//
// The law of turns and faults: two processes share one GPU by time slices, and either may touch managed
// memory that lies on the host. Who holds the GPU, for how long, and at which points does it change hands?
//
//	nvcc -O2 -std=c++17 -arch=native -Xcompiler -rdynamic -o turns turns.cu -ldl -lpthread
//	./turns [GROUP...]		groups: slices deep sync last eager both evict
//
// The first block of each kernel touches no memory: it reads the GPU's global timer until the others have
// ended, and notes each pause of more than 10 us. So the rows know when a process was off the GPU, also in
// the middle of faults. The other blocks touch memory first ("touching"), then compute.
//
// Timeslices are set on a process's own channel groups by RM's control calls of class 0xa06c (as root; they
// end with the process). Managed memory stays below 16 GiB, far less than the card has.
//
// A row: the settings of A and B, then for each what the report() below says.
#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                       \
	do {                                                              \
		cudaError_t error_ = (call);                              \
		if (error_ != cudaSuccess) {                              \
			printf("error %s line %d: %s\n", #call, __LINE__, \
			       cudaGetErrorString(error_));               \
			fflush(stdout);                                   \
			_exit(1);                                         \
		}                                                         \
	} while (0)

static const size_t BLOCK = 2 << 20; // UVM's block
static const int WORKERS = 131, THREADS = 256, KERNELS = 40000, PAUSES = 60000;

// How the kernels that touch memory do it.
enum walk {
	SERIAL,	  // all blocks of threads touch the same UVM blocks, one after the other
	PARALLEL, // each its own UVM block, once
	STREAM,	  // each its own part, a word of each 4 KiB, as the tiles of a matrix product
};
static const char *const walk_names[] = { "serial", "parallel", "stream" };

struct party {
	double kernel_us = 100;
	int blocks = 0; // UVM blocks that a touching kernel touches
	int every = 1;	// each n-th kernel touches
	walk how = SERIAL;
	int depth = 16;	       // kernels in the queue at most; 1: the host waits for each
	double gap_us = 0;     // host time between launches
	int step = 0;	       // the host waits after so many kernels; 0: never
	uint64_t slice_us = 0; // programmed; 0: the default
	bool bare =
		false; // nothing is queued behind the last kernel, not even the record of an event
	bool evict = false; // touched blocks go back to the host, by a second thread
};

struct kernel_log {
	uint64_t start, touched_at, end;
	uint32_t touched, done;
};

struct pause_log {
	uint64_t from, to;
	uint32_t kernel, touched;
};

// What a process leaves for its parent.
struct result {
	std::atomic<int> ready, go, stop;
	int failed;
	int kernels, pauses;
	long evicted;
	kernel_log kernel[KERNELS];
	pause_log pause[PAUSES];
};

/* RM's channel groups of this process, as they are made, and their timeslice. */

struct channel_group {
	int fd;
	unsigned client, object;
};
static channel_group groups[256];
static int group_count;

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
	va_list list;
	va_start(list, request);
	void *argument = va_arg(list, void *);
	va_end(list);
	int status = (int)syscall(SYS_ioctl, fd, request, argument);
	unsigned *alloc = (unsigned *)argument; // client, parent, object, class
	if (((request >> 8) & 0xff) == 'F' && (request & 0xff) == 0x2b && !status && alloc &&
	    alloc[3] == 0xa06c && group_count < 256)
		groups[group_count++] = { fd, alloc[0], alloc[2] };
	return status;
}

struct rm_control {
	unsigned client, object, command, flags;
	uint64_t parameters;
	unsigned size, status;
};

// Returns the number of groups that took it.
static int set_timeslice(uint64_t us)
{
	int taken = 0;
	for (int i = 0; i < group_count; i++) {
		uint64_t value = us;
		rm_control control = { groups[i].client,
				       groups[i].object,
				       0xa06c0103,
				       0,
				       (uint64_t)&value,
				       8,
				       0 };
		if (!syscall(SYS_ioctl, groups[i].fd, _IOWR('F', 0x2a, rm_control), &control) &&
		    !control.status)
			taken++;
	}
	return taken;
}

/* Kernels. */

__device__ float sink;

__device__ __forceinline__ uint64_t gpu_ns()
{
	uint64_t t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

__device__ void watch(kernel_log *log, uint32_t index, pause_log *pauses, int *pause_count)
{
	uint64_t last = gpu_ns();
	log->start = last;
	while (*(volatile uint32_t *)&log->done < gridDim.x - 1) {
		uint64_t now = gpu_ns();
		if (now - last > 10000) {
			int i = atomicAdd(pause_count, 1);
			if (i < PAUSES)
				pauses[i] = { last, now, index,
					      *(volatile uint32_t *)&log->touched };
		}
		last = now;
	}
	log->end = gpu_ns();
}

__device__ void touch(const volatile unsigned char *memory, int blocks, int how)
{
	unsigned worker = blockIdx.x - 1, sum = 0;
	if (how == SERIAL && threadIdx.x == 0)
		for (int i = 0; i < blocks; i++)
			sum += memory[i * (size_t)BLOCK];
	if (how == PARALLEL && threadIdx.x == 0)
		sum += memory[(worker % blocks) * (size_t)BLOCK];
	if (how == STREAM) {
		size_t pages = blocks * (BLOCK / 4096), each = (pages + WORKERS - 1) / WORKERS;
		for (size_t i = threadIdx.x; i < each; i += blockDim.x)
			if (worker * each + i < pages)
				sum += memory[(worker * each + i) * 4096];
	}
	if (sum == 123456789)
		sink = sum;
	__syncthreads();
}

__global__ void kernel(long long n, kernel_log *logs, uint32_t index, pause_log *pauses,
		       int *pause_count, const unsigned char *memory, int blocks, int how,
		       volatile int *progress)
{
	kernel_log *log = logs ? &logs[index] : NULL;
	if (blockIdx.x == 0) {
		if (log && threadIdx.x == 0) {
			watch(log, index, pauses, pause_count);
			if (progress) {
				*progress = index + 1;
				__threadfence_system();
			}
		}
		return;
	}
	if (blocks)
		touch(memory, blocks, how);
	if (log && threadIdx.x == 0 && atomicAdd(&log->touched, 1) == gridDim.x - 2)
		log->touched_at = gpu_ns();
	float x = threadIdx.x;
	for (long long i = 0; i < n; i++)
		x = fmaf(x, 1.0000001f, 0.5f);
	if (x == 12345.f)
		sink = x;
	__syncthreads();
	if (log && threadIdx.x == 0) {
		__threadfence();
		atomicAdd(&log->done, 1);
	}
}

/* A process. */

static double now_s()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double iterations_per_us; // alone

static void populate(unsigned char *memory, size_t bytes)
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 6; i++)
		threads.emplace_back([=] {
			for (size_t at = bytes / 6 / 4096 * i * 4096;
			     at < (i == 5 ? bytes : bytes / 6 / 4096 * (i + 1) * 4096);
			     at += 4096)
				memory[at] = 1;
		});
	for (auto &thread : threads)
		thread.join();
}

// Blocks go back to the host two touching kernels after they came.
static void evict(unsigned char *memory, const party &p, int total_blocks,
		  volatile int *progress, result *r)
{
	cudaStream_t stream;
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	cudaMemLocation host = {};
	host.type = cudaMemLocationTypeHost;
	int per_round = total_blocks / p.blocks;
	for (int k = 0; !r->stop;) {
		if (k + 2 >= *progress / p.every)
			continue;
		CHECK(cudaMemPrefetchAsync(memory + (size_t)(k % per_round) * p.blocks * BLOCK,
					   p.blocks * BLOCK, host, 0, stream));
		CHECK(cudaStreamSynchronize(stream));
		r->evicted += p.blocks;
		k++;
	}
}

static void run_party(const party &p, result *r, double seconds)
{
	kernel_log *logs;
	pause_log *pauses;
	int *pause_count, *progress;
	unsigned char *memory = NULL;
	cudaStream_t stream;
	int total_blocks = p.blocks ? (p.evict ? 1024 : 3800) / p.blocks * p.blocks : 0;

	CHECK(cudaMalloc(&logs, sizeof(kernel_log) * KERNELS));
	CHECK(cudaMemset(logs, 0, sizeof(kernel_log) * KERNELS));
	CHECK(cudaMalloc(&pauses, sizeof(pause_log) * PAUSES));
	CHECK(cudaMalloc(&pause_count, sizeof(int)));
	CHECK(cudaMemset(pause_count, 0, sizeof(int)));
	CHECK(cudaHostAlloc(&progress, sizeof(int), cudaHostAllocMapped));
	*progress = 0;
	CHECK(cudaStreamCreate(&stream));
	if (total_blocks) {
		CHECK(cudaMallocManaged(&memory, total_blocks * BLOCK));
		populate(memory, total_blocks * BLOCK);
	}
	kernel<<<WORKERS + 1, THREADS, 0, stream>>>(100, NULL, 0, NULL, NULL, NULL, 0, 0, NULL);
	CHECK(cudaStreamSynchronize(stream));
	if (p.slice_us && set_timeslice(p.slice_us) != group_count)
		printf("error the timeslice was not taken by all %d groups\n", group_count);
	std::vector<cudaEvent_t> events(p.depth);
	for (auto &event : events)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

	r->ready = 1;
	while (!r->go)
		;
	std::thread evictor;
	if (p.evict && p.blocks)
		evictor = std::thread(evict, memory, p, total_blocks, progress, r);
	double start = now_s(), launched = start;
	int n = 0, touched_blocks = 0;
	for (; !r->stop && n < KERNELS && now_s() - start < seconds; n++) {
		bool touches = p.blocks && n % p.every == 0;
		if (touches && touched_blocks + p.blocks > total_blocks) {
			if (!p.evict)
				break;
			touched_blocks = 0;
		}
		while (p.bare && n - *(volatile int *)progress >= p.depth)
			;
		if (!p.bare && n >= p.depth)
			CHECK(cudaEventSynchronize(events[n % p.depth]));
		if (p.step && n % p.step == 0) {
			CHECK(cudaStreamSynchronize(stream));
			launched = now_s();
		}
		while (now_s() < launched + p.gap_us * 1e-6)
			;
		launched = std::max(launched + p.gap_us * 1e-6, p.gap_us ? launched : now_s());
		kernel<<<WORKERS + 1, THREADS, 0, stream>>>(
			(long long)(p.kernel_us * iterations_per_us), logs, n, pauses,
			pause_count, memory + touched_blocks * (touches ? BLOCK : 0),
			touches ? p.blocks : 0, p.how, progress);
		if (!p.bare)
			CHECK(cudaEventRecord(events[n % p.depth], stream));
		if (touches)
			touched_blocks += p.blocks;
	}
	CHECK(cudaStreamSynchronize(stream));
	r->stop = 1;
	if (evictor.joinable())
		evictor.join();
	CHECK(cudaMemcpy(r->kernel, logs, sizeof(kernel_log) * n, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(&r->pauses, pause_count, sizeof(int), cudaMemcpyDeviceToHost));
	r->pauses = std::min(r->pauses, PAUSES);
	CHECK(cudaMemcpy(r->pause, pauses, sizeof(pause_log) * r->pauses,
			 cudaMemcpyDeviceToHost));
	r->kernels = n;
}

static double calibrate()
{
	double rate = 0;
	int out[2];
	if (pipe(out))
		exit(1);
	if (!fork()) {
		cudaEvent_t a, b;
		float ms;
		CHECK(cudaEventCreate(&a));
		CHECK(cudaEventCreate(&b));
		for (int i = 0; i < 5; i++) {
			CHECK(cudaEventRecord(a));
			kernel<<<WORKERS + 1, THREADS>>>(4000000, NULL, 0, NULL, NULL, NULL, 0,
							 0, NULL);
			CHECK(cudaEventRecord(b));
			CHECK(cudaEventSynchronize(b));
			CHECK(cudaEventElapsedTime(&ms, a, b));
			rate = 4e6 / (ms * 1e3);
		}
		_exit(write(out[1], &rate, sizeof(rate)) != sizeof(rate));
	}
	if (read(out[0], &rate, sizeof(rate)) != sizeof(rate))
		exit(1);
	wait(NULL);
	return rate;
}

/* What the logs say. */

static double quantile(std::vector<double> v, double q)
{
	std::sort(v.begin(), v.end());
	return v.empty() ? 0 : v[std::min(v.size() - 1, (size_t)(q * v.size()))];
}

// A time in which a process was seen on the GPU, and how it ended.
enum ending { AT_KERNEL_END, IN_TOUCHING, IN_COMPUTE };
struct span {
	uint64_t from, to;
	int who;
	ending how;
	int kernels; // that ended in it
};

static void add_spans(const result *r, int who, std::vector<span> *spans)
{
	std::vector<std::vector<pause_log>> of_kernel(r->kernels);
	for (int i = 0; i < r->pauses; i++)
		if ((int)r->pause[i].kernel < r->kernels)
			of_kernel[r->pause[i].kernel].push_back(r->pause[i]);
	for (int k = 0; k < r->kernels; k++) {
		auto &list = of_kernel[k];
		std::sort(list.begin(), list.end(), [](const pause_log &a, const pause_log &b) {
			return a.from < b.from;
		});
		uint64_t from = r->kernel[k].start;
		for (auto &pause : list) {
			spans->push_back(
				{ from, pause.from, who,
				  pause.touched < (uint32_t)WORKERS ? IN_TOUCHING : IN_COMPUTE,
				  0 });
			from = pause.to;
		}
		spans->push_back({ from, r->kernel[k].end, who, AT_KERNEL_END, 1 });
	}
}

// Spans of one process with none of the other between them are one turn.
static std::vector<span> turns_of(std::vector<span> spans)
{
	std::vector<span> turns;
	std::sort(spans.begin(), spans.end(),
		  [](const span &a, const span &b) { return a.from < b.from; });
	for (auto &s : spans)
		if (!turns.empty() && turns.back().who == s.who) {
			turns.back().to = std::max(turns.back().to, s.to);
			turns.back().how = s.how;
			turns.back().kernels += s.kernels;
		} else {
			turns.push_back(s);
		}
	return turns;
}

static void report(const char *name, const result *r, int who, const std::vector<span> &turns,
		   uint64_t from, uint64_t to)
{
	std::vector<double> length, away, handover, kernels, touching, wall;
	int ends[3] = {};
	double held = 0;
	for (size_t i = 0; i < turns.size(); i++) {
		if (turns[i].who != who) {
			if (i && i + 1 < turns.size())
				away.push_back((turns[i + 1].from - turns[i - 1].to) * 1e-3);
			continue;
		}
		held += turns[i].to - turns[i].from;
		if (i + 1 < turns.size())
			handover.push_back((turns[i + 1].from - (double)turns[i].to) * 1e-3);
		if (!i || i + 1 == turns.size())
			continue;
		length.push_back((turns[i].to - turns[i].from) * 1e-3);
		kernels.push_back(turns[i].kernels);
		ends[turns[i].how]++;
	}
	for (int k = 0; k < r->kernels; k++) {
		wall.push_back((r->kernel[k].end - r->kernel[k].start) * 1e-3);
		touching.push_back((r->kernel[k].touched_at - r->kernel[k].start) * 1e-3);
	}
	printf("  %s: kernels %d evicted %ld share %.3f turns %zu us p10 %.0f p50 %.0f p90 "
	       "%.0f max %.0f "
	       "kernels_a_turn %.1f away_us p10 %.0f p50 %.0f p90 %.0f "
	       "handover_us p50 %.0f p90 %.0f max %.0f ends kernel %d touching %d compute %d "
	       "kernel_us p50 %.0f p90 %.0f max %.0f touching_us p50 %.0f p90 %.0f max %.0f\n",
	       name, r->kernels, r->evicted, held / (to - from), length.size(),
	       quantile(length, .1), quantile(length, .5), quantile(length, .9),
	       quantile(length, 1), length.empty() ? 0. : (double)quantile(kernels, .5),
	       quantile(away, .1), quantile(away, .5), quantile(away, .9),
	       quantile(handover, .5), quantile(handover, .9), quantile(handover, 1),
	       ends[AT_KERNEL_END], ends[IN_TOUCHING], ends[IN_COMPUTE], quantile(wall, .5),
	       quantile(wall, .9), quantile(wall, 1), quantile(touching, .5),
	       quantile(touching, .9), quantile(touching, 1));
}

static std::string settings(const party &p)
{
	char text[200];
	snprintf(text, sizeof(text),
		 "kernel_us %.0f blocks %d %s every %d depth %d gap_us %.0f step %d slice_us "
		 "%lu%s",
		 p.kernel_us, p.blocks, walk_names[p.how], p.every, p.depth, p.gap_us, p.step,
		 (unsigned long)p.slice_us,
		 p.bare	 ? " bare" :
		 p.evict ? " evict" :
			   "");
	return text;
}

static int lines; // turns to print for each row

static void row(const char *name, const party &a, const party &b, double seconds)
{
	const party *parties[2] = { &a, &b };
	result *results = (result *)mmap(NULL, 2 * sizeof(result), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("turns %s\n  A = %s\n  B = %s\n", name, settings(a).c_str(),
	       settings(b).c_str());
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			run_party(*parties[i], &results[i], seconds);
			fflush(stdout);
			_exit(0);
		}
	for (double start = now_s();
	     (!results[0].ready || !results[1].ready) && now_s() - start < 60;)
		usleep(1000);
	results[0].go = 1;
	results[1].go = 1;
	// Both end when one does.
	for (double start = now_s(); now_s() - start < seconds + 20; usleep(500))
		if (results[0].stop || results[1].stop)
			break;
	results[0].stop = 1;
	results[1].stop = 1;
	while (wait(NULL) > 0)
		;
	if (results[0].kernels > 1 && results[1].kernels > 1) {
		// The time in which both had work.
		uint64_t from =
			std::max(results[0].kernel[0].start, results[1].kernel[0].start);
		uint64_t to = std::min(results[0].kernel[results[0].kernels - 1].end,
				       results[1].kernel[results[1].kernels - 1].end);
		std::vector<span> spans, inside;
		add_spans(&results[0], 0, &spans);
		add_spans(&results[1], 1, &spans);
		for (auto &s : spans)
			if (s.from >= from && s.to <= to)
				inside.push_back(s);
		std::vector<span> turns = turns_of(inside);
		printf("  both for %.1f ms\n", (to - from) * 1e-6);
		report("A", &results[0], 0, turns, from, to);
		report("B", &results[1], 1, turns, from, to);
		static const char *const endings[] = { "kernel", "touching", "compute" };
		for (size_t i = turns.size() / 2;
		     i < turns.size() && i < turns.size() / 2 + lines; i++)
			printf("    %c %.1f for %.1f us, %d kernels, ends in %s\n",
			       'A' + turns[i].who, (turns[i].from - from) * 1e-3,
			       (turns[i].to - turns[i].from) * 1e-3, turns[i].kernels,
			       endings[turns[i].how]);
	}
	fflush(stdout);
	munmap(results, 2 * sizeof(result));
}

/* The groups of rows. */

static party busy(uint64_t slice_us)
{
	party p;
	p.slice_us = slice_us;
	return p;
}

#ifndef TURNS_PART // between.cu has rows of its own

static party pager(int blocks, walk how, uint64_t slice_us, int depth = 16)
{
	party p;
	p.blocks = blocks;
	p.how = how;
	p.slice_us = slice_us;
	p.depth = depth;
	return p;
}

struct shape {
	int blocks;
	walk how;
};
static const shape shapes[] = { { 1, SERIAL },	   { 16, SERIAL }, { 16, PARALLEL },
				{ 128, PARALLEL }, { 16, STREAM }, { 64, STREAM } };

// Without faults: what a slice of so many units gets beside one of 2048, and beside its like.
static void rows_slices()
{
	for (uint64_t us : { 16, 32, 64, 128, 256, 512, 1024, 4096, 16384 })
		row("slices", busy(us), busy(2048), 1);
	for (uint64_t us : { 0, 16, 64, 512 })
		row("slices", busy(us), busy(us), 0.5);
	party tiny = busy(16);
	for (int depth : { 1, 2 }) {
		tiny.depth = depth;
		row("slices", tiny, busy(2048), 1);
	}
}

// One pages, with a queue behind its kernels; the other is busy.
static void rows_deep()
{
	for (auto &s : shapes)
		for (uint64_t us : { 0, 512, 16384, 131072 })
			row("deep", pager(s.blocks, s.how, us), busy(us), us > 100000 ? 2 : 1);
}

// The same, with nothing queued behind a kernel.
static void rows_sync()
{
	for (auto &s : shapes)
		for (uint64_t us : { 0, 131072 })
			row("sync", pager(s.blocks, s.how, us, 1), busy(us), us ? 3 : 1);
	party still = busy(131072);
	still.depth = 1;
	row("sync", still, busy(131072), 3);
	for (int blocks : { 0, 16 }) {
		party p = pager(blocks, PARALLEL, 131072, 1);
		p.kernel_us = 5000;
		row("sync", p, busy(131072), 3);
		p.depth = 2;
		row("sync", p, busy(131072), 3);
	}
}

// The same, with nothing at all queued behind a kernel; and a process that comes while another runs one
// kernel for long.
static void rows_last()
{
	party a, newcomer;
	a.bare = true;
	for (uint64_t us : { 0, 512, 131072 }) {
		a.slice_us = us;
		for (double kernel_us : { 100., 1000., 5000. }) {
			a.kernel_us = kernel_us;
			for (int depth : { 1, 2 }) {
				a.depth = depth;
				row("last", a, busy(us), us > 100000 ? 2.5 : 1);
			}
		}
	}
	for (uint64_t us : { 0, 131072 })
		for (walk how : { SERIAL, STREAM }) {
			party p = pager(16, how, us, 1);
			p.kernel_us = 1000;
			p.bare = true;
			row("last", p, busy(us), us ? 3 : 1);
		}
	newcomer.depth = 1;
	newcomer.gap_us = 20300;
	for (uint64_t us : { 0, 131072 })
		for (bool bare : { false, true })
			for (int depth : { 1, 2 }) {
				a.kernel_us = 200000;
				a.bare = bare;
				a.depth = depth;
				a.slice_us = newcomer.slice_us = us;
				row("last", a, newcomer, 2);
			}
}

// An eager framework pages: kernels shorter than the launches, steps that are waited for.
static void rows_eager()
{
	for (uint64_t us : { 0, 131072 })
		for (double kernel_us : { 20., 100. })
			for (int blocks : { 0, 16, 40 }) {
				party p = pager(blocks, STREAM, us, 64);
				p.kernel_us = kernel_us;
				p.gap_us = 60;
				p.step = 100;
				row("eager", p, busy(us), us ? 3 : 1);
				p.bare = true;
				row("eager", p, busy(us), us ? 3 : 1);
			}
}

static void rows_both()
{
	for (uint64_t us : { 0, 512, 16384, 131072 })
		for (walk how : { PARALLEL, STREAM })
			row("both", pager(16, how, us), pager(16, how, us),
			    us > 100000 ? 2 : 1);
	row("both", pager(16, STREAM, 0, 1), pager(16, STREAM, 0), 1);
	row("both", pager(16, STREAM, 131072, 1), pager(16, STREAM, 131072), 2);
}

// Blocks go back to the host meanwhile, as under a limit.
static void rows_evict()
{
	for (auto &s : shapes) {
		party p = pager(s.blocks, s.how, 131072);
		p.evict = true;
		row("evict", p, busy(131072), 2);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*rows)();
	} all[] = { { "slices", rows_slices }, { "deep", rows_deep },	{ "sync", rows_sync },
		    { "last", rows_last },     { "eager", rows_eager }, { "both", rows_both },
		    { "evict", rows_evict } };
	setvbuf(stdout, NULL, _IOLBF, 0);
	lines = getenv("TURNS_LINES") ? atoi(getenv("TURNS_LINES")) : 0;
	iterations_per_us = calibrate();
	printf("# %.1f iterations a us\n", iterations_per_us);
	for (auto &group : all)
		for (int i = 1; i < argc || argc == 1; i++)
			if (argc == 1 || !strcmp(argv[i], group.name)) {
				group.rows();
				break;
			}
	return 0;
}
#endif
