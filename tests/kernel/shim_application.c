// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An application with libgvm_shim.so beside gvm.ko: for fakegpu_shim.c. It has memory on the GPU
 * made of RAM, so it is a container there, and launches seven kernels by the CUDA driver library of
 * tests/shim. They end when the file RELEASE is there; then it waits to be killed.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_api.h"
#include "fakegpu_lib.h"

#define RELEASE "/shim/release"
#define BYTES	(2ull << 20)

static void *find(const char *name)
{
	static void *library;
	void *call;

	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW);
	call = library ? dlsym(library, name) : NULL;
	if (!call) {
		printf("no %s: %s\n", name, dlerror());
		exit(1);
	}
	return call;
}

#define CALL(name) ((__typeof__(&(name)))find(#name))

static void need(unsigned int result, const char *what)
{
	if (!result)
		return;
	printf("%s: error %u\n", what, result);
	exit(1);
}

#define NEED(call) need((unsigned int)(call), #call)

static void kernel(void **parameters)
{
	(void)parameters;
}

int main(void)
{
	struct CUfunc_st *f = (struct CUfunc_st *)(uintptr_t)kernel;
	struct CUctx_st *context;
	uint64_t va;
	int gpu;

	NEED(fakegpu_open(0, 0, 1, &gpu));
	NEED(fakegpu_map(gpu, BYTES, &va));
	NEED(((cu_result(*)(unsigned int))find("cuInit"))(0));
	NEED(CALL(cuDevicePrimaryCtxRetain)(&context, 0));
	NEED(((cu_result(*)(struct CUctx_st *))find("cuCtxSetCurrent"))(context));
	((void (*)(void))find("fake_hold"))();
	for (int i = 0; i < 7; i++)
		NEED(CALL(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	while (access(RELEASE, F_OK))
		usleep(10000);
	((void (*)(void))find("fake_release"))();
	for (;;)
		pause();
}
