// SPDX-License-Identifier: MIT OR GPL-2.0
#include "race_gpu.h"

struct race_gpu race_gpu;

void race_sleep(u64 ns)
{
	(void)gvm_wait_event_timeout_ns(&race_gpu.nowhere, false, ns);
}

u32 race_gpu_roll(u32 below)
{
	u32 number;

	gvm_spin_lock(&race_gpu.lock);
	number = race_roll(&race_gpu.dice, below);
	gvm_spin_unlock(&race_gpu.lock);
	return number;
}

/* Chunks. */

static int race_chunk_alloc(void *gpu, u32 *ret_chunk)
{
	int status = -ENOMEM;

	(void)gpu;
	gvm_spin_lock(&race_gpu.lock);
	if (race_gpu.free_count) {
		*ret_chunk = race_gpu.free[race_gpu.free_first];
		race_gpu.free_first = (race_gpu.free_first + 1) % RACE_CHUNKS;
		race_gpu.free_count--;
		status = 0;
	}
	gvm_spin_unlock(&race_gpu.lock);
	return status;
}

static void race_chunk_free(void *gpu, u32 chunk)
{
	(void)gpu;
	/* A later owner must not see the old contents. */
	memset(race_gpu.contents[chunk], 0x5a, sizeof(race_gpu.contents[chunk]));
	gvm_spin_lock(&race_gpu.lock);
	GVM_ASSERT(race_gpu.free_count < RACE_CHUNKS);
	race_gpu.free[(race_gpu.free_first + race_gpu.free_count++) % RACE_CHUNKS] = chunk;
	gvm_spin_unlock(&race_gpu.lock);
}

/* Copies. */

/*
 * Work on a part of a chunk takes time, so that other threads can take the chunk while that
 * part is in service.
 */
static void race_part_begins(const struct gvm_page_run *run)
{
	if (run->range->bytes > RACE_SMALL * GVM_PAGE_BYTES)
		return;
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.part_chunk = run->chunk;
	gvm_spin_unlock(&race_gpu.lock);
	race_sleep(300000);
}

u32 race_part_chunk(void)
{
	u32 chunk;

	gvm_spin_lock(&race_gpu.lock);
	chunk = race_gpu.part_chunk;
	gvm_spin_unlock(&race_gpu.lock);
	return chunk;
}

/* The address of a block of a range, its PTEs, and the bits of a run's pages in these. */
static u64 race_va(const struct gvm_range *range, u32 index)
{
	return range->va + ((u64)index << GVM_CHUNK_SHIFT);
}

struct race_pte *race_pte(struct race_space *space, u64 va)
{
	return &space->ptes[(va - RACE_VA) >> GVM_CHUNK_SHIFT];
}

static u32 race_mask(const struct gvm_page_run *run)
{
	return (u32)(((1ull << run->page_count) - 1) << run->first_page);
}

/*
 * One copy in eight takes some time, and one in 16 fails. But an instruction over many blocks
 * needs too many copies for that: it would never last until pages are mapped remotely.
 */
static int race_copy_begins(const struct gvm_page_run *run)
{
	struct race_space *space = run->range->space;
	const struct race_pte *pte = race_pte(space, race_va(run->range, run->index));
	u32 chance = race_gpu_roll(64);
	bool fails;

	gvm_spin_lock(&space->lock);
	/* A write to a mapped page after the start of its copy would be lost. */
	GVM_ASSERT(!((pte->pages | pte->remote) & race_mask(run)));
	fails = chance % 16 == 1 && !space->together;
	gvm_spin_unlock(&space->lock);

	race_part_begins(run);
	if (chance % 8 == 0)
		race_sleep(1000 * (1 + chance));
	return fails ? -EIO : 0;
}

/* The host's tags of the pages of a run. The range's lock is held. */
static u32 *race_host(const struct gvm_page_run *run)
{
	struct race_space *space = run->range->space;
	u64 block = (race_va(run->range, run->index) - RACE_VA) >> GVM_CHUNK_SHIFT;

	gvm_mutex_assert_held(&run->range->lock);
	return &space->host[block][run->first_page];
}

