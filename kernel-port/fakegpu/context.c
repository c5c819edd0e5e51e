// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Contexts: address spaces of processes, their mappings and their TSGs.
 *
 * A record in the fault buffer may outlive its context. It names the context by number. The
 * block layer finds the range by number and address, and holds it while it works in it. So the
 * close of a context never waits for the fault buffer.
 */
#include "fakegpu.h"

#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/vmalloc.h>

#include "gvm_registry.h"

static unsigned long context_bytes;
module_param(context_bytes, ulong, 0444);
MODULE_PARM_DESC(context_bytes, "memory that a context takes beside its page tables");

static unsigned long skip_addresses;
module_param(skip_addresses, ulong, 0444);
MODULE_PARM_DESC(skip_addresses, "for tests: bytes of addresses that a context does not use");

#define CONTEXT_FIRST_VA 0x700000000000ull
#define CONTEXT_LAST_VA	 0x7fff00000000ull

struct fakegpu_context *fakegpu_context_open(struct fakegpu *gpu)
{
	struct fakegpu_context *context = kzalloc(sizeof(*context), GFP_KERNEL);

	if (!context)
		return NULL;
	context->gpu = gpu;
	refcount_set(&context->refs, 1);
	mutex_init(&context->mutex);
	spin_lock_init(&context->lock);
	INIT_LIST_HEAD(&context->mappings);
	context->next_va =
		CONTEXT_FIRST_VA + min_t(u64, skip_addresses & ~(GVM_CHUNK_BYTES - 1),
					 CONTEXT_LAST_VA - CONTEXT_FIRST_VA);
	fakegpu_page_table_init(&context->table, gpu);
	return context;
}

static void context_put(struct fakegpu_context *context)
{
	if (!refcount_dec_and_test(&context->refs))
		return;
	fakegpu_page_table_destroy(&context->table);
	mutex_destroy(&context->mutex);
	kfree(context);
}

static void context_destroy_tsgs(struct fakegpu_context *context)
{
	if (context->share.container)
		gvm_tsg_unshare(&context->share, context->gpu->device);
	while (context->tsg_count) {
		struct fakegpu_tsg *tsg = &context->tsgs[--context->tsg_count];

		gvm_tsg_detach(&tsg->core);
		fakegpu_tsg_destroy(tsg);
	}
}

/*
 * An RPC's error leaves the TSG attached. The next write of a control file tries that RPC
 * again.
 */
static int context_create_tsgs(struct fakegpu_context *context, u32 count)
{
	int status;

	while (context->tsg_count < count) {
		struct fakegpu_tsg *tsg = &context->tsgs[context->tsg_count];

		status = fakegpu_tsg_create(context, tsg);
		if (status)
			return status;
		(void)gvm_tsg_attach(context->container, &tsg->core, tsg->id);
		context->tsg_count++;
	}
	return 0;
}

/*
 * Warn about a missing evictor. A process that is being killed gets no thread and needs none.
 */
static void context_check_evictor(struct fakegpu_context *context, int status)
{
	if (status && !fatal_signal_pending(current))
		gvm_warn("%s: no evictor: %d", context->gpu->name, status);
}

/* Its name in the core, in ranges and faults. */
static void *context_space(const struct fakegpu_context *context)
{
	return (void *)(unsigned long)context->id;
}

/* Undo context_attach(), which may have ended early with an error. */
static void context_detach(struct fakegpu_context *context)
{
	struct fakegpu *gpu = context->gpu;

	if (context->id) {
		gvm_space_end(context->member, context_space(context));
		xa_erase(&gpu->contexts, context->id);
	}
	context_destroy_tsgs(context);
	if (context->evicts)
		gvm_container_evictor_put(context->container);
	context->evicts = false;
	gvm_unevictable_release(&gpu->memory, &context->unevictable);
	gvm_process_detach(context->member);
	context->container = NULL;
}

static int context_attach(struct fakegpu_context *context,
			  const struct gvm_fakegpu_create *create)
{
	struct fakegpu *gpu = context->gpu;
	u64 bytes;
	int status;

	status = gvm_process_attach(gpu->device, create->group_tgid, &context->member);
	if (status)
		return status;
	context->container = gvm_member_container(context->member);
	gvm_unevictable_init(&context->unevictable, context->container);
	status = -ENOMEM;
	if (!check_add_overflow((u64)context_bytes, gvm_page_table_space_bytes(), &bytes))
		status = gvm_unevictable_add(&gpu->memory, &context->unevictable, bytes);
	if (!status)
		status = context_create_tsgs(context, create->tsgs);
	if (!status)
		status = xa_alloc_cyclic(&gpu->contexts, &context->id, context, xa_limit_31b,
					 &gpu->next_context, GFP_KERNEL);
	if (status < 0)
		context->id = 0;
	else
		status = gvm_space_begin(context->member, context_space(context));
	if (status) {
		context_detach(context);
		return status;
	}
	context->evicts = true;
	context_check_evictor(context, gvm_container_evictor_get(context->container));
	smp_store_release(&context->created, true);
	return 0;
}

