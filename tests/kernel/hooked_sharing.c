// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A TSG with several channels: of one process, also with more of them than a call of RM takes; of
 * two processes of one container, as with MPS; and of processes of two containers, which is
 * refused.
 */
#define _GNU_SOURCE
#include "softgpu_kernel.h"

#include <errno.h>
#include <unistd.h>

#include "hooked_guest.h"

#define FIRST	  1000u /* clients */
#define SERVER	  2000u
#define STRANGER  6000u
#define ALIAS	  SOFTGPU_TSG_CLIENTS /* beyond a client: one that has a handle of the same TSGs */
#define MORE	  SOFTGPU_TSG_CHANNELS
#define WORK	  100000ull
#define FROZEN_US 100000
#define MANY	  130u /* channels of a TSG */
#define OF_CALL	  GVM_RM_DISABLE_CHANNELS_MAX
#define CALLS	  ((MANY + OF_CALL - 1) / OF_CALL)
#define REFUSAL	  "its TSG is in another container"

static const long long mb = SOFTGPU_MB;

/* One more channel in the TSG of a tenant. */
static struct softgpu_tenant more(const struct softgpu_tenant *tenant, unsigned int channels)
{
	struct softgpu_tenant other = *tenant;
	int status;

	other.channels = channels;
	status = softgpu_register_channel(&other);
	guest_check(status == 0, "one more channel of the TSG is registered: %x", status);
	return other;
}

/* Begin two kernels, which are frozen, and thaw them. */
static void thaw(struct softgpu_kernel *kernel, struct softgpu_kernel *other)
{
	softgpu_switches(FIRST);
	softgpu_kernel_begin(kernel, WORK);
	softgpu_kernel_begin(other, WORK);
	usleep(FROZEN_US);
	guest_check(softgpu_switches(FIRST) == 0 && !softgpu_kernel_is_over(kernel) &&
			    !softgpu_kernel_is_over(other),
		    "no channel of a frozen TSG runs");
	guest_check(hooked_set(getpid(), "compute.freeze", "0") == 0, "the TSG is thawed");
	softgpu_kernel_wait(kernel);
	softgpu_kernel_wait(other);
	guest_check(kernel->done.sum == WORK && other->done.sum == WORK,
		    "both have done all their work");
}

/*
 * A freeze disables each channel. If RM refuses one, none stays off. A channel that
 * comes later is off, too.
 */
static void own_channels(struct softgpu_tenant *tenant)
{
	struct softgpu_tenant second = more(tenant, MORE);
	struct softgpu_kernel kernel, other;
	pid_t me = getpid();
	int status;

	softgpu_kernel_init(&kernel, tenant);
	softgpu_kernel_init(&other, &second);
	guest_check(hooked_set(me, "compute.timeslice", "2048us") == 0 &&
			    softgpu_get_timeslice(FIRST) == 2048,
		    "the TSG has the slice that was written");
	softgpu_fail(SOFTGPU_FAIL_HANDLE, 0, 1);
	status = hooked_set(me, "compute.timeslice", "4096us");
	guest_check(status == 0 && softgpu_get_timeslice(FIRST) == 4096,
		    "its first channel's handle of it was freed, and it obeys still: %s",
		    guest_error_name(status));
	guest_check(hooked_set(me, "compute.freeze", "1") == 0, "it is frozen");
	thaw(&kernel, &other);
	/* RM does not know one of both, so each gets a call. */
	softgpu_fail(SOFTGPU_FAIL_HANDLE, 0, 1);
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 2, 1);
	status = hooked_set(me, "compute.freeze", "1");
	guest_check(status == ETIMEDOUT && hooked_get(me, "compute.freeze") == 0,
		    "RM refuses to disable the second channel: %s", guest_error_name(status));
	softgpu_kernel_begin(&kernel, WORK);
	softgpu_kernel_wait(&kernel);
	guest_check(kernel.done.sum == WORK, "the first one is on the runlist again");
	guest_check(hooked_set(me, "compute.freeze", "1") == 0, "the same write again freezes");
	other.tenant = more(tenant, 2 * MORE);
	thaw(&kernel, &other);
	softgpu_kernel_free(&kernel);
	softgpu_kernel_free(&other);
}

