// SPDX-License-Identifier: MIT OR GPL-2.0
//
// Can a process be taken off the GPU, and put back, by RM's control calls on a stock driver? How fast, at
// which point of its work, and what of the calls do RM and GSP take from whom?
//
//	nvcc -O2 -std=c++17 -arch=native -Xcompiler -rdynamic -o freeze freeze.cu -ldl -lpthread
//	./freeze [GROUP...]		groups: calls kernel queue faults storm beside host kill long streams birth cost
//
// Each row is a process of its own, which makes the calls about its own channels. The ways:
//
//	client		FIFO_DISABLE_CHANNELS (0x2080110b), through the client's own object
//	subdevice	the same, through the client's subdevice
//	stranger	the same, through the subdevice of another client, which the row makes for it
//	lazy		the same, with bOnlyDisableScheduling: what runs is not sent away
//	schedule	GPFIFO_SCHEDULE (0xa06c0101) of each channel group, with bEnable false and true
//	preempt		PREEMPT (0xa06c0105) of each channel group, which waits
//
// The first block of a kernel counts in memory of the host, so the host sees when it stands still. Managed
// memory stays below 3 GiB. No setting of the card is changed: what is disabled ends with its process.
#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <fcntl.h>
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

/* RM's objects of this process, as they are made. */

struct rm_object {
	int fd;
	unsigned client, parent, object;
};
static std::vector<rm_object> subdevices, groups, channels;
static unsigned device_number; // of the GPU, as RM counts
static bool off_at_birth;      // each channel is taken off the GPU as soon as it is made
static unsigned birth_status;

static unsigned disable_one(const rm_object &channel);

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
	va_list list;
	va_start(list, request);
	void *argument = va_arg(list, void *);
	va_end(list);
	int status = (int)syscall(SYS_ioctl, fd, request, argument);
	unsigned *alloc = (unsigned *)argument; // client, parent, object, class
	if (((request >> 8) & 0xff) != 'F' || (request & 0xff) != 0x2b || status || !alloc)
		return status;
	rm_object made = { fd, alloc[0], alloc[1], alloc[2] };
	if (alloc[3] == 0x80)
		device_number = **(unsigned **)(alloc + 4);
	else if (alloc[3] == 0x2080)
		subdevices.push_back(made);
	else if (alloc[3] == 0xa06c)
		groups.push_back(made);
	else if ((alloc[3] & 0xff) == 0x6f && alloc[3] > 0xa000) {
		channels.push_back(made);
		if (off_at_birth)
			birth_status |= disable_one(made);
	}
	return status;
}

struct rm_control {
	unsigned client, object, command, flags;
	uint64_t parameters;
	unsigned size, status;
};

static unsigned control(const rm_object &of, unsigned object, unsigned command,
			void *parameters, unsigned size)
{
	rm_control call = { of.client, object, command, 0, (uint64_t)parameters, size, 0 };
	if (syscall(SYS_ioctl, of.fd, _IOWR('F', 0x2a, rm_control), &call))
		return 0xffff0000u;
	return call.status;
}

struct rm_alloc {
	unsigned client, parent, object, type;
	uint64_t parameters;
	unsigned size, status;
};

static unsigned allocate(int fd, unsigned client, unsigned parent, unsigned object,
			 unsigned type, void *parameters, unsigned size)
{
	rm_alloc call = { client, parent, object, type, (uint64_t)parameters, size, 0 };
	if (syscall(SYS_ioctl, fd, _IOWR('F', 0x2b, rm_alloc), &call) || call.status) {
		printf("error class 0x%x: status 0x%x\n", type, call.status);
		exit(1);
	}
	return call.object;
}

// A client of ours with a device and a subdevice, beside libcuda's. Its file stays open.
static rm_object make_stranger()
{
	static rm_object made;
	if (made.client)
		return made;
	int fd = open("/dev/nvidiactl", O_RDWR);
	unsigned client = allocate(fd, 0, 0, 0, 0x41, NULL, 0);
	unsigned device[14] = { device_number }, subdevice[1] = {};
	allocate(fd, client, client, 0x80, 0x80, device, sizeof(device));
	allocate(fd, client, 0x80, 0x2080, 0x2080, subdevice, sizeof(subdevice));
	made = { fd, client, 0x80, 0x2080 };
	return made;
}

