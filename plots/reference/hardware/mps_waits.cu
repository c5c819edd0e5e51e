// SPDX-License-Identifier: MIT OR GPL-2.0
//
// How long a kernel waits under MPS for those of other clients, if there are pauses between its own?
//
//	nvcc -O2 -std=c++17 -arch=native -o mps_waits mps_waits.cu && ./mps_waits [SECONDS [starts|work]]
//
// Each client replays a CUDA graph: a kernel, a pause, the next kernel, and so on. A thread block takes all
// of an SM, so a kernel of 132 blocks holds an H200. A pause is a kernel of one small block, which finds room
// on any SM. Lengths are fixed, exponential (as many short ones as a mean of that kind has), or mixed: nine
// of ten have a fifth of the mean, the tenth 8.2 means. The lengths of kernels and pauses of a client are of
// one kind. A row is one run of SECONDS (0.4): each client, and the time of a kernel with its pause, in us,
// alone and beside the others. Starts an MPS daemon of its own and ends it.
//
// With "starts" kernels are short and most are small, without pauses: what is left to wait for are the
// starts of others. Kernels with "L1" have blocks without shared memory and ask for an SM whose memory is
// L1 cache; all others ask for shared memory. So they want SMs divided in another way.
//
// With "work" kernels are short and small, and do fixed work of one kind: dependent multiplications in a loop,
// or as straight code of 1, 4 or 16 KB that is another kernel each time; dependent reads of the L2 cache or of
// memory; reads or writes of all lines of a part of either. What one kind costs another is what they share.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                        \
	do {                                                               \
		cudaError_t error_ = (call);                               \
		if (error_ != cudaSuccess) {                               \
			fprintf(stderr, "error %s line %d: %s\n", #call,   \
				__LINE__, cudaGetErrorString(error_));     \
			_exit(1);                                          \
		}                                                          \
	} while (0)

static const int CLIENTS = 3, SM_MEMORY = 200 << 10;
static const double GRAPH_US = 20000, WARM_S = 0.05;

// How lengths are spread.
enum spread { FIXED, EXPONENTIAL, MIXED };
static const char *const spread_names[] = { "fixed", "exponential", "mixed" };

// What a kernel does: nothing for a time (as all do but with "work"), or fixed work of some kind.
enum work { SPIN, MULTIPLY, CODE, L2_CHASE, CHASE, L2_READ, READ, L2_WRITE, WRITE };
static const char *const work_names[] = { "", "multiply", "code",    "L2 chase", "chase",
					  "L2 read", "read", "L2 write", "write" };
static const int CODES = 64; // kernels of straight code of each size
static const size_t L2_WORDS = 1 << 20, MEMORY_WORDS = 128 << 20; // 8 MiB, 1 GiB

struct kind {
	double kernel_us, pause_us;
	int blocks; // of a wave
	int waves;  // of a kernel, one after the other
	spread how;
	bool l1; // its blocks share an SM, whose memory is L1 cache
	work does;
	int amount; // of work: multiplications, reads or writes of a thread
	int codes;  // different kernels of straight code, one after the other
	bool operator<(const kind &other) const
	{
		return name() < other.name();
	}
	std::string name() const
	{
		char text[80];

		if (does != SPIN) {
			if (does == CODE)
				snprintf(text, sizeof(text), "%d code of %d x %d", amount, codes, blocks);
			else
				snprintf(text, sizeof(text), "%d %s x %d", amount, work_names[does], blocks);
			return text;
		}
		snprintf(text, sizeof(text), "%g/%g us %d x %d %s%s", kernel_us, pause_us, blocks, waves,
			 spread_names[how], l1 ? " L1" : "");
		return text;
	}
};

struct order {
	kind what;
	double start, end; // dates of CLOCK_MONOTONIC, in s
};

static double now(void)
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static __device__ void spin(long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
}

// Each block keeps its SM for so many cycles.
__global__ void hold(long long cycles)
{
	spin(cycles);
}

// Each block leaves room for others.
__global__ void hold_l1(long long cycles)
{
	spin(cycles);
}

