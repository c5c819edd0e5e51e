// SPDX-License-Identifier: MIT OR GPL-2.0
// Where a VA block allocates a chunk: it is charged before, and bound after. Where it brings in what was evicted,
// and how much of it.

@alloc@
@@
 block_populate_gpu_chunk(...)
 {
 	<...
-	block_alloc_gpu_chunk
+	gvm_uvm_alloc_chunk
 	(block, retry, gpu, chunk_size, &chunk)
 	...>
 }

@swapped_out@
@@
 block_make_resident_update_state(...)
 {
 	<...
+	gvm_uvm_swapped_out(va_block, src_id, copy_mask);
 	uvm_page_mask_or(&src_gpu_state->evicted, &src_gpu_state->evicted, copy_mask);
 	...>
 }

@swapped_in@
@@
 block_make_resident_clear_evicted(...)
 {
 	<...
+	gvm_uvm_swapped_in(va_block, dst_id, page_mask);
 	if (!uvm_page_mask_andnot(&dst_gpu_state->evicted, &dst_gpu_state->evicted, page_mask)) { ... }
 	...>
 }

@swap_gone@
@@
 block_destroy_gpu_state(...)
 {
 	<...
+	gvm_uvm_swap_gone(block, id);
 	uvm_processor_mask_clear(&block->evicted_gpus, id);
 	...>
 }

@promote@
@@
 uvm_va_block_service_locked(...)
 {
 	<...
 	uvm_va_block_get_prefetch_hint(...);
+	gvm_uvm_promote(processor_id, va_block, service_context);
 	...>
 }