struct disable_channels {
	uint8_t disable;
	uint32_t count;
	uint8_t only_scheduling, rewind;
	uint64_t event;
	uint32_t client[64], channel[64];
};

// The channels of libcuda's client, by a call of @caller about its @object.
static unsigned disable(const rm_object &caller, unsigned object, bool off, bool lazy)
{
	unsigned status = 0;
	for (size_t i = 0; i < channels.size() && !status;) {
		disable_channels call = {};
		call.disable = off;
		call.only_scheduling = lazy;
		for (; i < channels.size() && call.count < 64; i++)
			if (channels[i].client == groups[0].client) {
				call.client[call.count] = channels[i].client;
				call.channel[call.count++] = channels[i].object;
			}
		status = control(caller, object, 0x2080110b, &call, sizeof(call));
	}
	return status;
}

static unsigned disable_one(const rm_object &channel)
{
	disable_channels call = {};
	call.disable = true;
	call.count = 1;
	call.client[0] = channel.client;
	call.channel[0] = channel.object;
	return control(subdevices[0], subdevices[0].object, 0x2080110b, &call, sizeof(call));
}

// Returns RM's first status that is not 0.
static unsigned set_off(const std::string &way, bool off)
{
	unsigned status = 0;
	if (way == "client")
		return disable(groups[0], groups[0].client, off, false);
	if (way == "stranger")
		return disable(make_stranger(), make_stranger().object, off, false);
	for (auto &subdevice : subdevices)
		if (way != "schedule" && subdevice.client == groups[0].client)
			return disable(subdevice, subdevice.object, off, way == "lazy");
	for (auto &group : groups) {
		uint8_t call[3] = { !off, 0, 0 };
		unsigned one = control(group, group.object, 0xa06c0101, call, sizeof(call));
		status = status ? status : one;
	}
	return status;
}

/* Time and kernels. */

static double now_ms()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void sleep_ms(double ms)
{
	usleep((useconds_t)(ms * 1000));
}

struct shared {
	volatile unsigned long ticks; // of the first block
	volatile int stop;
};

__device__ unsigned sink;

__device__ volatile int stopped;

// For @us, or until the host says stop. All blocks compute; the first thread counts, and asks the host.
__global__ void work(shared *host, unsigned us)
{
	bool first = !blockIdx.x && !threadIdx.x;
	uint64_t begun, now;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
	float x = threadIdx.x;
	do {
		for (int i = 0; i < 200; i++)
			x = fmaf(x, 1.0000001f, 0.5f);
		if (!us && first) {
			host->ticks = host->ticks + 1;
			if (host->stop)
				stopped = 1;
		}
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	} while (us ? now - begun < us * 1000ull : !stopped);
	if (us && first)
		host->ticks = host->ticks + 1;
	if (x == 12345.f)
		sink = 1;
}

// A word of each 64 KiB, in order, by one thread: a fault each that the driver does not foresee.
__global__ void touch(shared *host, const unsigned *memory, size_t words)
{
	unsigned sum = 0;
	for (size_t i = 0; i < words && !host->stop; i += 16384) {
		sum += memory[i];
		host->ticks = host->ticks + 1;
	}
	sink = sum;
}

__device__ unsigned long touched;

// A word of each 4 KiB, by all threads at once. The first block tells the host how many were touched.
__global__ void storm(shared *host, const unsigned *memory, size_t pages)
{
	size_t each = (size_t)(gridDim.x - 1) * blockDim.x;
	if (!blockIdx.x) {
		if (!threadIdx.x)
			while ((host->ticks = *(volatile unsigned long *)&touched) < pages)
				;
		return;
	}
	unsigned sum = 0;
	for (size_t i = (blockIdx.x - 1) * blockDim.x + threadIdx.x; i < pages; i += each) {
		sum += memory[i * 1024];
		atomicAdd((unsigned long long *)&touched, 1ull);
	}
	if (sum == 123456789)
		sink = sum;
}