// Each multiplication waits for the one before.
static __device__ float multiply(float x, int count)
{
	for (int i = 0; i < count; i++)
		x = fmaf(x, 0.999f, 0.001f);
	return x;
}

__global__ void multiplies(int count, float *out)
{
	float x = multiply(threadIdx.x, count);

	if (x == 12345.0f)
		*out = x;
}

// The same as straight code. Each NUMBER is another kernel.
template <int COUNT, int NUMBER>
__global__ void code(float *out)
{
	float x = threadIdx.x;

#pragma unroll
	for (int i = 0; i < COUNT; i++)
		x = fmaf(x, 0.999f + NUMBER * 1e-6f, 0.001f + i * 1e-6f);
	if (x == 12345.0f)
		*out = x;
}

// Each warp follows a ring of lines; @first is another place of it for each kernel.
__global__ void chase(const uint64_t *ring, size_t words, int first, int count, float *out)
{
	uint64_t at = ((size_t)first * 7919 + blockIdx.x * 4 + threadIdx.x / 32) * 9973 * 16 & (words - 1);

	for (int i = 0; i < count; i++)
		at = __ldcg(&ring[at]) & (words - 1);
	if (at == ~0ull)
		*out = 1;
}

__global__ void reads(const uint64_t *words, size_t total, int first, int count, float *out)
{
	size_t threads = (size_t)gridDim.x * blockDim.x;
	size_t at = ((size_t)first * threads * count + blockIdx.x * blockDim.x + threadIdx.x);
	uint64_t sum = 0;

#pragma unroll 8
	for (int i = 0; i < count; i++)
		sum += __ldcg(&words[(at + i * threads) & (total - 1)]);
	if (sum == 1)
		*out = 1;
}

__global__ void writes(uint64_t *words, size_t total, int first, int count)
{
	size_t threads = (size_t)gridDim.x * blockDim.x;
	size_t at = ((size_t)first * threads * count + blockIdx.x * blockDim.x + threadIdx.x);

	for (int i = 0; i < count; i++)
		words[(at + i * threads) & (total - 1)] = 1;
}

typedef void code_kernel(float *);

template <int COUNT, int... NUMBERS>
static code_kernel *code_number(int number, std::integer_sequence<int, NUMBERS...>)
{
	static code_kernel *const all[] = { code<COUNT, NUMBERS>... };

	return all[number];
}

// Kernel @number of straight code of @count multiplications.
static code_kernel *code_of(int count, int number)
{
	auto all = std::make_integer_sequence<int, CODES>();

	return count == 1000 ? code_number<1000>(number, all) :
	       count == 250  ? code_number<250>(number, all) :
			       code_number<62>(number, all);
}

// A ring of lines of 128 bytes through @words: each has the place of the next one, far away.
__global__ void make_ring(uint64_t *words, size_t total)
{
	size_t lines = total / 16, line = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (line < lines)
		words[line * 16] = (line * 5 + 12345) % lines * 16; // of full period: lines are a power of two
}

// What kernels of fixed work read and write.
struct memory {
	uint64_t *ring, *words;
	float *out;
};

static const memory &memory_of_client(void)
{
	static memory made;

	if (!made.ring) {
		CHECK(cudaMalloc(&made.ring, MEMORY_WORDS * 8));
		CHECK(cudaMalloc(&made.words, MEMORY_WORDS * 8));
		CHECK(cudaMalloc(&made.out, sizeof(*made.out)));
		make_ring<<<(int)(MEMORY_WORDS / 16 / 256), 256>>>(made.ring, MEMORY_WORDS);
		CHECK(cudaDeviceSynchronize());
	}
	return made;
}

