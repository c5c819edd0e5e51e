// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The block and service layers with threads that really run side by side, which the simulator
 * never has: one services faults, one unmaps ranges under it, one writes limits, and evictors take
 * what they can. Nothing is expected of who gets which chunk; only that everything adds up and ends.
 */
#include "gvm/block.h"
#include "gvm/charge.h"
#include "gvm/evict.h"

#include <check.h>
#include <stdlib.h>

#include <linux/delay.h>
#include <linux/random.h>

#define RACE_CHUNKS  64u
#define RACE_SPACES  4u
#define RACE_BLOCKS  40u
#define RACE_BATCH   16u
#define RACE_VA	     0x700000000000ull
#define RACE_SECONDS 3

/* A container with one range, which comes and goes. */
struct race_space {
	struct gvm_container *container;
	struct gvm_range range;
	struct mutex mutex; /* guards mapped: whoever finds it true may enter the range */
	bool mapped;
	struct gvm_evictor evictor;
};

static struct {
	struct gvm_device device;
	struct gvm_memory memory;
	struct race_space spaces[RACE_SPACES];
	struct gvm_evictor evictor;
	struct gvm_spinlock lock; /* guards the next two */
	u32 free[RACE_CHUNKS];
	u32 free_count;
	u32 mapped[RACE_CHUNKS]; /* pages; guarded by the lock of the chunk's range */
	atomic64_t sequence;
	unsigned long serviced, unmapped, written, wrong;
} race;

static int race_chunk_alloc(void *gpu, u32 *ret_chunk)
{
	int ret = -ENOMEM;

	gvm_spin_lock(&race.lock);
	if (race.free_count) {
		*ret_chunk = race.free[--race.free_count];
		ret = 0;
	}
	gvm_spin_unlock(&race.lock);
	return ret;
}

static void race_chunk_free(void *gpu, u32 chunk)
{
	gvm_spin_lock(&race.lock);
	race.wrong += race.mapped[chunk] != 0 || race.free_count == RACE_CHUNKS;
	race.free[race.free_count++ % RACE_CHUNKS] = chunk;
	gvm_spin_unlock(&race.lock);
}

/* Each copy takes a while, and one in 16 fails. */
static int race_copy(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	u32 chance = get_random_u32();

	if (chance % 4 == 0)
		usleep_range(10, 50);
	if (chance % 16 == 1)
		return -EIO;
	fence->sequence[GVM_ENGINE_OUT] = atomic64_inc_return(&race.sequence);
	return 0;
}

static int race_fence_wait(void *gpu, const struct gvm_fence *fence)
{
	usleep_range(10, 50);
	return 0;
}

static bool race_fence_passed(void *gpu, const struct gvm_fence *fence)
{
	return get_random_u32() % 2;
}

static void race_map(void *gpu, void *space, u64 va, u32 chunk, u32 page_mask,
		     enum gvm_access access)
{
	race.mapped[chunk] |= page_mask;
}

/* The range's lock is held, so the block still has the chunk whose pages these are. */
static void race_unmap(void *gpu, void *space, u64 va, u32 page_mask)
{
	const struct race_space *me = space;
	u32 chunk = me->range.blocks[(va - RACE_VA) >> GVM_CHUNK_SHIFT].chunk;

	race.mapped[chunk] &= ~page_mask;
}

static const struct gvm_mmu_ops race_mmu_ops = {
	.chunk_alloc = race_chunk_alloc,
	.chunk_free = race_chunk_free,
	.copy_in = race_copy,
	.copy_out = race_copy,
	.clear = race_copy,
	.fence_wait = race_fence_wait,
	.fence_passed = race_fence_passed,
	.map = race_map,
	.unmap = race_unmap,
};

static int race_evict_chunk(void *gpu, u32 chunk, struct gvm_fence *fence)
{
	return gvm_block_evict(&race.memory, chunk, fence);
}

static bool race_chunk_evictable(void *gpu, u32 chunk)
{
	return gvm_block_evictable(&race.memory, chunk);
}

static const struct gvm_gpu_ops race_gpu_ops = {
	.evict_chunk = race_evict_chunk,
	.chunk_evictable = race_chunk_evictable,
};

static struct race_space *race_draw(void)
{
	return &race.spaces[get_random_u32() % RACE_SPACES];
}

/* What an address space of a real driver does: find the range and keep it, under a lock. */
static bool race_enter(struct race_space *space)
{
	bool entered;

	mutex_lock(&space->mutex);
	entered = space->mapped;
	if (entered)
		gvm_range_enter(&space->range);
	mutex_unlock(&space->mutex);
	return entered;
}

static void race_fault(struct race_space *space)
{
	static struct gvm_fault faults[RACE_BATCH]; /* one thread services */
	struct gvm_block_stats stats = { 0 };
	struct gvm_fence fence = { 0 };
	u32 first = get_random_u32() % (RACE_BLOCKS - RACE_BATCH), i;

	for (i = 0; i < RACE_BATCH; i++)
		faults[i] = (struct gvm_fault){
			.va = RACE_VA + ((u64)(first + i) << GVM_CHUNK_SHIFT),
		};
	gvm_range_service(&space->range, faults, RACE_BATCH, &stats, &fence);
	race.serviced += stats.pages_cleared + stats.pages_copied_in > 0;
}

