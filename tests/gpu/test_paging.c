// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Paging on the simulated GPU: background evictors, limits that change under load, and
 * containers that exit at any point. 1 byte/ns on the link each way.
 */
#include "gpu_fixture.h"
#include "gvm/control.h"
#include "gvm/pressure.h"
#include "draw.h"

#define US     1000ull
#define MS     1000000ull
#define CHUNKS 64u
#define CHUNK  GVM_CHUNK_BYTES

enum { TENANTS = 3 };

static struct cfg_gpu profile = {
	.memory = CHUNKS * CHUNK,
	.link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000, .setup = 1000 },
	.sched = { .timeslice = 1000 * US, .timeslice_scale = CFG_PPM, .rpc = 100 * US },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 1,
		   .interrupt = 5 * US,
		   .batch = 3 * US,
		   .entry = 1 * US,
		   .block = 14 * US,
		   .replay = 2 * US,
		   .evict = 32 * US,
		   .zero_bandwidth = 1000000000000 },
};

static void simulate(void (*body)(void), const struct sim_memory_policy *policy)
{
	run_gpu(&profile, policy, body);
}

static const struct sim_memory_policy with_evictors = { .evictors = true };

/* Touch memory once, one block a kernel. */
static int touch_with(struct sim_process *process, const struct gmmu_touch *touches, u32 count)
{
	struct gmmu_walk walk = { .table = &process->page_table,
				  .touches = touches,
				  .count = count };
	struct fifo_burst burst = {
		.kernels = (u32)gmmu_count_blocks(&walk),
		.kernel_ns = 1000,
		.touches = touches,
		.touch_count = count,
	};
	int status;

	fifo_submit(&process->tsg, &burst);
	status = fifo_wait(&burst);
	if (status == -EINTR)
		fifo_kill(&gpu.fifo, process->tsg.id);
	return status;
}

static int touch_once(struct sim_process *process, struct gvm_range *range)
{
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_WRITE);

	return touch_with(process, &touch, 1);
}

static void set_limit(struct sim_process *process, const char *file, u64 chunks)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%llu", chunks * CHUNK);

	ck_assert_int_eq(gvm_control_write(process->container, file, text, (size_t)length), 0);
}

static struct sim_process process;

/*
 * The limit is 64 chunks. The evictor wakes when fewer than 64 / 32 = 2 are free, and stops at
 * 4. After the 63rd block it evicts 3, so a walk over 80 blocks never reaches the limit.
 */
static void walk_with_evictor(void)
{
	struct gvm_range *range;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	set_limit(&process, "gmem.limit.high", 64);
	range = sim_process_map(&process, 80 * CHUNK, false);
	ck_assert_int_eq(touch_once(&process, range), 0);
	ck_assert_int_eq(eng_sleep_until(eng_now() + 10 * MS), 0);
	ck_assert_uint_eq(process.container->events[GVM_EVENT_HIGH], 0);
	ck_assert_uint_le((process.container->charged_bytes >> GVM_CHUNK_SHIFT), 62);
	ck_assert_uint_ge((process.container->charged_bytes >> GVM_CHUNK_SHIFT), 60);
	ck_assert_uint_eq(process.stats.block.evictions,
			  80 - (process.container->charged_bytes >> GVM_CHUNK_SHIFT));
	ck_assert_uint_eq(process.stats.bytes_d2h, process.stats.block.evictions * CHUNK);
	ck_assert_uint_eq(process.stats.faults, 80);
	sim_process_exit(&process);
}

START_TEST(an_evictor_keeps_some_of_the_limit_free)
{
	simulate(walk_with_evictor, &with_evictors);
}
END_TEST

/*
 * As above, but the host takes nothing, so the evictor can do nothing. It tells listeners all
 * the same: only memory that they give up can keep the container below its limit. 4 chunks
 * should be free, 1 is.
 */
