// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Can a kernel leave its partition by a register that nothing has written? ptxas takes any
 * physical register for it, and may test one and store to another. What is in them, a kernel
 * before has left: painter.ptx leaves the addresses of two regions there, at random. The first
 * region is the kernel's partition, the second one its neighbour's.
 *
 *   ./vague_gpu PTX...    with painter.ptx beside it; a GPU of sm_90 or newer, and its driver
 *
 * Each text is vague.ptx: as it is, and by "gvmfence patch --mode MODE" in each mode. Each of its
 * kernels runs 100 times in each of 12 processes, or until a trap ends CUDA. Both regions are
 * memory of the host, which the trap does not take away. An escape is a store to the second
 * region.
 *
 * The kernel "honest" has generic accesses of shared memory, in a cluster of four blocks, and of
 * local memory. It counts what it finds wrong.
 *
 * Predictions, written down before the first run (2026-11-29): the text as it is escapes. So does
 * "global" in mode check as it was until then: it tested one pair of registers and stored to
 * another. With the modes of today nothing escapes, and "honest" finds nothing wrong.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long u64;
typedef unsigned int u32;
typedef void *handle;

#define REGION			(16u << 20) /* of the partition and of its neighbour */
#define PAINTS			(65536u + 32u * 997u)
#define RUNS			100 /* launches of a process */
#define PROCESSES		12
#define MAPPED			2 /* CU_MEMHOSTALLOC_DEVICEMAP */
#define TRAPPED			719
#define CALL(result, name, ...) result (*name)(__VA_ARGS__)

static CALL(int, cuInit, u32);
static CALL(int, cuDeviceGet, int *, int);
static CALL(int, cuCtxCreate, handle *, u32, int);
static CALL(int, cuMemHostAlloc, void **, size_t, u32);
static CALL(int, cuMemHostGetDevicePointer, u64 *, void *, u32);
static CALL(int, cuModuleLoad, handle *, const char *);
static CALL(int, cuModuleGetFunction, handle *, handle, const char *);
static CALL(int, cuModuleGetGlobal, u64 *, size_t *, handle, const char *);
static CALL(int, cuMemcpyHtoD, u64, const void *, size_t);
static CALL(int, cuCtxSynchronize, void);
static CALL(int, cuLaunchKernel, handle, u32, u32, u32, u32, u32, u32, u32, handle, void **,
	    void **);

static const struct {
	const char *name;
	void *where;
} functions[] = {
	{ "cuInit", &cuInit },
	{ "cuDeviceGet", &cuDeviceGet },
	{ "cuCtxCreate_v2", &cuCtxCreate },
	{ "cuMemHostAlloc", &cuMemHostAlloc },
	{ "cuMemHostGetDevicePointer_v2", &cuMemHostGetDevicePointer },
	{ "cuModuleLoad", &cuModuleLoad },
	{ "cuModuleGetFunction", &cuModuleGetFunction },
	{ "cuModuleGetGlobal_v2", &cuModuleGetGlobal },
	{ "cuMemcpyHtoD_v2", &cuMemcpyHtoD },
	{ "cuCtxSynchronize", &cuCtxSynchronize },
	{ "cuLaunchKernel", &cuLaunchKernel },
};

#define MUST(call)                                                    \
	do {                                                          \
		int must_status = (call);                             \
		if (must_status) {                                    \
			printf("%s: error %d\n", #call, must_status); \
			fflush(stdout);                               \
			_exit(1);                                     \
		}                                                     \
	} while (0)

static void load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = library ? dlsym(library, functions[i].name) : NULL;

		if (!found) {
			printf("no %s in libcuda.so.1\n", functions[i].name);
			exit(1);
		}
		*(void **)functions[i].where = found;
	}
}

/* struct patch_bounds of kernel-port/guardian/bounds.h. */
static void write_bounds(handle module, u64 base)
{
	u64 bounds[16] = { base, REGION, ~0ull / REGION }, ptr;
	size_t bytes;

	for (u32 i = 0; i < 8; i++)
		bounds[8 + i] = (REGION - 1ull) & ~((1ull << i) - 1);
	if (!cuModuleGetGlobal(&ptr, &bytes, module, "gvmf_bounds"))
		MUST(cuMemcpyHtoD(ptr, bounds, sizeof(bounds)));
}

