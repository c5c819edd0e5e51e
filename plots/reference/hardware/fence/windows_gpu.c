// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does a fence leave generic accesses of shared and of local memory where they are? It moves them
 * into the windows of both, which has to change nothing. The kernel of windows.ptx has such
 * accesses in a cluster of four blocks, and counts what it finds wrong.
 *
 *   ./windows_gpu PTX...    a GPU of sm_90 or newer, and its driver
 *
 * Each text is windows.ptx: as it is, and by "gvmfence patch --mode MODE" in each mode.
 *
 * Prediction, written down before the first run (2026-11-29): nothing is wrong.
 */
#include <string.h>
#include <sys/wait.h>

#include "driver.h"

#define REGION			(16u << 20) /* of the partition and of its neighbour */
#define MAPPED			2	    /* CU_MEMHOSTALLOC_DEVICEMAP */
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

static const struct driver_function functions[] = {
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

/* A text that is not fenced has no bounds. */
static void write_bounds(handle module, u64 base)
{
	struct bounds bounds = bounds_of(base, REGION);
	size_t bytes;
	u64 ptr;

	if (!cuModuleGetGlobal(&ptr, &bytes, module, "gvmf_bounds"))
		MUST(cuMemcpyHtoD(ptr, &bounds, sizeof(bounds)));
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
	printf("%-20s error %d: %u threads, %u wrong words\n", file, status, own[1], own[0]);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	load_driver(functions, sizeof(functions) / sizeof(*functions));
	for (int i = 1; i < argc; i++) {
		pid_t child = fork();

		if (!child)
			run_honest(argv[i]);
		waitpid(child, NULL, 0);
	}
}