// Launch kernel number @i of a graph of fixed work.
static void launch_work(const kind &what, const memory &of, int i, cudaStream_t stream)
{
	bool cached = what.does == L2_CHASE || what.does == L2_READ || what.does == L2_WRITE;
	size_t total = cached ? L2_WORDS : MEMORY_WORDS;

	switch (what.does) {
	case MULTIPLY:
		multiplies<<<what.blocks, 128, 0, stream>>>(what.amount, of.out);
		break;
	case CODE:
		code_of(what.amount, i % what.codes)<<<what.blocks, 128, 0, stream>>>(of.out);
		break;
	case L2_CHASE:
	case CHASE:
		chase<<<what.blocks, 128, 0, stream>>>(of.ring, total, i, what.amount, of.out);
		break;
	case L2_READ:
	case READ:
		reads<<<what.blocks, 128, 0, stream>>>(of.words, total, i, what.amount, of.out);
		break;
	default:
		writes<<<what.blocks, 128, 0, stream>>>(of.words, total, i, what.amount);
	}
}

// A length around @mean.
static double length_us(double mean, spread how, uint64_t *seed)
{
	double u;

	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	u = ((*seed >> 11) + 0.5) / 9007199254740992.0;
	if (how == EXPONENTIAL)
		return -mean * log(u);
	if (how == MIXED)
		return u < 0.9 ? mean / 5 : mean * 8.2;
	return mean;
}

struct graph {
	cudaGraphExec_t exec;
	int kernels;
};

static graph make(const kind &what, cudaStream_t stream, double cycles_per_us)
{
	uint64_t seed = 88172645463325252ull + getpid();
	graph made = {};
	cudaGraph_t captured;

	if (what.does != SPIN)
		memory_of_client();
	made.kernels = what.does != SPIN ?
			       1024 :
			       (int)fmax(16, fmin(1024, GRAPH_US / (what.kernel_us + what.pause_us)));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	for (int i = 0; i < made.kernels; i++) {
		if (what.does != SPIN) {
			launch_work(what, memory_of_client(), i, stream);
			continue;
		}
		double us = length_us(what.kernel_us, what.how, &seed);

		if (what.l1)
			hold_l1<<<what.blocks, 128, 0, stream>>>((long long)(us * cycles_per_us));
		else
			hold<<<what.blocks * what.waves, 128, SM_MEMORY, stream>>>(
				(long long)(us / what.waves * cycles_per_us));
		if (what.pause_us > 0)
			hold<<<1, 32, 0, stream>>>((long long)(
				length_us(what.pause_us, what.how, &seed) * cycles_per_us));
	}
	CHECK(cudaStreamEndCapture(stream, &captured));
	CHECK(cudaGraphInstantiate(&made.exec, captured, 0));
	CHECK(cudaGraphLaunch(made.exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	return made;
}

// Replay @made until @end; returns us for a kernel and its pause.
static double replay(const graph &made, const order &job, cudaStream_t stream)
{
	cudaEvent_t done[3];
	double first = 0, last = 0;
	long count = 0, counted = 0;

	for (cudaEvent_t &event : done)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	while (now() < job.start)
		;
	for (; now() < job.end || counted < 1; count++) {
		CHECK(cudaGraphLaunch(made.exec, stream));
		CHECK(cudaEventRecord(done[count % 3], stream));
		if (count < 2)
			continue;
		CHECK(cudaEventSynchronize(done[(count + 1) % 3]));
		last = now();
		if (!first && last > job.start + WARM_S)
			first = last;
		else if (first)
			counted++;
	}
	CHECK(cudaStreamSynchronize(stream));
	for (cudaEvent_t &event : done)
		cudaEventDestroy(event);
	return (last - first) * 1e6 / ((double)counted * made.kernels);
}

// A client of the MPS server: reads orders, answers each with a time.
static void serve(int in, int out)
{
	std::map<std::string, graph> graphs;
	cudaStream_t stream;
	double cycles_per_us;
	int khz;
	order job;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, SM_MEMORY));
	/* A pause must not take the shared memory of its SM from a kernel. */
	CHECK(cudaFuncSetAttribute(hold, cudaFuncAttributePreferredSharedMemoryCarveout,
				   cudaSharedmemCarveoutMaxShared));
	CHECK(cudaFuncSetAttribute(hold_l1, cudaFuncAttributePreferredSharedMemoryCarveout,
				   cudaSharedmemCarveoutMaxL1));
	CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	cycles_per_us = khz / 1e3;
	while (read(in, &job, sizeof(job)) == sizeof(job)) {
		std::string name = job.what.name();
		double us = 0;

		if (!graphs.count(name))
			graphs[name] = make(job.what, stream, cycles_per_us);
		if (job.end > job.start)
			us = replay(graphs[name], job, stream);
		if (write(out, &us, sizeof(us)) != sizeof(us))
			_exit(1);
	}
	_exit(0);
}

