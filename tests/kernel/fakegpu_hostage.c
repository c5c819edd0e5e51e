// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A tenant that always has a fault outstanding is frozen, or held by a scheduler. It leaves the
 * GPU as soon as its stalled accesses have finished, and other tenants do not wait for it. The
 * trace shows that no thread waits for the GPU with the mutex that the others need. Nothing is
 * timed.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define HOSTAGE_CHUNKS 100u
#define HOSTAGE_LIMIT  "10M" /* its contexts take a chunk each */
#define CONTEXTS       3u
#define TSG_RPCS       3u /* most RPCs that the settings of one TSG need */
#define FREEZES	       6u
#define BYSTANDERS     3u

/* Kernels that touch each page once, over much more memory than the tenant's limit. */
static void fault_all_the_time(uint32_t index)
{
	int context = tenant_open(0), others;
	uint64_t va = tenant_map(context, HOSTAGE_CHUNKS * CHUNK);

	/* Many TSGs: a freeze makes two RPCs about each. */
	for (uint32_t i = 1; i < CONTEXTS; i++)
		require(fakegpu_open(0, 0, GVM_FAKEGPU_TSGS_MAX, &others) == 0, "open");
	for (uint64_t seed = index;; seed++) {
		struct gvm_fakegpu_launch launch = {
			.va = va,
			.bytes = HOSTAGE_CHUNKS * CHUNK,
			.seed = seed,
			.op = GVM_FAKEGPU_FILL,
			.order = GVM_FAKEGPU_SHUFFLED,
		};

		require(fakegpu_launch(context, &launch) == 0, "launch");
	}
}

/* A small kernel now and then, over memory that stays on the GPU. */
static void work_in_bursts(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNK);

	for (;;) {
		require(fakegpu_fill(context, va, CHUNK, index) == 0, "fill");
		sleep_ms(5);
	}
}

static pid_t hostage_start(void)
{
	pid_t pid = tenant_start(fault_all_the_time, 0);

	while (control_get(pid, "gmem.current") <= 0)
		sleep_ms(5);
	guest_check(control_set(pid, "gmem.limit.high", HOSTAGE_LIMIT) == 0,
		    "the hostage may have %s of %u chunks", HOSTAGE_LIMIT, HOSTAGE_CHUNKS);
	while (control_get(pid, "gmem.swap.current") <= 0)
		sleep_ms(5);
	return pid;
}

/*
 * Other tenants go on meanwhile: they read settings, open contexts and die. Returns how many
 * steps failed.
 */
static uint32_t live_beside_it(pid_t hostage)
{
	static const char *const files[] = { "compute.priority", "compute.timeslice",
					     "compute.weight", "compute.freeze" };
	pid_t pid = tenant_start(work_in_bursts, 1);
	uint32_t failed = 0;

	while (control_get(pid, "gmem.current") <= 0)
		sleep_ms(1);
	for (uint32_t i = 0; i < 4; i++)
		failed += control_get(pid, files[i]) < 0 || control_get(hostage, files[i]) < 0;
	failed += control_set(pid, "compute.priority", "0") != 0;
	return failed + !tenant_kill(pid);
}

static void freeze_and_thaw(pid_t hostage)
{
	uint32_t frozen = 0, failed = 0, stopped = 0;

	for (uint32_t i = 0; i < FREEZES; i++) {
		pid_t writer = fork();
		uint64_t faults;

		if (writer == 0)
			_exit(control_set(hostage, "compute.freeze", "1") != 0);
		failed += live_beside_it(hostage);
		frozen += tenant_finish(writer) && control_get(hostage, "compute.freeze") == 1;
		faults = gpu_info().faults;
		sleep_ms(20);
		stopped += gpu_info().faults == faults;
		failed += control_set(hostage, "compute.freeze", "0") != 0;
	}
	guest_check(frozen == FREEZES, "%u of %u freezes of the hostage finish", frozen,
		    FREEZES);
	guest_check(stopped == FREEZES, "and after %u of them it faults no more", stopped);
	guest_check(failed == 0, "others read, open and exit meanwhile");
}

static void test_frozen(void)
{
	pid_t hostage;

	gpu_load("chunks=16 sms=2");
	hostage = hostage_start();
	waits_begin();
	freeze_and_thaw(hostage);
	waits_end(TSG_RPCS);
	guest_check(tenant_kill(hostage), "it was well until the end");
	gpu_unload();
}

/* Others live beside a hostage that the scheduler holds or gives longer timeslices. */
static void test_held(const char *parameters, const char *file, const char *value)
{
	pid_t hostage, pids[BYSTANDERS];
	uint32_t failed = 0;

	gpu_load(parameters);
	hostage = hostage_start();
	waits_begin();
	guest_check(control_set(hostage, file, value) == 0, "the hostage's %s is %s", file,
		    value);
	for (uint32_t i = 0; i < BYSTANDERS; i++)
		pids[i] = tenant_start(work_in_bursts, i);
	for (uint32_t i = 0; i < FREEZES; i++)
		failed += live_beside_it(hostage);
	for (uint32_t i = 0; i < BYSTANDERS; i++)
		failed += !tenant_kill(pids[i]);
	waits_end(TSG_RPCS);
	guest_check(failed == 0, "beside a tenant that is held, others read, open and exit");
	guest_check(tenant_kill(hostage), "it was well until the end");
	gpu_unload();
}

void test_hostage(void)
{
	test_frozen();
	test_held("chunks=16 sms=2 scheduler=priority tracking=busy_bits", "compute.priority",
		  "16");
	test_held("chunks=16 sms=2 scheduler=weighted tracking=busy_bits", "compute.weight",
		  "1000");
}
