// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The RM interface: address spaces, and memory that RM allocates and maps for UVM: rings,
 * semaphores, push buffers. RM's mappings are a list of their own, not PTEs: the page tables
 * are UVM's.
 */
#include "softgpu.h"

#include <linux/slab.h>
#include <linux/vmalloc.h>

#define SOFTGPU_FIRST_VA (1ull << 32) /* of RM's mappings */

static struct softgpu_memory *softgpu_memory_find(struct softgpu_space *space, u64 va)
{
	struct softgpu_memory *memory;

	list_for_each_entry(memory, &space->memories, node)
		if (va >= memory->va && va - memory->va < memory->bytes)
			return memory;
	return NULL;
}

void *softgpu_translate(struct softgpu_space *space, u64 va, enum softgpu_op op, u64 *bytes,
			u32 *ret_fault)
{
	struct softgpu *gpu = space->gpu;
	struct softgpu_memory *memory = softgpu_memory_find(space, va);
	struct softgpu_mapping mapping;

	if (memory) {
		*ret_fault = SOFTGPU_NO_FAULT;
		*bytes = min(*bytes, memory->va + memory->bytes - va);
		if (memory->cpu)
			return memory->cpu + (va - memory->va);
		return softgpu_physical(gpu, SOFTGPU_VIDMEM, memory->vidmem + (va - memory->va),
					bytes);
	}
	if (!softgpu_tlb_translate(space, va, op, &mapping, ret_fault))
		return NULL;
	*ret_fault = SOFTGPU_NO_FAULT;
	*bytes = min(*bytes, mapping.page_bytes - (va & (mapping.page_bytes - 1)));
	return softgpu_mapped(gpu, &mapping, bytes);
}

/* A new address space of the GPU, or of an instance, without page tables yet. */
static NV_STATUS softgpu_space_create(struct softgpu_part *part,
				      uvmGpuAddressSpaceHandle *ret_space,
				      UvmGpuAddressSpaceInfo *ret_info)
{
	struct softgpu *gpu = part->gpu;
	NV_STATUS status = softgpu_allocates(gpu, SOFTGPU_FAIL_RM_ALLOC);
	struct softgpu_space *space;

	if (status != NV_OK)
		return status;
	space = kzalloc(sizeof(*space), GFP_KERNEL);
	if (!space)
		return NV_ERR_NO_MEMORY;
	space->gpu = gpu;
	space->part = part;
	space->next_va = SOFTGPU_FIRST_VA;
	INIT_LIST_HEAD(&space->memories);
	softgpu_tlb_init(&space->tlb);
	mutex_lock(&gpu->lock);
	list_add(&space->node, &gpu->spaces);
	mutex_unlock(&gpu->lock);
	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->bigPageSize = SOFTGPU_BIG_PAGE;
	ret_info->time0Offset = &gpu->time0;
	ret_info->time1Offset = &gpu->time1;
	ret_info->maxSubctxCount = softgpu_subcontexts(gpu);
	*ret_space = (uvmGpuAddressSpaceHandle)space;
	return NV_OK;
}

NV_STATUS nvUvmInterfaceAddressSpaceCreate(uvmGpuDeviceHandle device, unsigned long long base,
					   unsigned long long size,
#ifdef SOFTGPU_SPACE_ATS
					   NvBool ats,
#endif
					   uvmGpuAddressSpaceHandle *ret_space,
					   UvmGpuAddressSpaceInfo *ret_info)
{
	return softgpu_space_create((struct softgpu_part *)device, ret_space, ret_info);
}

/* The address space that a process made through CUDA: it has nothing mapped by RM here. */
NV_STATUS nvUvmInterfaceDupAddressSpace(uvmGpuDeviceHandle device, NvHandle client,
					NvHandle object, uvmGpuAddressSpaceHandle *ret_space,
					UvmGpuAddressSpaceInfo *ret_info)
{
	return softgpu_space_create((struct softgpu_part *)device, ret_space, ret_info);
}

void nvUvmInterfaceAddressSpaceDestroy(uvmGpuAddressSpaceHandle handle)
{
	struct softgpu_space *space = (struct softgpu_space *)handle;

	if (!space)
		return;
	softgpu_hold(space->gpu, SOFTGPU_HOLD_SPACE);
	mutex_lock(&space->gpu->lock);
	WARN_ON(!list_empty(&space->memories));
	list_del(&space->node);
	mutex_unlock(&space->gpu->lock);
	softgpu_tlb_flush(space);
	softgpu_counters_forget(space);
	kfree(space);
}

