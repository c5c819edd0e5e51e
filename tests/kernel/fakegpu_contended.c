// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Who waits for whom where locks of ranges are contended and the device is full. A copy engine
 * that is held keeps a thread, with the lock of a range, where it starts a copy. Others run
 * into that lock. Meanwhile bystanders open contexts, use control files and exit: all of them
 * end before the engine goes on. The trace says where each thread is, and nothing is timed.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "fakegpu_guest.h"

#define OWNER_CHUNKS 4u
#define FULL_CHUNKS  16u /* all of the GPU */
#define BYSTANDERS   3u
#define TSG_RPCS     3u

/* Relative to debugfs. The words of the parameter hold_copies. */
#define HOLD_COPIES "../../module/gvm_fakegpu/parameters/hold_copies"
#define HOLD_OUT    "2"
#define HOLD_CLEARS "4"
#define HOLD_NONE   "0"

/* Places of threads in the trace. */
#define AT_COPY	 "what=a place in a copy queue"
#define AT_RANGE "lock=gvm range step=wait"

/* Shared by the processes of a test. */
static volatile struct {
	uint32_t step;
	pid_t discarder;
} * scene;

static bool is_there(pid_t pid, const char *place, const char *or_there)
{
	return waits_seen(pid, place) || (or_there && waits_seen(pid, or_there));
}

/* A test point: thread @pid (0: any) comes to a place, or to the other one. */
static void expect_thread(pid_t pid, const char *place, const char *or_there)
{
	bool there = is_there(pid, place, or_there);

	for (uint32_t i = 0; i < STEP_TRIES && !there; i++) {
		sleep_ms(5);
		there = is_there(pid, place, or_there);
	}
	guest_check(there, "thread %d comes to \"%s\"", pid, place);
}

static void expect_step(uint32_t step)
{
	for (uint32_t i = 0; i < STEP_TRIES && scene->step < step; i++)
		sleep_ms(5);
	guest_check(scene->step >= step, "step %u", step);
}

static void use_files(pid_t tgid)
{
	static const char *const files[] = { "compute.priority", "compute.weight",
					     "compute.freeze", "gmem.current" };

	for (uint32_t i = 0; i < 4; i++)
		require(control_get(tgid, files[i]) >= 0, "%s", files[i]);
	require(control_set(tgid, "compute.priority", "3") == 0, "priority");
}

static void open_and_exit(uint32_t owner)
{
	int context = tenant_open(0);

	use_files((pid_t)owner);
	use_files(getpid());
	close(context);
}

/* A range. */

/* Of its chunks, the first one is on the GPU. A kernel brings in the others. */
static void own_a_range(uint32_t index)
{
	uint64_t va, bytes = (OWNER_CHUNKS - 1) * CHUNK;
	int context = tenant_open(0);
	pid_t discarder;

	(void)index;
	va = tenant_map(context, OWNER_CHUNKS * CHUNK);
	require(fakegpu_fill(context, va, CHUNK, 5) == 0, "fill");
	scene->step = 1;
	wait_for_step(&scene->step, 2);
	discarder = fork();
	if (discarder == 0) {
		wait_for_step(&scene->step, 3);
		_exit(fakegpu_discard(context, va, PAGE) != 0);
	}
	scene->discarder = discarder;
	require(fakegpu_fill(context, va + CHUNK, bytes, 6) == 0, "fill of the others");
	require(tenant_finish(discarder), "discard");
	require(fakegpu_verify(context, va + CHUNK, bytes, 6, NULL) == 0, "verify");
	require(fakegpu_verify_zero(context, va, PAGE, NULL) == 0, "verify zeros");
	close(context);
}

/* One chunk has to leave, which is the one that is not in service. */
static void lower_limit(uint32_t owner)
{
	uint64_t bytes = (uint64_t)control_get((pid_t)owner, "gmem.current");

	require(control_set_number((pid_t)owner, "gmem.limit.high", bytes - CHUNK) == 0,
		"limit");
	require(control_set((pid_t)owner, "gmem.limit.high", "max") == 0, "limit");
}

