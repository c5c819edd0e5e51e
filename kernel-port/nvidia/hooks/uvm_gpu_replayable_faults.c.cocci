// SPDX-License-Identifier: MIT OR GPL-2.0
// A container without room loses its own access, and no other container loses one.

@refused@
@@
 service_fault_batch(...)
 {
 	<...
 	status = service_fault_batch_dispatch(...);
+	if (gvm_uvm_fault_refused(batch_context, current_entry, &status))
+		continue;
 	...>
 }

@refused_again@
@@
 service_fault_batch_for_cancel(...)
 {
 	<...
 	status = service_fault_batch_dispatch(...);
+	if (gvm_uvm_fault_refused_again(batch_context, current_entry, &status))
+		continue;
 	...>
 }
