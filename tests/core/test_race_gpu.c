// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core on a GPU with threads that really run side by side, which the simulator never has:
 * in user space under ThreadSanitizer, in a kernel on its own processors. There are faults,
 * instructions over more blocks than a container may have chunks, evictors, writes of limits
 * and settings, unevictable memory and discards, listeners, and processes that exit in the
 * middle. A driver takes chunks by force, suspends the GPU, or loses it. The books must
 * balance. Each load must return the tag that was stored. Every thread must end.
 */
#include "find_container.h"
#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/control.h"
#include "gvm/evictor.h"
#include "gvm/hint.h"
#include "gvm/pressure.h"
#include "gvm/quiesce.h"
#include "gvm/sched.h"
#include "race_access.h"

#include <check.h>

#define GPU_STEPS   RACE_STEPS(1500u, 400u)

#define CHUNK	    GVM_CHUNK_BYTES

#define TENANTS	    2u /* containers, each shared by two processes */
#define WRITERS	    2u
#define HEARERS	    2u
#define PINNED_MAX  4u /* most chunks a process pins */
#define TSG_SIDES   2u
#define TSGS_OF_ONE (RACE_TSGS / TSG_SIDES)
#define TRIES_MAX   4u

/*
 * A process with one address space. Each container has two processes; any thread can find it by
 * its tgid.
 */
static struct process {
	struct race_side side;
	struct race_space *space;
	struct gvm_container *container; /* holds a reference */
	struct gvm_unevictable pinned;
	u32 tags[RACE_PAGES];	    /* the tags stored in its pages */
	bool discarded[RACE_PAGES]; /* reads zero, or the tag if in service then */
} processes[RACE_SPACES];

static void process_map(struct process *me)
{
	memset(me->tags, 0, sizeof(me->tags));
	memset(me->discarded, 0, sizeof(me->discarded));
	race_map(me->space, me->container, race_roll(&me->side.dice, 2));
}

static void process_begin(struct process *me)
{
	GVM_ASSERT(gvm_container_attach(&race_gpu.device, 1 + me->side.index % TENANTS,
					&me->container) == 0);
	(void)gvm_container_evictor_get(me->container);
	gvm_unevictable_init(&me->pinned, me->container);
	process_map(me);
}

static void process_end(struct process *me)
{
	race_unmap(me->space);
	gvm_unevictable_release(&race_gpu.memory, &me->pinned);
	gvm_container_evictor_put(me->container);
	gvm_container_detach(me->container);
}

static void process_access(struct process *me, u32 page)
{
	struct race_dice *dice = &me->side.dice;
	bool write = race_roll(dice, 2);
	u32 tag = race_roll(dice, U32_MAX);

	if (!race_access(me->space, page, write, &tag))
		return;
	GVM_ASSERT(write || tag == me->tags[page] || (!tag && me->discarded[page]));
	me->tags[page] = tag;
	me->discarded[page] = false;
	me->side.count++;
}

/* One instruction over many blocks: more than the container may have chunks, at times. */
static void process_access_together(struct process *me)
{
	struct race_dice *dice = &me->side.dice;
	u32 first = race_roll(dice, RACE_BLOCKS), in_block = race_roll(dice, RACE_SMALL);
	u32 count = 1 + race_roll(dice, RACE_BLOCKS - first);
	u32 tag = race_roll(dice, U32_MAX);

	bool stored = race_store_together(me->space, first, count, in_block, tag);

	for (u32 block = first; block < first + count; block++) {
		u32 page = block * GVM_PAGES_PER_BLOCK + in_block;

		me->tags[page] = stored ? tag : me->tags[page];
		me->discarded[page] = !stored;
	}
	me->side.count += stored;
	/* A fault on one page of a block whose other pages may be remote. */
	if (race_roll(dice, 2)) {
		u32 page = (first + race_roll(dice, count)) * GVM_PAGES_PER_BLOCK + in_block;

		race_discard(me->space, page, 1);
		me->discarded[page] = true;
		process_access(me, page);
	}
}

static void process_discard(struct process *me)
{
	struct race_dice *dice = &me->side.dice;
	u32 page = race_page(dice);
	u32 count = race_discard(me->space, page, 1 + race_roll(dice, 4 * GVM_PAGES_PER_BLOCK));

	while (count--)
		me->discarded[page++] = true;
}

