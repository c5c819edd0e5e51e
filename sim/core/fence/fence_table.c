// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The partition table: which tenant has which part of the common address space (Guardian
 * 4.2.1).
 *
 * Layer: fence. Never waits; takes only the table's leaf lock.
 *
 *      address range of the common context
 *      +--------------+------+------+--------------+- - - - -+
 *      | tenant 7     | 9    | 4    | free         |         |
 *      +--------------+------+------+--------------+- - - - -+
 *        |
 *        +- margin | used | free | used | free ... | margin     (margins: mode once)
 *
 * A partition comes from the buddy allocator, or, in a table of any size, from a heap. The
 * tenant's own memory comes from a heap over its partition. When a tenant ends, both are free
 * at once, whatever it has left allocated.
 *
 *
 * How this differs from the paper
 *
 *   1. The paper reserves all device memory and gives a partition its part of that, so 9 GB
 *      take 16 GB. Here the table is about addresses alone. Over managed memory a partition
 *      costs no memory until its tenant touches it.
 *   2. A tenant that is gone keeps nothing. The paper does not say what happens to its memory.
 */
#include "gvm/fence_table.h"

static bool config_is_valid(const struct gvm_fence_table_config *config)
{
	u64 mask = config->granule - 1;

	return config->granule >= GVM_FENCE_ALIGNMENT && !(config->granule & mask) &&
	       config->bytes && !(config->base & mask) && !(config->bytes & mask) &&
	       config->base + config->bytes > config->base &&
	       config->bytes >> GVM_FENCE_BUDDY_DEPTH <= config->granule &&
	       !(config->margin & (GVM_FENCE_ALIGNMENT - 1)) && config->tenants &&
	       config->tenants < 65536 && config->allocations && config->allocations < 1u << 24;
}

int gvm_fence_table_init(struct gvm_fence_table *table,
			 const struct gvm_fence_table_config *config)
{
	int status;

	if (!config_is_valid(config))
		return -EINVAL;
	memset(table, 0, sizeof(*table));
	table->config = *config;
	gvm_spin_init(&table->lock, "fence_table");
	if (config->any_size)
		status = gvm_fence_heap_init(&table->heap, config->base, config->bytes,
					     config->granule, 2 * config->tenants + 1);
	else
		status = gvm_fence_buddy_init(&table->buddy, config->base, config->bytes,
					      (u32)__ffs(config->granule));
	if (status)
		return status;
	table->partitions = gvm_alloc(config->tenants * sizeof(*table->partitions));
	if (table->partitions)
		return 0;
	gvm_fence_table_destroy(table);
	return -ENOMEM;
}

void gvm_fence_table_destroy(struct gvm_fence_table *table)
{
	for (u32 i = 0; table->partitions && i < table->config.tenants; i++)
		if (table->partitions[i].open)
			gvm_fence_heap_destroy(&table->partitions[i].heap);
	if (table->config.any_size)
		gvm_fence_heap_destroy(&table->heap);
	else
		gvm_fence_buddy_destroy(&table->buddy);
	gvm_free(table->partitions);
	table->partitions = NULL;
}

/* The partition that is taken for a tenant, open or not yet. */
static struct gvm_fence_partition *table_taken_locked(struct gvm_fence_table *table, u64 tenant)
{
	for (u32 i = 0; i < table->config.tenants; i++)
		if (table->partitions[i].taken && table->partitions[i].tenant == tenant)
			return &table->partitions[i];
	return NULL;
}

/* The open partition of a tenant. */
static struct gvm_fence_partition *table_find_locked(struct gvm_fence_table *table, u64 tenant)
{
	struct gvm_fence_partition *partition = table_taken_locked(table, tenant);

	return partition && partition->open ? partition : NULL;
}

/* The size of a partition for @declared bytes; 0: no range is that large. */
static u64 table_size_for(const struct gvm_fence_table *table, u64 declared,
			  enum gvm_fence_mode mode)
{
	u64 margins = mode == GVM_FENCE_ONCE ? 2 * table->config.margin : 0;
	u64 bytes = table->config.granule, wanted = declared + margins;

	if (wanted < declared || wanted > table->config.bytes)
		return 0;
	if (table->config.any_size)
		return (wanted + bytes - 1) & ~(bytes - 1);
	if (mode == GVM_FENCE_4G)
		wanted = max(wanted, GVM_FENCE_4G_BYTES);
	/* Less than 64 times: a range is no larger than 2^63 (gvm_fence_buddy_init()). */
	while (bytes < wanted)
		bytes *= 2;
	return bytes;
}

/* Take or give back the addresses of a partition. */
static int table_take_locked(struct gvm_fence_table *table, u64 bytes, u64 *ret_base)
{
	int status = table->config.any_size ?
			     gvm_fence_heap_alloc(&table->heap, bytes, ret_base) :
			     gvm_fence_buddy_alloc(&table->buddy, bytes, ret_base);

	return status ? -ENOSPC : 0;
}

static void table_give_back_locked(struct gvm_fence_table *table, u64 base, u64 bytes)
{
	if (table->config.any_size)
		(void)gvm_fence_heap_free(&table->heap, base);
	else
		gvm_fence_buddy_free(&table->buddy, base, bytes);
}

/* Find a partition for a new tenant and take it. It has no heap yet. */
static int table_claim_locked(struct gvm_fence_table *table, u64 tenant, u64 declared,
			      enum gvm_fence_mode mode,
			      struct gvm_fence_partition **ret_partition)
{
	u64 bytes = table_size_for(table, declared, mode), base;
	struct gvm_fence_partition *partition = NULL;
	struct gvm_address_fence fence;
	int status;