static const int BLOCKS = 132, THREADS = 256;
static shared *host;
static cudaStream_t stream;

static void begin()
{
	CHECK(cudaHostAlloc((void **)&host, sizeof(*host), cudaHostAllocMapped));
	memset((void *)host, 0, sizeof(*host));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	work<<<BLOCKS, THREADS, 0, stream>>>(host, 10);
	CHECK(cudaStreamSynchronize(stream));
	host->ticks = 0;
}

// Until the counter has stood still for 20 ms: when did it, after @since? -1: it did not within @most ms.
static double still_after(double since, double most)
{
	unsigned long last = host->ticks;
	double at = since;
	while (now_ms() - since < most) {
		if (host->ticks != last) {
			last = host->ticks;
			at = now_ms();
		} else if (now_ms() - at > 20) {
			return at - since;
		}
	}
	return -1;
}

static double moves_after(double since, double most)
{
	unsigned long last = host->ticks;
	while (host->ticks == last)
		if (now_ms() - since > most)
			return -1;
	return now_ms() - since;
}

// Off for @ms, and on again: a row of what was seen.
static void off_and_on(const std::string &way, const char *name, double ms)
{
	double begun = now_ms();
	unsigned off = set_off(way, true);
	double called = now_ms() - begun;
	double still = still_after(begun, 1000);
	unsigned long before = host->ticks;
	sleep_ms(ms);
	unsigned long moved = host->ticks - before;
	double again = now_ms();
	unsigned on = set_off(way, false);
	double recalled = now_ms() - again;
	double moves = moves_after(again, 1000);
	printf("%-8s %-10s off 0x%x in %.2f ms, still after %.2f ms, %lu ticks in %.0f ms; on "
	       "0x%x in "
	       "%.2f ms, moves after %.2f ms\n",
	       name, way.c_str(), off, called, still, moved, ms, on, recalled, moves);
	fflush(stdout);
}

/* The groups of rows. Each runs in a process of its own. */

static void calls(const std::string &way)
{
	begin();
	printf("calls    %zu subdevices, %zu channel groups, %zu channels, user %d: ",
	       subdevices.size(), groups.size(), channels.size(), geteuid());
	unsigned wrong = 0, status = 0;
	for (auto &channel : channels) {
		struct {
			unsigned object, index;
			uint64_t result;
		} info = { channel.object, 1, 0 };
		status = control(channel, channel.client, 0xd02, &info, sizeof(info));
		wrong += status || (unsigned)info.result != channel.parent;
	}
	printf("GET_HANDLE_INFO 0x%x, %u wrong", status, wrong);
	struct {
		unsigned parent, type, object;
	} child = { groups[0].parent, 0x4b01b3, 0 };
	status = control(groups[0], groups[0].client, 0xd05, &child, sizeof(child));
	printf("; GET_CHILD_HANDLE 0x%x, %s", status,
	       child.object == subdevices[0].object ? "the subdevice" : "another object");
	uint64_t us = 512;
	printf("; SET_TIMESLICE 0x%x",
	       control(groups[0], groups[0].object, 0xa06c0103, &us, 8));
	us = 0;
	printf("; GET_TIMESLICE 0x%x",
	       control(groups[0], groups[0].object, 0xa06c0104, &us, 8));
	printf(" (%lu us)", us);
	struct {
		uint8_t wait, manual;
		uint32_t us;
	} preempt = { 1, 0, 0 };
	double begun = now_ms();
	status = control(groups[0], groups[0].object, 0xa06c0105, &preempt, sizeof(preempt));
	printf("; PREEMPT 0x%x in %.2f ms", status, now_ms() - begun);
	for (const char *name : { "client", "subdevice", "lazy", "schedule", "stranger" }) {
		unsigned off = set_off(name, true), on = set_off(name, false);
		printf("; %s 0x%x 0x%x", name, off, on);
	}
	work<<<BLOCKS, THREADS, 0, stream>>>(host, 10);
	printf("; then a kernel: %s\n", cudaGetErrorString(cudaStreamSynchronize(stream)));
	(void)way;
}