/* RM flushes the TLBs of an address space whose page directory comes or goes. */
static void softgpu_space_set(struct softgpu_space *space, bool has,
			      enum softgpu_aperture aperture, u64 directory)
{
	mutex_lock(&space->gpu->lock);
	down_write(&space->gpu->walkers);
	space->has_directory = has;
	space->aperture = aperture;
	space->directory = directory;
	softgpu_tlb_flush(space);
	up_write(&space->gpu->walkers);
	mutex_unlock(&space->gpu->lock);
}

NV_STATUS nvUvmInterfaceSetPageDirectory(uvmGpuAddressSpaceHandle space, NvU64 address,
					 unsigned int entries, NvBool vidmem, NvU32 pasid
#ifdef SOFTGPU_PAGE_DIRECTORY_DMA
					 ,
					 NvU64 *ret_dma
#endif
)
{
	softgpu_space_set((struct softgpu_space *)space, true,
			  vidmem ? SOFTGPU_VIDMEM : SOFTGPU_SYSMEM, address);
#ifdef SOFTGPU_PAGE_DIRECTORY_DMA
	*ret_dma = address;
#endif
	return NV_OK;
}

NV_STATUS nvUvmInterfaceUnsetPageDirectory(uvmGpuAddressSpaceHandle space)
{
	softgpu_space_set((struct softgpu_space *)space, false, SOFTGPU_VIDMEM, 0);
	return NV_OK;
}

/* Memory for it in vidmem, or in host memory. Returns whether there was some. */
static bool softgpu_memory_back(struct softgpu_part *part, struct softgpu_memory *memory,
				bool vidmem)
{
	UvmPmaAllocationOptions options = {
		.flags = UVM_PMA_ALLOCATE_CONTIGUOUS | UVM_PMA_ALLOCATE_PINNED,
	};
	NvU64 address;

	if (!vidmem) {
		memory->cpu = vzalloc(memory->bytes);
		return memory->cpu;
	}
	memory->bytes = ALIGN(memory->bytes, SOFTGPU_BIG_PAGE);
	if (nvUvmInterfacePmaAllocPages(part, memory->bytes / SOFTGPU_BIG_PAGE,
					SOFTGPU_BIG_PAGE, &options, &address) != NV_OK)
		return false;
	memory->vidmem = address;
	return true;
}

/* Give it an address, and add it to the address space. LOCKING: softgpu.lock. */
static void softgpu_memory_place(struct softgpu_space *space, struct softgpu_memory *memory,
				 u64 alignment)
{
	memory->va = ALIGN(space->next_va, max_t(u64, alignment, SOFTGPU_CHUNK));
	space->next_va = memory->va + memory->bytes;
	list_add(&memory->node, &space->memories);
}

static NV_STATUS softgpu_memory_alloc(struct softgpu_space *space, u64 bytes, bool vidmem,
				      UvmGpuPointer *ret_va, UvmGpuAllocInfo *info)
{
	struct softgpu *gpu = space->gpu;
	NV_STATUS status = softgpu_allocates(gpu, SOFTGPU_FAIL_RM_ALLOC);
	struct softgpu_memory *memory;

	if (status != NV_OK)
		return status;
	memory = kzalloc(sizeof(*memory), GFP_KERNEL);
	if (!memory)
		return NV_ERR_NO_MEMORY;
	memory->bytes = PAGE_ALIGN(max_t(u64, bytes, 1));
	if (!softgpu_memory_back(space->part, memory, vidmem)) {
		kfree(memory);
		return NV_ERR_NO_MEMORY;
	}
	if (vidmem)
		info->gpuPhysOffset = memory->vidmem;
	mutex_lock(&gpu->lock);
	softgpu_memory_place(space, memory, info->alignment);
	mutex_unlock(&gpu->lock);
	*ret_va = memory->va;
	return NV_OK;
}

NV_STATUS nvUvmInterfaceMemoryAllocFB(uvmGpuAddressSpaceHandle space, NvLength bytes,
				      UvmGpuPointer *ret_va, UvmGpuAllocInfo *info)
{
	return softgpu_memory_alloc((struct softgpu_space *)space, bytes, true, ret_va, info);
}

