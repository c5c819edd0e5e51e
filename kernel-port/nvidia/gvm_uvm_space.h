/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Included at the end of nvidia-uvm's uvm_va_space.c: a VA space and a GPU meet, and part.
 */
#include "gvm_uvm.h"

/*
 * Memory on a GPU is allocated only after its VA space there is registered, so attaching comes
 * first. A GPU's VA space may be registered again.
 */
NV_STATUS gvm_uvm_space_attach(uvm_va_space_t *va_space, uvm_gpu_t *gpu)
{
	return gvm_uvm_space_enter(&gpu->pmm, va_space);
}

void gvm_uvm_space_detach(uvm_va_space_t *va_space, uvm_gpu_t *gpu)
{
	struct gvm_uvm_gpu *managed = gvm_uvm_find(&gpu->pmm);

	if (managed)
		gvm_uvm_space_leave(managed, va_space);
}

/* The VA space goes: its GPUs are unregistered, and still retained. */
void gvm_uvm_space_detach_all(uvm_va_space_t *va_space)
{
	gvm_uvm_space_leave_all(va_space);
}
