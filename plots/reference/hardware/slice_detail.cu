// SPDX-License-Identifier: MIT OR GPL-2.0
//
// Two processes share one GPU by the driver's default time slices: who runs when, on which SM, and how
// much work is done. HP launches short kernels as gapbench.cu does; LP keeps long ones queued, whose
// blocks note every pause of their SM. Both write times of the GPU's global timer.
//
//	nvcc -O2 -std=c++17 -arch=native -o slice_detail slice_detail.cu && ./slice_detail
//
// Rows: "slice PARAMETERS: LP's pauses, its runs between them, HP's kernels", then a "line" for each
// event of 15 ms in the middle.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                       \
	do {                                                                              \
		cudaError_t error_ = (call);                                              \
		if (error_ != cudaSuccess) {                                              \
			printf("error %s line %d: %s\n", #call, __LINE__,                 \
			       cudaGetErrorString(error_));                               \
			exit(1);                                                          \
		}                                                                         \
	} while (0)

static const int SMS = 132, PAUSES = 4096, KERNELS = 60000;

// What the two processes leave for their parent.
struct shared {
	int pause_count[SMS];
	uint64_t pause_from[SMS][PAUSES], pause_to[SMS][PAUSES];
	int kernel_count;
	uint64_t kernel_start[KERNELS], kernel_end[KERNELS];
	double lp_speed, hp_step_ms, hp_speed;
};
static shared *result;

