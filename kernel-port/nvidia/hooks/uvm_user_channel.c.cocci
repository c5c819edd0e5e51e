// SPDX-License-Identifier: MIT OR GPL-2.0
// Where a channel of user mode comes and goes, and its TSG with it.

@attach@
@@
 uvm_register_channel(...)
 {
 	<...
+	status = gvm_uvm_channel_attach(user_channel);
+	if (status != NV_OK)
+		goto error_under_read;
 	status = bind_channel_resources(user_channel);
 	...>
 }

@detach@
@@
 uvm_user_channel_destroy_detached(...)
 {
 	<...
+	gvm_uvm_channel_detach(user_channel);
 	uvm_tracker_wait_deinit(&user_channel->clear_faulted_tracker);
 	...>
 }