/* The control calls of a write of compute.freeze. */
struct calls {
	int status;
	uint64_t disables, preempts;
};

static struct calls set_frozen(const char *text)
{
	struct softgpu_stats before = softgpu_stats(), after;
	struct calls calls = { .status = hooked_set(getpid(), "compute.freeze", text) };

	after = softgpu_stats();
	calls.disables = after.disables - before.disables;
	calls.preempts = after.preempts - before.preempts;
	return calls;
}

static void check_calls(struct calls calls, int status, uint64_t disables, const char *what)
{
	guest_check(calls.status == status && calls.disables == disables,
		    "%s: %s, %llu calls disable or enable channels, %llu are due", what,
		    guest_error_name(calls.status), (unsigned long long)calls.disables,
		    (unsigned long long)disables);
}

/* Neither the first batch, which RM has taken back, nor the second, which it has refused, is off. */
static void check_none_is_off(struct softgpu_kernel *first, struct softgpu_kernel *middle)
{
	softgpu_kernel_begin(first, WORK);
	softgpu_kernel_wait(first);
	softgpu_kernel_begin(middle, WORK);
	softgpu_kernel_wait(middle);
	guest_check(first->done.sum == WORK && middle->done.sum == WORK, "none is off");
}

/* Its process schedules a frozen TSG, and one look or two disable it again. */
static void scheduled_many(void)
{
	uint64_t before = softgpu_stats().disables, calls;

	guest_check(softgpu_schedule_tsg(FIRST) == 0, "its process schedules it");
	usleep(10 * FROZEN_US);
	calls = softgpu_stats().disables - before;
	guest_check(calls >= CALLS && calls <= 2 * CALLS, "%llu calls disable it again",
		    (unsigned long long)calls);
}

/*
 * A TSG has more channels than RM disables by one call. Each call has as many as it can.
 */
void test_many(struct softgpu_tenant *tenant)
{
	struct softgpu_kernel first, middle, last;
	struct softgpu_tenant other = *tenant;
	struct calls calls;

	softgpu_kernel_init(&first, tenant);
	softgpu_kernel_init(&middle, tenant);
	softgpu_kernel_init(&last, tenant);
	for (unsigned int i = 1; i < MANY; i++) {
		other = more(tenant, i * MORE);
		if (i == OF_CALL)
			middle.tenant = other;
	}
	last.tenant = other;
	calls = set_frozen("1");
	check_calls(calls, 0, CALLS, "a freeze");
	guest_check(calls.preempts == 1, "it is one preempt: %llu",
		    (unsigned long long)calls.preempts);
	thaw(&first, &last);
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 1, 1);
	check_calls(set_frozen("1"), ETIMEDOUT, 2 + 2, "RM refuses the second call");
	check_none_is_off(&first, &middle);
	softgpu_fail(SOFTGPU_FAIL_HANDLE, 1, 1);
	check_calls(set_frozen("1"), 0, CALLS + OF_CALL, "RM does not know one of the second");
	thaw(&middle, &last);
	check_calls(set_frozen("1"), 0, CALLS, "a freeze");
	scheduled_many();
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 1, 1);
	check_calls(set_frozen("0"), ETIMEDOUT, 2 + 2, "RM refuses the second call of a thaw");
	thaw(&first, &middle);
	check_calls(set_frozen("1"), 0, CALLS, "a freeze");
	check_calls(set_frozen("0"), 0, CALLS, "a thaw");
	softgpu_kernel_free(&first);
	softgpu_kernel_free(&middle);
	softgpu_kernel_free(&last);
}