static void race_service(void *data)
{
	while (!gvm_give_way()) {
		struct race_space *space = race_draw();

		if (!race_enter(space))
			continue;
		race_fault(space);
		gvm_range_leave(&space->range);
	}
}

static void race_map_space(struct race_space *space)
{
	struct gvm_range_config config = {
		.container = space->container,
		.memory = &race.memory,
		.space = space,
		.va = RACE_VA,
		.bytes = RACE_BLOCKS * GVM_CHUNK_BYTES,
	};
	int ret = gvm_range_init(&space->range, &config);

	mutex_lock(&space->mutex);
	space->mapped = ret == 0;
	mutex_unlock(&space->mutex);
}

static void race_unmap_space(struct race_space *space)
{
	bool mapped;

	mutex_lock(&space->mutex);
	mapped = space->mapped;
	space->mapped = false;
	mutex_unlock(&space->mutex);
	if (mapped)
		gvm_range_destroy(&space->range);
}

static void race_remap(void *data)
{
	while (!gvm_give_way()) {
		struct race_space *space = race_draw();

		race_unmap_space(space);
		race_map_space(space);
		race.unmapped++;
		usleep_range(100, 2000);
	}
}

/* Limits, and an evictor that starts and stops under everybody's kicks. */
static void race_write(void *data)
{
	while (!gvm_give_way()) {
		struct race_space *space = race_draw();
		u64 chunks = get_random_u32() % RACE_CHUNKS;

		gvm_limit_set_low(space->container, chunks % 3 ? 0 : chunks << GVM_CHUNK_SHIFT);
		gvm_limit_set_high(space->container, chunks << GVM_CHUNK_SHIFT);
		gvm_reclaim(space->container);
		gvm_evictor_stop(&space->evictor);
		gvm_evictor_start(&space->evictor, &race.device, space->container);
		race.wrong += gvm_check(&race.device) != 0;
		race.written++;
		usleep_range(100, 1000);
	}
}

static void race_begin(void)
{
	static const struct gvm_device_config config = {
		.name = "race",
		.chunk_count = RACE_CHUNKS,
		.ops = &race_gpu_ops,
	};
	u32 i;

	memset(&race, 0, sizeof(race));
	gvm_spin_init(&race.lock, "gvm race");
	for (i = 0; i < RACE_CHUNKS; i++)
		race.free[race.free_count++] = i;
	ck_assert_int_eq(gvm_device_init(&race.device, &config), 0);
	ck_assert_int_eq(gvm_memory_init(&race.memory, &race.device, &race_mmu_ops, NULL), 0);
	for (i = 0; i < RACE_SPACES; i++) {
		struct race_space *space = &race.spaces[i];

		mutex_init(&space->mutex);
		ck_assert_int_eq(gvm_container_attach(&race.device, 1 + i, &space->container),
				 0);
		race_map_space(space);
	}
	ck_assert_int_eq(gvm_evictor_start(&race.evictor, &race.device, NULL), 0);
}

static void race_end(void)
{
	u32 i;

	gvm_evictor_stop(&race.evictor);
	for (i = 0; i < RACE_SPACES; i++) {
		gvm_evictor_stop(&race.spaces[i].evictor);
		race_unmap_space(&race.spaces[i]);
		gvm_container_detach(race.spaces[i].container);
	}
	ck_assert_int_eq(gvm_check(&race.device), 0);
	ck_assert_uint_eq(race.free_count, RACE_CHUNKS);
	ck_assert_uint_eq(race.device.charged_chunks, 0);
	ck_assert_uint_eq(race.device.container_count, 0);
	gvm_memory_destroy(&race.memory);
	gvm_device_destroy(&race.device);
}

START_TEST(threads_that_meet_anywhere_leave_the_books_in_order)
{
	static void (*const sides[])(void *data) = { race_service, race_remap, race_write };
	struct gvm_worker workers[ARRAY_SIZE(sides)];
	u32 i;

	race_begin();
	for (i = 0; i < ARRAY_SIZE(sides); i++)
		ck_assert_int_eq(gvm_worker_start(&workers[i], "gvm race", sides[i], NULL), 0);
	msleep(RACE_SECONDS * MSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(sides); i++)
		gvm_worker_stop(&workers[i]);
	race_end();
	ck_assert_uint_eq(race.wrong, 0);
	ck_assert_uint_gt(race.serviced, 10);
	ck_assert_uint_gt(race.unmapped, 10);
	ck_assert_uint_gt(race.written, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("races");
	TCase *races = tcase_create("races");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(races, threads_that_meet_anywhere_leave_the_books_in_order);
	suite_add_tcase(suite, races);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
