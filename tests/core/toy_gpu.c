// SPDX-License-Identifier: MIT OR GPL-2.0
#include "toy_gpu.h"

#include "gvm/control.h"

struct toy toy;

static void toy_log(enum toy_call_kind kind, u32 chunk, u32 first, u32 count)
{
	if (toy.call_count < ARRAY_SIZE(toy.calls))
		toy.calls[toy.call_count++] = (struct toy_call){ kind, chunk, first, count };
	toy.kinds[kind]++;
	toy.pages[kind] += count;
}

static u32 toy_fetch(void *gpu, struct gvm_fault *faults, u32 most)
{
	u32 count = min(most, toy.script_length - toy.script_next);

	(void)gpu;
	memcpy(faults, toy.script + toy.script_next, count * sizeof(*faults));
	toy.script_next += count;
	return count;
}

static void toy_service(void *memory, void *space, struct gvm_fault *faults, u32 count,
			struct gvm_fence *fence)
{
	toy.services++;
	for (u32 i = 1; i < count; i++)
		ck_assert(faults[i - 1].va < faults[i].va);
	gvm_block_memory_ops.service(memory, space, faults, count, fence);
	toy.fence = *fence;
}

static u8 toy_space_priority(void *gpu, const void *space)
{
	const struct toy_space *me = space;

	(void)gpu;
	return me->priority;
}

/* No TSG dies here. A cancelled fault counts as a death, once for each batch and space. */
static void toy_cancel(void *gpu, const struct gvm_fault *fault)
{
	struct toy_space *me = fault->space;

	(void)gpu;
	if (me->mapped && me->died_in != toy.handler.stats.batches)
		gvm_container_count_death(me->range.container, fault->status);
	me->died_in = toy.handler.stats.batches;
	toy_log(TOY_CANCEL, (u32)((fault->va - TOY_VA) >> GVM_PAGE_SHIFT), 0, 0);
}

static int toy_replay(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	toy_log(TOY_REPLAY, 0, 0, 0);
	return toy.replay_error;
}

static bool toy_evictable(void *memory, u32 chunk)
{
	toy.looks++;
	if (toy.refuse_looks) {
		toy.refuse_looks--;
		return false;
	}
	return gvm_block_memory_ops.evictable(memory, chunk);
}

static int toy_evict(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	if (toy.on_evict)
		toy.on_evict(chunk);
	return gvm_block_memory_ops.evict(memory, chunk, eviction);
}

static u64 toy_accesses(void *gpu, u32 tsg)
{
	(void)gpu;
	(void)tsg;
	return toy.accesses;
}

static const struct gvm_gpu_ops toy_gpu_ops = {
	.tsg_accesses = toy_accesses,
	.fetch_faults = toy_fetch,
	.space_priority = toy_space_priority,
	.cancel_fault = toy_cancel,
	.flush_and_replay = toy_replay,
};

static int toy_chunk_alloc(void *gpu, u32 *ret_chunk)
{
	(void)gpu;
	if (toy.refuse_alloc) {
		toy.refuse_alloc--;
		return -ENOMEM;
	}
	if (!toy.free_count)
		return -ENOMEM;
	*ret_chunk = toy.free[toy.free_first];
	toy.free_first = (toy.free_first + 1) % toy.device.chunk_count;
	toy.free_count--;
	return 0;
}

static void toy_chunk_free(void *gpu, u32 chunk)
{
	(void)gpu;
	ck_assert_uint_lt(toy.free_count, toy.device.chunk_count);
	toy_log(TOY_FREE, chunk, 0, 0);
	toy.free[(toy.free_first + toy.free_count++) % toy.device.chunk_count] = chunk;
}

static bool toy_is_locked(const struct gvm_mutex *lock)
{
#ifdef __KERNEL__
	return mutex_is_locked((struct mutex *)&lock->mutex);
#else
	return lock->held;
#endif
}

static void toy_count_locks(void)
{
	u32 locked = 0, i;

	for (i = 0; i < TOY_RANGES_MAX; i++)
		locked += toy.spaces[i].mapped && toy_is_locked(&toy.spaces[i].range.lock);
	toy.locks_most = max(toy.locks_most, locked);
}

