// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * compute.* of gvm.ko acts on TSGs of NVIDIA's driver: the runlist of the software GPU says who
 * had the SMs, and for how many accesses.
 */
#define _GNU_SOURCE
#include "softgpu_kernel.h"

#include <errno.h>
#include <unistd.h>

#include "hooked_guest.h"

#define FIRST	     1000u /* clients */
#define SECOND	     5000u
#define THIRD	     1001u
#define FIRST_US     4096u
#define SECOND_US    1024u
#define FIRST_WORK   (FIRST_US * 120ull)
#define SECOND_WORK  (SECOND_US * 180ull)
#define LONG_WORK    2000000ull
#define FROZEN_WORKS 3

/*
 * A tenant in a container of its own. Each round runs a kernel; the first
 * ready says that it is there.
 */
static int second_life(unsigned int rounds)
{
	struct softgpu_tenant tenant;
	struct softgpu_kernel kernel;
	int failed = softgpu_attach(&tenant, SECOND) != 0;

	softgpu_kernel_init(&kernel, &tenant);
	for (unsigned int i = 0; i < rounds; i++) {
		hooked_ready();
		failed += softgpu_touch(&tenant, kernel.memory, SECOND_WORK, 0, SOFTGPU_READ, 0,
					SOFTGPU_KERNEL_WINDOW)
				  .sum != SECOND_WORK;
	}
	hooked_ready();
	softgpu_kernel_free(&kernel);
	softgpu_detach(&tenant);
	return failed;
}

struct turns {
	size_t first, second; /* turns while both had work */
	size_t wrong;	      /* of these, of a wrong length or out of order */
};

/*
 * Look at the turns from the second TSG's first one until one of the two has no work left. They
 * alternate, and each is as long as its slice, or as what is left.
 */
static struct turns look(void)
{
	uint64_t left[2] = { FIRST_WORK, SECOND_WORK };
	const uint64_t slice[2] = { FIRST_US, SECOND_US };
	struct turns turns = { 0 };
	const struct softgpu_event *event;
	bool both = false;
	int last = 0;
	size_t count;

	for (event = softgpu_events(&count); count--; event++) {
		int who = event->a == SECOND;

		if (event->kind != SOFTGPU_EVENT_SWITCH)
			continue;
		both |= who == 1;
		if (both && left[0] && left[1]) {
			uint64_t due = left[who] < slice[who] ? left[who] : slice[who];

			turns.wrong += event->b != due || who == last;
			*(who ? &turns.second : &turns.first) += 1;
		}
		last = who;
		left[who] -= event->b;
	}
	turns.wrong += left[0] != 0 || left[1] != 0;
	return turns;
}

/* The second one waits on the runlist, and is thawed while the first one runs. */
static void slices(struct softgpu_kernel *first, struct hooked_process *second)
{
	struct turns turns;

	guest_check(hooked_set(getpid(), "compute.timeslice", "4096us") == 0 &&
			    hooked_set(second->pid, "compute.timeslice", "1024us") == 0,
		    "slices of 4096 and 1024 us are written");
	guest_check(softgpu_get_timeslice(FIRST) == FIRST_US &&
			    softgpu_get_timeslice(SECOND) == SECOND_US,
		    "RM has them: %llu, %llu", (unsigned long long)softgpu_get_timeslice(FIRST),
		    (unsigned long long)softgpu_get_timeslice(SECOND));
	guest_check(hooked_set(second->pid, "compute.freeze", "1") == 0, "one is frozen");
	hooked_go(second);
	usleep(200000);
	softgpu_switches(0);
	softgpu_kernel_begin(first, FIRST_WORK);
	softgpu_kernel_wait_running(first);
	guest_check(hooked_set(second->pid, "compute.freeze", "0") == 0, "and thawed");
	softgpu_kernel_wait(first);
	hooked_wait_ready(second);
	turns = look();
	guest_check(turns.wrong == 0, "%zu turns are of a wrong length or out of order",
		    turns.wrong);
	guest_check(turns.first >= 10 && turns.second >= turns.first &&
			    turns.second <= turns.first + 1,
		    "while both have work they switch %zu and %zu times", turns.first,
		    turns.second);
}

