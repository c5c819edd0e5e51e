// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the application hears of its pointers: that managed memory is device memory, that memory
 * in a longer range has the size that was asked for, and that memory which the shim has pinned or
 * opened is memory of cuMemAlloc() and cuIpcOpenMemHandle().
 */
#include "fence.h"

/*
 * Memory of which the driver tells more, or something else, than the application may hear. Sets
 * it as it was asked for.
 */
static bool is_other(const struct shim_real *real, cu_ptr ptr,
		     struct shim_allocation *ret_found)
{
	cu_ptr start = 0;

	if (!ptr)
		return false;
	if (shim_settings.managed && memory_find(real, ptr, ret_found))
		return ret_found->kind == SHIM_REDIRECTED || ret_found->kind == SHIM_POOL ||
		       ret_found->kind == SHIM_EXPORTED;
	return ipc_opened_any() &&
	       real->cuPointerGetAttribute(&start, CU_POINTER_START, ptr) == CU_OK &&
	       ipc_opened(start, ret_found);
}

static void correct(unsigned int attribute, void *data, const struct shim_allocation *found)
{
	switch (attribute) {
	case CU_POINTER_IS_MANAGED:
		*(unsigned char *)data = 0;
		break;
	case CU_POINTER_MEMORY_TYPE:
		*(unsigned int *)data = CU_MEMORY_DEVICE;
		break;
	case CU_POINTER_HOST:
		*(void **)data = NULL;
		break;
	case CU_POINTER_SIZE:
		*(size_t *)data = found->bytes;
		break;
	case CU_POINTER_CONTEXT:
		if (found->kind == SHIM_EXPORTED)
			*(struct CUctx_st **)data = found->context;
		break;
	case CU_POINTER_HANDLES:
		if (found->kind == SHIM_EXPORTED)
			*(unsigned int *)data = 0;
		break;
	case CU_POINTER_CAN_IPC:
		/* What was opened cannot be exported again, and is not in the books. */
		if (found->serial && (found->kind == SHIM_EXPORTED || found->range_bytes))
			*(unsigned char *)data = 1;
		break;
	}
}

SHIM_EXPORT cu_result cuPointerGetAttribute(void *data, unsigned int attribute, cu_ptr ptr)
{
	const struct shim_real *real = shim_real();
	struct shim_allocation found;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuPointerGetAttribute(data, attribute, ptr);
	if (!data || (result != CU_OK && attribute != CU_POINTER_CONTEXT) ||
	    !is_other(real, ptr, &found))
		return result;
	/* Memory of cuMemCreate() has no context. */
	if (result != CU_OK && found.kind != SHIM_EXPORTED)
		return result;
	/* Device memory has no address on the host, and the driver says so by an error. */
	if (attribute == CU_POINTER_HOST)
		return CU_INVALID_VALUE;
	correct(attribute, data, &found);
	return CU_OK;
}

SHIM_EXPORT cu_result cuPointerGetAttributes(unsigned int count, unsigned int *attributes,
					     void **data, cu_ptr ptr)
{
	const struct shim_real *real = shim_real();
	struct shim_allocation found;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuPointerGetAttributes(count, attributes, data, ptr);
	if (result != CU_OK || !attributes || !data || !is_other(real, ptr, &found))
		return result;
	for (unsigned int i = 0; i < count; i++)
		correct(attributes[i], data[i], &found);
	return CU_OK;
}

SHIM_EXPORT cu_result cuMemGetAddressRange_v2(cu_ptr *start, size_t *bytes, cu_ptr ptr)
{
	const struct shim_real *real = shim_real();
	struct shim_allocation found;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuMemGetAddressRange_v2(start, bytes, ptr);
	if (result == CU_OK && bytes && is_other(real, ptr, &found))
		*bytes = found.bytes;
	return result;
}

/* Memory for other devices has to be device memory from its first day. */
static void cannot_export(const char *call, cu_result result, atomic_flag *told)
{
	/* In a capture, and in a context that has failed, the driver refuses it of any memory. */
	if ((result != CU_INVALID_VALUE && result != CU_NOT_SUPPORTED) ||
	    atomic_flag_test_and_set(told))
		return;
	shim_warn("%s: memory of cuMemAlloc() is managed and cannot be exported; start this "
		  "program with GVM_SHIM_MANAGED=0, which counts and limits it all the same",
		  call);
}

/* SYNC_MEMOPS is what a program sets before it hands memory to another device, as a network card. */
SHIM_EXPORT cu_result cuPointerSetAttribute(const void *value, unsigned int attribute,
					    cu_ptr ptr)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	const struct shim_real *real = shim_real();
	struct shim_allocation found;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuPointerSetAttribute(value, attribute, ptr);
	if (result != CU_OK && attribute == CU_POINTER_SYNC_MEMOPS &&
	    is_other(real, ptr, &found))
		cannot_export("cuPointerSetAttribute", result, &told);
	return result;
}

SHIM_EXPORT cu_result cuMemGetHandleForAddressRange(void *handle, cu_ptr ptr, size_t bytes,
						    unsigned int type, unsigned long long flags)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	const struct shim_real *real = shim_real();
	struct shim_allocation found;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuMemGetHandleForAddressRange(handle, ptr, bytes, type, flags);
	if (result != CU_OK && is_other(real, ptr, &found))
		cannot_export("cuMemGetHandleForAddressRange", result, &told);
	return result;
}
