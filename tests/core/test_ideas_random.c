// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Random lives of four address spaces of two containers on a GPU that is too small for them.
 * All features of the core are on at once: limits on both memories, clean drop, hint faults,
 * priority batches, unevictable memory, discards and listeners. Evictions fail, and other
 * things happen in the middle of an eviction. Every byte is compared, and PTEs and books are
 * checked after each step.
 */
#include "gvm/clock.h"
#include "gvm/hint.h"
#include "gvm/lirs.h"
#include "gvm/predictor.h"
#include "gvm/pressure.h"
#include "gvm/shield.h"
#include "gvm/swap.h"
#include "draw.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES
#define PAGE  GVM_PAGE_BYTES

enum { TENANTS = 2, SPACES = 4, BLOCKS = 10, STEPS = 10000, CHUNKS = 12, TRIES = 3 };

#define PAGES	 (BLOCKS * GVM_PAGES_PER_BLOCK)
#define FEATURES (GVM_CLEAN_DROP | GVM_HINT_FAULTS | GVM_PRIORITY_BATCHES)

/* A container, and the state that shows whether its limit on the host holds. */
static struct tenant {
	struct gvm_container *container;
	struct gvm_unevictable pinned;
	struct gvm_listener listener;
	u64 swap_most; /* hmem.limit; after a cut, the larger host memory before it */
} tenants[TENANTS];

static u64 random_state;
static u32 tags[SPACES][PAGES];
static u32 busy_space, busy_block; /* block of the access under way; space SPACES: none */
static struct {
	u64 hints, prefetched, freed, pinned, refused, events, stuck, meanwhile;
} seen;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

static struct tenant *tenant_of(u32 space)
{
	return &tenants[space % TENANTS];
}

static void map_space(u32 space)
{
	u32 page;

	toy_map_range(space, tenant_of(space)->container, BLOCKS * CHUNK, true);
	for (page = 0; page < PAGES; page++) {
		tags[space][page] = draw(U32_MAX);
		toy.spaces[space].host[page / 32][page % 32] = tags[space][page];
	}
}

static void begin_tenant(struct tenant *tenant)
{
	u32 index = (u32)(tenant - tenants), space;

	tenant->container = toy_attach(1 + index);
	tenant->swap_most = GVM_NO_LIMIT;
	gvm_unevictable_init(&tenant->pinned, tenant->container);
	for (space = index; space < SPACES; space += TENANTS)
		map_space(space);
}

static void end_tenant(struct tenant *tenant)
{
	struct gvm_container *container = tenant->container;
	u32 space;

	for (space = (u32)(tenant - tenants); space < SPACES; space += TENANTS)
		toy_unmap_range(space);
	gvm_unevictable_release(&toy.memory, &tenant->pinned);
	ck_assert_uint_eq((container->charged_bytes >> GVM_CHUNK_SHIFT), 0);
	ck_assert_uint_eq(container->swapped_bytes, 0);
	ck_assert_uint_eq(container->clean_bytes, 0);
	ck_assert_uint_eq((container->evicting_bytes >> GVM_CHUNK_SHIFT), 0);
	gvm_container_detach(container);
	gvm_listener_close(&tenant->listener);
}

/* The sums over the masks of a tenant's blocks, in pages; chunks are counted whole. */
struct sums {
	u64 clean, swapped, chunks;
};

/*
 * The masks agree with each other and with the PTEs, and the PTEs permit no write that would be
 * lost.
 */
static bool block_is_right(const struct toy_space *me, u32 index)
{
	const struct gvm_block *block = &me->range.blocks[index];

	return block->clean == (block->resident & block->on_host) &&
	       !(block->hinted & ~block->resident) && !(block->swapped & ~block->on_host) &&
	       !(block->swapped & block->resident) &&
	       me->readable[index] == (block->resident & ~block->hinted) &&
	       me->writable[index] == (me->readable[index] & ~block->clean) &&
	       (block->chunk != GVM_NO_CHUNK || !block->resident);
}

