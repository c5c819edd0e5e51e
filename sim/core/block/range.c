// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. The life of a range: which container pays for it, its blocks, its end.
 */
#include "gvm/block.h"
#include "gvm/child.h"

static u32 block_valid_mask(u64 bytes_from_block)
{
	u64 pages;

	if (bytes_from_block >= GVM_CHUNK_BYTES)
		return GVM_BLOCK_FULL;
	pages = (bytes_from_block + GVM_PAGE_BYTES - 1) >> GVM_PAGE_SHIFT;
	return pages >= GVM_PAGES_PER_BLOCK ? GVM_BLOCK_FULL : (1u << pages) - 1;
}

/* Whose addresses are those of the new range? It takes a reference to its payer. */
static int block_find_payer(struct gvm_range *range, const struct gvm_range_config *config,
			    u64 bytes)
{
	const struct gvm_window addresses = {
		.space = config->space,
		.va = config->va,
		.bytes = bytes,
	};

	if (gvm_container_has_family(config->container))
		return gvm_child_payer(config->container, &addresses, &range->container);
	range->container = config->container;
	gvm_container_get(config->container);
	return 0;
}

int gvm_range_init(struct gvm_memory *memory, struct gvm_range *range,
		   const struct gvm_range_config *config)
{
	u64 count = ((config->bytes - 1) >> GVM_CHUNK_SHIFT) + 1;
	int status;

	if (!config->bytes || (config->va & (GVM_CHUNK_BYTES - 1)) || count > U32_MAX)
		return -EINVAL;
	if (config->bytes - 1 > U64_MAX - config->va)
		return -EINVAL;
	memset(range, 0, sizeof(*range));
	status = block_find_payer(range, config, count << GVM_CHUNK_SHIFT);
	if (status)
		return status;
	range->blocks = gvm_alloc(count * sizeof(*range->blocks));
	if (!range->blocks) {
		gvm_container_put(range->container);
		return -ENOMEM;
	}
	range->memory = memory;
	range->space = config->space;
	range->stats = config->stats;
	range->va = config->va;
	range->bytes = config->bytes;
	range->block_count = (u32)count;
	gvm_mutex_init(&range->lock, "gvm range");
	gvm_waitqueue_init(&range->idle);
	for (u64 i = 0; i < count; i++) {
		struct gvm_block *block = &range->blocks[i];

		block->chunk = GVM_NO_CHUNK;
		block->valid = block_valid_mask(config->bytes - (i << GVM_CHUNK_SHIFT));
		block->on_host = config->on_host ? block->valid : 0;
		range->valid_pages += hweight32(block->valid);
	}
	RB_CLEAR_NODE(&range->node);
	gvm_range_publish(range);
	return 0;
}

void gvm_range_destroy(struct gvm_range *range)
{
	gvm_range_hide(range);
	gvm_mutex_lock(&range->lock);
	range->dying = true;
	for (u32 i = 0; i < range->block_count; i++)
		gvm_block_release_locked(range, i);
	gvm_mutex_unlock(&range->lock);
	/* No frame leads to the range any more. Threads inside it see dying, and leave. */
	gvm_range_wait_idle(range);
	gvm_free(range->blocks);
	gvm_container_put(range->container);
	range->blocks = NULL;
}
