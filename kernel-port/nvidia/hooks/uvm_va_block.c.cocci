// SPDX-License-Identifier: MIT OR GPL-2.0
// Where a VA block allocates a chunk: it is charged before, and bound after.

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
