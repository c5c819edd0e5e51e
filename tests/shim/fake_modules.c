// SPDX-License-Identifier: MIT OR GPL-2.0
/* The driver library's modules: their text is kept, and nothing of it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_inside.h"

#define TEXT_HEAD 4096

struct CUmod_st {
	char text[TEXT_HEAD]; /* the first bytes of the image */
	unsigned long long bounds[16];
};

FAKE cu_result cuModuleLoadDataEx(struct CUmod_st **module, const void *image,
				  unsigned int count, unsigned int *options, void **values)
{
	MEASURED();
	(void)count, (void)options, (void)values;
	*module = calloc(1, sizeof(**module));
	/* Text has a zero after it; a binary has one among its first bytes. */
	snprintf((*module)->text, TEXT_HEAD, "%s", (const char *)image);
	return CU_OK;
}

FAKE cu_result cuModuleLoadData(struct CUmod_st **module, const void *image)
{
	MEASURED();
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

FAKE cu_result cuModuleLoadFatBinary(struct CUmod_st **module, const void *image)
{
	MEASURED();
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

FAKE cu_result cuModuleLoad(struct CUmod_st **module, const char *path)
{
	MEASURED();
	return cuModuleLoadDataEx(module, path, 0, NULL, NULL);
}

static void do_nothing(void **parameters)
{
	(void)parameters;
}

FAKE cu_result cuModuleGetFunction(struct CUfunc_st **f, struct CUmod_st *module,
				   const char *name)
{
	*f = (struct CUfunc_st *)(uintptr_t)do_nothing;
	return module && name ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuModuleUnload(struct CUmod_st *module)
{
	MEASURED();
	free(module);
	return CU_OK;
}

FAKE cu_result cuModuleGetGlobal_v2(cu_ptr *ptr, size_t *bytes, struct CUmod_st *module,
				    const char *name)
{
	MEASURED();
	if (!strstr(module->text, name))
		return CU_SYMBOL_NOT_FOUND;
	*ptr = (cu_ptr)(uintptr_t)module->bounds;
	*bytes = sizeof(module->bounds);
	return CU_OK;
}

/* The bounds of a module as the driver has them, for tests. */
FAKE cu_result fake_bounds(cu_ptr *ptr, struct CUmod_st *module)
{
	size_t bytes;

	return cuModuleGetGlobal_v2(ptr, &bytes, module, "gvmf_bounds");
}

/* A library is a module, which has its variables once there is a context. */
FAKE cu_result cuLibraryLoadData(struct CUlib_st **library, const void *image,
				 unsigned int *options, void **values, unsigned int count,
				 unsigned int *library_options, void **library_values,
				 unsigned int library_count)
{
	MEASURED();
	(void)library_options, (void)library_values, (void)library_count;
	return cuModuleLoadDataEx((struct CUmod_st **)library, image, count, options, values);
}

FAKE cu_result cuLibraryGetGlobal(cu_ptr *ptr, size_t *bytes, struct CUlib_st *library,
				  const char *name)
{
	MEASURED();
	struct CUctx_st *context = NULL;

	if (cuCtxGetCurrent(&context) != CU_OK || !context)
		return CU_NOT_INITIALIZED;
	return cuModuleGetGlobal_v2(ptr, bytes, (struct CUmod_st *)library, name);
}

FAKE cu_result cuLibraryUnload(struct CUlib_st *library)
{
	MEASURED();
	return cuModuleUnload((struct CUmod_st *)library);
}

static struct {
	unsigned char bytes[128];
	size_t count;
	cu_ptr to;
} staged;

void fake_make_staged_copy(void)
{
	if (staged.count)
		memcpy((void *)(uintptr_t)staged.to, staged.bytes, staged.count);
	staged.count = 0;
}

/*
 * With FAKE_STAGED it is under way when this returns, as CUDA's documents say of a copy of
 * pageable memory ("API synchronization behavior").
 */
FAKE cu_result cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t bytes)
{
	MEASURED();
	fake_make_staged_copy();
	if (bytes > sizeof(staged.bytes) || !getenv("FAKE_STAGED")) {
		memcpy((void *)(uintptr_t)to, from, bytes);
		return CU_OK;
	}
	memcpy(staged.bytes, from, bytes);
	staged.count = bytes;
	staged.to = to;
	return CU_OK;
}
