// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Shares of a GPU that runs one TSG at a time: by timeslices and priorities, by the priority
 * scheduler, by weights. Tenants run kernels of equal work side by side, and their counts are
 * compared. Each ratio is also reversed once, so that a bias of the machine cannot pass both
 * ways. Nothing is timed.
 *
 * A timeslice is wall time, and a busy host takes any amount of it from the virtual machine. So
 * the bounds are loose. The shares that are due differ by 1000 times, by 16 times, or one is
 * zero; a setting without effect fails the bounds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define KERNEL_CHUNKS 2u
#define TENANTS	      3u
#define KERNELS	      80u /* that a comparison waits for */

static volatile uint64_t *done; /* kernels that each tenant has done */
static volatile pid_t *leader;	/* of the container with two processes */

/* The tenant's own context and memory. */
static struct {
	uint32_t index;
	int context;
	uint64_t va;
} desk;

/* One kernel after the other, over memory that stays on the GPU. */
static void *work(void *unused)
{
	uint64_t wrong = 0;

	(void)unused;
	for (;;) {
		int error = fakegpu_verify(desk.context, desk.va, KERNEL_CHUNKS * CHUNK,
					   desk.index, &wrong);

		require(error == 0, "verify: %s at %llx", guest_error_name(error),
			(unsigned long long)wrong);
		__sync_fetch_and_add(&done[desk.index], 1);
	}
	return NULL;
}

/*
 * Two threads: when a kernel ends, the next one is ready, so the TSG does not give up its
 * timeslice.
 */
static void begin_work(uint32_t index, uint32_t group)
{
	pthread_t second;

	desk.index = index;
	desk.context = tenant_open(group);
	desk.va = tenant_map(desk.context, KERNEL_CHUNKS * CHUNK);
	require(fakegpu_fill(desk.context, desk.va, KERNEL_CHUNKS * CHUNK, index) == 0, "fill");
	require(pthread_create(&second, NULL, work, NULL) == 0, "thread");
	work(NULL);
}

static void alone(uint32_t index)
{
	begin_work(index, 0);
}

/* The first process of a container that has two. */
static void leading(uint32_t index)
{
	*leader = getpid();
	begin_work(index, 0);
}

static void joining(uint32_t index)
{
	while (!*leader || control_get(*leader, "gmem.peak") < 0)
		sleep_ms(1);
	begin_work(index, (uint32_t)*leader);
}

static bool gets_on(uint32_t index)
{
	uint64_t before = done[index];

	for (uint32_t i = 0; i < 6000 && done[index] == before; i++)
		sleep_ms(5);
	return done[index] != before;
}

/* Wait until the tenants have done @kernels more together. Returns how many each has done. */
static void watch(uint64_t kernels, uint64_t *ret_progress)
{
	uint64_t before[TENANTS], sum;

	for (uint32_t i = 0; i < TENANTS; i++)
		before[i] = done[i];
	do {
		sleep_ms(5);
		sum = 0;
		for (uint32_t i = 0; i < TENANTS; i++) {
			ret_progress[i] = done[i] - before[i];
			sum += ret_progress[i];
		}
	} while (sum < kernels);
}

/* Start one tenant after the other. Both are at work before any comparison. */
static void start_two(pid_t *pids)
{
	for (uint32_t i = 0; i < 2; i++) {
		pids[i] = tenant_start(alone, i);
		guest_check(gets_on(i), "tenant %u is at work", i);
	}
}

static void stop(const pid_t *pids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		guest_check(tenant_kill(pids[i]), "tenant %u was well until the end", i);
}

/*
 * A turn that began before a setting was written keeps its length, which may be the long one.
 * That turn is over when the other tenant has done more than it does in a short turn.
 */
static void await_setting(uint32_t first)
{
	uint64_t before = done[first];

	for (uint32_t i = 0; i < 6000 && done[first] < before + 8; i++)
		sleep_ms(5);
}

