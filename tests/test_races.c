// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core with threads that really run side by side, which the simulator never has: in user space
 * under ThreadSanitizer, in a kernel on its own processors. Nothing is expected of who gets which
 * chunk. Everything has to add up, whatever was stored has to come back, and it has to end.
 *
 * Two stresses: the books alone, at the pace of their spinlock, on two devices; and everything on
 * a GPU, with its faults, evictors, limits, settings, and processes that exit in the middle.
 */
#include "gvm/clock.h"
#include "gvm/control.h"
#include "race_gpu.h"
#include "runner.h"

#include <check.h>

/* A kernel under emulation is slow, and its threads meet more often. */
#ifdef __KERNEL__
#define BOOKS_STEPS 3000u
#define GPU_STEPS   400u
#else
#define BOOKS_STEPS 12000u
#define GPU_STEPS   1500u
#endif

#define BOOKS_DEVICES	 2u
#define BOOKS_CHUNKS	 16u
#define BOOKS_CONTAINERS 3u
#define BOOKS_THREADS	 4u

#define CHUNK		 GVM_CHUNK_BYTES

/* A thread: one that has so much to do, or one that goes on until those are done. */
struct side {
	struct gvm_worker worker;
	struct race_dice dice;
	u32 index;
	u64 count; /* of what is worth counting; its own until it is stopped */
	struct gvm_completion done;
};

static void side_start(struct side *side, u32 index, u64 seed, void (*function)(void *data))
{
	side->dice.state = seed + 1000003ull * index;
	side->index = index;
	side->count = 0;
	gvm_completion_init(&side->done);
	GVM_ASSERT(gvm_worker_start(&side->worker, "gvm race", function, side) == 0);
}

static void side_finish(struct side *side)
{
	GVM_ASSERT(gvm_completion_wait(&side->done) == 0);
	gvm_worker_stop(&side->worker);
}

static u64 begin(void)
{
	u64 seed = runner_seed_or(20250801);

#ifndef __KERNEL__
	gvm_port_yield_seed = seed;
#endif
	return seed;
}

/* The books alone. */

/*
 * What stands in for a VA block: whoever holds its chunk's mutex may give the chunk back, or act
 * on a pick of it, and nobody else.
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
	struct gvm_spinlock lock; /* guards the next two */
	u32 free[BOOKS_CHUNKS];
	u32 free_count;
} books[BOOKS_DEVICES];

/* Asked about every candidate, under the device's lock. */
static bool books_evictable(void *gpu, u32 chunk)
{
	struct books *me = gpu;

	gvm_spin_assert_held(&me->device.lock);
	return !READ_ONCE(me->chunks[chunk].pinned);
}

static const struct gvm_gpu_ops books_ops = { .chunk_evictable = books_evictable };

