// SPDX-License-Identifier: MIT OR GPL-2.0
//
// How long a kernel waits under MPS for those of other clients, if there are pauses between its own?
//
//	nvcc -O2 -std=c++17 -arch=native -o mps_waits mps_waits.cu && ./mps_waits [SECONDS [starts]]
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

struct kind {
	double kernel_us, pause_us;
	int blocks; // of a wave
	int waves;  // of a kernel, one after the other
	spread how;
	bool l1; // its blocks share an SM, whose memory is L1 cache
	bool operator<(const kind &other) const
	{
		return name() < other.name();
	}
	std::string name() const
	{
		char text[80];

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

	made.kernels = (int)fmax(16, fmin(1024, GRAPH_US / (what.kernel_us + what.pause_us)));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	for (int i = 0; i < made.kernels; i++) {
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
	for (spread how : { FIXED, EXPONENTIAL, false })
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
	else
		waits(clients, seconds);
	for (client &c : clients)
		close(c.to);
	while (wait(NULL) > 0)
		;
	return system("echo quit | nvidia-cuda-mps-control >/dev/null");
}
