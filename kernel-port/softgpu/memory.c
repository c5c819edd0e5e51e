// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Physical memory: device memory, which is host memory allocated 2 MB at a time when it is
 * first touched, and the host's own, and that of a peer. There is no IOMMU: a DMA address is a
 * physical address of the host.
 */
#include "softgpu.h"

#include <linux/vmalloc.h>

int softgpu_memory_init(struct softgpu *gpu, u64 bytes)
{
	if (bytes % SOFTGPU_CHUNK || bytes < 2 * SOFTGPU_RESERVED ||
	    bytes > gpu->chip->vidmem_most) {
		pr_err("softgpu: vidmem_mb=%llu, and on %s it has to be even, at least %lu and "
		       "at most %llu\n",
		       bytes >> 20, gpu->chip->name, 2 * SOFTGPU_RESERVED >> 20,
		       gpu->chip->vidmem_most >> 20);
		return -EINVAL;
	}
	gpu->vidmem_bytes = bytes;
	gpu->chunks = vzalloc(bytes / SOFTGPU_CHUNK * sizeof(*gpu->chunks));
	return gpu->chunks ? 0 : -ENOMEM;
}

void softgpu_memory_destroy(struct softgpu *gpu)
{
	for (u64 i = 0; gpu->chunks && i < gpu->vidmem_bytes / SOFTGPU_CHUNK; i++)
		vfree(gpu->chunks[i]);
	vfree(gpu->chunks);
}

/* The bytes of a chunk of vidmem; two threads may touch it first at once. */
static void *softgpu_chunk(struct softgpu *gpu, u64 index)
{
	void *chunk = READ_ONCE(gpu->chunks[index]);
	void *other;

	if (chunk)
		return chunk;
	chunk = vzalloc(SOFTGPU_CHUNK);
	if (!chunk)
		return NULL;
	other = cmpxchg(&gpu->chunks[index], NULL, chunk);
	if (!other)
		return chunk;
	vfree(chunk);
	return other;
}

void *softgpu_physical(struct softgpu *gpu, enum softgpu_aperture aperture, u64 address,
		       u64 *bytes)
{
	static const char *const names[] = { "vidmem", "sysmem", "peer" };
	void *p = NULL;

	if (aperture == SOFTGPU_VIDMEM && address < gpu->vidmem_bytes) {
		*bytes = min(*bytes, SOFTGPU_CHUNK - address % SOFTGPU_CHUNK);
		p = softgpu_chunk(gpu, address / SOFTGPU_CHUNK);
		if (p)
			p += address % SOFTGPU_CHUNK;
	} else if (aperture == SOFTGPU_SYSMEM && pfn_valid(address >> PAGE_SHIFT) &&
		   pfn_valid((address + *bytes - 1) >> PAGE_SHIFT)) {
		p = __va(address);
	}
	if (!p) {
		gpu->stats.bad_addresses++;
		pr_err_ratelimited("softgpu: no memory at %s %llx\n", names[aperture], address);
	}
	return p;
}

void softgpu_vidmem_clear(struct softgpu *gpu, u64 address, u64 bytes)
{
	while (bytes) {
		u64 offset = address % SOFTGPU_CHUNK;
		u64 size = min(bytes, SOFTGPU_CHUNK - offset);
		void *chunk = READ_ONCE(gpu->chunks[address / SOFTGPU_CHUNK]);

		/* A chunk that was never touched is clear. */
		if (chunk)
			memset(chunk + offset, 0, size);
		address += size;
		bytes -= size;
	}
}