/* The counters equal the sums of the masks. */
static void check_space(const struct toy_space *me, struct sums *sums)
{
	u64 clean = 0, hinted = 0, resident = 0;
	bool right = true;
	u32 i;

	for (i = 0; i < BLOCKS; i++) {
		const struct gvm_block *block = &me->range.blocks[i];

		right &= block_is_right(me, i);
		clean += hweight32(block->clean);
		hinted += hweight32(block->hinted);
		resident += hweight32(block->resident);
		sums->swapped += hweight32(block->swapped);
		sums->chunks += block->chunk != GVM_NO_CHUNK;
	}
	ck_assert(right);
	ck_assert_uint_eq(me->range.clean_pages, clean);
	ck_assert_uint_eq(me->range.hinted_pages, hinted);
	ck_assert_uint_eq(me->range.resident_pages, resident);
	sums->clean += clean;
}

static void check_tenant(struct tenant *tenant)
{
	const struct gvm_container *container = tenant->container;
	struct sums sums = { 0 };
	u32 space;

	for (space = (u32)(tenant - tenants); space < SPACES; space += TENANTS)
		check_space(&toy.spaces[space], &sums);
	ck_assert_uint_eq(container->clean_bytes, sums.clean * PAGE);
	ck_assert_uint_eq(container->swapped_bytes, sums.swapped * PAGE);
	ck_assert_uint_eq((container->unevictable_bytes >> GVM_CHUNK_SHIFT),
			  tenant->pinned.chunks);
	ck_assert_uint_eq((container->charged_bytes >> GVM_CHUNK_SHIFT),
			  sums.chunks + tenant->pinned.chunks);
	/* Between two steps, no charge and no eviction is under way. */
	ck_assert_uint_eq((container->reserved_bytes >> GVM_CHUNK_SHIFT), 0);
	ck_assert_uint_eq((container->evicting_bytes >> GVM_CHUNK_SHIFT), 0);
	ck_assert_uint_le(container->swapped_bytes + container->clean_bytes, tenant->swap_most);
	tenant->swap_most = max(container->hmem_limit_bytes,
				container->swapped_bytes + container->clean_bytes);
}

static void check_books(void)
{
	u32 in_service = 0, i;

	for (i = 0; i < TENANTS; i++)
		check_tenant(&tenants[i]);
	ck_assert_uint_eq(toy.device.bound_chunks +
				  (toy.device.unevictable_bytes >> GVM_CHUNK_SHIFT) +
				  toy.free_count,
			  CHUNKS);
	for (i = 0; i < CHUNKS; i++)
		in_service += !gvm_block_evictable(&toy.memory, i);
	ck_assert_uint_eq(in_service, 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
}

/* A hint as an evictor makes it. No evictor thread runs here. */
static void hint(struct gvm_container *container)
{
	u32 chunk = toy.device.lirs ? gvm_lirs_next(&toy.device, container) :
				      gvm_hint_next(&toy.device, container);

	if (chunk == GVM_NO_CHUNK)
		return;
	ck_assert(!toy.device.chunks[chunk].owner->is_swap_full);
	ck_assert(toy.device.memory_ops->hint(&toy.memory, chunk) != -ENOENT);
	seen.hints++;
}

/* The work of the prefetcher. No thread of it runs here. */
static void bring_blocks(struct gvm_container *container)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];
	u32 count, i;

	gvm_predictor_end_turn(container);
	/* Random accesses have no order: predictions would never be trusted. */
	container->turn.right = 200;
	container->turn.wrong = 0;
	container->turn.budget = 100;
	count = gvm_predictor_next(container, 1 + draw(20), blocks, GVM_PREFETCH_BATCH);
	for (i = 0; i < count; i++)
		blocks[i].probe = !draw(3);
	(void)toy.device.memory_ops->prefetch(&toy.memory, container, blocks, count);
	gvm_predictor_expect(container, blocks, count);
	for (i = 0; i < count; i++)
		seen.prefetched += blocks[i].done;
}

/* The work of an evictor ahead of need. */
static void evict_ahead(void)
{
	struct gvm_eviction eviction = { 0 };
	u32 chunk;

	gvm_pressure_post_device(&toy.device, CHUNK);
	gvm_clock_refill_stash(&toy.device, draw(20));
	chunk = gvm_clock_pick_global(&toy.device);
	if (chunk != GVM_NO_CHUNK)
		(void)toy.device.memory_ops->evict(&toy.memory, chunk, &eviction);
}