static void kernel(const std::string &way)
{
	begin();
	work<<<BLOCKS, THREADS, 0, stream>>>(host, 0);
	moves_after(now_ms(), 1000);
	for (int i = 0; i < 4; i++)
		off_and_on(way, "kernel", 200);
	host->stop = 1;
	printf("kernel   %-10s ends: %s\n", way.c_str(),
	       cudaGetErrorString(cudaStreamSynchronize(stream)));
}

static void queue(const std::string &way)
{
	begin();
	for (int i = 0; i < 1000; i++)
		work<<<BLOCKS, THREADS, 0, stream>>>(host, 1000);
	moves_after(now_ms(), 1000);
	off_and_on(way, "queue", 200);
	off_and_on(way, "queue", 200);
	cudaError_t error = cudaStreamSynchronize(stream);
	printf("queue    %-10s ends: %s, %lu of 1000 kernels\n", way.c_str(),
	       cudaGetErrorString(error), host->ticks);
}

static void faults(const std::string &way)
{
	begin();
	size_t bytes = 2ull << 30;
	unsigned *memory;
	CHECK(cudaMallocManaged(&memory, bytes));
	memset(memory, 1, bytes);
	touch<<<1, 1, 0, stream>>>(host, memory, bytes / 4);
	while (host->ticks < 1000)
		;
	for (int i = 0; i < 4; i++)
		off_and_on(way, "faults", 200);
	cudaError_t error = cudaStreamSynchronize(stream);
	printf("faults   %-10s ends: %s, %lu of %zu words\n", way.c_str(),
	       cudaGetErrorString(error), host->ticks, bytes / 65536);
}

// In the middle of as many faults as the GPU has at a time.
static void storm_of_faults(const std::string &way)
{
	begin();
	size_t bytes = 2ull << 30;
	unsigned *memory;
	CHECK(cudaMallocManaged(&memory, bytes));
	memset(memory, 1, bytes);
	storm<<<BLOCKS, THREADS, 0, stream>>>(host, memory, bytes / 4096);
	for (int i = 1; i < 5; i++) {
		while (host->ticks < i * 60000ul)
			;
		off_and_on(way, "storm", 200);
	}
	cudaError_t error = cudaStreamSynchronize(stream);
	printf("storm    %-10s ends: %s, %lu of %zu pages\n", way.c_str(),
	       cudaGetErrorString(error), host->ticks, bytes / 4096);
}

