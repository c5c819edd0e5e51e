// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The end of nvidia-uvm's uvm_gpu_replayable_faults.c, which includes it, since it uses that
 * file's static functions: a fault that gets no memory.
 */
#include "gvm_uvm.h"

/*
 * The stock driver cancels all faults of a batch when one of them finds no memory, and so ends
 * the contexts of all tenants. Where gvm.ko manages the GPU, that fault alone is fatal. Returns
 * whether it is: the caller looks at it again and passes it over.
 */
bool gvm_uvm_fault_refused(uvm_fault_service_batch_context_t *batch_context,
			   uvm_fault_buffer_entry_t *entry, NV_STATUS *status)
{
	if (*status != NV_ERR_NO_MEMORY || !gvm_uvm_is_attached(entry->va_space))
		return false;
	mark_fault_fatal(batch_context, entry, UvmEventFatalReasonOutOfMemory,
			 UVM_FAULT_CANCEL_VA_MODE_ALL);
	*status = NV_OK;
	return true;
}

/*
 * The same in the driver's second pass, which serves the fault once more before it cancels it.
 */
bool gvm_uvm_fault_refused_again(uvm_fault_service_batch_context_t *batch_context,
				 uvm_fault_buffer_entry_t *entry, NV_STATUS *status)
{
	return gvm_uvm_fault_refused(batch_context, entry, status);
}
