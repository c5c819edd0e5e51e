// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Two TSGs share the software GPU: by their slices, which RM's control interface sets, and not
 * at all while one is disabled. A slice is counted in accesses, so the lengths of turns are
 * exact. A TSG may have several channels.
 */
#define _GNU_SOURCE
#include "softgpu_kernel.h"

#include <sys/mman.h>
#include <unistd.h>

#define FIRST	      1000u /* clients */
#define SECOND	      1001u
#define ACCESSES      200000ull
#define LONG_ACCESSES (10 * ACCESSES)
#define PREEMPTS      20
#define LONG_US	      4096u
#define SHORT_US      1024u
#define MANY_CHANNELS 4200u
#define READERS	      4u
#define READER_CALLS  32u
#define READER_PAGES  8192ull /* of a call */
#define READER_WINDOW 256u
#define PASSES_MAX    16u /* over windows, until the driver sees a fault */

static unsigned int set_timeslice(unsigned int client, uint64_t us)
{
	struct gvm_rm_timeslice slice = { .us = us };

	return softgpu_rm_control(client, softgpu_tsg_of(client), GVM_RM_TSG_SET_TIMESLICE,
				  &slice, sizeof(slice));
}

static unsigned int set_channel_disabled(unsigned int client, unsigned int channel,
					 bool disabled)
{
	struct gvm_rm_disable_channels list = {
		.disable = disabled, .count = 1, .client = { client }, .channel = { channel }
	};

	return softgpu_rm_control(FIRST, softgpu_subdevice_of(FIRST), GVM_RM_DISABLE_CHANNELS,
				  &list, sizeof(list));
}

static unsigned int set_disabled(unsigned int client, bool disabled)
{
	return set_channel_disabled(client, 1, disabled);
}

static unsigned int preempt(unsigned int client)
{
	struct gvm_rm_preempt how = { .wait = true };

	return softgpu_rm_control(client, softgpu_tsg_of(client), GVM_RM_TSG_PREEMPT, &how,
				  sizeof(how));
}

/* What RM refuses changes nothing. */
static void controls(void)
{
	struct gvm_rm_disable_channels list = {
		.disable = true, .count = 1, .client = { FIRST }, .channel = { 1 }
	};
	struct gvm_rm_timeslice slice = { .us = 5 };

	guest_check(softgpu_get_timeslice(FIRST) == 1024,
		    "a TSG begins with RM's slice: %llu us",
		    (unsigned long long)softgpu_get_timeslice(FIRST));
	guest_check(set_timeslice(FIRST, LONG_US) == 0 &&
			    softgpu_get_timeslice(FIRST) == LONG_US,
		    "its slice can be set");
	guest_check(set_timeslice(FIRST, 0) == NV_ERR_INVALID_ARGUMENT, "but not to 0");
	guest_check(softgpu_tsg_of(77) == 0, "no such client");
	guest_check(softgpu_rm_control(FIRST, 7, GVM_RM_TSG_SET_TIMESLICE, &slice,
				       sizeof(slice)) == NV_ERR_OBJECT_NOT_FOUND,
		    "no such TSG");
	guest_check(set_disabled(77, true) == NV_ERR_OBJECT_NOT_FOUND, "no such channel");
	guest_check(softgpu_subdevice_of(77) == 0, "no such client has a subdevice");
	guest_check(softgpu_rm_control(FIRST, FIRST, GVM_RM_DISABLE_CHANNELS, &list,
				       sizeof(list)) == NV_ERR_NOT_SUPPORTED,
		    "channels are disabled by their subdevice alone");
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 1, 1);
	guest_check(set_timeslice(FIRST, SHORT_US) == NV_ERR_TIMEOUT, "RM fails on request");
	guest_check(softgpu_get_timeslice(FIRST) == LONG_US, "and the slice is what it was");
}

/*
 * Turns while both have work. The first one may begin alone, and the last one goes on alone:
 * two turns of each may be longer.
 */
