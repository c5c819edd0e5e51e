// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core's books with threads that really run side by side, which the simulator never has: in
 * user space under ThreadSanitizer, in a kernel on its own processors. Only the policy layer
 * runs, at the pace of its spinlock, on two devices. Any container may get any chunk; the books
 * must balance.
 */
#include "find_container.h"
#include "gvm/charge.h"
#include "gvm/clock.h"
#include "gvm/swap.h"
#include "race_side.h"

#define BOOKS_STEPS	 RACE_STEPS(12000u, 3000u)
#define BOOKS_DEVICES	 2u
#define BOOKS_CHUNKS	 16u
#define BOOKS_CONTAINERS 3u
#define BOOKS_THREADS	 4u

#define CHUNK		 GVM_CHUNK_BYTES

/*
 * The stand-in for a VA block. Only a thread that holds the chunk's mutex may give the chunk
 * back, or act on a pick of it.
 */
struct books_chunk {
	struct gvm_mutex mutex;
	struct gvm_container *owner; /* NULL: not bound. Guarded by mutex */
	u8 pinned;		     /* READ_ONCE(), as in a frame */
};

static struct books {
	struct gvm_device device;
	struct gvm_container *containers[BOOKS_CONTAINERS];
	struct books_chunk chunks[BOOKS_CHUNKS];
	struct gvm_spinlock lock; /* guards @free and @free_count */
	u32 free[BOOKS_CHUNKS];
	u32 free_count;
} books[BOOKS_DEVICES];

/* Called for every candidate. Locks: the device's lock. */
static bool books_evictable(void *memory, u32 chunk)
{
	struct books *me = memory;

	gvm_spin_assert_held(&me->device.lock);
	return !READ_ONCE(me->chunks[chunk].pinned);
}

static const struct gvm_memory_ops books_ops = { .evictable = books_evictable };

static void books_init(struct books *me)
{
	struct gvm_device_config config = {
		.name = "books",
		.chunk_count = BOOKS_CHUNKS,
		.memory_ops = &books_ops,
		.memory = me,
	};
	u32 i;

	memset(me, 0, sizeof(*me));
	ck_assert_int_eq(gvm_device_init(&me->device, &config), 0);
	gvm_spin_init(&me->lock, "books free");
	for (i = 0; i < BOOKS_CHUNKS; i++) {
		gvm_mutex_init(&me->chunks[i].mutex, "books chunk");
		me->free[me->free_count++] = i;
	}
	for (i = 0; i < BOOKS_CONTAINERS; i++)
		ck_assert_int_eq(gvm_container_attach(&me->device, 1 + i, &me->containers[i]),
				 0);
}

static bool books_take_free(struct books *me, u32 *ret_chunk)
{
	bool taken;

	gvm_spin_lock(&me->lock);
	taken = me->free_count > 0;
	if (taken)
		*ret_chunk = me->free[--me->free_count];
	gvm_spin_unlock(&me->lock);
	return taken;
}

/* Locks: the chunk's mutex. */
static void books_give_back(struct books *me, u32 chunk)
{
	me->chunks[chunk].owner = NULL;
	gvm_uncharge(&me->device, chunk);
	gvm_spin_lock(&me->lock);
	GVM_ASSERT(me->free_count < BOOKS_CHUNKS);
	me->free[me->free_count++] = chunk;
	gvm_spin_unlock(&me->lock);
}

/* Charge, allocate and bind. It may find no room. One charge in 16 is above the limit. */
static void books_charge(struct books *me, struct gvm_container *container,
			 struct race_dice *dice)
{
	u32 chunk;

	if (race_roll(dice, 16) == 0)
		gvm_charge_force(container);
	else if (gvm_charge_reserve(container))
		return;
	if (!books_take_free(me, &chunk)) {
		gvm_charge_cancel(container);
		return;
	}
	gvm_mutex_lock(&me->chunks[chunk].mutex);
	gvm_charge_bind(container, chunk);
	me->chunks[chunk].owner = container;
	gvm_mutex_unlock(&me->chunks[chunk].mutex);
}

/* The owner gives a chunk back, even if another thread has picked it. */
static void books_free_one(struct books *me, const struct gvm_container *of, u32 chunk)
{
	gvm_mutex_lock(&me->chunks[chunk].mutex);
	if (me->chunks[chunk].owner && (!of || me->chunks[chunk].owner == of))
		books_give_back(me, chunk);
	gvm_mutex_unlock(&me->chunks[chunk].mutex);
}

static u32 books_pick(struct books *me, struct race_dice *dice)
{
	u32 chunk = race_roll(dice, BOOKS_CHUNKS);

	switch (race_roll(dice, 4)) {
	case 0:
		return gvm_clock_pick_own(me->containers[race_roll(dice, BOOKS_CONTAINERS)]);
	case 1:
		return gvm_clock_pick_global(&me->device);
	case 2:
		return gvm_clock_pick_protected(&me->device);
	default:
		return gvm_clock_take(&me->device, chunk) ? chunk : GVM_NO_CHUNK;
	}
}

