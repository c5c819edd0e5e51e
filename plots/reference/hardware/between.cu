// SPDX-License-Identifier: MIT OR GPL-2.0
//
// What a process does between its kernels, and what that does to its turns: more rows for turns.cu, which is
// part of this program.
//
//	nvcc -O2 -std=c++17 -arch=native -Xcompiler -rdynamic -o between between.cu -lcublas -ldl -lpthread
//	./between [GROUP...]		groups: operations gaps products fronts busy
//
// operations: process A does one operation every 3 ms (2.25 to 3.75), and waits for it. B is busy. How long does A
// wait, and how often and how long is B off the GPU? The kinds of operations are those of an LLM server between
// two steps.
//
// gaps: A is an eager process that launches a kernel every 60 us, in steps of 300. Its kernels leave gaps of 50 us
// down to none. Its slice is 131072 us. B is busy. Does A keep the GPU through a short gap? Rows as in turns.cu.
//
// products: A multiplies by weight matrices that lie on the host, all launched ahead. B is busy. Does a product that
// faults hold the GPU until it has its pages, or does it leave at the end of its slice? 3 GiB of managed memory.
//
// fronts: the same for kernels that go through their memory bit by bit, and have many blocks: products with thousands
// of tokens, a kernel whose threads stride through all of it, and one with a thread for each 16 bytes, as elementwise
// kernels have. How much longer than its slice does A stay?
//
// busy: one busy process, with slices of BUSY_SLICE us for BUSY_SECONDS, beside whatever else runs: for how long it
// was on the GPU and off it, turn by turn (pipeline_turns.py).
#define TURNS_PART
#include "turns.cu"

#include <cublas_v2.h>
#include <cuda_bf16.h>

static const int OPERATIONS = 4000;

// What A leaves for its parent, beside a struct result.
struct times {
	int count;
	double us[OPERATIONS];
};

struct shared {
	result a, b;
	times of_a;
};

static void pause_us(double us)
{
	double until = now_s() + us * 1e-6;
	while (now_s() < until)
		;
}

static void wait_for_start(result *r)
{
	r->ready = 1;
	while (!r->go)
		;
}

static void take_slice(uint64_t slice_us)
{
	if (slice_us && set_timeslice(slice_us) != group_count)
		printf("error the timeslice was not taken by all %d groups\n", group_count);
}

// The pauses of a busy process, also between two kernels, and what it did between them.
struct absences {
	std::vector<double> away_us, on_us;
	double held_s = 0, all_s = 0;
};

static absences absences_of(const result *r)
{
	absences all;
	std::vector<pause_log> pauses(r->pause, r->pause + r->pauses);
	for (int k = 1; k < r->kernels; k++)
		if (r->kernel[k].start > r->kernel[k - 1].end + 10000)
			pauses.push_back({ r->kernel[k - 1].end, r->kernel[k].start, 0, 0 });
	std::sort(pauses.begin(), pauses.end(),
		  [](const pause_log &a, const pause_log &b) { return a.from < b.from; });
	if (!r->kernels)
		return all;
	uint64_t begin = r->kernel[0].start, end = r->kernel[r->kernels - 1].end, last = begin;
	double off = 0;
	for (auto &p : pauses) {
		all.away_us.push_back((p.to - p.from) * 1e-3);
		all.on_us.push_back((p.from - last) * 1e-3);
		off += p.to - p.from;
		last = p.to;
	}
	all.all_s = (end - begin) * 1e-9;
	all.held_s = all.all_s - off * 1e-9;
	return all;
}

// A does something that ends by itself or after some seconds; B is busy meanwhile.
static shared *run_both(const std::function<void(shared *)> &a, const party *b, double seconds)
{
	shared *s = (shared *)mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < (b ? 2 : 1); i++)
		if (!fork()) {
			if (i)
				run_party(*b, &s->b, seconds);
			else
				a(s);
			fflush(stdout);
			_exit(0);
		}
	for (double start = now_s();
	     (!s->a.ready || (b && !s->b.ready)) && now_s() - start < 60;)
		usleep(1000);
	s->a.go = 1;
	s->b.go = 1;
	for (double start = now_s(); now_s() - start < seconds + 5; usleep(500))
		if (s->a.stop || s->b.stop)
			break;
	s->a.stop = 1;
	s->b.stop = 1;
	while (wait(NULL) > 0)
		;
	return s;
}