static void slices(struct softgpu_kernel *first, struct softgpu_kernel *second)
{
	size_t exact[2] = { 0 }, other = 0, count;
	const struct softgpu_event *event;

	set_timeslice(SECOND, SHORT_US);
	softgpu_events(&count);
	softgpu_kernel_begin(first, ACCESSES);
	softgpu_kernel_begin(second, ACCESSES);
	softgpu_kernel_wait(first);
	softgpu_kernel_wait(second);
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
static void disabled(struct softgpu_kernel *first, struct softgpu_kernel *second)
{
	guest_check(set_disabled(SECOND, true) == 0, "a channel is disabled");
	softgpu_kernel_begin(second, ACCESSES);
	for (int i = 0; i < 3; i++) {
		softgpu_kernel_begin(first, ACCESSES);
		softgpu_kernel_wait(first);
	}
	guest_check(!softgpu_kernel_is_over(second), "a disabled TSG does not run");
	guest_check(softgpu_schedule_tsg(SECOND) == 0, "but one that is scheduled does");
	softgpu_kernel_wait(second);
}

/*
 * A preempted TSG goes on later, and loses nothing. Each preempt is a switch. A TSG that is
 * alone comes right back, so there is no other switch before its kernel ends.
 */
static void preempted(struct softgpu_kernel *first)
{
	unsigned int failed = 0;
	size_t switches;

	softgpu_kernel_begin(first, LONG_ACCESSES);
	softgpu_kernel_wait_running(first);
	softgpu_switches(FIRST);
	for (int i = 0; i < PREEMPTS; i++)
		failed += preempt(FIRST) != 0;
	switches = softgpu_switches(FIRST);
	guest_check(failed == 0, "a TSG leaves the GPU each time that it is told to");
	guest_check(!softgpu_kernel_is_over(first) && switches == PREEMPTS,
		    "%d preempts are %zu switches", PREEMPTS, switches);
	softgpu_kernel_wait(first);
	guest_check(softgpu_switches(FIRST) == 1, "its end is one more");
	guest_check(first->done.sum == LONG_ACCESSES, "its kernel has done all its work");
}

static unsigned int set_list_disabled(unsigned int channel, unsigned int other, bool disabled)
{
	struct gvm_rm_disable_channels list = { .disable = disabled,
						.count = 2,
						.client = { FIRST, FIRST },
						.channel = { channel, other } };

	return softgpu_rm_control(FIRST, softgpu_subdevice_of(FIRST), GVM_RM_DISABLE_CHANNELS,
				  &list, sizeof(list));
}

/* A call takes a list of channels. One that is not there makes it fail as a whole. */
static void lists(struct softgpu_kernel *first, struct softgpu_kernel *second,
		  unsigned int object)
{
	guest_check(set_list_disabled(1, 7, true) == NV_ERR_OBJECT_NOT_FOUND &&
			    set_list_disabled(7, 1, true) == NV_ERR_OBJECT_NOT_FOUND,
		    "a list with a channel that is not there is refused");
	softgpu_kernel_begin(first, ACCESSES);
	softgpu_kernel_wait(first);
	guest_check(set_list_disabled(1, object, true) == 0, "one call disables two channels");
	softgpu_switches(FIRST);
	softgpu_kernel_begin(first, ACCESSES);
	softgpu_kernel_begin(second, ACCESSES);
	usleep(100000);
	guest_check(softgpu_switches(FIRST) == 0 && !softgpu_kernel_is_over(first) &&
			    !softgpu_kernel_is_over(second),
		    "neither of both runs");
	guest_check(set_list_disabled(1, object, false) == 0, "and one call enables both");
	softgpu_kernel_wait(first);
	softgpu_kernel_wait(second);
}

/*
 * Two channels of a TSG run together: when one has ended the other one is well on its way, and
 * the TSG never left the SMs. A disabled one does not run, and the other one does.
 */
static void together(struct softgpu_tenant *tenant, struct softgpu_kernel *first)
{
	struct gvm_rm_handle_info info = { .object = 1 + SOFTGPU_TSG_CHANNELS,
					   .index = GVM_RM_HANDLE_INFO_PARENT };
	struct softgpu_tenant more = *tenant;
	struct softgpu_kernel second;
	unsigned int status;

	more.channels = SOFTGPU_TSG_CHANNELS;
	guest_check(softgpu_register_channel(&more) == 0, "a second channel");
	status = softgpu_rm_control(FIRST, FIRST, GVM_RM_CLIENT_GET_HANDLE_INFO, &info,
				    sizeof(info));
	guest_check(status == 0 && info.result == softgpu_tsg_of(FIRST), "in the same TSG");
	softgpu_kernel_init(&second, &more);
	lists(first, &second, info.object);
	guest_check(set_channel_disabled(FIRST, info.object, true) == 0, "it is disabled");
	softgpu_kernel_begin(&second, LONG_ACCESSES);
	softgpu_kernel_begin(first, ACCESSES);
	softgpu_kernel_wait(first);
	guest_check(!softgpu_kernel_is_over(&second),
		    "the first channel runs, and it does not");
	softgpu_switches(FIRST);
	softgpu_kernel_begin(first, LONG_ACCESSES);
	softgpu_kernel_wait_running(first);
	guest_check(set_channel_disabled(FIRST, info.object, false) == 0, "it is enabled");
	softgpu_kernel_wait(first);
	softgpu_kernel_wait(&second);
	guest_check(softgpu_switches(FIRST) == 1, "both are one turn");
	guest_check(second.done.sum == LONG_ACCESSES, "its kernel has done all its work");
	softgpu_kernel_free(&second);
}

/* A thread that reads a page on the GPU for long, unless it is told to stop. */
struct reader {
	pthread_t thread;
	struct softgpu_tenant tenant;
	void *page;
	const int *stop; /* read and written atomically */
	uint64_t errors;
	bool has_ended; /* by itself */
};

static void *reader_main(void *data)
{
	struct reader *reader = data;

	for (unsigned int i = 0; i < READER_CALLS; i++) {
		struct softgpu_access access;

		if (__atomic_load_n(reader->stop, __ATOMIC_ACQUIRE))
			return NULL;
		access = softgpu_touch(&reader->tenant, reader->page, READER_PAGES, 0,
				       SOFTGPU_VERIFY, 1, READER_WINDOW);
		reader->errors += access.errors + access.sum + access.faults;
	}
	reader->has_ended = true;
	return NULL;
}

/*
 * Four kernels access memory all the time, without a fault. The driver still sees the fault of a
 * fifth kernel.
 */
static void fault_beside_accesses(struct softgpu_tenant *tenant)
{
	struct reader readers[READERS] = { 0 };
	void *page = softgpu_managed(tenant, SOFTGPU_MB);
	uint64_t *p = softgpu_managed(tenant, SOFTGPU_MB), errors = 0;
	uint64_t before = softgpu_stats().tlb_hits;
	unsigned int ended = 0;
	struct softgpu_access access;
	int stop = 0;

	p[0] = 7;
	softgpu_touch(tenant, page, 1, SOFTGPU_PAGE, SOFTGPU_FILL, 1, 1);
	for (unsigned int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .tenant = *tenant, .page = page, .stop = &stop };
		readers[i].tenant.channels = (2 + i) * SOFTGPU_TSG_CHANNELS;
		guest_check(softgpu_register_channel(&readers[i].tenant) == 0 &&
				    pthread_create(&readers[i].thread, NULL, reader_main,
						   &readers[i]) == 0,
			    "a kernel reads what is on the GPU");
	}
	while (softgpu_stats().tlb_hits < before + READER_PAGES)
		usleep(1000);
	access = softgpu_touch(tenant, p, 1, 8, SOFTGPU_READ, 0, 1);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		ended += readers[i].has_ended;
		errors += readers[i].errors;
	}
	guest_check(access.sum == 7 && access.faults > 0 && ended == 0,
		    "a fault beside %u kernels is served: %llu faults, %u kernels ended",
		    READERS, access.faults, ended);
	guest_check(softgpu_stats().unseen_passes <= PASSES_MAX,
		    "the driver sees each fault within %llu passes",
		    softgpu_stats().unseen_passes);
	guest_check(errors == 0, "the four kernels read the right words");
	munmap(page, SOFTGPU_MB);
	munmap(p, SOFTGPU_MB);
}