static void books_init(struct books *me)
{
	struct gvm_device_config config = {
		.name = "books",
		.chunk_count = BOOKS_CHUNKS,
		.ops = &books_ops,
		.gpu = me,
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

/* The chunk's mutex is held. */
static void books_give_back(struct books *me, u32 chunk)
{
	me->chunks[chunk].owner = NULL;
	gvm_uncharge(&me->device, chunk);
	gvm_spin_lock(&me->lock);
	GVM_ASSERT(me->free_count < BOOKS_CHUNKS);
	me->free[me->free_count++] = chunk;
	gvm_spin_unlock(&me->lock);
}

/* Charge, allocate, bind; or not. Now and then above the limit. */
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

/* Its owner gives a chunk back, also under the hands of whoever has picked it. */
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

/* As an eviction: what was picked may be gone, or somebody else's, before its lock is ours. */
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

/* A process of a container that all may join, which leaves when its last one does. */
static void books_come_and_go(struct books *me, struct race_dice *dice)
{
	struct gvm_container *mine, *found;
	u32 i;

	GVM_ASSERT(gvm_container_attach(&me->device, 100, &mine) == 0);
	books_charge(me, mine, dice);
	found = gvm_container_find(&me->device, 100);
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
	struct side *me = data;
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
		ck_assert_uint_eq(me->containers[i]->charged_chunks, 0);
		ck_assert_uint_eq(me->containers[i]->swapped_bytes, 0);
		ck_assert_uint_eq(me->containers[i]->refs, 1);
		gvm_container_detach(me->containers[i]);
	}
	ck_assert_uint_eq(me->free_count, BOOKS_CHUNKS);
	ck_assert_uint_eq(me->device.charged_chunks, 0);
	ck_assert_uint_eq(me->device.container_count, 0);
	gvm_device_destroy(&me->device);
}

START_TEST(books_that_threads_share_stay_in_order_and_end_empty)
{
	static struct side sides[BOOKS_THREADS];
	u64 seed = begin();
	u32 i;

	for (i = 0; i < BOOKS_DEVICES; i++)
		books_init(&books[i]);
	for (i = 0; i < BOOKS_THREADS; i++)
		side_start(&sides[i], i, seed, books_side);
	for (i = 0; i < BOOKS_THREADS; i++)
		side_finish(&sides[i]);
	for (i = 0; i < BOOKS_DEVICES; i++)
		books_destroy(&books[i]);
}
END_TEST

/* Everything. */

#define TENANTS	    2u /* containers, each shared by two processes */
#define WRITERS	    2u
#define TSG_SIDES   2u
#define TSGS_OF_ONE (RACE_TSGS / TSG_SIDES)

/* A process with one range. Two of them are of one container, whose tgid is no secret. */
static struct process {
	struct side side;
	struct race_space *space;
	struct gvm_container *container; /* a reference */
	bool mapped;
	u32 tags[RACE_PAGES]; /* what is in its pages, wherever they are */
} processes[RACE_SPACES];

static void process_map(struct process *me)
{
	memset(me->tags, 0, sizeof(me->tags));
	me->mapped =
		race_map_range(me->space, me->container, race_roll(&me->side.dice, 2)) == 0;
	GVM_ASSERT(me->mapped);
}

static void process_begin(struct process *me)
{
	GVM_ASSERT(gvm_container_attach(&race_gpu.device, 1 + me->side.index % TENANTS,
					&me->container) == 0);
	process_map(me);
}

static void process_end(struct process *me)
{
	race_unmap_range(me->space);
	gvm_container_detach(me->container);
}

static void process_access(struct process *me)
{
	struct race_dice *dice = &me->side.dice;
	u32 page = race_roll(dice, RACE_PAGES);
	bool write = race_roll(dice, 2);
	u32 tag = race_roll(dice, U32_MAX);

	if (!race_access(me->space, page, write, &tag))
		return;
	GVM_ASSERT(write || tag == me->tags[page]);
	me->tags[page] = tag;
	me->side.count++;
}

static void process_step(struct process *me)
{
	struct race_dice *dice = &me->side.dice;

	switch (race_roll(dice, 128)) {
	case 0:
		process_end(me);
		process_begin(me);
		break;
	case 1 ... 2:
		race_unmap_range(me->space);
		process_map(me);
		break;
	case 3 ... 15:
		race_fault(me->space, race_roll(dice, RACE_PAGES));
		break;
	default:
		process_access(me);
	}
}

static void process_side(void *data)
{
	struct process *me = container_of((struct side *)data, struct process, side);
	u32 step;

	process_begin(me);
	for (step = 0; step < GPU_STEPS && !gvm_give_way(); step++)
		process_step(me);
	process_end(me);
	gvm_complete_all(&me->side.done);
}

/* A container of which nobody here knows how long its processes live; a reference, or NULL. */
static struct gvm_container *find_tenant(struct race_dice *dice)
{
	return gvm_container_find(&race_gpu.device, 1 + race_roll(dice, TENANTS));
}

static int write_number(struct gvm_container *container, const char *file, u64 number)
{
	char text[24];
	int length = scnprintf(text, sizeof(text), "%llu\n", number);

	return gvm_control_write(container, file, text, (size_t)length);
}

static void read_files(struct gvm_container *container)
{
	char text[GVM_CONTROL_TEXT_MAX];
	u32 i;

	for (i = 0; i < gvm_control_count(); i++)
		GVM_ASSERT(gvm_control_read(container, gvm_control_at(i)->name, text,
					    sizeof(text)) > 0);
}

/* One evictor of a writer's, which comes and goes under everybody's kicks. */
struct writer {
	struct side side;
	struct gvm_evictor evictor;
	struct gvm_container *evicts; /* a reference while it runs, or NULL */
};

static void writer_stop_evictor(struct writer *me)
{
	if (!me->evicts)
		return;
	gvm_evictor_stop(&me->evictor);
	gvm_container_put(me->evicts);
	me->evicts = NULL;
}

static void writer_start_evictor(struct writer *me, struct gvm_container *container)
{
	writer_stop_evictor(me);
	if (gvm_evictor_start(&me->evictor, &race_gpu.device, container))
		return;
	gvm_container_get(container);
	me->evicts = container;
}

static void writer_step(struct writer *me, struct gvm_container *container)
{
	struct race_dice *dice = &me->side.dice;

	switch (race_roll(dice, 8)) {
	case 0:
		GVM_ASSERT(gvm_control_write(container, "gmem.limit.high", "max", 3) == 0);
		break;
	case 1 ... 2:
		GVM_ASSERT(write_number(container, "gmem.limit.high",
					race_roll(dice, RACE_CHUNKS) * CHUNK) == 0);
		break;
	case 3 ... 4:
		GVM_ASSERT(write_number(container, "gmem.limit.low",
					race_roll(dice, RACE_CHUNKS / 2) * CHUNK) == 0);
		break;
	case 5:
		GVM_ASSERT(write_number(container, "gmem.current", 1) == -EACCES);
		read_files(container);
		break;
	case 6:
		writer_stop_evictor(me);
		break;
	default:
		writer_start_evictor(me, container);
	}
	me->side.count++;
}

static void writer_side(void *data)
{
	struct writer *me = container_of((struct side *)data, struct writer, side);

	while (!gvm_give_way()) {
		struct gvm_container *container = find_tenant(&me->side.dice);

		if (container) {
			writer_step(me, container);
			gvm_container_put(container);
		}
		GVM_ASSERT(gvm_check(&race_gpu.device) == 0);
		race_sleep(race_roll(&me->side.dice, 500000));
	}
	writer_stop_evictor(me);
}

/* Contexts that make TSGs and destroy them, and somebody who changes their settings. */
struct tsg_side {
	struct side side;
	struct gvm_tsg tsgs[TSGS_OF_ONE];
	bool attached[TSGS_OF_ONE];
};

static void tsg_toggle(struct tsg_side *me, struct gvm_container *container, u32 i)
{
	u32 id = me->side.index * TSGS_OF_ONE + i;

	if (me->attached[i]) {
		gvm_tsg_detach(&me->tsgs[i]);
		memset(&me->tsgs[i], 0xff, sizeof(me->tsgs[i]));
	} else {
		race_new_tsg(id);
		(void)gvm_tsg_attach(container, &me->tsgs[i], id);
	}
	me->attached[i] = !me->attached[i];
}

/* RPCs fail at random, and then so does a write. */
static void tsg_step(struct tsg_side *me, struct gvm_container *container)
{
	struct race_dice *dice = &me->side.dice;
	int status = 0;

	switch (race_roll(dice, 8)) {
	case 0 ... 2:
		tsg_toggle(me, container, race_roll(dice, TSGS_OF_ONE));
		break;
	case 3 ... 4:
		status = write_number(container, "compute.freeze", race_roll(dice, 2));
		break;
	case 5:
		status = write_number(container, "compute.timeslice", 1 + race_roll(dice, 99));
		break;
	case 6:
		status = write_number(container, "compute.priority", race_roll(dice, 17));
		break;
	default:
		read_files(container);
	}
	GVM_ASSERT(status == 0 || status == -EIO);
	me->side.count++;
}

static void tsg_side_main(void *data)
{
	struct tsg_side *me = container_of((struct side *)data, struct tsg_side, side);
	u32 i;

	while (!gvm_give_way()) {
		struct gvm_container *container = find_tenant(&me->side.dice);

		if (container) {
			tsg_step(me, container);
			gvm_container_put(container);
		}
		race_sleep(race_roll(&me->side.dice, 500000));
	}
	for (i = 0; i < TSGS_OF_ONE; i++) {
		if (me->attached[i])
			gvm_tsg_detach(&me->tsgs[i]);
	}
}

/* Somebody who touches, takes and evicts what it likes, and the device's own evictor. */
struct picker {
	struct side side;
	struct gvm_evictor evictor;
};

static void picker_step(struct picker *me)
{
	struct gvm_device *device = &race_gpu.device;
	struct race_dice *dice = &me->side.dice;
	u32 chunk = race_roll(dice, RACE_CHUNKS);
	struct gvm_fence fence = { 0 };

	switch (race_roll(dice, 8)) {
	case 0:
		gvm_clock_refill_stash(device, race_roll(dice, 2 * GVM_PICK_LOOKS));
		break;
	case 1 ... 2:
		if (gvm_clock_take(device, chunk))
			(void)device->ops->evict_chunk(device->gpu, chunk, &fence);
		break;
	case 3:
		gvm_evictor_stop(&me->evictor);
		break;
	case 4:
		(void)gvm_evictor_start(&me->evictor, device, NULL);
		break;
	default:
		gvm_clock_touch(device, chunk);
	}
	me->side.count++;
}

static void picker_side(void *data)
{
	struct picker *me = container_of((struct side *)data, struct picker, side);

	while (!gvm_give_way()) {
		picker_step(me);
		race_sleep(race_roll(&me->side.dice, 100000));
	}
	gvm_evictor_stop(&me->evictor);
}

static struct writer writers[WRITERS];
static struct tsg_side tsg_sides[TSG_SIDES];
static struct picker picker;

static void start_everybody(u64 seed)
{
	u32 i;

	for (i = 0; i < RACE_SPACES; i++) {
		processes[i].space = &race_gpu.spaces[i];
		side_start(&processes[i].side, i, seed, process_side);
	}
	for (i = 0; i < WRITERS; i++)
		side_start(&writers[i].side, i, seed + 1, writer_side);
	for (i = 0; i < TSG_SIDES; i++)
		side_start(&tsg_sides[i].side, i, seed + 2, tsg_side_main);
	side_start(&picker.side, 0, seed + 3, picker_side);
}

static void end_everybody(void)
{
	u32 i;

	for (i = 0; i < RACE_SPACES; i++)
		side_finish(&processes[i].side);
	for (i = 0; i < WRITERS; i++)
		gvm_worker_stop(&writers[i].side.worker);
	for (i = 0; i < TSG_SIDES; i++)
		gvm_worker_stop(&tsg_sides[i].side.worker);
	gvm_worker_stop(&picker.side.worker);
}

START_TEST(threads_that_meet_anywhere_leave_the_books_in_order)
{
	u64 seed = begin();
	u64 accesses = 0;
	u32 i;

	ck_assert_int_eq(race_gpu_init(seed), 0);
	start_everybody(seed);
	end_everybody();
	race_gpu_destroy();
	/* It was a real test: everybody did get somewhere. */
	for (i = 0; i < RACE_SPACES; i++)
		accesses += processes[i].side.count;
	ck_assert_uint_gt(accesses, GPU_STEPS);
	ck_assert_uint_gt(race_gpu.copies_out, GPU_STEPS / 8);
	ck_assert_uint_gt(race_gpu.copies_in, GPU_STEPS / 16);
	ck_assert_uint_gt(race_gpu.rpcs, 10);
	ck_assert_uint_gt(writers[0].side.count, 10);
	ck_assert_uint_gt(picker.side.count, 10);
	printf("accesses %llu, services %llu, copies in %llu, out %llu, rpcs %llu\n", accesses,
	       race_gpu.services, race_gpu.copies_in, race_gpu.copies_out, race_gpu.rpcs);
}
END_TEST

TEST_MAIN("races", books_that_threads_share_stay_in_order_and_end_empty,
	  threads_that_meet_anywhere_leave_the_books_in_order)