	if (table_taken_locked(table, tenant))
		return -EEXIST;
	for (u32 i = 0; i < table->config.tenants && !partition; i++)
		if (!table->partitions[i].taken)
			partition = &table->partitions[i];
	if (!partition)
		return -EMFILE;
	if (!bytes)
		return -ENOSPC;
	status = table_take_locked(table, bytes, &base);
	if (status)
		return status;
	status = gvm_address_fence_init(&fence, mode, base, bytes, table->config.margin);
	if (status) {
		table_give_back_locked(table, base, bytes);
		return status;
	}
	partition->tenant = tenant;
	partition->taken = true;
	partition->declared = declared;
	partition->fence = fence;
	partition->counts = (struct gvm_fence_counts){ 0 };
	*ret_partition = partition;
	return 0;
}

static void table_release_locked(struct gvm_fence_table *table,
				 struct gvm_fence_partition *partition)
{
	table_give_back_locked(table, partition->fence.base, partition->fence.bytes);
	partition->taken = false;
	partition->open = false;
}

int gvm_fence_table_open(struct gvm_fence_table *table, u64 tenant, u64 declared,
			 enum gvm_fence_mode mode, struct gvm_fence_partition **ret_partition)
{
	bool masks = gvm_fence_masks(mode);
	struct gvm_fence_partition *partition = NULL;
	const struct gvm_address_fence *fence;
	int status;

	if (!declared || (unsigned int)mode >= GVM_FENCE_MODES ||
	    (masks && table->config.any_size))
		return -EINVAL;
	gvm_spin_lock(&table->lock);
	status = table_claim_locked(table, tenant, declared, mode, &partition);
	gvm_spin_unlock(&table->lock);
	if (status)
		return status;
	fence = &partition->fence;
	/* The partition is not open, so it is this thread's alone. */
	status = gvm_fence_heap_init(&partition->heap, fence->base + fence->margin,
				     fence->bytes - 2 * fence->margin, GVM_FENCE_ALIGNMENT,
				     2 * table->config.allocations + 1);
	gvm_spin_lock(&table->lock);
	if (status)
		table_release_locked(table, partition);
	else
		partition->open = true;
	gvm_spin_unlock(&table->lock);
	*ret_partition = partition;
	return status;
}

int gvm_fence_table_close(struct gvm_fence_table *table, u64 tenant)
{
	struct gvm_fence_partition *partition;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	if (partition)
		partition->open = false; /* from here on it is this thread's alone */
	gvm_spin_unlock(&table->lock);
	if (!partition)
		return -ENOENT;
	gvm_fence_heap_destroy(&partition->heap);
	gvm_spin_lock(&table->lock);
	table_release_locked(table, partition);
	gvm_spin_unlock(&table->lock);
	return 0;
}

int gvm_fence_table_set_mode(struct gvm_fence_table *table, u64 tenant,
			     enum gvm_fence_mode mode)
{
	struct gvm_fence_partition *partition;
	struct gvm_address_fence fence;
	int status = -ENOENT;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	if (partition) {
		u64 margin = partition->fence.margin;

		status = mode == GVM_FENCE_ONCE && !margin ?
				 -EINVAL :
				 gvm_address_fence_init(&fence, mode, partition->fence.base,
							partition->fence.bytes, margin);
		if (!status) {
			fence.margin = margin; /* stays free of data, whatever the mode */
			partition->fence = fence;
		}
	}
	gvm_spin_unlock(&table->lock);
	return status;
}

int gvm_fence_table_alloc(struct gvm_fence_table *table, u64 tenant, u64 bytes,
			  u64 *ret_address)
{
	struct gvm_fence_partition *partition;
	int status = -ENOENT;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	if (partition)
		status = gvm_fence_heap_alloc(&partition->heap, bytes, ret_address);
	gvm_spin_unlock(&table->lock);
	return status;
}

int gvm_fence_table_free(struct gvm_fence_table *table, u64 tenant, u64 address)
{
	struct gvm_fence_partition *partition;
	int status = -ENOENT;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	if (partition)
		status = gvm_fence_heap_free(&partition->heap, address) ? 0 : -EINVAL;
	gvm_spin_unlock(&table->lock);
	return status;
}

int gvm_fence_table_copy(struct gvm_fence_table *table, u64 tenant,
			 enum gvm_fence_copy direction, u64 destination, u64 source, u64 bytes)
{
	struct gvm_fence_partition *partition;
	int status = -ENOENT;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	if (partition) {
		status = gvm_address_fence_copy(&partition->fence, direction, destination,
						source, bytes);
		if (status)
			partition->counts.refused_copies++;
	}
	gvm_spin_unlock(&table->lock);
	return status;
}

void gvm_fence_table_count(struct gvm_fence_table *table, u64 tenant,
			   const struct gvm_fence_counts *counts)
{
	struct gvm_fence_partition *partition;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	if (partition) {
		partition->counts.launches += counts->launches;
		partition->counts.refused_copies += counts->refused_copies;
	}
	gvm_spin_unlock(&table->lock);
}

struct gvm_fence_partition *gvm_fence_table_tenant(struct gvm_fence_table *table, u64 tenant)
{
	struct gvm_fence_partition *partition;

	gvm_spin_lock(&table->lock);
	partition = table_find_locked(table, tenant);
	gvm_spin_unlock(&table->lock);
	return partition;
}