static void process_pin(struct process *me)
{
	if (me->pinned.chunks < PINNED_MAX) {
		(void)gvm_unevictable_add(&race_gpu.memory, &me->pinned, CHUNK);
		return;
	}
	gvm_unevictable_release(&race_gpu.memory, &me->pinned);
	gvm_unevictable_init(&me->pinned, me->container);
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
		race_unmap(me->space);
		process_map(me);
		break;
	case 3 ... 15:
		race_fault(me->space, race_page(dice),
			   (enum gvm_access)race_roll(dice, GVM_ACCESS_ATOMIC + 1));
		break;
	case 16 ... 19:
		process_discard(me);
		break;
	case 20 ... 23:
		process_pin(me);
		break;
	case 24 ... 31:
		process_access_together(me);
		break;
	default:
		process_access(me, race_page(dice));
	}
}

static void process_side(void *data)
{
	struct process *me = container_of((struct race_side *)data, struct process, side);
	u32 step;

	process_begin(me);
	for (step = 0; step < GPU_STEPS && !gvm_give_way(); step++)
		process_step(me);
	process_end(me);
	gvm_complete_all(&me->side.done);
}

/* Find a container, whose processes may end at any time. Returns a reference, or NULL. */
static struct gvm_container *find_tenant(struct race_dice *dice)
{
	return find_container(&race_gpu.device, 1 + race_roll(dice, TENANTS));
}

static int write_number(struct gvm_container *container, const char *file, u64 number)
{
	char text[24];
	int length = scnprintf(text, sizeof(text), "%llu\n", number);

	return gvm_control_write(container, file, text, (size_t)length);
}

/* A limit always holds at once. Its reclaim may end early, with an error that says why. */
static void write_limit(struct gvm_container *container, const char *file, u64 number)
{
	int status = write_number(container, file, number);

	GVM_ASSERT(status == 0 || status == -EIO || status == -EAGAIN || status == -EINTR ||
		   status == -ENODEV);
}

static void read_files(struct gvm_container *container)
{
	char text[GVM_CONTROL_TEXT_MAX];
	u32 i;

	for (i = 0; i < gvm_control_count(); i++)
		GVM_ASSERT(gvm_control_read(container, gvm_control_at(i)->name, text,
					    sizeof(text)) > 0);
}

/*
 * A writer also uses the evictor of one container at a time, as the container's processes do.
 */
struct writer {
	struct race_side side;
	struct gvm_container *evicts; /* a reference while its evictor is used, or NULL */
};

static void writer_put_evictor(struct writer *me)
{
	if (!me->evicts)
		return;
	gvm_container_evictor_put(me->evicts);
	gvm_container_put(me->evicts);
	me->evicts = NULL;
}

static void writer_get_evictor(struct writer *me, struct gvm_container *container)
{
	writer_put_evictor(me);
	gvm_container_get(container);
	me->evicts = container;
	(void)gvm_container_evictor_get(container);
}

static void writer_step(struct writer *me, struct gvm_container *container)
{
	struct race_dice *dice = &me->side.dice;
	u32 chunks;

	switch (race_roll(dice, 10)) {
	case 0:
		write_limit(container, "gmem.limit.high", GVM_NO_LIMIT);
		write_limit(container, "hmem.limit", GVM_NO_LIMIT);
		break;
	case 1 ... 2:
		/* One in two is less than an instruction needs. */
		chunks = race_roll(dice, race_roll(dice, 2) ? RACE_CHUNKS : RACE_BIG);
		write_limit(container, "gmem.limit.high", chunks * CHUNK);
		break;
	case 3 ... 4:
		write_limit(container, "gmem.limit.low",
			    race_roll(dice, RACE_CHUNKS / 2) * CHUNK);
		break;
	case 5:
		GVM_ASSERT(write_number(container, "gmem.current", 1) == -EACCES);
		read_files(container);
		break;
	case 6:
		writer_put_evictor(me);
		break;
	case 7:
		write_limit(container, "hmem.limit", race_roll(dice, 3 * RACE_CHUNKS) * CHUNK);
		break;
	default:
		writer_get_evictor(me, container);
	}
	me->side.count++;
}

