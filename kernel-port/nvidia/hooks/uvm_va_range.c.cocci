// SPDX-License-Identifier: MIT OR GPL-2.0
// Where managed memory comes, is cut in two, and goes: its addresses tell who pays for it.

@made@
@@
 uvm_va_range_create_mmap(...)
 {
 	<...
 	status = uvm_range_tree_add(...);
 	if (status != NV_OK)
 		goto error;
+	status = gvm_uvm_range_made(va_space, vma->vm_start, vma->vm_end - 1);
+	if (status != NV_OK)
+		goto error;
 	...>
 }

@split@
@@
 uvm_va_range_split(...)
 {
 	<...
+	status = gvm_uvm_range_split(va_space, new_end + 1);
+	if (status == NV_OK)
 	status = uvm_va_range_split_blocks(...);
 	...>
 }

@gone@
expression space, first, last;
@@
 uvm_va_range_destroy_managed(...)
 {
 	<...
 	status = uvm_range_group_assign_range(space, NULL, first, last);
+	gvm_uvm_range_gone(space, first, last);
 	...>
 }