void test_softgpu_scheduling(struct softgpu_tenant *tenant)
{
	struct softgpu_tenant other;
	struct softgpu_kernel first, second;

	guest_check(softgpu_attach(&other, SECOND) == 0, "a second TSG");
	controls();
	softgpu_kernel_init(&first, tenant);
	softgpu_kernel_init(&second, &other);
	slices(&first, &second);
	disabled(&first, &second);
	preempted(&first);
	together(tenant, &first);
	fault_beside_accesses(tenant);
	softgpu_kernel_free(&first);
	softgpu_kernel_free(&second);
	softgpu_detach(&other);
}

/*
 * More channels come and go than there are instance blocks, while another one stays. None gets
 * the block of that one, whose faults the driver would not find any more.
 */
void test_many_channels(struct softgpu_tenant *tenant)
{
	UVM_UNREGISTER_CHANNEL_PARAMS gone = { .hClient = tenant->client,
					       .hChannel = SOFTGPU_COPY_CHANNELS };
	uint64_t *p = softgpu_managed(tenant, SOFTGPU_MB);
	struct softgpu_access access;
	unsigned int i = 0;
	int status = 0;

	while (i < MANY_CHANNELS && status == 0) {
		status = softgpu_register_copy(tenant, SOFTGPU_COPY_CHANNELS);
		i += !status;
		if (!status)
			status = softgpu_uvm(tenant->fd, UVM_UNREGISTER_CHANNEL, &gone);
	}
	guest_check(status == 0, "%u channels come and go, one after the other: %x", i, status);
	access = softgpu_touch(tenant, p, 1, 8, SOFTGPU_WRITE, 9, 1);
	guest_check(access.errors == 0 && access.faults > 0 && p[0] == 9,
		    "the faults of the first one are serviced still: %llu errors, %llu faults",
		    access.errors, access.faults);
	munmap(p, SOFTGPU_MB);
}