struct client {
	int to, from;
};

static void give(const client &c, const kind &what, double start, double end)
{
	order job = { what, start, end };

	if (write(c.to, &job, sizeof(job)) != sizeof(job))
		exit(1);
}

static double take(const client &c)
{
	double us;

	if (read(c.from, &us, sizeof(us)) != sizeof(us)) {
		fprintf(stderr, "mps_waits: a client has ended\n");
		exit(1);
	}
	return us;
}

// Run @kinds side by side; print a row.
static void together(const client *clients, const std::vector<kind> &kinds, double seconds)
{
	static std::map<std::string, double> alone[CLIENTS]; // lengths are a client's own
	double start;

	for (size_t i = 0; i < kinds.size(); i++)
		give(clients[i], kinds[i], 0, 0);
	for (size_t i = 0; i < kinds.size(); i++)
		take(clients[i]);
	for (size_t i = 0; i < kinds.size(); i++) {
		if (alone[i].count(kinds[i].name()))
			continue;
		give(clients[i], kinds[i], now() + 0.01, now() + 0.01 + seconds);
		alone[i][kinds[i].name()] = take(clients[i]);
	}
	start = now() + 0.01;
	for (size_t i = 0; i < kinds.size(); i++)
		give(clients[i], kinds[i], start, start + seconds);
	for (size_t i = 0; i < kinds.size(); i++)
		printf("%s%s, %.2f, %.2f", i ? "; " : "", kinds[i].name().c_str(), alone[i][kinds[i].name()],
		       take(clients[i]));
	printf("\n");
	fflush(stdout);
}

// Short kernels without pauses: small ones in twos and threes, and beside one that leaves no SM, or half.
static void starts(const client *clients, double seconds)
{
	static const double lengths[] = { 0.5, 2, 10 };
	std::vector<kind> kinds;

	for (int blocks : { 1, 16, 40 })
		for (double us : { 0.5, 2., 5., 10. })
			kinds.push_back({ us, 0, blocks, 1, FIXED, false });
	for (size_t i = 0; i < kinds.size(); i++)
		for (size_t k = i; k < kinds.size(); k++)
			together(clients, { kinds[i], kinds[k] }, seconds);
	for (const kind &what : kinds)
		together(clients, { what, what, what }, seconds);
	for (const kind &what : kinds)
		for (int blocks : { 66, 132 })
			together(clients, { what, { 100, 0, blocks, 1, FIXED, false } }, seconds);
	for (double a : lengths)
		for (int blocks : { 1, 16, 40, 132, 264, 1056 })
			for (double b : lengths)
				for (int others : { 1, 16, 40, 66 })
					together(clients,
						 { { a, 0, blocks, 1, FIXED, true },
						   { b, 0, others, 1, FIXED, false } },
						 seconds);
	for (double us : lengths)
		for (int blocks : { 1, 16, 40, 132, 264 })
			for (int others : { 1, 40, 132, 264 })
				together(clients,
					 { { us, 0, blocks, 1, FIXED, true },
					   { us, 0, others, 1, FIXED, true } },
					 seconds);
}