static void fill_without_a_way_out(void)
{
	struct gvm_pressure_event event;
	struct gvm_listener listener = { 0 };
	struct gvm_range *range;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	set_limit(&process, "gmem.limit.high", 64);
	set_limit(&process, "hmem.limit", 0);
	ck_assert_int_eq(gvm_listener_open(&listener, process.container), 0);
	range = sim_process_map(&process, 63 * CHUNK, false);
	ck_assert_int_eq(touch_once(&process, range), 0);
	ck_assert_int_eq(eng_sleep_until(eng_now() + 10 * MS), 0);
	ck_assert_int_eq(gvm_listener_read(&listener, &event, sizeof(event), false),
			 (int)sizeof(event));
	ck_assert_uint_eq(event.target_bytes, 3 * CHUNK);
	ck_assert_uint_eq((process.container->charged_bytes >> GVM_CHUNK_SHIFT), 63);
	gvm_listener_close(&listener);
	sim_process_exit(&process);
}

START_TEST(an_evictor_that_can_do_nothing_tells_who_listens)
{
	simulate(fill_without_a_way_out, &with_evictors);
}
END_TEST

/* Bytes moved each way in a ring of 96 blocks through 64 chunks, and the time it took. */
static u64 ring_ns, ring_in, ring_out;

static void walk_in_a_ring(void)
{
	struct gvm_range *range;
	u64 start, in, out;
	int round;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	range = sim_process_map(&process, 96 * CHUNK, true);
	ck_assert_int_eq(touch_once(&process, range), 0);
	start = eng_now();
	in = process.stats.bytes_h2d;
	out = process.stats.bytes_d2h;
	for (round = 0; round < 10; round++)
		ck_assert_int_eq(touch_once(&process, range), 0);
	ring_ns = eng_now() - start;
	ring_in = process.stats.bytes_h2d - in;
	ring_out = process.stats.bytes_d2h - out;
	sim_process_exit(&process);
}

/*
 * A block takes 2.1 ms of link each way and 57 us of driver. With the evictor ahead, both
 * directions work side by side, and each is busy all of the time but the driver's.
 */
START_TEST(with_the_evictor_ahead_both_directions_work_side_by_side)
{
	simulate(walk_in_a_ring, &with_evictors);
	/* CLOCK misses every block of a ring. */
	ck_assert_uint_eq(ring_in, 960 * CHUNK);
	ck_assert_uint_ge(ring_out, 950 * CHUNK);
	ck_assert_uint_ge(ring_in, ring_ns / 100 * 95);
}
END_TEST

START_TEST(without_it_a_fetch_waits_for_its_eviction)
{
	static const struct sim_memory_policy plain;

	simulate(walk_in_a_ring, &plain);
	ck_assert_uint_eq(ring_in, 960 * CHUNK);
	ck_assert_uint_eq(ring_out, 960 * CHUNK);
	ck_assert_uint_le(ring_in, ring_ns / 100 * 50);
}
END_TEST

/* Bytes moved each way in a ring that is only read. */
static void read_in_a_ring(void)
{
	struct gvm_range *range;
	struct gmmu_touch touch;
	u64 start = 0;
	int round;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	range = sim_process_map(&process, 96 * CHUNK, true);
	touch = sim_touch_all(range, GVM_ACCESS_READ);
	for (round = 0; round < 11; round++) {
		if (round == 1)
			start = eng_now();
		ck_assert_int_eq(touch_with(&process, &touch, 1), 0);
	}
	ring_ns = eng_now() - start;
	ring_in = process.stats.bytes_h2d;
	ring_out = process.stats.bytes_d2h;
	sim_process_exit(&process);
}

/* Clean pages go without a copy, so no evictor has to be ahead. */
START_TEST(with_clean_drop_what_is_only_read_never_goes_out)
{
	static const struct sim_memory_policy policy = { .features = GVM_CLEAN_DROP };

	simulate(read_in_a_ring, &policy);
	ck_assert_uint_eq(ring_in, (u64)11 * 96 * CHUNK);
	ck_assert_uint_eq(ring_out, 0);
	ck_assert_uint_ge(ring_in, ring_ns / 100 * 95);
}
END_TEST