static void writer_side(void *data)
{
	struct writer *me = container_of((struct race_side *)data, struct writer, side);

	while (!gvm_give_way()) {
		struct gvm_container *container = find_tenant(&me->side.dice);

		if (container) {
			writer_step(me, container);
			gvm_container_put(container);
		}
		GVM_ASSERT(gvm_check(&race_gpu.device) == 0);
		race_sleep(race_roll(&me->side.dice, 500000));
	}
	writer_put_evictor(me);
}

/* A listener of a container, for a random time, maybe beyond the container's end. */
struct hearer {
	struct race_side side;
	struct gvm_listener listener;
};

static void hearer_read(struct hearer *me)
{
	struct race_dice *dice = &me->side.dice;
	struct gvm_pressure_event event;
	bool wait = race_roll(dice, 2);
	int taken = gvm_listener_read(&me->listener, &event, sizeof(event), wait);

	GVM_ASSERT(taken == -EAGAIN || taken == -EINTR || taken == 0 ||
		   (taken == (int)sizeof(event) && event.target_bytes));
	me->side.count += taken > 0;
	if (taken == 0 || !race_roll(dice, 8))
		gvm_listener_close(&me->listener);
}

static void hearer_side(void *data)
{
	struct hearer *me = container_of((struct race_side *)data, struct hearer, side);

	while (!gvm_give_way()) {
		struct gvm_container *container = find_tenant(&me->side.dice);

		if (me->listener.container)
			hearer_read(me);
		else if (container)
			(void)gvm_listener_open(&me->listener, container);
		if (container)
			gvm_container_put(container);
		race_sleep(race_roll(&me->side.dice, 200000));
	}
	gvm_listener_close(&me->listener);
}