/* Operations. */

__global__ void tiny()
{
}

enum operation {
	TINY_KERNEL,
	FILL,
	COPY_IN_4K,
	COPY_IN_256K,
	COPY_OUT_4K,
	COPY_OUT_256K,
	PAGEABLE_IN_4K,
	PAGEABLE_OUT_4K,
	COPY_THEN_KERNEL,
	EVENT,
	PROLOGUE, // 8 copies in, the first of 256 KiB, and 3 kernels, in 0.3 ms
};
static const char *const operation_names[] = {
	"tiny kernel",	      "fill of 1 KiB",	       "copy in of 4 KiB",
	"copy in of 256 KiB", "copy out of 4 KiB",     "copy out of 256 KiB",
	"pageable 4 KiB in",  "pageable 4 KiB out",    "copy in of 4 KiB, tiny kernel",
	"record of an event", "8 copies and 3 kernels"
};

struct buffers {
	unsigned char *pinned, *pageable, *device;
	cudaStream_t stream;
	cudaEvent_t event;
};

static void copy(void *to, const void *from, size_t bytes, const buffers &b)
{
	CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, b.stream));
}

static void prologue(const buffers &b)
{
	for (int i = 0; i < 8; i++) {
		copy(b.device + i * 65536, b.pinned + i * 65536, i ? 1024 : 256 << 10, b);
		pause_us(30);
		if (i % 3 == 2)
			tiny<<<1, 32, 0, b.stream>>>();
	}
}

static void operate(operation op, const buffers &b)
{
	switch (op) {
	case TINY_KERNEL:
		tiny<<<1, 32, 0, b.stream>>>();
		break;
	case FILL:
		CHECK(cudaMemsetAsync(b.device, 0, 1024, b.stream));
		break;
	case COPY_IN_4K:
		copy(b.device, b.pinned, 4096, b);
		break;
	case COPY_IN_256K:
		copy(b.device, b.pinned, 256 << 10, b);
		break;
	case COPY_OUT_4K:
		copy(b.pinned, b.device, 4096, b);
		break;
	case COPY_OUT_256K:
		copy(b.pinned, b.device, 256 << 10, b);
		break;
	case PAGEABLE_IN_4K:
		copy(b.device, b.pageable, 4096, b);
		break;
	case PAGEABLE_OUT_4K:
		copy(b.pageable, b.device, 4096, b);
		break;
	case COPY_THEN_KERNEL:
		copy(b.device, b.pinned, 4096, b);
		tiny<<<1, 32, 0, b.stream>>>();
		break;
	case EVENT:
		CHECK(cudaEventRecord(b.event, b.stream));
		break;
	case PROLOGUE:
		prologue(b);
		break;
	}
}

static void run_operations(operation op, shared *s, double seconds)
{
	buffers b;
	CHECK(cudaStreamCreate(&b.stream));
	CHECK(cudaHostAlloc(&b.pinned, 1 << 20, 0));
	CHECK(cudaMalloc(&b.device, 1 << 20));
	CHECK(cudaEventCreate(&b.event));
	b.pageable = (unsigned char *)calloc(1, 1 << 20);
	for (int i = 0; i < 5; i++) {
		operate(op, b);
		tiny<<<1, 32, 0, b.stream>>>();
	}
	CHECK(cudaStreamSynchronize(b.stream));
	take_slice(131072);
	wait_for_start(&s->a);
	int n = 0;
	for (double start = now_s(); !s->a.stop && n < OPERATIONS && now_s() - start < seconds;
	     n++) {
		pause_us(3000 * (0.75 + 0.5 * (n * 37 % 101) / 101));
		double begin = now_s();
		operate(op, b);
		CHECK(cudaStreamSynchronize(b.stream));
		s->of_a.us[n] = (now_s() - begin) * 1e6;
	}
	s->of_a.count = n;
	s->a.stop = 1;
}