/* The tags of a run's pages on the device. */
static u32 *race_pages(const struct gvm_page_run *run)
{
	return &race_gpu.contents[run->chunk][run->offset_pages + run->first_page];
}

static int race_copy_in(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	int status = race_copy_begins(run);

	(void)gpu;
	if (status)
		return status;
	memcpy(race_pages(run), race_host(run), run->page_count * sizeof(u32));
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.copies_in++;
	gvm_spin_unlock(&race_gpu.lock);
	fence->sequence[GVM_ENGINE_IN]++;
	return 0;
}

static int race_copy_out(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	int status = race_copy_begins(run);

	(void)gpu;
	if (status)
		return status;
	memcpy(race_host(run), race_pages(run), run->page_count * sizeof(u32));
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.copies_out++;
	fence->sequence[GVM_ENGINE_OUT] = ++race_gpu.out_sequence;
	gvm_spin_unlock(&race_gpu.lock);
	return 0;
}

static int race_clear(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	(void)gpu;
	race_part_begins(run);
	memset(race_pages(run), 0, run->page_count * sizeof(u32));
	fence->sequence[GVM_ENGINE_CLEAR]++;
	return 0;
}

static int race_fence_wait(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	race_sleep(20000);
	return 0;
}

static bool race_fence_passed(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	return race_gpu_roll(2);
}

/* Page tables. */

static void race_map_pages(void *gpu, void *cookie, u64 va, u32 chunk, u32 offset_pages,
			   u32 page_mask, enum gvm_access access)
{
	struct race_space *space = cookie;
	struct race_pte *pte = race_pte(space, va);

	(void)gpu;
	gvm_spin_lock(&space->lock);
	GVM_ASSERT(!pte->pages || (pte->chunk == chunk && pte->offset_pages == offset_pages));
	GVM_ASSERT(!(pte->remote & page_mask));
	pte->chunk = chunk;
	pte->offset_pages = offset_pages;
	pte->pages |= page_mask;
	pte->writable &= ~page_mask;
	pte->writable |= access >= GVM_ACCESS_WRITE ? page_mask : 0;
	gvm_spin_unlock(&space->lock);
}

static void race_unmap_pages(void *gpu, void *cookie, u64 va, u32 page_mask)
{
	struct race_space *space = cookie;

	(void)gpu;
	gvm_spin_lock(&space->lock);
	race_pte(space, va)->pages &= ~page_mask;
	race_pte(space, va)->writable &= ~page_mask;
	race_pte(space, va)->remote &= ~page_mask;
	gvm_spin_unlock(&space->lock);
}

/* One in 16 fails. Empty pages are zero. */
static int race_map_remote(void *gpu, struct gvm_range *range, u32 index, u32 page_mask,
			   u32 empty_mask)
{
	struct race_space *space = range->space;
	struct race_pte *pte = race_pte(space, race_va(range, index));
	u32 *host = space->host[pte - space->ptes];

	(void)gpu;
	gvm_mutex_assert_held(&range->lock);
	if (!race_gpu_roll(16))
		return -ENOMEM;
	gvm_spin_lock(&space->lock);
	GVM_ASSERT(!pte->pages && !(pte->remote & page_mask) && !(empty_mask & ~page_mask));
	for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++)
		if (empty_mask & 1u << page)
			host[page] = 0;
	pte->remote |= page_mask;
	gvm_spin_unlock(&space->lock);
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.remotes++;
	gvm_spin_unlock(&race_gpu.lock);
	return 0;
}

/* Faults. */

static bool race_has_faults(void)
{
	bool has;

	gvm_spin_lock(&race_gpu.lock);
	has = race_gpu.queued > 0;
	gvm_spin_unlock(&race_gpu.lock);
	return has;
}

static int race_wait_for_faults(void *gpu)
{
	(void)gpu;
	return gvm_wait_event_interruptible(&race_gpu.faulted, race_has_faults());
}

