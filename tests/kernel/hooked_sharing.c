// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A TSG with several channels: of one process; of two processes of one container, as with MPS;
 * and of processes of two containers, which is refused.
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
	softgpu_fail(SOFTGPU_FAIL_CONTROL, 1, 1);
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
