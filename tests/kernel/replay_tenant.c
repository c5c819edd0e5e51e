// SPDX-License-Identifier: MIT OR GPL-2.0
/* Containers of a replay; see replay.h. */
#define _GNU_SOURCE
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A batch of faults wakes the evictors before it is replayed. So when a kernel has ended, every
 * thread with work is seen. There is one exception: a thread also sleeps when it waits for a
 * full copy engine's queue. The few evictions here fill no queue.
 */
void replay_settle(void)
{
	guest_wait_for_threads("gvm faults");
	guest_wait_for_threads("gvm evictor");
}

static int touch_block(int context, uint64_t va, uint64_t seed,
		       const struct replay_order *order)
{
	int error = order->writes ? fakegpu_fill(context, va, CHUNK, seed) :
				    fakegpu_verify(context, va, CHUNK, seed, NULL);

	replay_settle();
	return error;
}

/* Touch blocks one after the other, forwards or backwards, until a touch fails. */
static int touch(int context, uint64_t va, uint64_t seed, const struct replay_order *order)
{
	uint32_t block = order->first;
	int error;

	for (;;) {
		error = touch_block(context, va + block * CHUNK, seed, order);
		if (error || block == order->last)
			return error;
		block = order->last < order->first ? block - 1 : block + 1;
	}
}

static int map(int context, uint64_t seed, const struct replay_order *order, uint64_t *ret_va)
{
	return order->on_host ? fakegpu_map_on_host(context, order->bytes, seed, ret_va) :
				fakegpu_map(context, order->bytes, ret_va);
}

void replay_tenant_main(const struct replay_tenant *tenant, int orders, int answers)
{
	struct replay_order order;
	int context;
	int error = fakegpu_open(0, 0, 1, &context);

	while (write(answers, &error, sizeof(error)) == sizeof(error) &&
	       read(orders, &order, sizeof(order)) == sizeof(order) &&
	       order.verb != REPLAY_EXIT)
		error = order.verb == REPLAY_MAP ?
				map(context, tenant->seed, &order, tenant->va) :
				touch(context, *tenant->va, tenant->seed, &order);
	close(context);
	_exit(0);
}

/* Wait for one answer, and store it in *ret_error. */
static bool take_answer(struct replay_tenant *tenant, int *ret_error)
{
	return read(tenant->answers, ret_error, sizeof(*ret_error)) == sizeof(*ret_error);
}

bool replay_tenant_start(struct replay_tenant *tenant)
{
	int down[2], up[2];
	int error;

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		return false;
	tenant->pid = fork();
	if (tenant->pid == 0) {
		close(down[1]);
		close(up[0]);
		replay_tenant_main(tenant, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	tenant->orders = down[1];
	tenant->answers = up[0];
	return tenant->pid > 0 && take_answer(tenant, &error) && !error;
}

/* Lack of memory is no mistake, the trace tells of it. A wrong word is one. */
static bool is_answer_fine(int error)
{
	return error == 0 || error == EDQUOT || error == ENOMEM || error == EIO;
}

static bool finish(struct replay_tenant *tenant)
{
	bool well = tenant_finish(tenant->pid);

	close(tenant->orders);
	close(tenant->answers);
	tenant->pid = 0;
	return well;
}

static bool has_pending_kernel(pid_t pid)
{
	static const char field[] = "nr_pending_kernels: ";
	char path[64], text[GUEST_TEXT_MAX];
	const char *found;

	snprintf(path, sizeof(path), "gvm/%d/0/gcgroup.stat", pid);
	if (guest_read(path, text, sizeof(text)))
		return false;
	found = strstr(text, field);
	return found && strtoul(found + strlen(field), NULL, 10) > 0;
}

/*
 * A frozen tenant's order goes as far as it can: its kernel is launched, or refused at once.
 * Where launches are not counted, it has the time until the next step: it is launched later,
 * and does not run before the thaw either.
 */
static void wait_for_launch(const struct replay_tenant *tenant)
{
	struct pollfd answer = { .fd = tenant->answers, .events = POLLIN };

	while (gpu_can(GPU_COUNTS_LAUNCHES) && !has_pending_kernel(tenant->pid) &&
	       poll(&answer, 1, 1) == 0)
		;
}

bool replay_tenant_tell(struct replay_tenant *tenant, const struct replay_order *order)
{
	int error;

	if (write(tenant->orders, order, sizeof(*order)) != sizeof(*order))
		return false;
	if (order->verb == REPLAY_EXIT)
		return finish(tenant);
	if (order->verb == REPLAY_TOUCH && control_get(tenant->pid, "compute.freeze") == 1) {
		tenant->late++;
		wait_for_launch(tenant);
		return true;
	}
	return take_answer(tenant, &error) && is_answer_fine(error);
}

bool replay_tenant_catch_up(struct replay_tenant *tenant)
{
	bool fine = true;
	int error;

	for (; tenant->late; tenant->late--)
		fine &= take_answer(tenant, &error) && is_answer_fine(error);
	return fine;
}