/* The host's tags of the pages of a run. The block's lock is held. */
static u32 *toy_host(const struct gvm_page_run *run)
{
	struct toy_space *space = run->range->space;
	u64 block = ((run->range->va - TOY_VA) >> GVM_CHUNK_SHIFT) + run->index;

	ck_assert(toy_is_locked(&run->range->lock));
	toy_count_locks();
	return &space->host[block][run->first_page];
}

/* The tags of a run's pages on the device. */
static u32 *toy_pages(const struct gvm_page_run *run)
{
	u32 first = run->offset_pages + run->first_page;

	ck_assert_uint_le(first + run->page_count, GVM_PAGES_PER_BLOCK);
	return &toy.contents[run->chunk][first];
}

static int toy_copy_in(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	(void)gpu;
	if (toy.kinds[TOY_COPY] + 1 == toy.fail_copy) {
		toy.fail_copy = 0;
		return toy.copy_error ? toy.copy_error : -EIO;
	}
	memcpy(toy_pages(run), toy_host(run), run->page_count * sizeof(u32));
	fence->sequence[GVM_ENGINE_IN]++;
	toy_log(TOY_COPY, run->chunk, run->first_page, run->page_count);
	return 0;
}

static int toy_copy_out(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	(void)gpu;
	if (toy.fail_out == U32_MAX || toy.kinds[TOY_OUT] + 1 == toy.fail_out) {
		toy.fail_out = toy.fail_out == U32_MAX ? U32_MAX : 0;
		return toy.out_error ? toy.out_error : -EIO;
	}
	memcpy(toy_host(run), toy_pages(run), run->page_count * sizeof(u32));
	fence->sequence[GVM_ENGINE_OUT] = ++toy.out_sequence;
	toy_log(TOY_OUT, run->chunk, run->first_page, run->page_count);
	return 0;
}

static int toy_clear(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	(void)gpu;
	memset(toy_pages(run), 0, run->page_count * sizeof(u32));
	fence->sequence[GVM_ENGINE_CLEAR]++;
	toy_log(TOY_CLEAR, run->chunk, run->first_page, run->page_count);
	return 0;
}

static int toy_fence_wait(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	toy.host_waits++;
	return toy.wait_error;
}

static bool toy_fence_passed(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	return !toy.out_in_flight || !fence->sequence[GVM_ENGINE_OUT];
}

static void toy_map(void *gpu, void *space, u64 va, u32 chunk, u32 offset_pages, u32 page_mask,
		    enum gvm_access access)
{
	struct toy_space *me = space;
	u64 block = (va - TOY_VA) >> GVM_CHUNK_SHIFT;

	(void)gpu;
	me->readable[block] |= page_mask;
	me->writable[block] &= ~page_mask;
	me->writable[block] |= access >= GVM_ACCESS_WRITE ? page_mask : 0;
	me->chunk[block] = chunk;
	me->offset_pages[block] = offset_pages;
	toy_log(TOY_MAP, chunk, 0, hweight32(page_mask));
}

static void toy_unmap(void *gpu, void *space, u64 va, u32 page_mask)
{
	struct toy_space *me = space;
	u64 block = (va - TOY_VA) >> GVM_CHUNK_SHIFT;

	(void)gpu;
	me->readable[block] &= ~page_mask;
	me->writable[block] &= ~page_mask;
	me->remote[block] &= ~page_mask;
	toy_log(TOY_UNMAP, 0, 0, hweight32(page_mask));
}

static int toy_map_remote(void *gpu, struct gvm_range *range, u32 index, u32 page_mask,
			  u32 empty_mask)
{
	struct toy_space *me = range->space;

	(void)gpu;
	ck_assert(toy_is_locked(&range->lock));
	ck_assert_uint_eq(me->readable[index] & page_mask, 0);
	if (toy.fail_remote)
		return toy.fail_remote;
	me->readable[index] |= page_mask;
	me->writable[index] |= page_mask;
	me->remote[index] |= page_mask;
	for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++)
		if (empty_mask & (1u << page))
			me->host[index][page] = 0;
	return 0;
}

