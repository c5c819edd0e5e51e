// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. Simulator and fake GPU only: on a real GPU, RM and UVM take this memory
 * themselves, and hooks tell policy.
 *
 * Unevictable memory: page tables and contexts
 * ============================================
 *
 * A process on the GPU needs memory beside its pages: page tables, and buffers for its context,
 * its stacks and its code. GVM counts this memory, "so that gmem.current reflects true physical
 * occupancy" (4.3). It is taken when a context and its ranges are made, and given back when
 * they end. It is on no ring of a clock.
 *
 * A process decides how many contexts and ranges it makes, so gmem.limit.high of its container
 * holds for this memory, too. The container gives chunks of its own for it. When it has none
 * left to give, the request is refused with -EDQUOT, before any other container is asked for a
 * chunk.
 *
 * The memory is taken in whole chunks, as NVIDIA's driver takes root chunks of 2 MB for its own
 * use. Here each process has chunks of its own. NVIDIA's driver shares a chunk that is not full
 * between processes.
 *
 *
 * The size of page tables
 *
 * The format of Pascal and later has five levels (open-gpu-kernel-modules, uvm_pascal_mmu.c,
 * allocation_size_pascal):
 *
 *     level       a table maps     takes
 *     PDE3        128 PB         4096 B     one of each of these
 *     PDE2        128 TB         4096 B     for an address space,
 *     PDE1        256 GB         4096 B     whose ranges lie close together
 *     PDE0        512 MB         4096 B     its entry is a PTE of 2 MB, or points to
 *     PTE, 64 KB    2 MB          256 B
 *
 * A range gets all tables that it may ever need when it is made: a block whose pages come one
 * by one needs a table of its own, and promotion gives no table back. NVIDIA's driver makes
 * each table when it is first needed. Tables for pages of 4 KB are not counted, since a page
 * here has 64 KB.
 */
#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/evictor.h"

#define UNEVICTABLE_TABLE_BYTES	    4096ull
#define UNEVICTABLE_PTE_TABLE_BYTES 256ull
#define UNEVICTABLE_UPPER_TABLES    3ull
#define UNEVICTABLE_PDE0_SPAN_BYTES (512ull << 20)

/* Evictions that one chunk may cause. */
#define UNEVICTABLE_TRIES_MAX 64u

/* CONTEXT: atomic. */
u64 gvm_page_table_space_bytes(void)
{
	return UNEVICTABLE_UPPER_TABLES * UNEVICTABLE_TABLE_BYTES;
}

/* CONTEXT: atomic. */
u64 gvm_page_table_range_bytes(u64 bytes)
{
	u64 blocks = (bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;
	u64 blocks_per_table = UNEVICTABLE_PDE0_SPAN_BYTES >> GVM_CHUNK_SHIFT;
	/* One more table: a range need not begin where a table begins. */
	u64 tables = div64_u64(blocks + blocks_per_table - 1, blocks_per_table) + 1;

	return tables * UNEVICTABLE_TABLE_BYTES + blocks * UNEVICTABLE_PTE_TABLE_BYTES;
}

/* Charge a chunk and take it from the device: 0, -EDQUOT or -ENOMEM. */
static int unevictable_try_chunk(struct gvm_memory *memory, struct gvm_unevictable *taken)
{
	int status = gvm_charge_reserve(taken->container);
	u32 chunk;

	if (status)
		return status;
	status = memory->mmu->chunk_alloc(memory->gpu, &chunk);
	if (status) {
		gvm_charge_cancel(taken->container);
		return status;
	}
	gvm_charge_bind_unevictable(taken->container, GVM_CHUNK_BYTES);
	/*
	 * gvm_frame_set() takes the lock: an evictor that picked the chunk from its former
	 * owner may look at it.
	 */
	gvm_frame_set(memory, chunk, 0, NULL, taken->first_chunk);
	taken->first_chunk = chunk;
	taken->chunks++;
	return 0;
}

/*
 * Take one chunk more. Makes room up to UNEVICTABLE_TRIES_MAX times. Memory may be freed during
 * the search for a victim. So on a full device the first "no victim" leads to one more try, and
 * the second one in a row counts.
 */
static int unevictable_add_chunk(struct gvm_memory *memory, struct gvm_unevictable *taken)
{
	struct gvm_eviction eviction = { 0 };
	bool is_last_try = false;

	for (u32 tries = 0; tries < UNEVICTABLE_TRIES_MAX; tries++) {
		int status = unevictable_try_chunk(memory, taken);
		bool at_limit = status == -EDQUOT;
		int room;

		if (!at_limit && status != -ENOMEM)
			return status;
		room = gvm_evict_wait_for(taken->container,
					  at_limit ? GVM_NEED_CHARGE : GVM_NEED_MEMORY,
					  &eviction);
		if (!gvm_evict_found_none(room)) {
			if (room)
				return room;
			is_last_try = false;
			continue;
		}
		if (at_limit || is_last_try)
			return status;
		is_last_try = true;
	}
	return -EAGAIN;
}

/* Give back the chunks that taken->bytes does not need. */
static void unevictable_trim(struct gvm_memory *memory, struct gvm_unevictable *taken)
{
	u64 needed = (taken->bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;

	while (taken->chunks > needed) {
		u32 chunk = taken->first_chunk;

		taken->first_chunk = gvm_frame(memory, chunk, 0)->index;
		taken->chunks--;
		gvm_uncharge_unevictable(taken->container, GVM_CHUNK_BYTES);
		memory->mmu->chunk_free(memory->gpu, chunk);
	}
}

int gvm_unevictable_add(struct gvm_memory *memory, struct gvm_unevictable *taken, u64 bytes)
{
	u64 total = taken->bytes + bytes;
	int status = 0;

	while (!status && (u64)taken->chunks << GVM_CHUNK_SHIFT < total)
		status = unevictable_add_chunk(memory, taken);
	if (!status)
		taken->bytes = total;
	else
		unevictable_trim(memory, taken);
	gvm_evictors_kick(taken->container, 0);
	return status;
}

void gvm_unevictable_remove(struct gvm_memory *memory, struct gvm_unevictable *taken, u64 bytes)
{
	GVM_ASSERT(taken->bytes >= bytes);
	taken->bytes -= bytes;
	unevictable_trim(memory, taken);
}

void gvm_unevictable_release(struct gvm_memory *memory, struct gvm_unevictable *taken)
{
	gvm_unevictable_remove(memory, taken, taken->bytes);
}