/* A thread that creates and destroys TSGs, and writes the settings of containers. */
struct tsg_side {
	struct race_side side;
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

/*
 * RPCs fail at random, and then the write fails, too. The wait of a freeze can also end with a
 * quiesce, with a TSG that stays on the GPU, or with the stop of this thread.
 */
static void tsg_step(struct tsg_side *me, struct gvm_container *container)
{
	struct race_dice *dice = &me->side.dice;
	int status = 0;

	switch (race_roll(dice, 9)) {
	case 8:
		status = write_number(container, "compute.weight", 1 + race_roll(dice, 999));
		break;
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
	GVM_ASSERT(status == 0 || status == -EIO || status == -EAGAIN || status == -ETIMEDOUT ||
		   status == -EINTR || status == -ENODEV);
	me->side.count++;
}

static void tsg_side_main(void *data)
{
	struct tsg_side *me = container_of((struct race_side *)data, struct tsg_side, side);
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
		me->attached[i] = false;
	}
}

/*
 * A thread that touches, takes, hints and evicts random chunks, and runs the device's evictor
 * and scheduler.
 */
struct picker {
	struct race_side side;
	struct gvm_evictor evictor;
	struct gvm_scheduler scheduler;
	u64 rounds; /* sum over the stopped schedulers */
};

static void picker_stop_scheduler(struct picker *me)
{
	if (!me->scheduler.device)
		return;
	gvm_scheduler_stop(&me->scheduler);
	me->rounds += me->scheduler.rounds;
}

static void picker_toggle_scheduler(struct picker *me)
{
	struct race_dice *dice = &me->side.dice;
	struct gvm_scheduler_config config = {
		.policy = race_roll(dice, 2) ? GVM_SCHED_PRIORITY : GVM_SCHED_WEIGHTED,
		.tracking = race_roll(dice, 2) ? GVM_TRACK_EVENTS : GVM_TRACK_BUSY_BITS,
		.interval_ns = 1 + race_roll(dice, 1000000),
	};

	if (me->scheduler.device)
		picker_stop_scheduler(me);
	else
		(void)gvm_scheduler_start(&me->scheduler, &race_gpu.device, &config);
}

static void picker_step(struct picker *me)
{
	struct gvm_device *device = &race_gpu.device;
	struct race_dice *dice = &me->side.dice;
	u32 chunk = race_roll(dice, RACE_CHUNKS);
	struct gvm_eviction eviction = { 0 };

	switch (race_roll(dice, 13)) {
	case 8:
		if (!race_roll(dice, 4))
			picker_toggle_scheduler(me);
		break;
	case 0:
		gvm_clock_refill_stash(device, race_roll(dice, 2 * GVM_PICK_LOOKS));
		break;
	case 1 ... 2:
		if (race_roll(dice, 4))
			chunk = race_part_chunk();
		if (gvm_clock_take(device, chunk))
			(void)device->memory_ops->evict(device->memory, chunk, &eviction);
		break;
	case 3:
		gvm_evictor_stop(&me->evictor);
		break;
	case 4:
		(void)gvm_evictor_start(&me->evictor, device);
		break;
	case 5 ... 7:
		if (!gvm_has_feature(device, GVM_HINT_FAULTS))
			break;
		/*
		 * The hint's own choice, or a random chunk, as if it had changed hands since.
		 */
		if (race_roll(dice, 2))
			chunk = gvm_hint_next(device, NULL);
		if (chunk != GVM_NO_CHUNK)
			(void)device->memory_ops->hint(device->memory, chunk);
		break;
	default:
		gvm_clock_touch(device, chunk);
	}
	race_peek(dice);
	me->side.count++;
}

static void picker_side(void *data)
{
	struct picker *me = container_of((struct race_side *)data, struct picker, side);

	picker_toggle_scheduler(me);
	while (!gvm_give_way()) {
		picker_step(me);
		race_sleep(race_roll(&me->side.dice, 100000));
	}
	gvm_evictor_stop(&me->evictor);
	picker_stop_scheduler(me);
}

/* The driver takes ranges of chunks by force, suspends and resumes the GPU, or loses it. */
struct driver {
	struct race_side side;
	bool loses; /* loses the GPU after some steps */
	u32 taken;
	u32 suspends;
};

/*
 * Like RM's allocator: evict each chunk that is still picked, use it, and give it back. A chunk
 * of which a part stays is not handed over.
 */
static void driver_take(struct driver *me)
{
	struct gvm_device *device = &race_gpu.device;
	u32 first = race_roll(&me->side.dice, RACE_CHUNKS);
	u32 count = 1 + race_roll(&me->side.dice, min(8u, RACE_CHUNKS - first));

	gvm_clock_take_range(device, first, count);
	for (u32 chunk = first; chunk < first + count; chunk++) {
		struct gvm_eviction eviction = { .keep = true };

		if (!gvm_clock_is_picked(device, chunk) ||
		    device->memory_ops->evict(device->memory, chunk, &eviction) ||
		    eviction.left_bytes)
			continue;
		device->memory_ops->release(device->memory, chunk);
		me->taken++;
	}
}

/* While the device is quiesced, no thread of the core works on it. */
static void driver_suspend(struct driver *me)
{
	struct gvm_device *device = &race_gpu.device;

	if (gvm_device_quiesce(device, 1 + race_roll(&me->side.dice, 5000000)))
		return;
	for (u32 i = 0; i < 100; i++) {
		gvm_spin_lock(&device->lock);
		for (u32 activity = 0; activity < GVM_ACTIVITIES; activity++)
			GVM_ASSERT(!device->active[activity]);
		gvm_spin_unlock(&device->lock);
		race_sleep(race_roll(&me->side.dice, 3000));
	}
	for (u32 i = 0; i < RACE_TSGS; i++)
		race_new_tsg(i);
	(void)gvm_device_resume(device);
	me->suspends++;
}

static void driver_side(void *data)
{
	struct driver *me = container_of((struct race_side *)data, struct driver, side);

	while (!gvm_give_way()) {
		if (me->loses && me->suspends + me->taken > 20)
			gvm_device_set_lost(&race_gpu.device);
		if (race_roll(&me->side.dice, 3))
			driver_take(me);
		else
			driver_suspend(me);
		race_sleep(race_roll(&me->side.dice, 2000000));
	}
}

static struct driver driver;
static struct writer writers[WRITERS];
static struct tsg_side tsg_sides[TSG_SIDES];
static struct picker picker;
static struct hearer hearers[HEARERS];

static void start_everybody(u64 seed)
{
	u32 i;

	for (i = 0; i < RACE_SPACES; i++) {
		processes[i].space = &race_gpu.spaces[i];
		race_side_start(&processes[i].side, i, seed, process_side);
	}
	for (i = 0; i < WRITERS; i++)
		race_side_start(&writers[i].side, i, seed + 1, writer_side);
	for (i = 0; i < TSG_SIDES; i++)
		race_side_start(&tsg_sides[i].side, i, seed + 2, tsg_side_main);
	race_side_start(&picker.side, 0, seed + 3, picker_side);
	race_side_start(&driver.side, 0, seed + 5, driver_side);
	for (i = 0; i < HEARERS; i++)
		race_side_start(&hearers[i].side, i, seed + 4, hearer_side);
}

static void end_everybody(void)
{
	u32 i;

	for (i = 0; i < RACE_SPACES; i++)
		race_side_finish(&processes[i].side);
	for (i = 0; i < WRITERS; i++)
		gvm_worker_stop(&writers[i].side.worker);
	for (i = 0; i < TSG_SIDES; i++)
		gvm_worker_stop(&tsg_sides[i].side.worker);
	gvm_worker_stop(&picker.side.worker);
	gvm_worker_stop(&driver.side.worker);
	for (i = 0; i < HEARERS; i++)
		gvm_worker_stop(&hearers[i].side.worker);
}

static void run_everybody(u32 features, bool loses)
{
	u64 seed = race_begin();

	ck_assert_int_eq(race_gpu_init(seed, features), 0);
	driver.loses = loses;
	driver.taken = driver.suspends = 0;
	start_everybody(seed);
	end_everybody();
	race_gpu_destroy();
}

/*
 * Did the run have what needs several threads at one place at one time? On a busy machine it
 * may not. The kernel's run is short and may have none.
 */
static bool had_rare_meetings(void)
{
	if (GPU_STEPS <= 1000)
		return true;
	return race_gpu.remotes && (race_gpu.partial_evictions || !race_gpu.device.payers);
}

static void race(u32 features)
{
	u64 accesses = 0;
	u32 i;

	for (i = 0; i < TRIES_MAX; i++) {
		run_everybody(features, false);
		if (had_rare_meetings())
			break;
	}
	ck_assert(had_rare_meetings());
	/*
	 * Each process and each kind of thread made progress. How much
	 * depends on the machine's load.
	 */
	for (i = 0; i < RACE_SPACES; i++) {
		ck_assert_uint_gt(processes[i].side.count, 0);
		accesses += processes[i].side.count;
	}
	printf("accesses %llu, services %llu, copies in %llu, out %llu, hints %llu, rpcs %llu, "
	       "events %llu, taken %u, suspends %u, partial evictions %llu, remotes %llu\n",
	       accesses, race_gpu.services, race_gpu.copies_in, race_gpu.copies_out,
	       race_gpu.hints, race_gpu.rpcs, hearers[0].side.count + hearers[1].side.count,
	       driver.taken, driver.suspends, race_gpu.partial_evictions, race_gpu.remotes);
	ck_assert_uint_gt(race_gpu.copies_out, 0);
	ck_assert_uint_gt(race_gpu.copies_in, 0);
	ck_assert_uint_gt(race_gpu.rpcs, 0);
	ck_assert_uint_gt(writers[0].side.count, 0);
	ck_assert_uint_gt(picker.side.count, 0);
	ck_assert_uint_gt(picker.rounds, 0);
	ck_assert_uint_gt(driver.taken, 0);
	ck_assert_uint_gt(driver.suspends, 0);
}

START_TEST(threads_that_meet_anywhere_leave_the_books_in_order)
{
	race(0);
}
END_TEST

START_TEST(so_they_do_with_all_ideas_beyond_the_papers)
{
	race(GVM_CLEAN_DROP | GVM_PRIORITY_BATCHES | GVM_HINT_FAULTS);
	ck_assert_uint_gt(race_gpu.hints, 0);
}
END_TEST

/* All waiting threads go on, all memory comes back, and every process can leave. */
START_TEST(a_gpu_that_is_lost_in_the_middle_holds_no_thread)
{
	run_everybody(0, true);
	ck_assert(gvm_device_is_lost(&race_gpu.device));
}
END_TEST

TEST_MAIN("race gpu", a_gpu_that_is_lost_in_the_middle_holds_no_thread,
	  threads_that_meet_anywhere_leave_the_books_in_order,
	  so_they_do_with_all_ideas_beyond_the_papers)