/* Run a kernel after each ready. */
static int rounds(struct softgpu_tenant *tenant, unsigned int count)
{
	struct softgpu_kernel kernel;
	int failed = 0;

	softgpu_kernel_init(&kernel, tenant);
	for (unsigned int i = 0; i < count; i++) {
		hooked_ready();
		failed += softgpu_touch(tenant, kernel.memory, WORK, 0, SOFTGPU_READ, 0,
					SOFTGPU_KERNEL_WINDOW)
				  .sum != WORK;
	}
	hooked_ready();
	softgpu_kernel_free(&kernel);
	softgpu_detach(tenant);
	return failed;
}

static int server_life(unsigned int count)
{
	struct softgpu_tenant tenant;

	return (softgpu_attach(&tenant, SERVER) != 0) + rounds(&tenant, count);
}

/* In the container of the server. It has its channel in the server's TSG, by another handle. */
static int client_life(unsigned int server)
{
	struct softgpu_tenant tenant;

	if (!hooked_contain((pid_t)server))
		return 102;
	return (softgpu_attach_behind(&tenant, SERVER + ALIAS, MORE) != 0) + rounds(&tenant, 1);
}

/*
 * In a container of its own. By whichever client it names the server's TSG, it is refused. Then
 * it makes a TSG of its own.
 */
static int stranger_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	int failed = softgpu_attach_behind(&tenant, SERVER + 2 * ALIAS, 2 * MORE) !=
		     NV_ERR_INSUFFICIENT_PERMISSIONS;

	tenant.client = SERVER;
	failed += softgpu_register_channel(&tenant) != NV_ERR_INSUFFICIENT_PERMISSIONS;
	hooked_ready();
	tenant.client = STRANGER + number;
	failed += softgpu_register_channel(&tenant) != 0;
	return failed + rounds(&tenant, 1);
}

/* Both run, and are frozen: neither has the SMs before the thaw. */
static void frozen_server(struct hooked_process *server, struct hooked_process *client)
{
	guest_check(hooked_set(server->pid, "compute.freeze", "1") == 0,
		    "the container of server and client is frozen");
	softgpu_switches(SERVER);
	hooked_go(server);
	hooked_go(client);
	usleep(FROZEN_US);
	guest_check(softgpu_switches(SERVER) == 0, "their TSG does not run");
}

/*
 * MPS: a server and its clients have a TSG. In one container they work. A process of another
 * container would run when that one is frozen, and would be frozen with it.
 */
void test_mps(struct softgpu_tenant *tenant)
{
	struct hooked_process server, client, stranger;
	int log;

	own_channels(tenant);
	server = hooked_start(server_life, 2);
	hooked_wait_ready(&server);
	client = hooked_start(client_life, (unsigned int)server.pid);
	hooked_wait_ready(&client);
	guest_check(hooked_get(server.pid, "gmem.current") == 4 * mb,
		    "a server and its client, in its container, are charged 4 MB: %lld",
		    hooked_get(server.pid, "gmem.current"));
	log = guest_log_open();
	stranger = hooked_start(stranger_life, 0);
	hooked_wait_ready(&stranger);
	guest_check(guest_log_count(log, REFUSAL) == 2,
		    "a process of another container is refused, twice, with a line in the log");
	frozen_server(&server, &client);
	hooked_go(&stranger);
	hooked_wait_ready(&stranger);
	hooked_go(&stranger);
	hooked_wait_ready(&stranger);
	guest_check(softgpu_switches(STRANGER) > 0, "it runs meanwhile, in a TSG of its own");
	guest_check(hooked_set(server.pid, "compute.freeze", "0") == 0, "they are thawed");
	hooked_wait_ready(&server);
	hooked_wait_ready(&client);
	hooked_go(&stranger);
	guest_check(hooked_end(&stranger) == 0, "the stranger has done all its work");
	hooked_go(&client);
	guest_check(hooked_end(&client) == 0, "so has the client");
	guest_check(hooked_set(server.pid, "compute.timeslice", "4096us") == 0 &&
			    softgpu_get_timeslice(SERVER) == 4096,
		    "the server is there still, and obeys");
	hooked_go(&server);
	hooked_wait_ready(&server);
	hooked_go(&server);
	guest_check(hooked_end(&server) == 0, "and has done all its work");
}