static const struct gvm_mmu_ops toy_mmu_ops = {
	.map_remote = toy_map_remote,
	.chunk_alloc = toy_chunk_alloc,
	.chunk_free = toy_chunk_free,
	.copy_in = toy_copy_in,
	.copy_out = toy_copy_out,
	.clear = toy_clear,
	.fence_wait = toy_fence_wait,
	.fence_passed = toy_fence_passed,
	.map = toy_map,
	.unmap = toy_unmap,
};

void toy_init(u32 chunks)
{
	toy_init_with(chunks, 0);
}

static void toy_make(u32 chunks, u32 features, bool sub_chunks)
{
	struct gvm_device_config config = {
		.name = "toy",
		.chunk_count = chunks,
		.ops = &toy_gpu_ops,
		.memory_ops = &toy.memory_ops,
		.memory = &toy.memory,
		.default_timeslice_us = 1024,
		.features = features,
		.sub_chunks = sub_chunks,
	};

	ck_assert_uint_le(chunks, TOY_CHUNKS_MAX);
	memset(&toy, 0, sizeof(toy));
	toy.handler.device = &toy.device;
	/* The block layer, with counters around it. */
	toy.memory_ops = gvm_block_memory_ops;
	toy.memory_ops.service = toy_service;
	toy.memory_ops.evictable = toy_evictable;
	toy.memory_ops.evict = toy_evict;
	toy.mmu_ops = toy_mmu_ops;
	for (; toy.free_count < chunks; toy.free_count++)
		toy.free[toy.free_count] = toy.free_count;
	/* Contents that an earlier owner could have left. */
	memset(toy.contents, 0x5a, sizeof(toy.contents));
	ck_assert_int_eq(gvm_device_init(&toy.device, &config), 0);
	ck_assert_int_eq(gvm_memory_init(&toy.memory, &toy.device, &toy.mmu_ops, NULL), 0);
}

void toy_init_with(u32 chunks, u32 features)
{
	toy_make(chunks, features, false);
}

void toy_init_parts(u32 chunks, u32 features)
{
	toy_make(chunks, features, true);
}

void toy_destroy(void)
{
	ck_assert_uint_eq(toy.device.bound_chunks, 0);
	ck_assert_uint_eq(toy.free_count, toy.device.chunk_count);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_memory_destroy(&toy.memory);
	gvm_device_destroy(&toy.device);
}

struct gvm_container *toy_attach(u32 tgid)
{
	struct gvm_container *container;

	ck_assert_int_eq(gvm_container_attach(&toy.device, tgid, &container), 0);
	return container;
}

struct gvm_range *toy_map_range(u32 space, struct gvm_container *container, u64 bytes,
				bool on_host)
{
	struct toy_space *me = &toy.spaces[space];
	struct gvm_range_config config = {
		.container = container,
		.space = me,
		.va = TOY_VA,
		.bytes = bytes,
		.on_host = on_host,
		.stats = &toy.stats,
	};

	ck_assert(!me->mapped);
	memset(me->host, 0, sizeof(me->host));
	ck_assert_int_eq(gvm_range_init(&toy.memory, &me->range, &config), 0);
	ck_assert_uint_le(me->range.block_count, TOY_BLOCKS_MAX);
	me->mapped = true;
	return &me->range;
}

void toy_unmap_range(u32 space)
{
	ck_assert(toy.spaces[space].mapped);
	gvm_range_destroy(&toy.spaces[space].range);
	toy.spaces[space].mapped = false;
}

void toy_unmap_all(void)
{
	u32 space;

	for (space = 0; space < TOY_RANGES_MAX; space++)
		if (toy.spaces[space].mapped)
			toy_unmap_range(space);
}

void toy_write_file(struct gvm_container *container, const char *file, const char *text)
{
	ck_assert_int_eq(gvm_control_write(container, file, text, strlen(text)), 0);
}

void toy_fault(u32 space, u64 page, enum gvm_access access)
{
	ck_assert_uint_lt(toy.script_length, ARRAY_SIZE(toy.script));
	toy.script[toy.script_length++] = (struct gvm_fault){
		.space = &toy.spaces[space],
		.va = TOY_VA + (page << GVM_PAGE_SHIFT),
		.tsg = 1,
		.access = (u8)access,
	};
}

