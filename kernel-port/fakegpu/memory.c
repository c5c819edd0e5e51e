// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Chunks of device memory. A freed chunk is not cleared here: only the core clears memory.
 *
 * Host memory of blocks. It is cleared when it is allocated: a mapping may end inside a page,
 * and the GPU reads whole pages.
 */
#include "fakegpu.h"

#include <linux/vmalloc.h>

int fakegpu_memory_init(struct fakegpu *gpu)
{
	u32 i;

	gpu->free = kvcalloc(gpu->chunk_count, sizeof(*gpu->free), GFP_KERNEL);
	gpu->last = kvcalloc(gpu->chunk_count, sizeof(*gpu->last), GFP_KERNEL);
	gpu->bytes = vmalloc((size_t)gpu->chunk_count << GVM_CHUNK_SHIFT);
	if (!gpu->free || !gpu->last || !gpu->bytes) {
		fakegpu_memory_destroy(gpu);
		return -ENOMEM;
	}
	/* As on a real GPU, memory is not zero at the start. */
	memset(gpu->bytes, 0xa5, (size_t)gpu->chunk_count << GVM_CHUNK_SHIFT);
	for (i = 0; i < gpu->chunk_count; i++)
		gpu->free[i] = i;
	gpu->free_count = gpu->chunk_count;
	return 0;
}

void fakegpu_memory_destroy(struct fakegpu *gpu)
{
	vfree(gpu->bytes);
	kvfree(gpu->last);
	kvfree(gpu->free);
}

void *fakegpu_chunk_bytes(struct fakegpu *gpu, u32 chunk)
{
	return gpu->bytes + ((size_t)chunk << GVM_CHUNK_SHIFT);
}

int fakegpu_chunk_alloc(void *data, u32 *ret_chunk)
{
	struct fakegpu *gpu = data;
	int status = -ENOMEM;

	spin_lock(&gpu->lock);
	if (gpu->free_count) {
		*ret_chunk = gpu->free[gpu->free_first];
		gpu->free_first = (gpu->free_first + 1) % gpu->chunk_count;
		gpu->free_count--;
		status = 0;
	}
	spin_unlock(&gpu->lock);
	return status;
}

u32 fakegpu_free_chunks(void *memory)
{
	return READ_ONCE(container_of(memory, struct fakegpu, memory)->free_count);
}

void fakegpu_chunk_free(void *data, u32 chunk)
{
	struct fakegpu *gpu = data;

	spin_lock(&gpu->lock);
	if (!WARN_ON_ONCE(gpu->free_count == gpu->chunk_count)) {
		gpu->free[(gpu->free_first + gpu->free_count) % gpu->chunk_count] = chunk;
		gpu->free_count++;
	}
	spin_unlock(&gpu->lock);
}

struct fakegpu_host *fakegpu_host_alloc(struct fakegpu *gpu, struct fakegpu_host **host,
					gfp_t flags)
{
	struct fakegpu_host *made;

	if (*host)
		return *host;
	made = kzalloc(sizeof(*made), flags | __GFP_NOWARN);
	if (!made)
		return NULL;
	made->bytes = __vmalloc(GVM_CHUNK_BYTES, flags | __GFP_NOWARN | __GFP_ZERO);
	if (!made->bytes) {
		kfree(made);
		return NULL;
	}
	made->gpu = gpu;
	refcount_set(&made->refs, 1);
	atomic_inc(&gpu->host_chunks);
	*host = made;
	return made;
}

void fakegpu_host_put(struct fakegpu_host *host)
{
	if (!host || !refcount_dec_and_test(&host->refs))
		return;
	atomic_dec(&host->gpu->host_chunks);
	vfree(host->bytes);
	kfree(host);
}

void fakegpu_host_free(void *gpu, struct gvm_range *range, u32 index)
{
	struct fakegpu_mapping *mapping = container_of(range, struct fakegpu_mapping, range);

	fakegpu_host_put(mapping->host[index]);
	mapping->host[index] = NULL;
}
