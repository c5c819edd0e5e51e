// SPDX-License-Identifier: MIT OR GPL-2.0
#include "code_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confine.h"

/* CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES. */
#define CU_FUNC_LOCAL_BYTES 3u

/*
 * Can a kernel that stores to any place of local memory change bounds there? Not if it has no
 * local memory. The driver says how much the kernel has, and the client's text is not believed.
 * The kernel's own variables may be exactly as large as its local memory. That proves nothing: a
 * variable may be in registers, and a spilled address in its place (docs/guardian.md).
 */
static bool keeps_bounds(const struct tenant *tenant, struct CUmod_st *module,
			 const struct confined *confined, const struct verify_entry *entry)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	char *name = strndup(confined->bytes + entry->name, entry->name_length);
	struct CUfunc_st *function;
	int bytes = -1;

	if (!name)
		return false;
	if (cuda->cuModuleGetFunction(&function, module, name) != CU_OK ||
	    cuda->cuFuncGetAttribute(&bytes, CU_FUNC_LOCAL_BYTES, function) != CU_OK)
		bytes = -1;
	if (bytes)
		fprintf(stderr,
			"gvmfenced: client %llu: refused: kernel %.200s has %d bytes of local "
			"memory, and stores that may reach bounds there (%llu); --local-stores "
			"serves it\n",
			tenant->id, name, bytes, entry->local_stores);
	free(name);
	return !bytes;
}

static bool all_keep_bounds(const struct tenant *tenant, struct CUmod_st *module,
			    const struct confined *confined)
{
	const struct verify_report *report = &confined->report;

	for (size_t i = 0; i < report->entry_count; i++)
		if (report->entries[i].local_stores &&
		    !keeps_bounds(tenant, module, confined, &report->entries[i]))
			return false;
	return true;
}

cu_result code_load(const struct tenant *tenant, const struct confined *confined,
		    struct CUmod_st **ret_module)
{
	const struct gpu_cuda *cuda = &tenant->gpu->cuda;
	struct patch_bounds bounds;
	size_t bytes = 0;
	cu_ptr ptr = 0;
	cu_result result;

	if (confined->report.margin > tenant->margin ||
	    !patch_bounds_set(&bounds, confined->report.mode, tenant->base, tenant->bytes))
		return CU_INVALID_VALUE;
	result = cuda->cuModuleLoadDataEx(ret_module, confined->bytes, 0, NULL, NULL);
	if (result != CU_OK)
		return result;
	if (!tenant->gpu->local_stores && !all_keep_bounds(tenant, *ret_module, confined))
		result = CU_INVALID_PTX;
	if (confined->report.pass == PATCH_CONST) {
		if (result == CU_OK)
			result = cuda->cuModuleGetGlobal_v2(&ptr, &bytes, *ret_module,
							    PATCH_BOUNDS);
		if (result == CU_OK && bytes != sizeof(bounds))
			result = CU_INVALID_VALUE;
		if (result == CU_OK)
			result = gpu_write(tenant->gpu, ptr, &bounds, sizeof(bounds));
	}
	if (result != CU_OK)
		cuda->cuModuleUnload(*ret_module);
	return result;
}

u32 code_parameters(const struct tenant *tenant, const struct confined *confined,
		    u64 ret_words[TENANT_BOUNDS])
{
	enum patch_mode mode = confined->report.mode;
	struct patch_bounds bounds;

	if (confined->report.pass == PATCH_CONST ||
	    !patch_bounds_set(&bounds, mode, tenant->base, tenant->bytes))
		return 0;
	ret_words[0] = bounds.base;
	ret_words[1] =
		mode == PATCH_CHECK || mode == PATCH_MODULO ? bounds.size : bounds.masks[0];
	ret_words[2] = bounds.reciprocal;
	return mode == PATCH_MODULO ? 3 : 2;
}