/* Discard two blocks, or up to 40 pages. A block in service stays. */
static void discard(u32 space)
{
	struct gvm_range *range = &toy.spaces[space].range;
	bool whole = draw(2);
	u32 first = whole ? 32 * draw(BLOCKS - 1) : draw(PAGES), page;
	u32 count = whole ? 64 : min(1 + draw(40), PAGES - first);
	u64 before = range->container->charged_bytes;
	u64 freed;

	if (space == busy_space && first / 32 <= busy_block &&
	    busy_block <= (first + count - 1) / 32)
		return;
	for (page = first; page < first + count; page++) {
		const struct gvm_block *block = &range->blocks[page / 32];

		if (block->chunk == GVM_NO_CHUNK || !gvm_block_in_service(&toy.memory, block))
			tags[space][page] = 0;
	}
	freed = gvm_range_discard(range, first * PAGE, count * PAGE);
	ck_assert_uint_eq(freed, before - range->container->charged_bytes);
	seen.freed += freed / CHUNK;
}

static void set_hmem(struct tenant *tenant)
{
	u64 bytes = draw(3) ? draw(40) * CHUNK + draw(32) * PAGE : GVM_NO_LIMIT;

	/* A chunk that is being evicted has its place on the host already. */
	tenant->swap_most = max(bytes, gvm_container_host_bytes(tenant->container));
	gvm_limit_set_hmem(tenant->container, bytes);
}

static void listen_or_not(struct tenant *tenant)
{
	struct gvm_pressure_event event;

	if (!tenant->listener.container) {
		ck_assert_int_eq(gvm_listener_open(&tenant->listener, tenant->container), 0);
	} else if (!draw(4)) {
		gvm_listener_close(&tenant->listener);
	} else if (gvm_listener_read(&tenant->listener, &event, sizeof(event), false) > 0) {
		ck_assert_uint_gt(event.target_bytes, 0);
		seen.events++;
	}
}

/* Pin up to a quarter of the device, then release all of it. */
static void pin_or_not(struct tenant *tenant)
{
	if (tenant->pinned.chunks >= CHUNKS / 4) {
		gvm_unevictable_release(&toy.memory, &tenant->pinned);
		gvm_unevictable_init(&tenant->pinned, tenant->container);
		return;
	}
	if (gvm_unevictable_add(&toy.memory, &tenant->pinned, 1 + draw(2 * (u32)CHUNK)))
		seen.refused++;
	seen.pinned++;
}

/* Changes that need no room on the device: they can happen at any time. */
static void change_something(void)
{
	struct tenant *tenant = &tenants[draw(TENANTS)];

	switch (draw(8)) {
	case 0:
		set_hmem(tenant);
		break;
	case 1:
		gvm_limit_set_low(tenant->container, draw(3) ? 0 : draw(CHUNKS) * CHUNK);
		break;
	case 2:
		gvm_limit_set_high(tenant->container, (1 + draw(16)) * CHUNK);
		break;
	case 3:
		listen_or_not(tenant);
		break;
	case 4:
		hint(draw(2) ? tenant->container : NULL);
		break;
	default:
		discard(draw(SPACES));
	}
}

/* While a victim is about to be evicted, the other tenants go on. */
static void meanwhile(u32 chunk)
{
	u32 space = draw(SPACES);

	(void)chunk;
	if (draw(4))
		return;
	seen.meanwhile++;
	if (draw(16)) {
		change_something();
	} else if (busy_space < SPACES && space != busy_space) {
		toy_unmap_range(space);
		map_space(space);
	}
}

/* A fault may be cancelled: an eviction failed, or neither the device nor the host has room. */
static void access_page(u32 space, u32 page, bool write)
{
	u32 tag = write ? draw(U32_MAX) : tags[space][page], tries;
	bool done = false;

	busy_space = space;
	busy_block = page / 32;
	for (tries = 0; tries < TRIES && !done; tries++)
		done = write ? toy_store(space, page, tag) : toy_load(space, page, tag);
	busy_space = SPACES;
	if (done)
		tags[space][page] = tag;
	seen.stuck += !done;
}

