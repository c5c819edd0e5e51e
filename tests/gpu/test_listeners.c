// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Listeners of pressure events in simulated time, beside another tenant under load. Unless a
 * listener gives memory back, the run is the same to the nanosecond, for its container and for
 * the other one. Each run is a process of its own.
 */
#include "gpu/process.h"
#include "gvm/control.h"
#include "gvm/pressure.h"
#include "runner.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define US     1000ull
#define MS     1000000ull
#define CHUNK  GVM_CHUNK_BYTES
#define CHUNKS 128u
#define ROUNDS 4u

enum { LOUD, QUIET, TENANTS }; /* the listening tenant, and its neighbour */

static struct cfg_gpu profile = {
	.memory = CHUNKS * CHUNK,
	.link = { .bandwidth = 16000000000, .bandwidth_both = 32000000000, .setup = 1000 },
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

/* The result of a run, for the parent process. */
struct outcome {
	struct sim_process_stats stats[TENANTS];
	u64 events[TENANTS][GVM_EVENTS];
	u64 end_ns[TENANTS];
	u64 heard; /* events read; not compared */
};

static struct outcome *outcome;
static struct sim_gpu gpu;
static struct sim_process tenants[TENANTS];
static struct gvm_listener listener;
static struct eng_actor *reader;
static bool over;

/* Ways to listen. Each is an actor. */

static void listen_never(void *data)
{
	(void)data;
}

static bool listen_once(void)
{
	struct gvm_pressure_event event;
	int got = gvm_listener_read(&listener, &event, sizeof(event), true);

	outcome->heard += got > 0;
	return got > 0;
}

static void listen_and_lie(void *data)
{
	(void)data;
	while (listen_once())
		;
}

static void listen_slowly(void *data)
{
	(void)data;
	while (listen_once() && !eng_sleep_until(eng_now() + 20 * MS))
		;
}

static void listen_with_a_small_buffer(void *data)
{
	u64 small;

	(void)data;
	while (!over && !eng_sleep_until(eng_now() + 100 * US))
		gvm_listener_read(&listener, &small, sizeof(small), true);
}

static void listen_and_reopen(void *data)
{
	struct gvm_container *container = tenants[LOUD].container;

	(void)data;
	while (!over && !eng_sleep_until(eng_now() + 137 * US)) {
		gvm_listener_close(&listener);
		if (gvm_listener_open(&listener, container))
			break;
	}
}

static void listen_and_die(void *data)
{
	(void)data;
	listen_once();
	gvm_listener_close(&listener);
}

static void (*const ways[])(void *data) = {
	listen_never,	   listen_and_lie, listen_slowly, listen_with_a_small_buffer,
	listen_and_reopen, listen_and_die,
};

/* Walk over all memory of a process, one block a kernel. */
static void walk(struct sim_process *process)
{
	struct gmmu_touch touch = sim_touch_all(&process->ranges[0], GVM_ACCESS_WRITE);
	struct fifo_burst burst = {
		.kernels = process->ranges[0].block_count,
		.kernel_ns = 20 * US,
		.touches = &touch,
		.touch_count = 1,
	};

	fifo_submit(&process->tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
}

static void tenant_main(void *data)
{
	struct sim_process *process = data;
	u32 index = (u32)(process - tenants), round;

	for (round = 0; round < ROUNDS; round++)
		walk(process);
	outcome->end_ns[index] = eng_now();
	outcome->stats[index] = process->stats;
	memcpy(outcome->events[index], process->container->events,
	       sizeof(outcome->events[index]));
}

static void listen_from_now_on(void (*way)(void *data))
{
	if (!way)
		return;
	ck_assert_int_eq(gvm_listener_open(&listener, tenants[LOUD].container), 0);
	reader = eng_spawn("reader", way, NULL);
}

/* Stop listening. A reader that sleeps in the listener is woken by the close. */
static void listen_no_more(void)
{
	over = true;
	if (!reader)
		return;
	eng_interrupt(reader);
	eng_join(reader);
	gvm_listener_close(&listener);
}

static void body_main(void *data)
{
	void (*const *way)(void *data) = data;
	struct eng_actor *actors[TENANTS];
	u32 i;

	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	for (i = 0; i < TENANTS; i++) {
		ck_assert_int_eq(sim_process_start(&tenants[i], &gpu, 1 + i), 0);
		ck_assert_ptr_nonnull(sim_process_map(&tenants[i], 100 * CHUNK, false));
	}
	gvm_limit_set_high(tenants[LOUD].container, 64 * CHUNK);
	listen_from_now_on(*way);
	for (i = 0; i < TENANTS; i++)
		actors[i] = eng_spawn("tenant", tenant_main, &tenants[i]);
	eng_sleep_until(10 * MS);
	gvm_control_write(tenants[LOUD].container, "gmem.limit.high", "80M", 3);
	for (i = 0; i < TENANTS; i++)
		eng_join(actors[i]);
	listen_no_more();
	for (i = 0; i < TENANTS; i++)
		sim_process_exit(&tenants[i]);
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
}

static void simulate(void (*way)(void *data))
{
	static const struct sim_memory_policy ghost = { .evictors = true };

	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &ghost), 0);
	eng_spawn("body", body_main, &way);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

/* One run, in a process of its own. */
static struct outcome run(void (*way)(void *data))
{
	pid_t child;
	int status;

	memset(outcome, 0, sizeof(*outcome));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		simulate(way);
		exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	return *outcome;
}

START_TEST(a_misbehaving_listener_changes_nothing_for_anybody)
{
	struct outcome without, with;
	u64 heard = 0;
	u32 i;

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(outcome, MAP_FAILED);
	without = run(NULL);
	ck_assert_uint_gt(without.stats[LOUD].block.evictions, 100);
	ck_assert_uint_gt(without.stats[QUIET].block.evictions, 0);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		with = run(ways[i]);
		heard += with.heard;
		with.heard = 0;
		ck_assert_msg(memcmp(&with, &without, sizeof(with)) == 0, "way %u", i);
	}
	ck_assert_uint_gt(heard, 10);
}
END_TEST

TEST_MAIN("listeners", a_misbehaving_listener_changes_nothing_for_anybody)