static u32 count_words(const u32 *words)
{
	u32 count = 0;

	for (u32 i = 0; i < REGION / 4; i++)
		count += words[i] == 0x5ec2e740;
	return count;
}

/* What a run has come to. */
struct outcome {
	u32 launches, own, neighbours, trapped, other;
};

static void run(const char *file, const char *kernel, u32 seed, struct outcome *outcome)
{
	handle context, module, painter, paint, function;
	u64 device, paints, base;
	void *memory, *colours;
	int gpu, status = 0;
	char *own;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&gpu, 0));
	MUST(cuCtxCreate(&context, 0, gpu));
	MUST(cuMemHostAlloc(&memory, 3 * REGION, MAPPED));
	memset(memory, 0, 3 * REGION);
	MUST(cuMemHostGetDevicePointer(&device, memory, 0));
	base = (device + REGION - 1) / REGION * REGION;
	own = (char *)memory + (base - device);
	MUST(cuMemHostAlloc(&colours, 8 * PAINTS, MAPPED));
	MUST(cuMemHostGetDevicePointer(&paints, colours, 0));
	srandom(seed);
	for (u32 i = 0; i < PAINTS; i++)
		((u64 *)colours)[i] = base + (random() & 1 ? REGION : 0) + 4096;
	MUST(cuModuleLoad(&painter, "painter.ptx"));
	MUST(cuModuleLoad(&module, file));
	MUST(cuModuleGetFunction(&paint, painter, "painter"));
	MUST(cuModuleGetFunction(&function, module, kernel));
	write_bounds(module, base);
	for (u64 i = 0; i < RUNS && !status; i++) {
		u64 seed64 = (seed + 64 * i) * 7919;

		MUST(cuLaunchKernel(paint, 132 * 2, 1, 1, 512, 1, 1, 0, NULL,
				    (void *[]){ &paints, &seed64 }, NULL));
		MUST(cuCtxSynchronize());
		MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &base },
				    NULL));
		status = cuCtxSynchronize();
		outcome->launches++;
	}
	outcome->own += count_words((u32 *)own) != 0;
	outcome->neighbours += count_words((u32 *)(own + REGION)) != 0;
	outcome->trapped += status == TRAPPED;
	outcome->other += status && status != TRAPPED;
	_exit(0);
}

/* 8 blocks of 64 threads; each thread adds what was wrong to a word of the partition. */
static void run_honest(const char *file)
{
	handle context, module, function;
	u64 device, base;
	void *memory;
	int gpu, status;
	u32 *own;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&gpu, 0));
	MUST(cuCtxCreate(&context, 0, gpu));
	MUST(cuMemHostAlloc(&memory, 3 * REGION, MAPPED));
	memset(memory, 0, 3 * REGION);
	MUST(cuMemHostGetDevicePointer(&device, memory, 0));
	base = (device + REGION - 1) / REGION * REGION;
	own = (u32 *)((char *)memory + (base - device));
	MUST(cuModuleLoad(&module, file));
	MUST(cuModuleGetFunction(&function, module, "honest"));
	write_bounds(module, base);
	MUST(cuLaunchKernel(function, 8, 1, 1, 64, 1, 1, 1024, NULL, (void *[]){ &base },
			    NULL));
	status = cuCtxSynchronize();
	printf("%-20s honest   error %d: %u threads, %u wrong words\n", file, status, own[1],
	       own[0]);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const char *const kernels[] = { "global", "generic" };
	struct outcome *outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	load_driver();
	for (int i = 1; i < argc; i++) {
		pid_t child = fork();

		if (!child)
			run_honest(argv[i]);
		waitpid(child, NULL, 0);
		for (u32 k = 0; k < 2; k++) {
			memset(outcome, 0, sizeof(*outcome));
			for (u32 process = 0; process < PROCESSES; process++) {
				child = fork();
				if (!child)
					run(argv[i], kernels[k], process, outcome);
				waitpid(child, NULL, 0);
			}
			printf("%-20s %-8s %d processes, %u launches: %u stored inside, %u to "
			       "the "
			       "neighbour, %u trapped, %u ended with another error\n",
			       argv[i], kernels[k], PROCESSES, outcome->launches, outcome->own,
			       outcome->neighbours, outcome->trapped, outcome->other);
			fflush(stdout);
		}
	}
}
