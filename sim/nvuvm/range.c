// SPDX-License-Identifier: MIT OR GPL-2.0
/* Ranges of the model: struct gvm_range of the core, with a record beside each block. */
#include "nvuvm/range.h"

#include "nvuvm/container.h"

/* Blocks start with the pages that the CPU wrote before. */
static void range_link(struct nvuvm *nvuvm, struct nvuvm_range *entry, bool small_host_pages)
{
	struct gvm_range *range = entry->range;
	struct nvuvm_container *owner = entry->owner;
	s64 pages = 0;

	for (u32 i = 0; i < range->block_count; i++) {
		u32 on_host = range->blocks[i].on_host;

		entry->blocks[i].host_pages = on_host;
		entry->blocks[i].host_huge = on_host == GVM_BLOCK_FULL && !small_host_pages;
		pages += hweight32(on_host);
	}
	range->device_data = entry;
	nvuvm_container_add_host_pages(nvuvm, owner, pages);
	gvm_mutex_lock(&owner->va_space);
	list_add_tail(&entry->node, &owner->ranges);
	gvm_mutex_unlock(&owner->va_space);
}

int nvuvm_range_init(struct nvuvm *nvuvm, struct gvm_range *range,
		     const struct gvm_range_config *config, bool small_host_pages)
{
	struct nvuvm_range *entry;
	int status = gvm_range_init(&nvuvm->memory, range, config);

	if (status)
		return status;
	entry = gvm_alloc(sizeof(*entry));
	if (entry) {
		entry->range = range;
		entry->preferred = NVUVM_NOBODY;
		entry->blocks = gvm_alloc(range->block_count * sizeof(*entry->blocks));
		entry->owner = nvuvm_container_make(nvuvm, range->container);
	}
	if (entry && entry->blocks && entry->owner) {
		range_link(nvuvm, entry, small_host_pages);
		return 0;
	}
	if (entry) {
		gvm_free(entry->blocks);
		if (entry->owner)
			nvuvm_container_put(nvuvm, entry->owner);
	}
	gvm_free(entry);
	gvm_range_destroy(range);
	return -ENOMEM;
}

void nvuvm_range_destroy(struct nvuvm *nvuvm, struct gvm_range *range)
{
	struct nvuvm_range *entry = nvuvm_range_of(range);
	u32 count = range->block_count;
	s64 pages = 0;

	/* From here on no limit write finds the range, and none is at work in it. */
	gvm_mutex_lock(&entry->owner->va_space);
	list_del_init(&entry->node);
	gvm_mutex_unlock(&entry->owner->va_space);
	gvm_range_destroy(range);
	for (u32 i = 0; i < count; i++) {
		pages += hweight32(entry->blocks[i].host_pages);
		nvuvm_thrash_destroy(&entry->blocks[i].thrash);
	}
	nvuvm_container_add_host_pages(nvuvm, entry->owner, -pages);
	nvuvm_container_put(nvuvm, entry->owner);
	gvm_free(entry->blocks);
	gvm_free(entry);
	range->device_data = NULL;
}