/* The first tenant does at least twice as many kernels as the second. */
static void expect_more(uint32_t first, uint32_t second, const char *why)
{
	uint64_t progress[TENANTS];

	await_setting(first);
	watch(2 * KERNELS, progress);
	guest_check(progress[first] >= 2 * progress[second],
		    "%s: %llu kernels, and %llu of the other one", why,
		    (unsigned long long)progress[first], (unsigned long long)progress[second]);
}

static void set_both(const pid_t *pids, const char *file, const char *first, const char *second)
{
	guest_check(control_set(pids[0], file, first) == 0 &&
			    control_set(pids[1], file, second) == 0,
		    "%s is %s and %s", file, first, second);
}

/* Turns of the hardware: a quarter of a second, and a quarter of a millisecond. */
static void test_timeslices(void)
{
	pid_t pids[2];

	gpu_load("chunks=16 sms=1 scheduler=timeslices");
	start_two(pids);
	set_both(pids, "compute.priority", "1", "11");
	expect_more(0, 1, "the first is more important");
	set_both(pids, "compute.priority", "11", "1");
	expect_more(1, 0, "the second is");
	set_both(pids, "compute.timeslice", "250", "256us");
	expect_more(0, 1, "the first has the longer timeslice");
	stop(pids, 2);
	gpu_unload();
}

static void test_weighted(const char *parameters)
{
	pid_t pids[2];

	gpu_load(parameters);
	start_two(pids);
	set_both(pids, "compute.weight", "1600", "100");
	expect_more(0, 1, "the first weighs 16 times as much");
	set_both(pids, "compute.weight", "100", "1600");
	expect_more(1, 0, "the second does");
	guest_check(gets_on(0), "and the light one gets on");
	stop(pids, 2);
	gpu_unload();
}

/*
 * Tenants 0 and 1 together always have work. So tenant 2 is held, but for a kernel that it had
 * begun.
 */
static void expect_held(const char *when)
{
	uint64_t progress[TENANTS];

	watch(KERNELS, progress);
	guest_check(progress[2] <= KERNELS / 8, "%s the low one is held: %llu of %llu kernels",
		    when, (unsigned long long)progress[2],
		    (unsigned long long)(progress[0] + progress[1] + progress[2]));
}

static void test_priority(const char *parameters)
{
	pid_t pids[TENANTS];

	*leader = 0;
	gpu_load(parameters);
	pids[0] = tenant_start(leading, 0);
	pids[1] = tenant_start(joining, 1);
	pids[2] = tenant_start(alone, 2);
	for (uint32_t i = 0; i < TENANTS; i++)
		guest_check(gets_on(i), "of equal priority, tenant %u gets on", i);
	guest_check(control_set(pids[0], "compute.priority", "2") == 0 &&
			    control_set(pids[0], "compute.timeslice", "1024us") == 0,
		    "two of them become more important, with timeslices as before");
	expect_held("while they work");
	guest_check(control_set(pids[0], "compute.freeze", "1") == 0 && gets_on(2),
		    "frozen, they hold no other");
	guest_check(control_set(pids[0], "compute.freeze", "0") == 0, "they are thawed");
	expect_held("thawed,");
	stop(pids, 2);
	guest_check(gets_on(2), "when they have gone the low one gets on");
	stop(pids + 2, 1);
	gpu_unload();
}

static void test_mistakes(void)
{
	int error = guest_load("gvm_fakegpu", "scheduler=fair");

	guest_check(error == EINVAL, "no such scheduler: %s", guest_error_name(error));
	error = guest_load("gvm_fakegpu", "scheduler=weighted tracking=rumours");
	guest_check(error == EINVAL, "no such tracking: %s", guest_error_name(error));
	error = guest_load("gvm_fakegpu", "scheduler=priority tracking_interval_us=0");
	guest_check(error == EINVAL, "no interval: %s", guest_error_name(error));
}

void test_scheduling(void)
{
	done = shared_alloc(TENANTS * sizeof(*done));
	leader = shared_alloc(sizeof(*leader));
	test_mistakes();
	test_timeslices();
	test_weighted("chunks=16 sms=1 scheduler=weighted");
	test_priority("chunks=16 sms=1 scheduler=priority");
	test_priority("chunks=16 sms=1 scheduler=priority tracking=busy_bits");
}