// Small kernels of fixed work beside each other, and kernels of straight code beside few and many others.
static void works(const client *clients, double seconds)
{
	static const kind each[] = {
		{ .does = MULTIPLY, .amount = 1000 },
		{ .does = CODE, .amount = 1000, .codes = CODES },
		{ .does = L2_CHASE, .amount = 6 },
		{ .does = CHASE, .amount = 4 },
		{ .does = L2_READ, .amount = 32 },
		{ .does = READ, .amount = 32 },
		{ .does = L2_WRITE, .amount = 32 },
		{ .does = WRITE, .amount = 32 },
	};
	std::vector<kind> kinds, others;

	for (int blocks : { 16, 128 })
		for (kind what : each) {
			what.blocks = blocks;
			kinds.push_back(what);
		}
	for (const kind &what : kinds)
		for (const kind &other : kinds)
			together(clients, { what, other }, seconds);
	for (double us : { 0.5, 3., 10., 30., 100., 1000. })
		others.push_back({ us, 0, 1, 1, FIXED, false });
	for (int blocks : { 2, 8, 32, 128 })
		for (int amount : { 8, 256 })
			others.push_back({ .blocks = blocks, .does = READ, .amount = amount });
	for (int amount : { 250, 1000 })
		for (int codes : { 1, 4, 8, 16, 32, CODES })
			others.push_back({ .blocks = 128, .does = CODE, .amount = amount, .codes = codes });
	for (int amount : { 62, 250, 1000 })
		for (int codes : { 1, 2, 4, 8, 16, 32, CODES })
			for (int blocks : { 16, 128 })
				for (const kind &other : others)
					together(clients,
						 { { .blocks = blocks, .does = CODE, .amount = amount, .codes = codes },
						   other },
						 seconds);
}

// Kernels of any length with pauses between them.
static void waits(const client *clients, double seconds)
{
	static const double kernels[] = { 10, 100 }, pauses[] = { 0, 10, 100 }, others[] = { 30, 300 },
			    gaps[] = { 0, 30, 300 };

	for (spread how : { FIXED, EXPONENTIAL, MIXED })
		for (double a : kernels)
			for (double g : pauses)
				for (double b : others)
					for (double h : gaps)
						together(clients,
							 { { a, g, 132, 1, how, false }, { b, h, 132, 1, how, false } },
							 seconds);
	// Many waves; kernels that hold a part of the SMs; three clients.
	for (spread how : { FIXED, EXPONENTIAL })
		for (int waves : { 8, 32 })
			for (double a : { 30, 100, 300 })
				for (double g : pauses)
					together(clients,
						 { { a, g, 132, waves, how, false }, { 100, 0, 132, waves, how, false } },
						 seconds);
	for (int blocks : { 40, 80 })
		for (double g : pauses)
			for (double h : gaps)
				together(clients,
					 { { 100, g, blocks, 1, EXPONENTIAL, false }, { 100, h, 80, 1, EXPONENTIAL, false } },
					 seconds);
	for (double g : pauses)
		for (double h : gaps)
			together(clients,
				 { { 30, g, 132, 1, EXPONENTIAL, false },
				   { 100, h, 132, 1, EXPONENTIAL, false },
				   { 100, 0, 132, 1, EXPONENTIAL, false } },
				 seconds);
	for (double g : pauses)
		for (double h : gaps)
			together(clients,
				 { { 30, g, 132, 1, EXPONENTIAL, false },
				   { 100, h, 132, 1, EXPONENTIAL, false },
				   { 100, 100, 132, 1, EXPONENTIAL, false } },
				 seconds);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.4;
	char folder[] = "/tmp/mps-waitsXXXXXX";
	client clients[CLIENTS];

	if (!mkdtemp(folder))
		return 1;
	setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
	setenv("CUDA_MPS_LOG_DIRECTORY", folder, 1);
	if (system("nvidia-cuda-mps-control -d"))
		return 1;
	sleep(1);
	for (client &c : clients) {
		int to[2], from[2];

		if (pipe(to) || pipe(from))
			return 1;
		if (!fork()) {
			close(to[1]);
			close(from[0]);
			serve(to[0], from[1]);
		}
		close(to[0]);
		close(from[1]);
		c = { to[1], from[0] };
	}
	printf("# each client: us a kernel/us a pause, blocks x waves, lengths, us alone, us beside\n");
	if (argc > 2 && !strcmp(argv[2], "starts"))
		starts(clients, seconds);
	else if (argc > 2 && !strcmp(argv[2], "work"))
		works(clients, seconds);
	else
		waits(clients, seconds);
	for (client &c : clients)
		close(c.to);
	while (wait(NULL) > 0)
		;
	return system("echo quit | nvidia-cuda-mps-control >/dev/null");
}