/* 20 blocks are used in each step, beside a scan of 4 other blocks a step. 64 fit. */
static void use_and_scan(void)
{
	struct gmmu_touch touches[2];
	struct gvm_range *scanned;
	int step;

	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	touches[0] =
		sim_touch_all(sim_process_map(&process, 20 * CHUNK, true), GVM_ACCESS_READ);
	scanned = sim_process_map(&process, 400 * CHUNK, true);
	for (step = 0; step < 400; step++) {
		touches[1] = sim_touch_blocks(scanned, 4 * (u32)step % 400, 4, GVM_ACCESS_READ);
		ck_assert_int_eq(touch_with(&process, touches, 2), 0);
	}
	ring_in = process.stats.bytes_h2d;
	sim_process_exit(&process);
}

/*
 * The scan brings in 1600 blocks in any case. FIFO also brings in the 20 used blocks again once
 * a turn, 64 - 20 blocks later. With hints they come in once, or nearly so.
 */
START_TEST(what_is_used_all_the_time_stays_once_its_use_is_asked_about)
{
	static const struct sim_memory_policy policy = { .evictors = true,
							 .features = GVM_HINT_FAULTS };

	simulate(use_and_scan, &policy);
	ck_assert_uint_eq(ring_in, (u64)1639 * CHUNK);
}
END_TEST

START_TEST(without_it_what_is_used_all_the_time_leaves_in_its_turn)
{
	simulate(use_and_scan, &with_evictors);
	ck_assert_uint_eq(ring_in, (u64)2340 * CHUNK);
}
END_TEST

/* Everything at once. */

static u64 random_state;
static struct tenant {
	struct sim_process process;
	struct gvm_range *range;
	struct eng_actor *actor;
	u32 lives;
	u64 born_ns;
} tenants[TENANTS];
static bool over;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

/* A process that works until it is ended. */
static void tenant_main(void *data)
{
	struct tenant *tenant = data;

	while (touch_once(&tenant->process, tenant->range) == 0)
		;
}

static void tenant_begin(struct tenant *tenant)
{
	u32 index = (u32)(tenant - tenants);
	u32 blocks = 20 + draw(60);

	ck_assert_int_eq(sim_process_start(&tenant->process, &gpu, 10 + index), 0);
	tenant->range = sim_process_map(&tenant->process, blocks * CHUNK, draw(2));
	tenant->actor = eng_spawn("tenant", tenant_main, tenant);
	tenant->lives++;
	tenant->born_ns = eng_now();
}

/* The process exits at any point of its work and the driver's. Its memory must outlive both. */
static void tenant_end(struct tenant *tenant)
{
	const struct fifo_tsg *tsg = &tenant->process.tsg;
	u64 age_ns = eng_now() - tenant->born_ns;
	struct sim_process_stats stats;

	sim_process_exit(&tenant->process);
	ck_assert_uint_le(tsg->busy_ns + fifo_stall_ns(&tsg->stall) + tsg->blocked_ns, age_ns);
	eng_join(tenant->actor);
	if (draw(2))
		return;
	/* Nothing is done for the ended process any more. */
	stats = tenant->process.stats;
	eng_sleep_until(eng_now() + 20 * MS);
	ck_assert_mem_eq(&stats, &tenant->process.stats, sizeof(stats));
}

/* The container's process may exit in the middle of the write. */
static void write_limit(struct gvm_container *container)
{
	u32 which = draw(6);
	const char *file = which == 0 ? "hmem.limit" :
			   which == 1 ? "gmem.limit.low" :
					"gmem.limit.high";
	char text[32];
	int length = snprintf(text, sizeof(text), "%llu", (2 + draw(64)) * CHUNK);

	ck_assert_int_gt(length, 0);
	gvm_container_get(container);
	if (!which && !draw(4))
		snprintf(text, sizeof(text), "max");
	gvm_control_write(container, file, text, strlen(text));
	gvm_container_put(container);
}

static struct gvm_listener ear;

/* One listener. It stays with a container until the container ends, or longer. */
static void listen_to(struct gvm_container *container)
{
	struct gvm_pressure_event event;

	if (!ear.container)
		ck_assert_int_eq(gvm_listener_open(&ear, container), 0);
	if (gvm_listener_read(&ear, &event, sizeof(event), false) == 0 || !draw(8))
		gvm_listener_close(&ear);
}