void toy_service_all(void)
{
	while (toy.script_next < toy.script_length)
		ck_assert_int_gt(gvm_fault_service(&toy.handler), 0);
	toy.script_next = 0;
	toy.script_length = 0;
}

/* Find the page if its PTE permits the access. NULL: the access faults. */
static u32 *toy_find(u32 space, u64 page, enum gvm_access access)
{
	struct toy_space *me = &toy.spaces[space];
	u64 block = page / GVM_PAGES_PER_BLOCK;
	u32 in_block = (u32)(page % GVM_PAGES_PER_BLOCK);
	u32 mapped = access >= GVM_ACCESS_WRITE ? me->writable[block] : me->readable[block];

	if (!(mapped & (1u << in_block)))
		return NULL;
	if (me->remote[block] & (1u << in_block))
		return &me->host[block][in_block];
	return &toy.contents[me->chunk[block]][me->offset_pages[block] + in_block];
}

static u32 *toy_access(u32 space, u64 page, enum gvm_access access)
{
	u64 cancelled = toy.handler.stats.cancelled;
	u32 tries;

	for (tries = 0; tries < 3 && !toy_find(space, page, access); tries++) {
		toy_fault(space, page, access);
		toy_service_all();
		if (toy.handler.stats.cancelled > cancelled)
			return NULL;
	}
	ck_assert_ptr_nonnull(toy_find(space, page, access));
	toy.accesses++;
	return toy_find(space, page, access);
}

u32 toy_store_together(u32 space, u32 first, u32 count, u32 tag)
{
	u64 cancelled = toy.handler.stats.cancelled;

	for (u32 replays = 1; replays < TOY_REPLAYS_MAX; replays++) {
		u32 missing = 0;

		for (u32 i = first; i < first + count; i++) {
			if (toy_find(space, GVM_PAGES_PER_BLOCK * i, GVM_ACCESS_WRITE))
				continue;
			toy_fault(space, GVM_PAGES_PER_BLOCK * i, GVM_ACCESS_WRITE);
			missing++;
		}
		if (!missing) {
			for (u32 i = first; i < first + count; i++)
				*toy_find(space, GVM_PAGES_PER_BLOCK * i, GVM_ACCESS_WRITE) =
					tag + i;
			toy.accesses++;
			return replays;
		}
		toy_service_all();
		if (toy.handler.stats.cancelled > cancelled)
			return 0;
	}
	return TOY_REPLAYS_MAX;
}

bool toy_store(u32 space, u64 page, u32 tag)
{
	u32 *place = toy_access(space, page, GVM_ACCESS_WRITE);

	if (place)
		*place = tag;
	return place;
}

bool toy_load(u32 space, u64 page, u32 tag)
{
	const u32 *place = toy_access(space, page, GVM_ACCESS_READ);

	if (place)
		ck_assert_uint_eq(*place, tag);
	return place;
}

void toy_store_blocks(u32 space, u32 first, u32 count)
{
	u32 i;

	for (i = first; i < first + count; i++)
		ck_assert(toy_store(space, GVM_PAGES_PER_BLOCK * i, 1000 * (space + 1) + i));
}

void toy_load_blocks(u32 space, u32 first, u32 count)
{
	u32 i;

	for (i = first; i < first + count; i++)
		ck_assert(toy_load(space, GVM_PAGES_PER_BLOCK * i, 1000 * (space + 1) + i));
}

void toy_fill(u32 space, struct gvm_container *container, u32 blocks)
{
	toy_map_range(space, container, (u64)blocks * GVM_CHUNK_BYTES, false);
	toy_store_blocks(space, 0, blocks);
}

bool toy_on_device(u32 space, u32 block)
{
	return toy.spaces[space].range.blocks[block].resident != 0;
}

void toy_kill(void)
{
#ifndef __KERNEL__
	eng_stop();
#endif
}

void toy_expect_call(u32 index, enum toy_call_kind kind, u32 chunk, u32 first, u32 count)
{
	ck_assert_uint_lt(index, toy.call_count);
	ck_assert_int_eq(toy.calls[index].kind, kind);
	ck_assert_uint_eq(toy.calls[index].chunk, chunk);
	ck_assert_uint_eq(toy.calls[index].first, first);
	ck_assert_uint_eq(toy.calls[index].count, count);
}