int fakegpu_context_create(struct fakegpu_context *context,
			   const struct gvm_fakegpu_create *create)
{
	int status = -EBUSY;

	if (!create->tsgs || create->tsgs > GVM_FAKEGPU_TSGS_MAX)
		return -EINVAL;
	mutex_lock(&context->mutex);
	if (!context->container)
		status = context_attach(context, create);
	mutex_unlock(&context->mutex);
	return status;
}

/* Mappings. */

/*
 * Fill the mapping's host memory with the pattern of @seed, as if an application had written
 * it.
 */
static int mapping_fill(struct fakegpu *gpu, struct fakegpu_mapping *mapping,
			const struct gvm_range_config *range, u64 seed)
{
	u64 at;

	for (at = 0; at < range->bytes; at += sizeof(u64)) {
		struct fakegpu_host *host = fakegpu_host_alloc(
			gpu, &mapping->host[at >> GVM_CHUNK_SHIFT], GFP_KERNEL_ACCOUNT);
		u64 *words;

		if (!host)
			return -ENOMEM;
		words = host->bytes;
		words[(at & (GVM_CHUNK_BYTES - 1)) / sizeof(u64)] =
			gvm_fakegpu_word(seed, range->va + at);
		if (at % GVM_PAGE_BYTES == 0 && gvm_give_way())
			return -EINTR;
	}
	return 0;
}

static void mapping_free(struct fakegpu_mapping *mapping, u32 count)
{
	u32 i;

	for (i = 0; mapping->host && i < count; i++)
		fakegpu_host_put(mapping->host[i]);
	kvfree(mapping->host);
	kvfree(mapping->ptes);
	kfree(mapping);
}

/* Copies may still be under way after the range has gone: host memory is freed after them. */
static void mapping_destroy(struct fakegpu_context *context, struct fakegpu_mapping *mapping)
{
	u32 count = mapping->range.block_count;
	u64 va = mapping->range.va;
	u64 tables = gvm_page_table_range_bytes(mapping->range.bytes);

	gvm_range_destroy(&mapping->range);
	fakegpu_page_table_release(&context->table, va, count);
	gvm_unevictable_remove(&context->gpu->memory, &context->unevictable, tables);
	fakegpu_engines_drain(context->gpu);
	mapping_free(mapping, count);
}

static struct fakegpu_mapping *mapping_alloc(u32 count)
{
	struct fakegpu_mapping *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);

	if (!mapping)
		return NULL;
	mapping->ptes = kvcalloc(count, sizeof(*mapping->ptes), GFP_KERNEL | __GFP_NOWARN);
	mapping->host = kvcalloc(count, sizeof(*mapping->host), GFP_KERNEL | __GFP_NOWARN);
	if (!mapping->ptes || !mapping->host) {
		mapping_free(mapping, 0);
		return NULL;
	}
	return mapping;
}

/* Make a mapping. Its range comes last, since faults find it from then on. */
static int mapping_create(struct fakegpu_context *context, const struct gvm_fakegpu_map *map,
			  struct fakegpu_mapping **ret_mapping)
{
	u32 count = (u32)((map->bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT);
	struct gvm_range_config config = {
		.container = context->container,
		.space = context_space(context),
		.va = context->next_va,
		.bytes = map->bytes,
		.on_host = map->flags & GVM_FAKEGPU_MAP_ON_HOST,
	};
	struct fakegpu_mapping *mapping = mapping_alloc(count);
	int status;

	if (!mapping)
		return -ENOMEM;
	status = fakegpu_page_table_reserve(&context->table, config.va, mapping->ptes, count);
	if (status)
		goto err_free;
	if (config.on_host)
		status = mapping_fill(context->gpu, mapping, &config, map->seed);
	if (!status)
		status = gvm_range_init(&context->gpu->memory, &mapping->range, &config);
	if (status)
		goto err_release;
	*ret_mapping = mapping;
	return 0;

err_release:
	fakegpu_page_table_release(&context->table, config.va, count);
err_free:
	mapping_free(mapping, count);
	return status;
}

/*
 * Has the context addresses for a mapping? The block after the last mapping may lie beyond the
 * last address.
 */
static bool context_has_addresses(const struct fakegpu_context *context, u64 bytes)
{
	return context->next_va <= CONTEXT_LAST_VA &&
	       bytes <= CONTEXT_LAST_VA - context->next_va;
}

static int context_map_locked(struct fakegpu_context *context, struct gvm_fakegpu_map *map)
{
	u64 tables = gvm_page_table_range_bytes(map->bytes);
	struct fakegpu_mapping *mapping;
	u64 host_blocks = 0;
	int status;

	if (!context->created)
		return -ENXIO;
	if (map->flags & GVM_FAKEGPU_MAP_ON_HOST)
		host_blocks = DIV_ROUND_UP(map->bytes, GVM_CHUNK_BYTES);
	if (context->host_blocks + host_blocks > FAKEGPU_HOST_SHARE * context->gpu->chunk_count)
		return -ENOMEM;
	if (context->mapping_count == GVM_FAKEGPU_MAPPINGS_MAX)
		return -ENOSPC;
	if (!context_has_addresses(context, map->bytes))
		return -ENOMEM;
	status = gvm_unevictable_add(&context->gpu->memory, &context->unevictable, tables);
	if (status)
		return status;
	status = mapping_create(context, map, &mapping);
	if (status) {
		gvm_unevictable_remove(&context->gpu->memory, &context->unevictable, tables);
		return status;
	}
	mapping->host_blocks = host_blocks;
	context->host_blocks += host_blocks;
	map->ret_va = context->next_va;
	/* Between any two mappings there is a block that is never mapped. */
	context->next_va += ((u64)mapping->range.block_count + 1) << GVM_CHUNK_SHIFT;
	spin_lock(&context->lock);
	list_add_tail(&mapping->node, &context->mappings);
	spin_unlock(&context->lock);
	context->mapping_count++;
	context_check_evictor(context, gvm_container_evictor_restart(context->container));
	return 0;
}

int fakegpu_context_map(struct fakegpu_context *context, struct gvm_fakegpu_map *map)
{
	int status;

	if (!map->bytes || map->bytes > GVM_FAKEGPU_MAP_MAX || map->reserved ||
	    map->flags & ~GVM_FAKEGPU_MAP_ON_HOST)
		return -EINVAL;
	mutex_lock(&context->mutex);
	status = context_map_locked(context, map);
	mutex_unlock(&context->mutex);
	return status;
}

/* The mapping that @va is in, or NULL. Mutex or lock held. */
static struct fakegpu_mapping *context_find_mapping(struct fakegpu_context *context, u64 va)
{
	struct fakegpu_mapping *mapping;

