// SPDX-License-Identifier: MIT OR GPL-2.0
// Where the PMM tells gvm.ko about chunks, and asks it for a victim. README.md has the reasons.

@gpu_add@
@@
 uvm_pmm_gpu_init(...)
 {
 	<...
+	gvm_uvm_gpu_add(pmm);
 	return NV_OK;
 	...>
 }

@gpu_remove@
@@
 uvm_pmm_gpu_deinit(...)
 {
 	<...
+	gvm_uvm_gpu_remove(pmm);
 	uvm_bit_locks_deinit(&pmm->root_chunks.bitlocks);
 	...>
 }

@freed@
@@
 free_chunk(...)
 {
 	<...
+	gvm_uvm_chunk_freed(pmm, chunk);
 	if (try_chunk_free(pmm, chunk)) { ... } else { ... }
 	...>
 }

@evicted@
@@
 uvm_pmm_gpu_mark_chunk_evicted(...)
 {
 	<...
+	gvm_uvm_chunk_evicted(pmm, chunk);
 	chunk->va_block = NULL;
 	...>
 }

@split@
@@
 uvm_pmm_gpu_split_chunk(...)
 {
 	<...
+	gvm_uvm_chunk_split(pmm, chunk);
 	uvm_mutex_unlock(&pmm->lock);
 	...>
 }

@victim@
@@
 pick_root_chunk_to_evict(...)
 {
 	<...
+	chunk = gvm_uvm_victim(pmm, chunk);
 	if (chunk)
 		chunk_start_eviction(pmm, chunk);
 	...>
 }

@eviction_starts@
@@
 chunk_start_eviction(...)
 {
 	<...
 	uvm_gpu_chunk_set_in_eviction(chunk, true);
+	gvm_uvm_eviction_starts(pmm, chunk);
 	...>
 }

@eviction_fails@
@@
 evict_root_chunk(...)
 {
 	<...
 	chunk_update_lists_locked(pmm, chunk);
+	gvm_uvm_eviction_fails(pmm, chunk);
 	...>
 }

@used@
@@
 uvm_pmm_gpu_mark_root_chunk_used(...)
 {
+	gvm_uvm_chunk_used(pmm, chunk);
 	...
 }

@unused@
@@
 uvm_pmm_gpu_mark_root_chunk_unused(...)
 {
+	gvm_uvm_chunk_unused(pmm, chunk);
 	...
 }

@discarded@
@@
 uvm_pmm_gpu_mark_root_chunk_discarded(...)
 {
+	gvm_uvm_chunk_discarded(pmm, chunk);
 	...
 }