__device__ __forceinline__ uint64_t gpu_ns()
{
	uint64_t t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

__device__ float sink;

// So much work; it stands still while the context is switched out. *stamp: when it began and ended.
__global__ void work(long long n, uint64_t *stamp)
{
	float x = threadIdx.x;
	if (stamp && !threadIdx.x && !blockIdx.x)
		stamp[0] = gpu_ns();
	for (long long i = 0; i < n; i++)
		x = fmaf(x, 1.0000001f, 0.5f);
	if (x == 12345.f)
		sink = x;
	if (stamp && !threadIdx.x && !blockIdx.x)
		stamp[1] = gpu_ns();
}

// The same; the first thread of each block notes pauses over 15 us.
__global__ void noting_work(long long n, int *count, uint64_t *from, uint64_t *to)
{
	float x = threadIdx.x;
	uint64_t last = gpu_ns(), now;
	for (long long i = 0; i < n; i += 256) {
		for (int j = 0; j < 256; j++)
			x = fmaf(x, 1.0000001f, 0.5f);
		if (threadIdx.x)
			continue;
		now = gpu_ns();
		int c = count[blockIdx.x];
		if (now - last > 15000 && c < PAUSES) {
			from[blockIdx.x * PAUSES + c] = last;
			to[blockIdx.x * PAUSES + c] = now;
			count[blockIdx.x] = c + 1;
		}
		last = now;
	}
	if (x == 12345.f)
		sink = x;
}

static double now_s()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// Iterations a microsecond, alone.
static double calibrate(int blocks, int threads, bool noting, int *count, uint64_t *from, uint64_t *to)
{
	cudaEvent_t a, b;
	float ms = 0;
	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	for (int r = 0; r < 3; r++) {
		CHECK(cudaEventRecord(a));
		for (int i = 0; i < 5; i++)
			if (noting)
				noting_work<<<blocks, threads>>>(4000000, count, from, to);
			else
				work<<<blocks, threads>>>(4000000, NULL);
		CHECK(cudaEventRecord(b));
		CHECK(cudaEventSynchronize(b));
		CHECK(cudaEventElapsedTime(&ms, a, b));
	}
	return 20e6 / (ms * 1e3);
}

static void lp(int threads, int go, int ready)
{
	int *count;
	uint64_t *from, *to;
	char c = 'x';
	CHECK(cudaMalloc(&count, SMS * 4));
	CHECK(cudaMalloc(&from, (size_t)SMS * PAUSES * 8));
	CHECK(cudaMalloc(&to, (size_t)SMS * PAUSES * 8));
	CHECK(cudaMemset(count, 0, SMS * 4));
	double rate = calibrate(SMS, threads, true, count, from, to);
	CHECK(cudaMemset(count, 0, SMS * 4));
	if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 1)
		exit(1);
	cudaEvent_t e[4];
	for (auto &x : e)
		CHECK(cudaEventCreateWithFlags(&x, cudaEventDisableTiming));
	double start = now_s();
	long n = 0;
	for (; now_s() - start < 1.6; n++) {
		if (n >= 4)
			CHECK(cudaEventSynchronize(e[n % 4]));
		noting_work<<<SMS, threads>>>((long long)(5000 * rate), count, from, to);
		CHECK(cudaEventRecord(e[n % 4]));
	}
	CHECK(cudaDeviceSynchronize());
	result->lp_speed = n * 5e-3 / (now_s() - start);
	CHECK(cudaMemcpy(result->pause_count, count, SMS * 4, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(result->pause_from, from, (size_t)SMS * PAUSES * 8, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(result->pause_to, to, (size_t)SMS * PAUSES * 8, cudaMemcpyDeviceToHost));
}

static void hp(int n, double k_us, double g_us, int threads, int go, int ready)
{
	uint64_t *stamps;
	char c = 'x';
	CHECK(cudaMallocHost(&stamps, (size_t)KERNELS * 16));
	double rate = calibrate(SMS, threads, false, NULL, NULL, NULL);
	if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 1)
		exit(1);
	usleep(300000);
	double start = now_s();
	std::vector<double> steps;
	int kernels = 0;
	while (now_s() - start < 1.0 && kernels + n <= KERNELS) {
		double step = now_s();
		for (int i = 0; i < n; i++, kernels++) {
			while (now_s() < step + i * g_us * 1e-6)
				;
			work<<<SMS, threads>>>((long long)(k_us * rate), stamps + 2 * kernels);
		}
		CHECK(cudaDeviceSynchronize());
		steps.push_back((now_s() - step) * 1e3);
	}
	result->hp_speed = kernels * k_us * 1e-6 / (now_s() - start);
	std::sort(steps.begin(), steps.end());
	result->hp_step_ms = steps[steps.size() / 2];
	result->kernel_count = kernels;
	for (int i = 0; i < kernels; i++) {
		result->kernel_start[i] = stamps[2 * i];
		result->kernel_end[i] = stamps[2 * i + 1];
	}
}

static double quantile(std::vector<double> v, double q)
{
	std::sort(v.begin(), v.end());
	return v.empty() ? 0 : v[std::min(v.size() - 1, (size_t)(q * v.size()))];
}

// Events of 15 ms from the 500th ms of HP on: LP's pauses on some SMs, bursts of HP's kernels.
static void print_lines(uint64_t zero)
{
	struct event {
		uint64_t at;
		std::string text;
	};
	std::vector<event> events;
	char text[128];
	for (int sm : { 0, 1, 66, 131 })
		for (int i = 0; i < result->pause_count[sm]; i++) {
			uint64_t f = result->pause_from[sm][i], t = result->pause_to[sm][i];
			snprintf(text, sizeof(text), "lp block %d pauses for %.1f us", sm, (t - f) * 1e-3);
			events.push_back({ f, text });
		}
	for (int i = 0, j; i < result->kernel_count; i = j) {
		double busy = 0;
		for (j = i; j < result->kernel_count &&
			    (j == i || result->kernel_start[j] - result->kernel_end[j - 1] < 50000);
		     j++)
			busy += (result->kernel_end[j] - result->kernel_start[j]) * 1e-3;
		snprintf(text, sizeof(text), "hp runs %d kernels for %.1f us, busy %.1f, longest %.1f",
			 j - i, (result->kernel_end[j - 1] - result->kernel_start[i]) * 1e-3, busy,
			 (result->kernel_end[j - 1] - result->kernel_start[j - 1]) * 1e-3);
		events.push_back({ result->kernel_start[i], text });
	}
	std::sort(events.begin(), events.end(),
		  [](const event &a, const event &b) { return a.at < b.at; });
	for (auto &e : events)
		if (e.at >= zero && e.at < zero + 15000000)
			printf("line %.1f %s\n", (e.at - zero) * 1e-3, e.text.c_str());
}

static void trial(int n, double k_us, double g_us, int hp_threads, int lp_threads)
{
	int go[2], ready[2];
	char c = 'x';
	if (pipe(go) || pipe(ready))
		exit(1);
	pid_t a = fork();
	if (!a) {
		lp(lp_threads, go[0], ready[1]);
		_exit(0);
	}
	// Calibrated one after the other, alone.
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	pid_t b = fork();
	if (!b) {
		hp(n, k_us, g_us, hp_threads, go[0], ready[1]);
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1 || write(go[1], "xx", 2) != 2)
		exit(1);
	waitpid(a, NULL, 0);
	waitpid(b, NULL, 0);
	if (!result->kernel_count)
		return;
	uint64_t from = result->kernel_start[0], to = result->kernel_end[result->kernel_count - 1];
	std::vector<double> pause, run;
	for (int sm = 0; sm < SMS; sm++)
		for (int i = 0; i < result->pause_count[sm]; i++) {
			if (result->pause_from[sm][i] < from || result->pause_to[sm][i] > to)
				continue;
			pause.push_back((result->pause_to[sm][i] - result->pause_from[sm][i]) * 1e-3);
			if (i)
				run.push_back((result->pause_from[sm][i] - result->pause_to[sm][i - 1]) *
					      1e-3);
		}
	printf("slice n %d kernel_us %.0f every_us %.0f hp_threads %d lp_threads %d: step_ms %.2f "
	       "hp_speed %.3f lp_speed_with_alone_time %.3f lp pause p10 %.1f p50 %.1f p90 %.1f run p10 "
	       "%.1f p50 %.1f p90 %.1f us\n",
	       n, k_us, g_us, hp_threads, lp_threads, result->hp_step_ms, result->hp_speed,
	       result->lp_speed, quantile(pause, .1), quantile(pause, .5), quantile(pause, .9),
	       quantile(run, .1), quantile(run, .5), quantile(run, .9));
	print_lines(from + 500000000);
	fflush(stdout);
}

int main()
{
	result = (shared *)mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	trial(300, 17, 82, 256, 1024);
	trial(300, 82, 82, 256, 1024);
	trial(300, 82, 82, 1024, 1024);
	trial(300, 82, 82, 256, 32);
	trial(1, 1000, 20000, 256, 1024);
	trial(1, 100, 1000, 256, 1024);
	return 0;
}