/* Faults of all address spaces, in one batch. */
static void service_batch(void)
{
	u32 count = 1 + draw(24);

	while (count--)
		toy_fault(draw(SPACES), draw(PAGES),
			  draw(3) ? GVM_ACCESS_READ : GVM_ACCESS_WRITE);
	toy.spaces[draw(SPACES)].priority = (u8)draw(3);
	toy_service_all();
}

/* The container ends, and a new one gets its tgid. */
static void restart_tenant(struct tenant *tenant)
{
	end_tenant(tenant);
	begin_tenant(tenant);
}

static void random_step(void)
{
	u32 space = draw(SPACES), page = draw(PAGES);

	if (toy.device.predictor && !draw(4))
		bring_blocks(tenant_of(space)->container);
	switch (draw(56)) {
	case 0:
		toy_unmap_range(space);
		map_space(space);
		break;
	case 1:
		toy.fail_out = (u32)toy.kinds[TOY_OUT] + 1 + draw(3);
		break;
	case 2:
		toy.fail_copy = (u32)toy.kinds[TOY_COPY] + 1 + draw(3);
		break;
	case 3:
		gvm_reclaim(tenant_of(space)->container);
		break;
	case 4:
		pin_or_not(tenant_of(space));
		break;
	case 5:
		if (!draw(8))
			restart_tenant(tenant_of(space));
		break;
	case 6 ... 7:
		evict_ahead();
		break;
	case 8 ... 16:
		hint(draw(2) ? tenant_of(space)->container : NULL);
		break;
	case 17 ... 21:
		change_something();
		break;
	case 22 ... 25:
		service_batch();
		break;
	default:
		access_page(space, page, !draw(4));
	}
}

static void run_everything(u32 features)
{
	u32 step, i;

	random_state = runner_seed();
	/* In the kernel, all tests of this file share it. */
	memset(&seen, 0, sizeof(seen));
	toy_init_with(CHUNKS, features);
	toy.on_evict = meanwhile;
	busy_space = SPACES;
	for (i = 0; i < TENANTS; i++)
		begin_tenant(&tenants[i]);
	for (step = 0; step < STEPS; step++) {
		random_step();
		check_books();
	}
	for (i = 0; i < TENANTS; i++)
		end_tenant(&tenants[i]);
	printf("hints %llu, prefetched %llu, freed %llu, pinned %llu (refused %llu), events "
	       "%llu, no room %llu, "
	       "meanwhile %llu, out %llu, in %llu\n",
	       seen.hints, seen.prefetched, seen.freed, seen.pinned, seen.refused, seen.events,
	       seen.stuck, seen.meanwhile, toy.pages[TOY_OUT], toy.pages[TOY_COPY]);
	/* The run was hard enough: each kind of event happened often. */
	ck_assert_uint_gt(seen.hints, STEPS / 64);
	ck_assert_uint_gt(seen.freed, STEPS / 128);
	ck_assert_uint_gt(seen.pinned - seen.refused, STEPS / 256);
	ck_assert_uint_gt(seen.events, STEPS / 512);
	ck_assert_uint_gt(seen.meanwhile, STEPS / 64);
	ck_assert_uint_gt(toy.pages[TOY_OUT], STEPS);
	ck_assert_uint_lt(seen.stuck, STEPS / 3);
	ck_assert(!(features & GVM_OWNER_PREFETCH) || seen.prefetched > STEPS / 128);
	toy_destroy();
}

START_TEST(no_byte_is_lost_in_random_runs_of_everything)
{
	run_everything(FEATURES);
}
END_TEST

/* The other order of eviction. Its zone and window are checked after each step, too. */
START_TEST(no_byte_is_lost_in_random_runs_with_lirs)
{
	run_everything(FEATURES | GVM_LIRS);
}
END_TEST

/* Blocks come ahead of their faults, in the middle of all this. */
START_TEST(no_byte_is_lost_in_random_runs_with_prefetch)
{
	run_everything(FEATURES | GVM_OWNER_PREFETCH);
}
END_TEST

TEST_MAIN("ideas random", no_byte_is_lost_in_random_runs_of_everything,
	  no_byte_is_lost_in_random_runs_with_lirs,
	  no_byte_is_lost_in_random_runs_with_prefetch)
