// SPDX-License-Identifier: MIT OR GPL-2.0
/* A library that is linked with libcuda, and that a program opens as it runs. */
#include "fake_cuda.h"

cu_result plug_in_allocate(cu_ptr *ptr, size_t bytes);

__attribute__((visibility("default"))) cu_result plug_in_allocate(cu_ptr *ptr, size_t bytes)
{
	return cuMemAlloc_v2(ptr, bytes);
}