/* The service of a fault has the lock. A discard and the writer of a limit want it. */
static void test_range_in_service(void)
{
	pid_t owner, writer;

	gpu_load("chunks=16");
	scene->step = 0;
	owner = tenant_start(own_a_range, 0);
	expect_step(1);
	waits_begin();
	guest_expect_write(HOLD_COPIES, HOLD_CLEARS, 0);
	scene->step = 2;
	expect_thread(0, AT_COPY, NULL);
	writer = tenant_start(lower_limit, (uint32_t)owner);
	expect_thread(writer, AT_RANGE, NULL);
	scene->step = 3;
	expect_thread(scene->discarder, AT_RANGE, NULL);
	for (uint32_t i = 0; i < BYSTANDERS; i++)
		guest_check(tenant_finish(tenant_start(open_and_exit, (uint32_t)owner)),
			    "another process opens, uses control files and exits");
	guest_expect_write(HOLD_COPIES, HOLD_NONE, 0);
	guest_check(tenant_finish(writer), "the writer of the limit goes on");
	guest_check(tenant_finish(owner), "and so does the owner of the range");
	waits_end(TSG_RPCS);
	waits_contended("gvm range", 2);
	gpu_unload();
}

/* A full GPU. */

/* Memory that takes all of the GPU. Later a kernel looks at all of it. */
static void fill_the_gpu(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, FULL_CHUNKS * CHUNK);

	(void)index;
	require(fakegpu_fill(context, va, FULL_CHUNKS * CHUNK, 8) == 0, "fill");
	scene->step = 1;
	wait_for_step(&scene->step, 2);
	require(fakegpu_verify(context, va, FULL_CHUNKS * CHUNK, 8, NULL) == 0, "verify");
	close(context);
}

static void create_many(uint32_t count)
{
	int contexts[FULL_CHUNKS];

	for (uint32_t i = 0; i < count; i++)
		contexts[i] = tenant_open(0);
	for (uint32_t i = 0; i < count; i++)
		close(contexts[i]);
}

static void exit_later(uint32_t owner)
{
	int context = tenant_open(0);

	wait_for_step(&scene->step, 2);
	use_files((pid_t)owner);
	use_files(getpid());
	close(context);
}

/*
 * A CREATE has to evict, and the copy to the host is held: it, or the evictor, has the lock of
 * the owner's range. The next CREATE wants it. Then the owner faults, too.
 */
static void test_create_on_a_full_gpu(void)
{
	pid_t owner, creators[2], bystanders[BYSTANDERS];

	gpu_load("chunks=16");
	scene->step = 0;
	owner = tenant_start(fill_the_gpu, 0);
	expect_step(1);
	for (uint32_t i = 0; i < BYSTANDERS; i++) {
		bystanders[i] = tenant_start(exit_later, (uint32_t)owner);
		while (control_get(bystanders[i], "gmem.current") <= 0)
			sleep_ms(1);
	}
	waits_begin();
	guest_expect_write(HOLD_COPIES, HOLD_OUT, 0);
	creators[0] = tenant_start(create_many, 5);
	expect_thread(creators[0], AT_COPY, AT_RANGE);
	creators[1] = tenant_start(create_many, 3);
	expect_thread(creators[1], AT_RANGE, NULL);
	guest_check(gpu_info().free_chunks == 0, "the GPU is full");
	scene->step = 2;
	for (uint32_t i = 0; i < BYSTANDERS; i++)
		guest_check(tenant_finish(bystanders[i]),
			    "another process uses control files and exits");
	guest_expect_write(HOLD_COPIES, HOLD_NONE, 0);
	guest_check(tenant_finish(creators[0]) && tenant_finish(creators[1]),
		    "each CREATE gets its memory");
	guest_check(tenant_finish(owner), "no byte of the owner was lost");
	waits_end(TSG_RPCS);
	waits_contended("gvm range", 1);
	gpu_unload();
}

void test_contended(void)
{
	scene = shared_alloc(sizeof(*scene));
	test_range_in_service();
	test_create_on_a_full_gpu();
}
