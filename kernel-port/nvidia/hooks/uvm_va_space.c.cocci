// SPDX-License-Identifier: MIT OR GPL-2.0
// Where a process's VA space and a GPU meet, and part.

@attach@
@@
 uvm_va_space_register_gpu_va_space(...)
 {
 	<...
 	if (!mm) { ... }
+	status = gvm_uvm_space_attach(va_space, gpu);
+	if (status != NV_OK)
+		goto error_gpu_release;
 	...>
 }

@detach_all@
@@
 uvm_va_space_destroy(...)
 {
 	<...
 	uvm_deferred_free_object_list(&deferred_free_list);
+	gvm_uvm_space_detach_all(va_space);
 	...>
 }
