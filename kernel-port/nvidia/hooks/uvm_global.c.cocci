// SPDX-License-Identifier: MIT OR GPL-2.0
// gvm.ko rests while the GPUs sleep. No GPU comes or goes meanwhile.

@suspend@
@@
 uvm_suspend(...)
 {
 	<...
 	uvm_down_write(&g_uvm_global.pm.lock);
+	gvm_uvm_suspend();
 	...>
 }

@resume@
@@
 uvm_resume(...)
 {
 	<...
+	gvm_uvm_resume();
 	uvm_up_write(&g_uvm_global.pm.lock);
 	...>
 }