	list_for_each_entry(mapping, &context->mappings, node) {
		const struct gvm_range *range = &mapping->range;

		if (va >= range->va && va - range->va < range->bytes)
			return mapping;
	}
	return NULL;
}

static void context_unlink(struct fakegpu_context *context, struct fakegpu_mapping *mapping)
{
	context->host_blocks -= mapping->host_blocks;
	spin_lock(&context->lock);
	list_del(&mapping->node);
	spin_unlock(&context->lock);
	context->mapping_count--;
}

int fakegpu_context_unmap(struct fakegpu_context *context, u64 va)
{
	struct fakegpu_mapping *mapping;
	int status = -ENOENT;

	mutex_lock(&context->mutex);
	mapping = context_find_mapping(context, va);
	if (mapping && mapping->range.va == va) {
		context_unlink(context, mapping);
		mapping_destroy(context, mapping);
		status = 0;
	}
	mutex_unlock(&context->mutex);
	return status;
}

int fakegpu_context_discard(struct fakegpu_context *context,
			    const struct gvm_fakegpu_span *span)
{
	struct fakegpu_mapping *mapping;
	int status = -ENOENT;

	mutex_lock(&context->mutex);
	mapping = context_find_mapping(context, span->va);
	if (mapping) {
		gvm_range_discard(&mapping->range, span->va - mapping->range.va, span->bytes);
		status = 0;
	}
	mutex_unlock(&context->mutex);
	return status;
}

/* Every launch holds the file, so the GPU runs no kernel of this context any more. */
void fakegpu_context_close(struct fakegpu_context *context)
{
	struct fakegpu_mapping *mapping;
	struct fakegpu_mapping *next;

	if (context->container) {
		context_destroy_tsgs(context);
		list_for_each_entry_safe(mapping, next, &context->mappings, node) {
			context_unlink(context, mapping);
			mapping_destroy(context, mapping);
		}
		context_detach(context);
	}
	context_put(context);
}

/* Faults. */

/*
 * The block layer's service. Faults of a TSG that is dead or gone are skipped, so that one
 * death counts once in gmem.events.
 */
void fakegpu_service(void *memory, void *space, struct gvm_fault *faults, u32 count,
		     struct gvm_fence *fence)
{
	struct fakegpu *gpu = container_of(memory, struct fakegpu, memory);
	u32 done, run;

	for (done = 0; done < count; done += run) {
		bool dead = fakegpu_tsg_is_dead(gpu, faults[done].tsg);

		run = 1;
		if (dead) {
			faults[done].status = 0;
			continue;
		}
		while (done + run < count && !fakegpu_tsg_is_dead(gpu, faults[done + run].tsg))
			run++;
		gvm_block_memory_ops.service(memory, space, faults + done, run, fence);
	}
}

u8 fakegpu_space_priority(void *data, const void *space)
{
	struct fakegpu *gpu = data;
	struct fakegpu_context *context;
	u8 priority = GVM_PRIORITY_MAX;

	xa_lock(&gpu->contexts);
	context = xa_load(&gpu->contexts, (u32)(unsigned long)space);
	if (context)
		priority = gvm_container_priority(context->container);
	xa_unlock(&gpu->contexts);
	return priority;
}