// What a neighbour, without a pause between its kernels of 1 ms, gets of the GPU.
static void beside(const std::string &way)
{
	struct both {
		std::atomic<int> ready;
		volatile unsigned long kernels;
	} *both = (struct both *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (!child) {
		begin();
		both->ready = 1;
		for (;; both->kernels = both->kernels + 1) {
			work<<<BLOCKS, THREADS, 0, stream>>>(host, 1000);
			work<<<BLOCKS, THREADS, 0, stream>>>(host, 1000);
			CHECK(cudaStreamSynchronize(stream));
		}
	}
	while (!both->ready)
		;
	begin();
	work<<<BLOCKS, THREADS, 0, stream>>>(host, 0);
	moves_after(now_ms(), 1000);
	for (int i = 0; i < 5; i++) {
		unsigned status = i % 2 ? set_off(way, true) : i ? set_off(way, false) : 0;
		sleep_ms(50);
		unsigned long first = both->kernels, ticks = host->ticks;
		sleep_ms(500);
		printf("beside   %-10s %s: 0x%x, the neighbour has %lu kernels a second, its "
		       "own ticks %s\n",
		       way.c_str(), i % 2 ? "off" : "on ", status, (both->kernels - first) * 4,
		       host->ticks == ticks ? "stand" : "go on");
	}
	host->stop = 1;
	printf("beside   %-10s ends: %s\n", way.c_str(),
	       cudaGetErrorString(cudaStreamSynchronize(stream)));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

// Which calls of the host wait while the process is off?
static void host_calls(const std::string &way)
{
	begin();
	void *memory = NULL, *pinned;
	CHECK(cudaHostAlloc(&pinned, 1 << 20, 0));
	CHECK(cudaMalloc(&memory, 1 << 20));
	std::vector<std::pair<const char *, std::function<void()>>> list = {
		{ "launch", [] { work<<<BLOCKS, THREADS, 0, stream>>>(host, 10); } },
		{ "200 launches",
		  [] {
			  for (int i = 0; i < 200; i++)
				  work<<<BLOCKS, THREADS, 0, stream>>>(host, 10);
		  } },
		{ "cudaMemcpyAsync",
		  [&] {
			  CHECK(cudaMemcpyAsync(memory, pinned, 1 << 20, cudaMemcpyDefault,
						stream));
		  } },
		{ "cudaMalloc 4 MiB",
		  [] {
			  void *m;
			  CHECK(cudaMalloc(&m, 4 << 20));
		  } },
		{ "cudaMallocManaged",
		  [] {
			  void *m;
			  CHECK(cudaMallocManaged(&m, 4 << 20));
			  memset(m, 1, 4 << 20);
		  } },
		{ "cudaStreamCreate",
		  [] {
			  cudaStream_t s;
			  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		  } },
		{ "cudaFree", [&] { CHECK(cudaFree(memory)); } },
	};
	for (auto &call : list) {
		unsigned off = set_off(way, true);
		std::atomic<double> took(-1);
		std::thread thread([&] {
			double begun = now_ms();
			call.second();
			took = now_ms() - begun;
		});
		sleep_ms(300);
		double then = took;
		unsigned on = set_off(way, false);
		thread.join();
		printf("host     %-10s 0x%x 0x%x %-18s %s", way.c_str(), off, on, call.first,
		       then < 0 ? "waits" : "returns");
		printf(" after %.2f ms; %s\n", (double)took,
		       cudaGetErrorString(cudaStreamSynchronize(stream)));
		fflush(stdout);
	}
}

// A process that is killed while it is off, and one that comes afterwards.
static void kill_off(const std::string &way)
{
	int pipes[2];
	char byte;
	if (pipe(pipes))
		exit(1);
	pid_t child = fork();
	if (!child) {
		begin();
		work<<<BLOCKS, THREADS, 0, stream>>>(host, 0);
		moves_after(now_ms(), 1000);
		set_off(way, true);
		if (write(pipes[1], "x", 1) != 1)
			exit(1);
		pause();
	}
	if (read(pipes[0], &byte, 1) != 1)
		exit(1);
	sleep_ms(100);
	double begun = now_ms();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("kill     %-10s the process ends after %.1f ms", way.c_str(), now_ms() - begun);
	begin();
	work<<<BLOCKS, THREADS, 0, stream>>>(host, 1000);
	printf("; another one: %s\n", cudaGetErrorString(cudaStreamSynchronize(stream)));
}

static void longer(const std::string &way)
{
	begin();
	work<<<BLOCKS, THREADS, 0, stream>>>(host, 0);
	moves_after(now_ms(), 1000);
	off_and_on(way, "long", 15000);
	host->stop = 1;
	printf("long     %-10s ends: %s\n", way.c_str(),
	       cudaGetErrorString(cudaStreamSynchronize(stream)));
}

// Channels that are made while the others are off.
static void streams(const std::string &way)
{
	begin();
	size_t before = groups.size(), channels_before = channels.size();
	set_off(way, true);
	cudaStream_t more[40];
	std::atomic<bool> made(false);
	std::thread thread([&] {
		for (auto &one : more)
			CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
		made = true;
	});
	sleep_ms(500);
	printf("streams  %-10s 40 more are %s while it is off", way.c_str(),
	       made ? "made" : "waited for");
	set_off(way, false);
	thread.join();
	printf("; %zu channel groups of %zu are new, %zu channels of %zu\n",
	       groups.size() - before, groups.size(), channels.size() - channels_before,
	       channels.size());
}

// The first context of a process, whose channels are taken off the GPU before anybody schedules them.
static void birth(const std::string &way)
{
	std::atomic<bool> there(false);
	off_at_birth = true;
	double begun = now_ms();
	std::thread thread([&] {
		begin();
		there = true;
	});
	while (!there && now_ms() - begun < 5000)
		sleep_ms(1);
	printf("birth    %-10s 0x%x, %zu channels; the context and its first kernel %s %.0f ms",
	       way.c_str(), birth_status, channels.size(),
	       there ? "take" : "are not there after", now_ms() - begun);
	off_at_birth = false;
	unsigned on = set_off("subdevice", false);
	thread.join();
	printf("; on 0x%x: there after %.0f ms, %s\n", on, now_ms() - begun,
	       cudaGetErrorString(cudaDeviceSynchronize()));
}

static double median_us(const std::function<void()> &call)
{
	std::vector<double> took;
	for (int i = 0; i < 200; i++) {
		double begun = now_ms();
		call();
		took.push_back((now_ms() - begun) * 1000);
	}
	std::sort(took.begin(), took.end());
	return took[took.size() / 2];
}

// What a call takes, whose channels have nothing to do: a median of 200, in us.
static void cost(const std::string &way)
{
	begin();
	unsigned count = (unsigned)channels.size();
	std::vector<rm_object> all = channels;
	printf("cost     us of a call: SET_TIMESLICE %.0f, GET_TIMESLICE %.0f", median_us([] {
		       uint64_t us = 2048;
		       control(groups[0], groups[0].object, 0xa06c0103, &us, 8);
	       }),
	       median_us([] {
		       uint64_t us;
		       control(groups[0], groups[0].object, 0xa06c0104, &us, 8);
	       }));
	for (unsigned some : { 1u, 5u, count }) {
		channels.assign(all.begin(), all.begin() + some);
		printf("; %u channels: lazy %.0f, off %.0f", some,
		       median_us([] { set_off("lazy", true); }),
		       median_us([] { set_off("subdevice", true); }));
		printf(", on %.0f", median_us([] { set_off("subdevice", false); }));
	}
	printf("\n");
	(void)way;
}

static const struct {
	const char *name;
	void (*run)(const std::string &);
	std::vector<const char *> ways;
} tests[] = {
	{ "calls", calls, { "root", "nobody" } },
	{ "kernel", kernel, { "schedule", "subdevice", "lazy", "stranger" } },
	{ "queue", queue, { "schedule", "subdevice", "lazy" } },
	{ "faults", faults, { "schedule", "subdevice" } },
	{ "storm", storm_of_faults, { "subdevice" } },
	{ "beside", beside, { "schedule", "subdevice" } },
	{ "host", host_calls, { "schedule", "subdevice" } },
	{ "kill", kill_off, { "schedule", "subdevice" } },
	{ "long", longer, { "schedule", "subdevice" } },
	{ "streams", streams, { "subdevice" } },
	{ "birth", birth, { "subdevice" } },
	{ "cost", cost, { "" } },
};

static bool wanted(const char *name, int count, char **names)
{
	for (int i = 1; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return count < 2;
}

int main(int count, char **names)
{
	setlinebuf(stdout);
	for (auto &test : tests)
		for (auto way : test.ways) {
			if (!wanted(test.name, count, names))
				continue;
			pid_t child = fork();
			if (!child) {
				alarm(60);
				if (!strcmp(way, "nobody") && setresuid(65534, 65534, 65534))
					exit(1);
				test.run(way);
				exit(0);
			}
			int status;
			waitpid(child, &status, 0);
			if (status)
				printf("%-8s %-10s ended with 0x%x\n", test.name, way, status);
			fflush(stdout);
		}
	return 0;
}
