// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does the GPU confine what gvmfence leaves unfenced? A keeper holds 32 KiB of secrets in the
 * shared memory of a block on each SM, in local memory and in constants, and runs. A thief of
 * the same context reads or writes shared, local, constant and parameter memory at addresses
 * beyond its own, and shared memory of other blocks of its cluster, which has one. It has the
 * tensor cores read shared memory beyond its own (wgmma).
 *
 *   nvcc -arch=compute_90 -ptx -O3 spaces.cu -o spaces.ptx
 *   nvcc -arch=compute_90a -ptx -O3 spaces_thief.cu -o spaces_thief.ptx
 *   cc -O2 -Wall spaces_gpu.c -o spaces_gpu -ldl
 *   ./spaces_gpu        with both texts beside it; a GPU of sm_90 and its driver; two minutes
 *
 * Each line is one kernel at one address, in a process of its own, as an error ends CUDA:
 * "error 700" is an access that the GPU has refused. An escape is a line with secrets, or with
 * changed words.
 *
 * The last line is of mode check: a store of each thread to the host's memory, behind a trap. It
 * must not happen, or check would report a wild store and not stop it. A GPU's own memory is
 * lost with the context, so the other program could not look.
 *
 * Predictions, written down before the first run (2026-11-28): no secret is read and no word
 * changed. Beyond the thief's own memory, shared and local accesses end with error 700 or 719,
 * constants and parameters read 0 or end with 700. Of wgmma no document says what it does
 * there; the guess is 0. No store behind a trap happens.
 */
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "driver.h"

static int (*cuInit)(u32), (*cuDeviceGet)(int *, int);
static int (*cuDeviceGetAttribute)(int *, int, int), (*cuCtxCreate)(handle *, u32, int);
static int (*cuMemHostAlloc)(void **, size_t, u32);
static int (*cuMemHostGetDevicePointer)(address *, void *, u32);
static int (*cuModuleLoad)(handle *, const char *);
static int (*cuModuleGetFunction)(handle *, handle, const char *);
static int (*cuStreamCreate)(handle *, u32), (*cuStreamQuery)(handle);
static int (*cuLaunchKernel)(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **,
			     void **);

static const struct driver_function functions[] = {
	{ "cuInit", &cuInit },
	{ "cuDeviceGet", &cuDeviceGet },
	{ "cuDeviceGetAttribute", &cuDeviceGetAttribute },
	{ "cuCtxCreate_v2", &cuCtxCreate },
	{ "cuMemHostAlloc", &cuMemHostAlloc },
	{ "cuMemHostGetDevicePointer_v2", &cuMemHostGetDevicePointer },
	{ "cuModuleLoad", &cuModuleLoad },
	{ "cuModuleGetFunction", &cuModuleGetFunction },
	{ "cuStreamCreate", &cuStreamCreate },
	{ "cuStreamQuery", &cuStreamQuery },
	{ "cuLaunchKernel", &cuLaunchKernel },
};

#define SMS	   16 /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
#define NOT_READY  600
#define MAPPED	   2 /* CU_MEMHOSTALLOC_DEVICEMAP */
#define KEPT_BYTES 32768u
#define BEHIND	   64u /* index of the first of 64 words that are stored behind a trap */

/* Until the stream is empty or broken, or @seconds have passed: its status. */
static int await(handle stream, double seconds)
{
	struct timespec pause = { 0, 1000000 };
	int status = NOT_READY;

	for (int i = 0; i < seconds * 1000 && status == NOT_READY; i++) {
		status = cuStreamQuery(stream);
		if (status == NOT_READY)
			nanosleep(&pause, NULL);
	}
	return status;
}

/* try() replaces this value by the address of the words behind the trap. */
#define BEHIND_TRAP 1

/* One kernel of the thief at one address. */
static void try(const char *kernel, u64 from)
{
	handle context, keeper, thief, keep, steal, streams[2];
	volatile u32 *box;
	address ptr, found;
	void *memory;
	int device, sms, status, behind = 0;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDeviceGetAttribute(&sms, SMS, device));
	MUST(cuCtxCreate(&context, 0, device));
	MUST(cuMemHostAlloc(&memory, 4096, MAPPED));
	memset(memory, 0, 4096);
	box = memory;
	MUST(cuMemHostGetDevicePointer(&ptr, memory, 0));
	found = ptr + 64;
	from = from == BEHIND_TRAP ? ptr + 4 * BEHIND : from;
	MUST(cuModuleLoad(&keeper, "spaces.ptx"));
	MUST(cuModuleLoad(&thief, "spaces_thief.ptx"));
	MUST(cuModuleGetFunction(&keep, keeper, "keeper"));
	MUST(cuModuleGetFunction(&steal, thief, kernel));
	MUST(cuStreamCreate(&streams[0], 1));
	MUST(cuStreamCreate(&streams[1], 1));
	MUST(cuLaunchKernel(keep, (u32)sms, 1, 1, 128, 1, 1, KEPT_BYTES, streams[0],
			    (void *[]){ &ptr }, NULL));
	for (int i = 0; i < 5000 && box[0] < (u32)sms; i++)
		usleep(1000);
	MUST(cuLaunchKernel(steal, (u32)sms, 1, 1, 128, 1, 1, 0, streams[1],
			    (void *[]){ &from, &found }, NULL));
	status = await(streams[1], 5);
	box[1] = 1;
	if (!status)
		status = await(streams[0], 5);
	for (u32 i = 0; i < 64; i++)
		behind += box[BEHIND + i] != 0;
	printf("%-18s %16llx  ", kernel, from);
	if (status)
		printf("error %d, %d words stored behind a trap\n", status, behind);
	else
		printf("%u secrets, %u other words, %u words changed; %u keepers\n", box[16],
		       box[17], box[2], box[0]);
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	static const char *const kernels[] = { "load_shared",	"store_shared", "load_cluster",
					       "store_cluster", "load_local",	"store_local",
					       "load_const",	"load_param",	"load_wgmma" };
	/*
	 * Own memory, and beyond: the keeper's 32 KiB lie below or above it, on a 228 KiB SM.
	 * In a cluster bit 24 and up are the number of the block.
	 */
	static const u64 places[] = { 0,	 0x400,	    0x800,     0x1000,
				      0x2000,	 0x4000,    0x8000,    0xa000,
				      0x10000,	 0x20000,   0x30000,   0x38000,
				      0x3f000,	 0x40000,   0x1000400, 0x2000400,
				      0x7000400, 0xf000400, 0xffffc00, 0xfffffffffffffc00 };

	load_driver(functions, sizeof(functions) / sizeof(*functions));
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++)
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			pid_t child = fork();

			if (!child)
				try(kernels[k], places[i]);
			waitpid(child, NULL, 0);
		}
	try("store_behind_trap", BEHIND_TRAP);
}
