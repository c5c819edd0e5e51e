// SPDX-License-Identifier: MIT OR GPL-2.0
/* The part of the reference model about remote mappings: accesses that never finish. */
#include "reference_parts.h"

#define PAGE_BYTES    (64ull * 1024)
#define STUCK_RETURNS 16u

static struct model_block *named_block(const struct model_op *op)
{
	return &named(op)->block[op->chunk];
}

static u32 count_pages(u32 pages)
{
	u32 count = 0;

	for (u32 page = 0; page < 32; page++)
		count += pages >> page & 1;
	return count;
}

static u64 host_bytes(const struct model_block *block)
{
	return count_pages(block->on_host) * PAGE_BYTES;
}

u64 model_range_bytes(const struct model_container *container)
{
	u64 bytes = 0;

	for (u32 i = 0; i < MODEL_BLOCKS; i++)
		bytes += host_bytes(&container->block[i]);
	return bytes;
}

/* A range without data takes a reference. */
u32 model_map(const struct model_op *op)
{
	named(op)->mapped = true;
	named(op)->refs++;
	memset(named(op)->block, 0, sizeof(named(op)->block));
	return 0;
}

/* Its data goes, and then its reference. */
u32 model_unmap(const struct model_op *op)
{
	struct model_op swap_in = { .container = op->container };

	swap_in.value = model_range_bytes(named(op));
	memset(named(op)->block, 0, sizeof(named(op)->block));
	model_swap_in(&swap_in);
	named(op)->mapped = false;
	return model_put(op);
}

/* A TSG finishes an access. */
u32 model_access(const struct model_op *op)
{
	model.accesses[op->value]++;
	return 0;
}

static bool is_same_access(const struct model_block *block, u32 tsg)
{
	return block->times > 0 && block->tsg == tsg && block->accesses == model.accesses[tsg];
}

u32 model_return(const struct model_op *op)
{
	struct model_block *block = named_block(op);
	u32 tsg = MODEL_RETURN_TSG(op->value), times = MODEL_RETURN_TIMES(op->value);

	for (; times > 0; times--) {
		block->times = is_same_access(block, tsg) ? block->times + 1 : 1;
		block->tsg = tsg;
		block->accesses = model.accesses[tsg];
	}
	return 0;
}

/* It came in so often in a row. */
u32 model_stuck(const struct model_op *op)
{
	const struct model_block *block = named_block(op);

	return is_same_access(block, (u32)op->value) && block->times >= STUCK_RETURNS;
}

/* Pages without data are charged before the device is asked, and credited if it refuses. */
u32 model_remote(const struct model_op *op)
{
	struct model_container *container = named(op);
	struct model_block *block = named_block(op);
	u32 pages = MODEL_REMOTE_PAGES(op->value);
	struct model_op swap = { .container = op->container };

	swap.value = count_pages(pages & ~block->on_host) * PAGE_BYTES;
	/* What is in host memory already needs no room, also where a limit is below the usage. */
	if (swap.value && model_host_bytes(container) + swap.value > container->hmem_bytes) {
		container->hmem_events++;
		return (u32)-EDQUOT;
	}
	model_swap_out(&swap);
	if (MODEL_REMOTE_FAILS(op->value)) {
		model_swap_in(&swap);
		return (u32)-ENOMEM;
	}
	block->on_host |= pages;
	block->remote = block->on_host;
	container->remote_events++;
	return 0;
}

/* The data stays in host memory. */
u32 model_end_remote(const struct model_op *op)
{
	for (u32 i = 0; i < MODEL_BLOCKS; i++)
		named(op)->block[i].remote = 0;
	return 0;
}

bool model_allows_remote(const struct model_op *op)
{
	const struct model_container *container = named(op);

	switch (op->kind) {
	case MODEL_ACCESS:
		return op->value < MODEL_TSGS;
	case MODEL_MAP:
		return container->live && !container->mapped;
	case MODEL_UNMAP:
		/* It may drop the last reference: nothing else may be charged then. */
		return container->live && container->mapped &&
		       (container->refs > 1 ||
			(model_charged_bytes(container) == 0 &&
			 container->swapped_bytes == model_range_bytes(container)));
	case MODEL_END_REMOTE:
		return container->live;
	default:
		break;
	}
	if (!container->live || !container->mapped || op->chunk >= MODEL_BLOCKS)
		return false;
	if (op->kind == MODEL_RETURN)
		return MODEL_RETURN_TSG(op->value) < MODEL_TSGS &&
		       MODEL_RETURN_TIMES(op->value) <= MODEL_RETURN_MOST;
	if (op->kind == MODEL_STUCK)
		return op->value < MODEL_TSGS;
	/* A remote page does not fault. */
	return MODEL_REMOTE_PAGES(op->value) &&
	       !(MODEL_REMOTE_PAGES(op->value) & named_block(op)->remote);
}
