// SPDX-License-Identifier: MIT OR GPL-2.0
// Advice that brings a process's memory to a GPU where it has no address space.

@prefers@
@@
 uvm_api_set_preferred_location(...)
 {
 	<...
+	status = gvm_uvm_prefers(va_space, &params->preferredLocation);
+	if (status != NV_OK)
+		return status;
 	mm = uvm_va_space_mm_or_current_retain_lock(va_space);
 	...>
 }
