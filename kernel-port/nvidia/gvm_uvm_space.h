/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Included at the end of nvidia-uvm's uvm_va_space.c: a VA space and a GPU meet, and part.
 */
#include "gvm_uvm.h"

/*
 * Memory on a GPU is allocated only after its VA space there is registered, so attaching comes
 * first. A GPU may be registered again, by a second thread even before the first one has freed
 * all that the last registration had. So unregistering does not detach.
 *
 * With HMM the driver moves pages of a process that are not in managed memory, and drops its
 * record of what was evicted on munmap(). Such a VA space is refused.
 */
NV_STATUS gvm_uvm_space_attach(uvm_va_space_t *va_space, uvm_gpu_t *gpu)
{
	if (gvm_uvm_find(&gpu->pmm) && uvm_hmm_is_enabled(va_space)) {
		pr_warn_ratelimited(
			"gvm refuses process %d, which has HMM, on %s: load nvidia-uvm with "
			"uvm_disable_hmm=1\n",
			task_tgid_nr(current), uvm_gpu_name(gpu));
		return NV_ERR_NOT_SUPPORTED;
	}
	return gvm_uvm_space_enter(&gpu->pmm, va_space);
}

/* The VA space goes: its GPUs are unregistered, and its memory there has been freed. */
void gvm_uvm_space_detach_all(uvm_va_space_t *va_space)
{
	gvm_uvm_space_leave_all(va_space);
}
