// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * One simulated GPU of 16 chunks under the driver core: locks between actors, faults end to
 * end, and exits in the middle of faults. 1 byte/ns on the link.
 */
#include "gpu_fixture.h"

#define US 1000ull

static struct cfg_gpu profile = {
	.memory = 16 * GVM_CHUNK_BYTES,
	.link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000, .setup = 1000 },
	.sched = { .timeslice = 1000 * US, .timeslice_scale = CFG_PPM, .rpc = 100 * US },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 32,
		   .interrupt = 5 * US,
		   .batch = 10 * US,
		   .entry = 1 * US,
		   .block = 20 * US,
		   .replay = 2 * US,
		   .evict = 30 * US,
		   .zero_bandwidth = 1000000000 },
};

static struct sim_memory_policy policy;
static struct sim_process process;

static void simulate(void (*body)(void))
{
	run_gpu(&profile, &policy, body);
}

static struct fifo_burst touching_burst(const struct gmmu_touch *touch)
{
	return (struct fifo_burst){
		.kernels = 1,
		.kernel_ns = 1000,
		.touches = touch,
		.touch_count = 1,
	};
}

static void fault_in(void)
{
	struct gmmu_touch touch;
	struct fifo_burst burst;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	touch = sim_touch_all(sim_process_map(&process, 2 * GVM_CHUNK_BYTES, true),
			      GVM_ACCESS_READ);
	burst = touching_burst(&touch);
	fifo_submit(&process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	/*
	 * Interrupt 5 us; 64 records: 10 + 64 us; first block 20 us. Its copy begins at 99 us.
	 * There are two copies of 1 us set-up and 2097.152 us each. The handler's second block
	 * (20 us) and replay (2 us) hide behind them. Then 1 us of kernel.
	 */
	ck_assert_uint_eq(burst.finished_ns,
			  (5 + 10 + 64 + 20) * US + 2 * (1000 + 2097152) + 1000);
	ck_assert_uint_eq(process.stats.faults, 64);
	ck_assert_uint_eq(process.stats.bytes_h2d, 2 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(fifo_stall_ns(&process.tsg.stall), burst.finished_ns - 1000);
}

START_TEST(a_fault_takes_the_drivers_time_and_the_links)
{
	simulate(fault_in);
}
END_TEST

static void fault_with_pushes(void)
{
	struct gmmu_touch touch;
	struct fifo_burst burst;

	profile.fault.push = 7 * US;
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	touch = sim_touch_all(sim_process_map(&process, GVM_CHUNK_BYTES, true),
			      GVM_ACCESS_READ);
	burst = touching_burst(&touch);
	fifo_submit(&process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	/*
	 * Interrupt 5 us, 32 records 10 + 32 us, block 20 us: the copy begins at 67 us. Then
	 * come the block's PTEs and the replay, 7 us each, and 1 us of kernel.
	 */
	ck_assert_uint_eq(burst.finished_ns, 67 * US + 1000 + 2097152 + 2 * 7 * US + 1000);
	/*
	 * The handler's 2 us for the replay hide behind the copy. The handler waits from 69 us
	 * on: for the copy, the PTEs and the replay.
	 */
	ck_assert_uint_eq(process.tsg.stall.ns[FIFO_STALL_IN],
			  1000 + 2097152 - 2 * US + 2 * 7 * US);
	ck_assert_uint_eq(fifo_stall_out_ns(&process.tsg.stall), 0);
}

START_TEST(ptes_and_replays_come_behind_the_copies)
{
	simulate(fault_with_pushes);
}
END_TEST

/* An episode has the same parts whether it is sampled every 7 us or once at the end. */
static void sampled_episode(void)
{
	struct gmmu_touch touch;
	struct fifo_burst burst;
	struct fifo_stall at_first, at_last;

	profile.fault.push = 7 * US;
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	touch = sim_touch_all(sim_process_map(&process, GVM_CHUNK_BYTES, true),
			      GVM_ACCESS_READ);
	burst = touching_burst(&touch);
	fifo_submit(&process.tsg, &burst);
	do {
		u64 before = fifo_stall_ns(&process.tsg.stall);

		eng_sleep_until(eng_now() + 7 * US);
		fifo_update(&gpu.fifo);
		ck_assert_uint_le(fifo_stall_ns(&process.tsg.stall) - before, 7 * US);
		/* The wait for a copy shows while it lasts, and not only after it. */
		at_first = process.tsg.stall;
	} while (eng_now() < 80 * US);
	ck_assert_uint_eq(at_first.ns[FIFO_STALL_IN], eng_now() - 69 * US);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	at_last = process.tsg.stall;
	ck_assert_uint_eq(at_last.ns[FIFO_STALL_IN], 1000 + 2097152 - 2 * US + 2 * 7 * US);
	ck_assert_uint_eq(at_last.ns[FIFO_STALL_CPU], 69 * US);
	ck_assert_uint_eq(fifo_stall_out_ns(&at_last), 0);
}

START_TEST(an_episode_has_the_same_parts_however_often_it_is_looked_at)
{
	simulate(sampled_episode);
}
END_TEST

static void exit_under_copies(void)
{
	static struct gmmu_touch touch;
	static struct fifo_burst burst;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	touch = sim_touch_all(sim_process_map(&process, 4 * GVM_CHUNK_BYTES, true),
			      GVM_ACCESS_READ);
	burst = touching_burst(&touch);
	fifo_submit(&process.tsg, &burst);
	/* The second of four copies is on the wire. */
	eng_sleep_until(3000 * US);
	ck_assert_uint_eq(gpu.free_count, 12);
	sim_process_exit(&process);
	ck_assert_uint_eq(process.stats.bytes_h2d, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_gt(eng_now(), 8000 * US);
	ck_assert_uint_eq(gpu.free_count, 16);
	ck_assert_int_eq(burst.status, -EIO);
}

START_TEST(memory_is_freed_only_when_the_copy_engines_have_let_go)
{
	simulate(exit_under_copies);
}
END_TEST

static void forbid(void)
{
	static struct gmmu_touch touch;
	static struct fifo_burst burst;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	touch = sim_touch_all(sim_process_map(&process, GVM_CHUNK_BYTES, false),
			      GVM_ACCESS_WRITE);
	gvm_limit_set_high(process.container, GVM_CHUNK_BYTES - 1);
	burst = touching_burst(&touch);
	fifo_submit(&process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), -EIO);
	ck_assert(process.killed);
	/*
	 * Interrupt 5 us, batch 10 us, 32 records: the kill comes after the driver's work on
	 * the fault.
	 */
	ck_assert_uint_eq(process.killed_ns, 47 * US);
	ck_assert_uint_eq(process.killed_ns, burst.finished_ns);
	ck_assert_uint_eq(process.container->events[GVM_EVENT_OOM], 1);
}

START_TEST(a_cancelled_fault_kills_after_the_drivers_work_on_it)
{
	simulate(forbid);
}
END_TEST

static struct gvm_mutex mutex;
static char order[8];
static size_t order_length;

static void take_in_turn(void *data)
{
	(void)data;
	gvm_mutex_lock(&mutex);
	order[order_length++] = eng_actor_name(eng_self())[0];
	eng_sleep_until(eng_now() + 10);
	gvm_mutex_unlock(&mutex);
}

/* This actor asks for the mutex at the date at which the mutex is handed over to another. */
static void take_at_10(void *data)
{
	eng_sleep_until(10);
	take_in_turn(data);
}

/*
 * Faults after pauses: @wake_ns is the time of each beside its copy and the handler's own work.
 */
static void faults_after_pauses(void)
{
	static const struct {
		u64 pause_ns;
		u64 wake_ns;
	} cases[] = {
		{ 500 * US, 5 * US + 200 * US }, /* at first the thread sleeps deeply */
		{ 0, 0 },
		{ 2 * US, 0 },
		{ 4 * US, 5 * US },
		{ 140 * US, 5 * US },
		{ 160 * US, 5 * US + 200 * US },
	};
	u64 work = (10 + 1 + 20) * US + 1000 + GVM_CHUNK_BYTES + 1000;
	const u32 mask = 1;
	const u64 group = 1;
	struct gmmu_touch touch;
	struct fifo_burst burst;
	struct gvm_range *range;
	size_t i;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	range = sim_process_map(&process, 6 * GVM_CHUNK_BYTES, true);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 start;

		touch = sim_touch_blocks(range, (u32)i, 1, GVM_ACCESS_READ);
		touch.masks = &mask;
		touch.groups = &group;
		touch.blocks_per_mask = 1;
		eng_sleep_until(eng_now() + cases[i].pause_ns);
		start = eng_now();
		burst = touching_burst(&touch);
		fifo_submit(&process.tsg, &burst);
		ck_assert_int_eq(fifo_wait(&burst), 0);
		ck_assert_uint_eq(burst.finished_ns - start, cases[i].wake_ns + work);
	}
}

START_TEST(a_service_thread_lingers_and_then_sleeps_more_and_more_deeply)
{
	profile.fault.linger = 4 * US;
	profile.fault.cold_wake = 200 * US;
	profile.fault.cold_after = 150 * US;
	simulate(faults_after_pauses);
}
END_TEST

static void contend(void)
{
	struct eng_actor *actors[3];
	int i;

	gvm_mutex_init(&mutex, "test");
	actors[0] = eng_spawn("z", take_at_10, NULL);
	actors[1] = eng_spawn("a", take_in_turn, NULL);
	actors[2] = eng_spawn("b", take_in_turn, NULL);
	for (i = 0; i < 3; i++)
		eng_join(actors[i]);
	ck_assert_str_eq(order, "abz");
	ck_assert(!mutex.held);
}

START_TEST(a_mutex_is_handed_over_in_the_order_of_arrival)
{
	simulate(contend);
}
END_TEST

TEST_MAIN("gpu", a_fault_takes_the_drivers_time_and_the_links,
	  ptes_and_replays_come_behind_the_copies,
	  an_episode_has_the_same_parts_however_often_it_is_looked_at,
	  memory_is_freed_only_when_the_copy_engines_have_let_go,
	  a_cancelled_fault_kills_after_the_drivers_work_on_it,
	  a_service_thread_lingers_and_then_sleeps_more_and_more_deeply,
	  a_mutex_is_handed_over_in_the_order_of_arrival)