static void row_operation(operation op, uint64_t slice_us)
{
	party b = busy(slice_us);
	shared *s = run_both([=](shared *s) { run_operations(op, s, 1.5); }, &b, 1.5);
	std::vector<double> times(s->of_a.us, s->of_a.us + s->of_a.count);
	absences away = absences_of(&s->b);
	double each = 1. / std::max(1, s->of_a.count);
	printf("operation %s: B has slices of %lu us, %d operations us p10 %.0f p50 %.0f p90 "
	       "%.0f, B off the "
	       "GPU %.2f times an operation, us p10 %.0f p50 %.0f p90 %.0f\n",
	       operation_names[op], (unsigned long)slice_us, s->of_a.count, quantile(times, .1),
	       quantile(times, .5), quantile(times, .9), away.away_us.size() * each,
	       quantile(away.away_us, .1), quantile(away.away_us, .5),
	       quantile(away.away_us, .9));
	fflush(stdout);
	munmap(s, sizeof(shared));
}

static void rows_operations()
{
	for (int op = TINY_KERNEL; op <= PROLOGUE; op++)
		row_operation((operation)op, 512);
	row_operation(TINY_KERNEL, 2048);
	row_operation(COPY_IN_4K, 2048);
}

/* Gaps. */

static void rows_gaps()
{
	for (uint64_t us : { 512, 2048 })
		for (double kernel_us :
		     { 5., 15., 25., 35., 40., 44., 47., 50., 52., 54., 60. }) {
			party p = busy(131072);
			p.kernel_us = kernel_us;
			p.gap_us = 60;
			p.step = 300;
			p.depth = 800;
			p.bare = true;
			row("gaps", p, busy(us), 1);
		}
}

/* Products. */

// Tokens of a product, or what else goes through the weights.
enum { STRIDES = 0, ELEMENTS = -1 };

struct product {
	int tokens, outputs, inputs;
};

__global__ void read_strides(const uint4 *data, size_t count, unsigned *out)
{
	unsigned sum = 0;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x)
		sum += data[i].x;
	if (sum == 12345)
		*out = sum;
}

__global__ void read_elements(const uint4 *data, size_t count, unsigned *out)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i < count && data[i].x == 12345)
		*out = 1;
}