/*
 * A priority is a slice: 524288 us >> priority. A TSG that comes later has it from the start.
 */
static void priorities(void)
{
	struct softgpu_tenant third;
	unsigned long long us;

	guest_check(hooked_set(getpid(), "compute.priority", "6") == 0,
		    "the priority becomes 6");
	us = softgpu_get_timeslice(FIRST);
	guest_check(us == 8192, "that is 8192 us: %llu", us);
	guest_check(softgpu_attach(&third, THIRD) == 0, "another TSG comes");
	us = softgpu_get_timeslice(THIRD);
	guest_check(us == 8192, "it has the same: %llu", us);
	softgpu_detach(&third);
	guest_check(hooked_set(getpid(), "compute.priority", "9") == 0 &&
			    softgpu_get_timeslice(FIRST) == 1024,
		    "priority 9 is 1024 us");
}

/* A frozen container does not run, and loses nothing. Its neighbour has the SMs alone. */
static void frozen(struct softgpu_kernel *first, struct hooked_process *second)
{
	size_t theirs = 0, ours = 0, count;
	const struct softgpu_event *event;

	guest_check(hooked_set(second->pid, "compute.freeze", "1") == 0 &&
			    hooked_get(second->pid, "compute.freeze") == 1,
		    "a container is frozen");
	hooked_go(second);
	softgpu_switches(0);
	for (int i = 0; i < FROZEN_WORKS; i++) {
		softgpu_kernel_begin(first, FIRST_WORK);
		softgpu_kernel_wait(first);
	}
	for (event = softgpu_events(&count); count--; event++) {
		ours += event->kind == SOFTGPU_EVENT_SWITCH && event->a == FIRST;
		theirs += event->kind == SOFTGPU_EVENT_SWITCH && event->a == SECOND;
	}
	guest_check(ours == FROZEN_WORKS && theirs == 0,
		    "%d kernels of its neighbour are %zu turns, its own have %zu", FROZEN_WORKS,
		    ours, theirs);
	guest_check(hooked_set(second->pid, "compute.freeze", "0") == 0 &&
			    hooked_get(second->pid, "compute.freeze") == 0,
		    "it is thawed");
	hooked_wait_ready(second);
	guest_check(softgpu_switches(SECOND) > 0, "and ends its kernel");
}

/*
 * A kernel that runs is taken off the GPU: one switch for a freeze, none before it is thawed.
 */
static void frozen_running(struct softgpu_kernel *first)
{
	softgpu_switches(0);
	softgpu_kernel_begin(first, LONG_WORK);
	softgpu_kernel_wait_running(first);
	for (size_t i = 0; i < 5; i++) {
		guest_check(hooked_set(getpid(), "compute.freeze", "1") == 0 &&
				    hooked_get(getpid(), "compute.freeze") == 1,
			    "a running kernel is frozen");
		guest_check(softgpu_switches(FIRST) == 1, "it has left the SMs, once");
		usleep(20000);
		guest_check(softgpu_switches(FIRST) == 0, "and does not come back");
		guest_check(hooked_set(getpid(), "compute.freeze", "0") == 0, "it is thawed");
	}
	guest_check(!softgpu_kernel_is_over(first), "all that while it was at work");
	softgpu_kernel_wait(first);
	guest_check(first->done.sum == LONG_WORK, "it has done all its work");
}

/* Until a frozen TSG has left the GPU. False: it has not in a minute. */
static bool await_frozen(void)
{
	for (int i = 0; i < 3000; i++) {
		if (hooked_get(getpid(), "compute.freeze") == 1)
			return true;
		usleep(20000);
	}
	return false;
}

/*
 * RM lets channels run that their process schedules, also frozen ones. So does a process that
 * undoes its freeze. They leave the GPU again.
 */
static void frozen_scheduled(struct softgpu_kernel *first)
{
	guest_check(hooked_set(getpid(), "compute.freeze", "1") == 0, "it is frozen");
	softgpu_kernel_begin(first, LONG_WORK);
	guest_check(softgpu_schedule_tsg(FIRST) == 0, "its process schedules it");
	softgpu_kernel_wait_running(first);
	guest_check(await_frozen() && !softgpu_kernel_is_over(first),
		    "it leaves the GPU again, amid its kernel");
	guest_check(hooked_set(getpid(), "compute.freeze", "0") == 0, "it is thawed");
	softgpu_kernel_wait(first);
	guest_check(first->done.sum == LONG_WORK, "its kernel has done all its work");
}