/* An eviction: before it has the chunk's mutex, the owner of its victim may have changed. */
static void books_evict(struct books *me, struct race_dice *dice)
{
	u32 chunk = books_pick(me, dice);
	struct gvm_container *owner;

	if (chunk == GVM_NO_CHUNK)
		return;
	gvm_mutex_lock(&me->chunks[chunk].mutex);
	owner = me->chunks[chunk].owner;
	if (owner && gvm_clock_is_picked(&me->device, chunk)) {
		if (race_roll(dice, 3)) {
			gvm_swap_charge(owner, CHUNK);
			gvm_swap_uncharge(owner, CHUNK);
			books_give_back(me, chunk);
		} else {
			gvm_clock_putback(&me->device, chunk);
		}
	}
	gvm_mutex_unlock(&me->chunks[chunk].mutex);
}

static void books_limits(struct gvm_container *container, struct race_dice *dice)
{
	if (race_roll(dice, 2))
		gvm_limit_set_high(container, race_roll(dice, BOOKS_CHUNKS) * CHUNK);
	else
		gvm_limit_set_low(container, race_roll(dice, BOOKS_CHUNKS / 2) * CHUNK);
	GVM_ASSERT(gvm_charge_excess(container) <= BOOKS_CHUNKS + BOOKS_THREADS);
	GVM_ASSERT(gvm_charged_bytes(container) <= gvm_peak_bytes(container));
}

/*
 * A process joins the container of tgid 100, as other threads do at the same time, and leaves
 * it again. The container ends with its last process.
 */
static void books_come_and_go(struct books *me, struct race_dice *dice)
{
	struct gvm_container *mine, *found;
	u32 i;

	GVM_ASSERT(gvm_container_attach(&me->device, 100, &mine) == 0);
	books_charge(me, mine, dice);
	found = find_container(&me->device, 100);
	GVM_ASSERT(found == mine);
	gvm_container_count_kernels(found, 2, 1);
	gvm_container_put(found);
	for (i = 0; i < BOOKS_CHUNKS; i++)
		books_free_one(me, mine, i);
	gvm_container_detach(mine);
}

static void books_step(struct books *me, struct race_dice *dice)
{
	struct gvm_container *container = me->containers[race_roll(dice, BOOKS_CONTAINERS)];
	u32 chunk = race_roll(dice, BOOKS_CHUNKS);

	switch (race_roll(dice, 16)) {
	case 0:
		books_limits(container, dice);
		break;
	case 1:
		books_come_and_go(me, dice);
		break;
	case 2:
		gvm_clock_refill_stash(&me->device, race_roll(dice, 2 * GVM_PICK_LOOKS));
		break;
	case 3:
		books_free_one(me, NULL, chunk);
		break;
	case 4 ... 6:
		WRITE_ONCE(me->chunks[chunk].pinned, (u8)(race_roll(dice, 4) == 0));
		gvm_clock_touch(&me->device, chunk);
		break;
	case 7 ... 10:
		books_evict(me, dice);
		break;
	default:
		books_charge(me, container, dice);
	}
}

static void books_side(void *data)
{
	struct race_side *me = data;
	u32 step;

	for (step = 0; step < BOOKS_STEPS && !gvm_give_way(); step++) {
		struct books *which = &books[race_roll(&me->dice, BOOKS_DEVICES)];

		books_step(which, &me->dice);
		if (step % 16 == 0)
			GVM_ASSERT(gvm_check(&which->device) == 0);
	}
	gvm_complete_all(&me->done);
}

static void books_destroy(struct books *me)
{
	u32 i;

	ck_assert_int_eq(gvm_check(&me->device), 0);
	for (i = 0; i < BOOKS_CHUNKS; i++)
		books_free_one(me, NULL, i);
	for (i = 0; i < BOOKS_CONTAINERS; i++) {
		ck_assert_uint_eq((me->containers[i]->charged_bytes >> GVM_CHUNK_SHIFT), 0);
		ck_assert_uint_eq(me->containers[i]->swapped_bytes, 0);
		ck_assert_uint_eq(me->containers[i]->refs, 1);
		gvm_container_detach(me->containers[i]);
	}
	ck_assert_uint_eq(me->free_count, BOOKS_CHUNKS);
	ck_assert_uint_eq(me->device.bound_chunks, 0);
	ck_assert_uint_eq(me->device.container_count, 0);
	gvm_device_destroy(&me->device);
}

START_TEST(books_that_threads_share_stay_in_order_and_end_empty)
{
	static struct race_side sides[BOOKS_THREADS];
	u64 seed = race_begin();
	u32 i;

	for (i = 0; i < BOOKS_DEVICES; i++)
		books_init(&books[i]);
	for (i = 0; i < BOOKS_THREADS; i++)
		race_side_start(&sides[i], i, seed, books_side);
	for (i = 0; i < BOOKS_THREADS; i++)
		race_side_finish(&sides[i]);
	for (i = 0; i < BOOKS_DEVICES; i++)
		books_destroy(&books[i]);
}
END_TEST

TEST_MAIN("race books", books_that_threads_share_stay_in_order_and_end_empty)