static void run_products(const product &p, uint64_t slice_us, shared *s)
{
	size_t bytes = (size_t)p.outputs * p.inputs * sizeof(__nv_bfloat16);
	int count = (int)std::min((size_t)200, ((size_t)3 << 30) / bytes);
	unsigned char *weights;
	__nv_bfloat16 *x, *y;
	cublasHandle_t cublas;
	cudaStream_t stream;
	const float one = 1, zero = 0;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMallocManaged(&weights, bytes * (count + 1)));
	populate(weights, bytes * (count + 1));
	size_t rows = std::max(p.tokens, 1);
	CHECK(cudaMalloc(&x, rows * p.inputs * sizeof(*x)));
	CHECK(cudaMalloc(&y, rows * p.outputs * sizeof(*y)));
	CHECK(cudaMemset(x, 0, rows * p.inputs * sizeof(*x)));
	cublasCreate(&cublas);
	cublasSetStream(cublas, stream);
	auto multiply = [&](int i) {
		const uint4 *data = (const uint4 *)(weights + i * bytes);
		size_t words = bytes / sizeof(*data);

		if (p.tokens == STRIDES)
			read_strides<<<1024, 256, 0, stream>>>(data, words, (unsigned *)y);
		else if (p.tokens == ELEMENTS)
			read_elements<<<words / 256, 256, 0, stream>>>(data, words,
								       (unsigned *)y);
		else
			cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, p.outputs, p.tokens,
				     p.inputs, &one, weights + i * bytes, CUDA_R_16BF, p.inputs,
				     x, CUDA_R_16BF, p.inputs, &zero, y, CUDA_R_16BF, p.outputs,
				     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
	};
	multiply(count);
	CHECK(cudaStreamSynchronize(stream));
	take_slice(slice_us);
	std::vector<cudaEvent_t> ends(count + 1);
	for (auto &end : ends)
		CHECK(cudaEventCreate(&end));
	wait_for_start(&s->a);
	usleep(100000);
	CHECK(cudaEventRecord(ends[count], stream));
	for (int i = 0; i < count; i++) {
		multiply(i);
		CHECK(cudaEventRecord(ends[i], stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < count; i++) {
		float ms;
		CHECK(cudaEventElapsedTime(&ms, ends[i ? i - 1 : count], ends[i]));
		s->of_a.us[i] = ms * 1e3;
	}
	s->of_a.count = count;
	s->a.stop = 1;
}

static void row_products(const product &p, uint64_t slice_us, bool beside)
{
	party b = busy(slice_us);
	shared *s = run_both([=](shared *s) { run_products(p, slice_us, s); },
			     beside ? &b : NULL, 12);
	std::vector<double> times(s->of_a.us, s->of_a.us + s->of_a.count);
	absences away = absences_of(&s->b);
	printf("products %dx%dx%d of %.0f blocks, slices of %lu us, %s: %d of us p10 %.0f p50 "
	       "%.0f p90 %.0f",
	       p.tokens, p.outputs, p.inputs, (double)p.outputs * p.inputs * 2 / BLOCK,
	       (unsigned long)slice_us, beside ? "beside B" : "alone", s->of_a.count,
	       quantile(times, .1), quantile(times, .5), quantile(times, .9));
	if (beside)
		printf(", B off the GPU %zu times, us p10 %.0f p50 %.0f p90 %.0f max %.0f, on "
		       "it for %.0f",
		       away.away_us.size(), quantile(away.away_us, .1),
		       quantile(away.away_us, .5), quantile(away.away_us, .9),
		       quantile(away.away_us, 1), quantile(away.on_us, .5));
	printf("\n");
	fflush(stdout);
	munmap(s, sizeof(shared));
}

static void rows_products()
{
	static const product products[] = { { 256, 10240, 4096 },
					    { 256, 4096, 10240 },
					    { 256, 4096, 4096 },
					    { 8858, 6144, 1536 } };
	for (auto &p : products) {
		row_products(p, 2048, false);
		for (uint64_t us : { 512, 2048, 8192 })
			row_products(p, us, true);
	}
}

static void rows_fronts()
{
	static const product products[] = { { 8858, 6144, 1536 },    { 8858, 1536, 6144 },
					    { 8858, 6144, 6144 },    { 4096, 6144, 6144 },
					    { 1024, 6144, 6144 },    { STRIDES, 6144, 6144 },
					    { ELEMENTS, 6144, 6144 } };
	for (auto &p : products) {
		row_products(p, 2048, false);
		for (uint64_t us : { 512, 2048 })
			row_products(p, us, true);
	}
}

/* A busy process by itself. */

static void rows_busy()
{
	uint64_t slice_us = getenv("BUSY_SLICE") ? atoi(getenv("BUSY_SLICE")) : 512;
	double seconds = getenv("BUSY_SECONDS") ? atof(getenv("BUSY_SECONDS")) : 10;
	party p = busy(slice_us);
	p.kernel_us = 1000;
	shared *s = run_both([=](shared *s) { run_party(p, &s->a, seconds); }, NULL, seconds);
	absences away = absences_of(&s->a);
	printf("busy with slices of %lu us for %.1f s: on the GPU for %.4f of it, turns %zu, "
	       "us p10 %.0f p50 %.0f "
	       "p90 %.0f, off it us p10 %.0f p50 %.0f p90 %.0f p99 %.0f\n",
	       (unsigned long)slice_us, away.all_s, away.held_s / away.all_s,
	       away.away_us.size(), quantile(away.on_us, .1), quantile(away.on_us, .5),
	       quantile(away.on_us, .9), quantile(away.away_us, .1), quantile(away.away_us, .5),
	       quantile(away.away_us, .9), quantile(away.away_us, .99));
	munmap(s, sizeof(shared));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*rows)();
	} all[] = { { "operations", rows_operations },
		    { "gaps", rows_gaps },
		    { "products", rows_products },
		    { "fronts", rows_fronts },
		    { "busy", rows_busy } };
	setvbuf(stdout, NULL, _IOLBF, 0);
	lines = getenv("TURNS_LINES") ? atoi(getenv("TURNS_LINES")) : 0;
	iterations_per_us = calibrate();
	printf("# %.1f iterations a us\n", iterations_per_us);
	for (auto &group : all) {
		bool named = argc == 1 && strcmp(group.name, "busy");
		for (int i = 1; i < argc; i++)
			named |= !strcmp(argv[i], group.name);
		if (named)
			group.rows();
	}
	return 0;
}
