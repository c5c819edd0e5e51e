// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A source of nvidia-uvm.ko: a VA space and a GPU meet, and part.
 */
#include "gvm_uvm_hooks.h"

#include "gvm_uvm.h"
#include "uvm_global.h"
#include "uvm_hmm.h"
#include "uvm_va_space.h"

/*
 * Memory on a GPU is allocated after its VA space there is registered, or after advice to keep
 * memory on that GPU (gvm_uvm_prefers()), so attaching comes first. A GPU may be registered
 * again, by a second thread even before the first one has freed all that the last registration
 * had. So unregistering does not detach.
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

/*
 * The process wants memory to be on a GPU, which may be registered without a VA space there.
 * Another GPU, a peer of it, brings the memory there when it faults. The GPU stays while the VA
 * space is attached.
 */
NV_STATUS gvm_uvm_prefers(uvm_va_space_t *va_space, const NvProcessorUuid *uuid)
{
	NV_STATUS status;
	uvm_gpu_t *gpu;

	uvm_va_space_down_read(va_space);
	gpu = uvm_va_space_get_gpu_by_uuid(va_space, uuid);
	if (gpu)
		uvm_gpu_retain(gpu);
	uvm_va_space_up_read(va_space);
	/* It is the host, or the driver refuses it. */
	if (!gpu)
		return NV_OK;
	status = gvm_uvm_space_attach(va_space, gpu);
	uvm_gpu_release(gpu);
	return status;
}

/* The VA space goes: its GPUs are unregistered, and its memory there has been freed. */
void gvm_uvm_space_detach_all(uvm_va_space_t *va_space)
{
	gvm_uvm_space_leave_all(va_space);
}
