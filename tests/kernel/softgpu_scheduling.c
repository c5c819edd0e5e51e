// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Two TSGs share the software GPU: by their slices, which RM's control interface sets, and not at all while one is
 * disabled. A slice is counted in accesses, so the lengths of turns are exact.
 */
#define _GNU_SOURCE
#include "softgpu_guest.h"

#include <pthread.h>
#include <sys/mman.h>

#define FIRST	 1000u /* clients */
#define SECOND	 1001u
#define WINDOW	 64u
#define MEMORY	 (2 * SOFTGPU_MB)
#define ACCESSES 200000ull
#define LONG_US	 4096u
#define SHORT_US 1024u

/* A kernel in a thread of its own, over memory that stays on the GPU. */
struct kernel {
	pthread_t thread;
	struct softgpu_tenant tenant;
	uint64_t *memory;
	struct softgpu_access done;
	int over; /* read and written atomically */
};

static unsigned int control(unsigned int client, unsigned int object, unsigned int command,
			    void *params, size_t bytes)
{
	struct softgpu_rmapi_control call = { .client = client,
					      .object = object,
					      .command = command,
					      .params = (uintptr_t)params,
					      .params_bytes = (unsigned int)bytes };

	return softgpu_control(&call) ? ~0u : call.status;
}

/* The handle of a tenant's TSG, or 0. */
static unsigned int tsg_of(unsigned int client)
{
	struct softgpu_handle_info info = { .object = 1, .index = SOFTGPU_HANDLE_INFO_PARENT };

	return control(client, client, SOFTGPU_CLIENT_GET_HANDLE_INFO, &info, sizeof(info)) ?
		       0 :
		       info.result;
}

static unsigned int set_timeslice(unsigned int client, uint64_t us)
{
	struct softgpu_timeslice slice = { .us = us };

	return control(client, tsg_of(client), SOFTGPU_TSG_SET_TIMESLICE, &slice,
		       sizeof(slice));
}

static uint64_t get_timeslice(unsigned int client)
{
	struct softgpu_timeslice slice = { 0 };

	return control(client, tsg_of(client), SOFTGPU_TSG_GET_TIMESLICE, &slice,
		       sizeof(slice)) ?
		       0 :
		       slice.us;
}

static unsigned int set_disabled(unsigned int client, bool disabled)
{
	struct softgpu_disable_channels list = {
		.disable = disabled, .count = 1, .client = { client }, .channel = { 1 }
	};

	return control(client, client, SOFTGPU_DISABLE_CHANNELS, &list, sizeof(list));
}

static unsigned int preempt(unsigned int client)
{
	struct softgpu_preempt how = { .wait = true };

	return control(client, tsg_of(client), SOFTGPU_TSG_PREEMPT, &how, sizeof(how));
}

static void *kernel_main(void *data)
{
	struct kernel *kernel = data;

	kernel->done = softgpu_touch(&kernel->tenant, kernel->memory, ACCESSES, 0, SOFTGPU_READ,
				     0, WINDOW);
	__atomic_store_n(&kernel->over, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void kernel_init(struct kernel *kernel, const struct softgpu_tenant *tenant)
{
	*kernel = (struct kernel){ .tenant = *tenant };
	kernel->memory = softgpu_managed(&kernel->tenant, MEMORY);
	softgpu_touch(&kernel->tenant, kernel->memory, 512, SOFTGPU_PAGE, SOFTGPU_WRITE, 1,
		      WINDOW);
}

static void kernel_begin(struct kernel *kernel)
{
	kernel->over = 0;
	guest_check(pthread_create(&kernel->thread, NULL, kernel_main, kernel) == 0,
		    "a kernel begins");
}

static void kernel_wait(struct kernel *kernel)
{
	pthread_join(kernel->thread, NULL);
	guest_check(kernel->done.errors == 0 && kernel->done.faults == 0,
		    "a kernel ends without faults");
}

/* What RM refuses changes nothing. */
static void controls(void)
{
	struct softgpu_timeslice slice = { .us = 5 };

	guest_check(get_timeslice(FIRST) == 1024, "a TSG begins with RM's slice: %llu us",
		    (unsigned long long)get_timeslice(FIRST));
	guest_check(set_timeslice(FIRST, LONG_US) == 0 && get_timeslice(FIRST) == LONG_US,
		    "its slice can be set");
	guest_check(set_timeslice(FIRST, 0) == NV_ERR_INVALID_ARGUMENT, "but not to 0");
	guest_check(tsg_of(77) == 0, "no such client");
	guest_check(control(FIRST, 7, SOFTGPU_TSG_SET_TIMESLICE, &slice, sizeof(slice)) ==
			    NV_ERR_OBJECT_NOT_FOUND,
		    "no such TSG");
	guest_check(set_disabled(77, true) == NV_ERR_OBJECT_NOT_FOUND, "no such channel");
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 1, 1);
	guest_check(set_timeslice(FIRST, SHORT_US) == NV_ERR_TIMEOUT, "RM fails on request");
	guest_check(get_timeslice(FIRST) == LONG_US, "and the slice is what it was");
}

/*
 * Turns while both have work. The first one may begin alone, and the last one goes on alone: two turns of each may
 * be longer.
 */
static void slices(struct kernel *first, struct kernel *second)
{
	size_t exact[2] = { 0 }, other = 0, count;
	const struct softgpu_event *event;

	set_timeslice(SECOND, SHORT_US);
	softgpu_events(&count);
	kernel_begin(first);
	kernel_begin(second);
	kernel_wait(first);
	kernel_wait(second);
	for (event = softgpu_events(&count); count--; event++) {
		bool of_first = event->a == FIRST;

		if (event->kind != SOFTGPU_EVENT_SWITCH)
			continue;
		if (event->b == (of_first ? LONG_US : SHORT_US))
			exact[!of_first]++;
		else
			other++;
	}
	guest_check(exact[0] >= 10 && exact[1] >= 10 && other <= 4,
		    "turns are as long as slices: %zu of %u, %zu of %u, %zu others", exact[0],
		    LONG_US, exact[1], SHORT_US, other);
}

/* The second one's kernel is ready all the time, and the first one's runs three times. */
static void disabled(struct kernel *first, struct kernel *second)
{
	guest_check(set_disabled(SECOND, true) == 0, "a channel is disabled");
	kernel_begin(second);
	for (int i = 0; i < 3; i++) {
		kernel_begin(first);
		kernel_wait(first);
	}
	guest_check(!__atomic_load_n(&second->over, __ATOMIC_ACQUIRE),
		    "a disabled TSG does not run");
	guest_check(set_disabled(SECOND, false) == 0, "a channel is enabled");
	kernel_wait(second);
}

/* A preempted TSG goes on later, and loses nothing. */
static void preempted(struct kernel *first)
{
	unsigned int failed = 0;

	kernel_begin(first);
	for (int i = 0; i < 20; i++)
		failed += preempt(FIRST) != 0;
	guest_check(failed == 0, "a TSG leaves the GPU each time that it is told to");
	kernel_wait(first);
	guest_check(first->done.sum == ACCESSES, "its kernel has done all its work");
}

void test_scheduling(struct softgpu_tenant *tenant)
{
	struct softgpu_tenant other;
	struct kernel first, second;

	guest_check(softgpu_attach(&other, SECOND) == 0, "a second TSG");
	controls();
	kernel_init(&first, tenant);
	kernel_init(&second, &other);
	slices(&first, &second);
	disabled(&first, &second);
	preempted(&first);
	munmap(first.memory, MEMORY);
	munmap(second.memory, MEMORY);
	softgpu_detach(&other);
}