static void meddle(void *data)
{
	(void)data;
	while (!over && !eng_sleep_until(eng_now() + draw(3000) * US)) {
		struct tenant *tenant = &tenants[draw(TENANTS)];
		u32 what = draw(8);

		/* A process has its range a moment after its context. */
		if (!tenant->process.running || !tenant->process.range_count)
			continue;
		/* Memory in use may be discarded at any time. */
		if (what == 0)
			sim_process_discard(&tenant->process, tenant->range, draw(40) * CHUNK,
					    draw(40) * CHUNK);
		else if (what == 1)
			listen_to(tenant->process.container);
		else
			write_limit(tenant->process.container);
	}
	gvm_listener_close(&ear);
}

static u32 steps;

static void live_and_die(void)
{
	struct eng_actor *meddler;
	u32 i, step;

	for (i = 0; i < TENANTS; i++)
		tenant_begin(&tenants[i]);
	meddler = eng_spawn("meddler", meddle, NULL);
	for (step = 0; step < steps; step++) {
		eng_sleep_until(eng_now() + draw(20000) * US);
		i = draw(TENANTS);
		tenant_end(&tenants[i]);
		ck_assert_int_eq(gvm_check(&gpu.device), 0);
		tenant_begin(&tenants[i]);
	}
	over = true;
	eng_join(meddler);
	for (i = 0; i < TENANTS; i++) {
		ck_assert_uint_gt(tenants[i].lives, steps / 8);
		tenant_end(&tenants[i]);
	}
}

enum { POLICIES = 7, YIELD_SEEDS = 8 };

static const struct sim_memory_policy policies[POLICIES] = {
	{ 0 },
	{ .evictors = true },
	{ .evictors = true,
	  .features = GVM_CLEAN_DROP | GVM_PRIORITY_BATCHES | GVM_HINT_FAULTS },
	{ .manager = &sim_manager_nvuvm },
	{ .manager = &sim_manager_nvuvm, .limits = true, .one_list = true },
	{ .manager = &sim_manager_nvuvm, .limits = true, .fast_path = true },
	{ .manager = &sim_manager_ghost_uvm, .evictors = true },
};

START_TEST(containers_that_exit_in_the_middle_leave_nothing_behind)
{
	random_state = runner_seed();
	steps = 400;
	profile.context = 2 * CHUNK + 1;
	simulate(live_and_die, &policies[_i]);
}
END_TEST

/* The same lives, but the actors give way at other places each time. */
START_TEST(nothing_is_left_behind_wherever_actors_give_way)
{
	random_state = 1;
	gvm_port_yield_seed = runner_seed_or(1) + (u64)(_i / POLICIES);
	gvm_port_yield_at_spinlocks = !policies[_i % POLICIES].manager;
	steps = 60;
	profile.context = 2 * CHUNK + 1;
	simulate(live_and_die, &policies[_i % POLICIES]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("paging");
	TCase *tcase = tcase_create("paging");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, an_evictor_keeps_some_of_the_limit_free);
	tcase_add_test(tcase, an_evictor_that_can_do_nothing_tells_who_listens);
	tcase_add_test(tcase, with_the_evictor_ahead_both_directions_work_side_by_side);
	tcase_add_test(tcase, without_it_a_fetch_waits_for_its_eviction);
	tcase_add_test(tcase, with_clean_drop_what_is_only_read_never_goes_out);
	tcase_add_test(tcase, what_is_used_all_the_time_stays_once_its_use_is_asked_about);
	tcase_add_test(tcase, without_it_what_is_used_all_the_time_leaves_in_its_turn);
	tcase_add_loop_test(tcase, containers_that_exit_in_the_middle_leave_nothing_behind, 0,
			    POLICIES);
	tcase_add_loop_test(tcase, nothing_is_left_behind_wherever_actors_give_way, 0,
			    POLICIES * YIELD_SEEDS);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
