// SPDX-License-Identifier: MIT OR GPL-2.0
/* The driver's own calls, and the C library's dlsym(), below all that we hook. */
#include <dlfcn.h>
#include <pthread.h>

#include "shim.h"

shim_dlsym_call shim_dlsym;

static struct shim_real real_calls;
static _Atomic bool real_ready;
static pthread_mutex_t real_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool real_loading;

/* glibc gave it a version per architecture, and a new one in 2.34. */
void shim_find_dlsym(void)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };

	for (size_t i = 0; !shim_dlsym && i < sizeof(versions) / sizeof(versions[0]); i++)
		shim_dlsym = (shim_dlsym_call)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

static void find_real_calls(void *library)
{
#define SHIM_FIND(name, ...) \
	real_calls.name = (__typeof__(real_calls.name))shim_dlsym(library, #name);
	SHIM_HOOKED(SHIM_FIND)
	SHIM_MADE(SHIM_FIND)
#undef SHIM_FIND
	/* A driver of CUDA 10 or older has these without a second version. */
	if (!real_calls.cuDevicePrimaryCtxRelease_v2)
		real_calls.cuDevicePrimaryCtxRelease_v2 = real_calls.cuDevicePrimaryCtxRelease;
	if (!real_calls.cuDevicePrimaryCtxReset_v2)
		real_calls.cuDevicePrimaryCtxReset_v2 = real_calls.cuDevicePrimaryCtxReset;
}

const struct shim_real *shim_real(void)
{
	void *library;

	if (real_ready)
		return &real_calls;
	if (real_loading)
		return NULL;
	shim_find_dlsym();
	pthread_mutex_lock(&real_lock);
	real_loading = true;
	library = real_ready ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (library && shim_dlsym && shim_dlsym(library, "cuInit")) {
		find_real_calls(library);
		real_ready = true;
	}
	real_loading = false;
	pthread_mutex_unlock(&real_lock);
	return real_ready ? &real_calls : NULL;
}

void shim_real_reset(void)
{
	pthread_mutex_init(&real_lock, NULL);
}

const struct shim_real *shim_real_if_used(void)
{
	return real_ready ? &real_calls : NULL;
}