/* What RM refuses is reported, is not recorded as done, and the next write tries it again. */
static void refused(void)
{
	pid_t me = getpid();
	struct softgpu_tenant third;
	int status;

	softgpu_fail(SOFTGPU_FAIL_CONTROL, 0, 1);
	status = hooked_set(me, "compute.timeslice", "2048us");
	guest_check(status == ETIMEDOUT && softgpu_get_timeslice(FIRST) == 1024,
		    "RM refuses a slice: %s", guest_error_name(status));
	guest_check(hooked_set(me, "compute.timeslice", "2048us") == 0 &&
			    softgpu_get_timeslice(FIRST) == 2048,
		    "the same write again sets it");
	for (unsigned int skip = 0; skip < 2; skip++) {
		softgpu_fail(SOFTGPU_FAIL_CONTROL, skip, 1);
		status = hooked_set(me, "compute.freeze", "1");
		guest_check(status == ETIMEDOUT && hooked_get(me, "compute.freeze") == 0,
			    "RM refuses to %s: %s", skip ? "preempt" : "disable",
			    guest_error_name(status));
		guest_check(hooked_set(me, "compute.freeze", "1") == 0 &&
				    hooked_get(me, "compute.freeze") == 1,
			    "the same write again freezes");
		softgpu_fail(SOFTGPU_FAIL_CONTROL, 0, 1);
		status = hooked_set(me, "compute.freeze", "0");
		guest_check(status == ETIMEDOUT, "RM refuses to enable: %s",
			    guest_error_name(status));
		guest_check(hooked_set(me, "compute.freeze", "0") == 0 &&
				    hooked_get(me, "compute.freeze") == 0,
			    "the same write again thaws");
	}
	for (unsigned int skip = 0; skip < 5; skip++) {
		static const char *const what[] = { "handle of its TSG", "handle of its device",
						    "handle of its subdevice",
						    "slice by RM's default",
						    "slice of its container's" };

		softgpu_fail(SOFTGPU_FAIL_CONTROL, skip, 1);
		status = softgpu_attach(&third, THIRD);
		guest_check(status == NV_ERR_TIMEOUT,
			    "a channel that cannot get the %s is refused: %x", what[skip],
			    status);
		softgpu_detach(&third);
	}
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 0, 0);
	softgpu_fail(SOFTGPU_FAIL_HANDLE, 0, 1);
	status = softgpu_attach(&third, THIRD);
	guest_check(status == NV_ERR_OBJECT_NOT_FOUND,
		    "a channel that RM does not know is refused: %x", status);
	softgpu_detach(&third);
}

void test_compute(struct softgpu_tenant *tenant)
{
	struct hooked_process second = hooked_start(second_life, 2);
	struct softgpu_kernel first;

	softgpu_kernel_init(&first, tenant);
	hooked_wait_ready(&second);
	slices(&first, &second);
	priorities();
	frozen(&first, &second);
	hooked_go(&second);
	guest_check(hooked_end(&second) == 0, "the other container has done all its work");
	frozen_running(&first);
	frozen_scheduled(&first);
	refused();
	softgpu_kernel_free(&first);
}

/* A GPU that has fallen off the bus: no call of RM's succeeds, and each write says so. */
void test_hooked_lost(struct softgpu_tenant *tenant)
{
	static const char *const writes[][2] = { { "compute.timeslice", "2048us" },
						 { "compute.priority", "3" },
						 { "compute.freeze", "1" } };

	test_lost(tenant);
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		int status = hooked_set(getpid(), writes[i][0], writes[i][1]);

		guest_check(status != 0, "on a lost GPU a write of %s fails: %s", writes[i][0],
			    guest_error_name(status));
	}
	guest_check(hooked_get(getpid(), "compute.freeze") == 0, "and nothing is frozen");
}