static u32 race_fetch(void *gpu, struct gvm_fault *faults, u32 most)
{
	u32 count;

	(void)gpu;
	gvm_spin_lock(&race_gpu.lock);
	count = min(most, race_gpu.queued);
	memcpy(faults, race_gpu.queue, count * sizeof(*faults));
	race_gpu.queued -= count;
	memmove(race_gpu.queue, race_gpu.queue + count,
		race_gpu.queued * sizeof(*race_gpu.queue));
	gvm_spin_unlock(&race_gpu.lock);
	return count;
}

static void race_service(void *memory, void *cookie, struct gvm_fault *faults, u32 count,
			 struct gvm_fence *fence)
{
	gvm_block_memory_ops.service(memory, cookie, faults, count, fence);
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.services++;
	gvm_spin_unlock(&race_gpu.lock);
}

/* The container exists as long as the range is open. */
static u8 race_space_priority(void *gpu, const void *cookie)
{
	struct race_space *space = (struct race_space *)cookie;
	u8 priority = 0;

	(void)gpu;
	gvm_spin_lock(&space->lock);
	if (space->open)
		priority = gvm_container_priority(space->ranges[0].container);
	gvm_spin_unlock(&space->lock);
	return priority;
}

static void race_cancel(void *gpu, const struct gvm_fault *fault)
{
	struct race_space *space = fault->space;

	(void)gpu;
	gvm_spin_lock(&space->lock);
	space->cancelled++;
	gvm_spin_unlock(&space->lock);
}

static int race_replay(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.replays++;
	gvm_spin_unlock(&race_gpu.lock);
	gvm_wake_up_all(&race_gpu.replayed);
	return 0;
}

static int race_hint(void *memory, u32 chunk)
{
	gvm_spin_lock(&race_gpu.lock);
	race_gpu.hints++;
	gvm_spin_unlock(&race_gpu.lock);
	return gvm_block_memory_ops.hint(memory, chunk);
}

static int race_evict(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	int status = gvm_block_memory_ops.evict(memory, chunk, eviction);

	gvm_spin_lock(&race_gpu.lock);
	race_gpu.partial_evictions += !status && eviction->left_bytes;
	gvm_spin_unlock(&race_gpu.lock);
	return status;
}

static bool race_evictable(void *memory, u32 chunk)
{
	gvm_spin_assert_held(&race_gpu.device.lock);
	return gvm_block_memory_ops.evictable(memory, chunk);
}

/* RPCs: one at a time. One in 16 fails, half of them with -ENODEV: the TSG is gone. */
static int race_rpc(void)
{
	u32 chance = race_gpu_roll(32);

	gvm_mutex_assert_held(&race_gpu.device.tsg_mutex);
	race_gpu.rpcs++;
	if (chance % 8 == 0)
		race_sleep(1000 * (1 + chance));
	return chance == 1 ? -EIO : chance == 3 ? -ENODEV : 0;
}

static int race_tsg_set_timeslice(void *gpu, u32 tsg, u64 timeslice_us)
{
	(void)gpu;
	(void)tsg;
	GVM_ASSERT(timeslice_us >= GVM_TIMESLICE_MIN_US &&
		   timeslice_us <= GVM_TIMESLICE_MAX_US);
	return race_rpc();
}

static int race_tsgs_move(const u32 *tsgs, u32 count, bool disable)
{
	int status = race_rpc();
	u32 i;

	for (i = 0; i < count && status != -EIO; i++)
		race_gpu.tsg_disabled[tsgs[i]] = disable;
	return status;
}

static int race_tsgs_disable(void *gpu, const u32 *tsgs, u32 count, bool preempt)
{
	(void)gpu;
	(void)preempt;
	return race_tsgs_move(tsgs, count, true);
}

static int race_tsgs_enable(void *gpu, const u32 *tsgs, u32 count)
{
	(void)gpu;
	return race_tsgs_move(tsgs, count, false);
}

/* A TSG on the runlist could return to the GPU at once, so preemption needs a disabled TSG. */
static int race_tsg_preempt(void *gpu, u32 tsg)
{
	(void)gpu;
	GVM_ASSERT(race_gpu.tsg_disabled[tsg]);
	return race_rpc();
}

/*
 * A random state: busy or not, on the GPU or not, and a runtime of one millisecond more or
 * none.
 */