NV_STATUS nvUvmInterfaceMemoryAllocSys(uvmGpuAddressSpaceHandle space, NvLength bytes,
				       UvmGpuPointer *ret_va, UvmGpuAllocInfo *info)
{
	return softgpu_memory_alloc((struct softgpu_space *)space, bytes, false, ret_va, info);
}

void nvUvmInterfaceMemoryFree(uvmGpuAddressSpaceHandle handle, UvmGpuPointer va)
{
	struct softgpu_space *space = (struct softgpu_space *)handle;
	struct softgpu_memory *memory;
	NvU64 address;

	mutex_lock(&space->gpu->lock);
	memory = softgpu_memory_find(space, va);
	if (memory)
		list_del(&memory->node);
	mutex_unlock(&space->gpu->lock);
	if (WARN_ON(!memory))
		return;
	address = memory->vidmem;
	vunmap(memory->mapped);
	if (memory->cpu && !memory->shared)
		vfree(memory->cpu);
	else if (!memory->cpu)
		nvUvmInterfacePmaFreePages(space->part, &address, 1, memory->bytes, 0);
	kfree(memory);
}

/*
 * The same memory in the address space of another GPU. Memory in vidmem would be a peer's
 * there: UVM does not ask for that.
 */
NV_STATUS nvUvmInterfaceDupAllocation(uvmGpuAddressSpaceHandle from, NvU64 va,
				      uvmGpuAddressSpaceHandle to, NvU64 alignment,
				      NvU64 *ret_va)
{
	struct softgpu_space *source = (struct softgpu_space *)from;
	struct softgpu_space *space = (struct softgpu_space *)to;
	struct softgpu_memory *memory, *original;
	NV_STATUS status = softgpu_allocates(space->gpu, SOFTGPU_FAIL_RM_ALLOC);

	if (status != NV_OK)
		return status;
	memory = kzalloc(sizeof(*memory), GFP_KERNEL);
	if (!memory)
		return NV_ERR_NO_MEMORY;
	memory->shared = true;
	mutex_lock(&source->gpu->lock);
	original = softgpu_memory_find(source, va);
	if (original && original->va == va) {
		memory->cpu = original->cpu;
		memory->bytes = original->bytes;
	}
	mutex_unlock(&source->gpu->lock);
	if (!memory->cpu) {
		kfree(memory);
		return original ? NV_ERR_NOT_SUPPORTED : NV_ERR_INVALID_ADDRESS;
	}
	mutex_lock(&space->gpu->lock);
	softgpu_memory_place(space, memory, alignment);
	mutex_unlock(&space->gpu->lock);
	*ret_va = memory->va;
	return NV_OK;
}

/*
 * Map vidmem for the CPU: its chunks lie anywhere in host memory. The mapping stays until the
 * memory is freed. Returns NULL without memory. LOCKING: softgpu.lock.
 */
static void *softgpu_memory_map(struct softgpu *gpu, struct softgpu_memory *memory)
{
	u64 count = memory->bytes >> PAGE_SHIFT;
	struct page **pages;

	if (memory->mapped)
		return memory->mapped;
	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	for (u64 i = 0; pages && i < count; i++) {
		u64 bytes = PAGE_SIZE;
		void *page = softgpu_physical(gpu, SOFTGPU_VIDMEM,
					      memory->vidmem + i * PAGE_SIZE, &bytes);

		if (!page) {
			kvfree(pages);
			return NULL;
		}
		pages[i] = vmalloc_to_page(page);
	}
	if (pages)
		memory->mapped = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return memory->mapped;
}

NV_STATUS nvUvmInterfaceMemoryCpuMap(uvmGpuAddressSpaceHandle handle, UvmGpuPointer va,
				     NvLength length, void **ret_cpu, NvU64 page_bytes)
{
	struct softgpu_space *space = (struct softgpu_space *)handle;
	struct softgpu_memory *memory;
	NV_STATUS status = NV_ERR_INVALID_ARGUMENT;

	mutex_lock(&space->gpu->lock);
	memory = softgpu_memory_find(space, va);
	if (memory && va + length <= memory->va + memory->bytes) {
		u8 *cpu = memory->cpu ?: softgpu_memory_map(space->gpu, memory);

		*ret_cpu = cpu + (va - memory->va);
		status = cpu ? NV_OK : NV_ERR_NO_MEMORY;
	}
	mutex_unlock(&space->gpu->lock);
	return status;
}

void nvUvmInterfaceMemoryCpuUnMap(uvmGpuAddressSpaceHandle space, void *cpu)
{
}