static void race_tsg_sample(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample)
{
	u32 chance = race_gpu_roll(64);

	(void)gpu;
	(void)tsg;
	ret_sample->busy = chance & 1;
	ret_sample->on_gpu = chance < 8;
	ret_sample->runtime_ns += chance & 4 ? 1000000 : 0;
}

/* The TSG of an address space has its number. */
static u64 race_tsg_accesses(void *gpu, u32 tsg)
{
	struct race_space *space = &race_gpu.spaces[tsg];
	u64 accesses;

	(void)gpu;
	gvm_spin_lock(&space->lock);
	accesses = space->accesses;
	gvm_spin_unlock(&space->lock);
	return accesses;
}

void race_new_tsg(u32 id)
{
	gvm_mutex_lock(&race_gpu.device.tsg_mutex);
	race_gpu.tsg_disabled[id] = false;
	gvm_mutex_unlock(&race_gpu.device.tsg_mutex);
}

static const struct gvm_gpu_ops race_gpu_ops = {
	.fetch_faults = race_fetch,
	.space_priority = race_space_priority,
	.cancel_fault = race_cancel,
	.flush_and_replay = race_replay,
	.wait_for_faults = race_wait_for_faults,
	.tsg_set_timeslice = race_tsg_set_timeslice,
	.tsgs_disable = race_tsgs_disable,
	.tsgs_enable = race_tsgs_enable,
	.tsg_sample = race_tsg_sample,
	.tsg_preempt = race_tsg_preempt,
	.tsg_accesses = race_tsg_accesses,
};

static const struct gvm_mmu_ops race_mmu_ops = {
	.chunk_alloc = race_chunk_alloc,
	.chunk_free = race_chunk_free,
	.copy_in = race_copy_in,
	.copy_out = race_copy_out,
	.clear = race_clear,
	.fence_wait = race_fence_wait,
	.fence_passed = race_fence_passed,
	.map = race_map_pages,
	.unmap = race_unmap_pages,
	.map_remote = race_map_remote,
};

int race_gpu_init(u64 seed, u32 features)
{
	struct gvm_device_config config = {
		.name = "race",
		.chunk_count = RACE_CHUNKS,
		.ops = &race_gpu_ops,
		.memory_ops = &race_gpu.memory_ops,
		.memory = &race_gpu.memory,
		.sub_chunks = seed % 2,
		.default_timeslice_us = 1000,
		.features = features,
	};
	int status;
	u32 i;

	memset(&race_gpu, 0, sizeof(race_gpu));
	/* The block layer, with counters and assertions around it. */
	race_gpu.memory_ops = gvm_block_memory_ops;
	race_gpu.memory_ops.service = race_service;
	race_gpu.memory_ops.evict = race_evict;
	race_gpu.memory_ops.hint = race_hint;
	race_gpu.memory_ops.evictable = race_evictable;
	race_gpu.dice.state = seed;
	gvm_spin_init(&race_gpu.lock, "race gpu");
	gvm_waitqueue_init(&race_gpu.faulted);
	gvm_waitqueue_init(&race_gpu.replayed);
	gvm_waitqueue_init(&race_gpu.nowhere);
	for (i = 0; i < RACE_CHUNKS; i++)
		race_gpu.free[race_gpu.free_count++] = i;
	for (i = 0; i < RACE_SPACES; i++)
		gvm_spin_init(&race_gpu.spaces[i].lock, "race space");
	status = gvm_device_init(&race_gpu.device, &config);
	if (!status)
		status = gvm_memory_init(&race_gpu.memory, &race_gpu.device, &race_mmu_ops,
					 NULL);
	return status ? status : gvm_fault_handler_start(&race_gpu.handler, &race_gpu.device);
}

void race_gpu_destroy(void)
{
	gvm_fault_handler_stop(&race_gpu.handler);
	GVM_ASSERT(gvm_check(&race_gpu.device) == 0);
	GVM_ASSERT(race_gpu.free_count == RACE_CHUNKS);
	gvm_memory_destroy(&race_gpu.memory);
	gvm_device_destroy(&race_gpu.device);
}
