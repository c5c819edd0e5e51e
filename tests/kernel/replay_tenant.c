// SPDX-License-Identifier: MIT OR GPL-2.0
/* Containers of a replay; see replay.h. */
#define _GNU_SOURCE
#include "replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Read a file of /proc/PID. Returns false if the thread has gone. */
static bool read_of_thread(const char *pid, const char *name, char *text, size_t size)
{
	char path[300];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return true;
}

/* The state of a thread of gvm.ko: "PID (gvm evictor) S ..." sleeps. 0: it is another one. */
static char worker_state(const char *pid)
{
	char text[256], state;

	if (!read_of_thread(pid, "stat", text, sizeof(text)))
		return 0;
	if (sscanf(text, "%*d (gvm evictor) %c", &state) != 1 &&
	    sscanf(text, "%*d (gvm faults) %c", &state) != 1)
		return 0;
	return state;
}

/*
 * Is it a thread of gvm.ko that works? The state alone does not tell. A thread that goes to wait
 * has the state S before it looks for work, and still has it when it has found some. On a busy
 * host it may lose its processor just there. wchan is 0 as long as the scheduler has the thread
 * to run. Between the two looks at the state the thread was off the processor, so the first S
 * was no look for work, or that work is done by the second one.
 */
static bool is_busy_worker(const char *pid)
{
	char state = worker_state(pid);
	char wchan[128];

	if (!state)
		return false;
	return state != 'S' || !read_of_thread(pid, "wchan", wchan, sizeof(wchan)) ||
	       strcmp(wchan, "0") == 0 || worker_state(pid) != 'S';
}

static bool are_workers_busy(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool busy = false;

	while (processes && !busy && (entry = readdir(processes)))
		busy = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		       is_busy_worker(entry->d_name);
	if (processes)
		closedir(processes);
	return busy;
}

/*
 * A batch of faults wakes the evictors before it is replayed. A woken thread counts as busy
 * even if it does not run yet. So when a kernel has ended, every thread with work is seen.
 * There is one exception: a thread also sleeps when it waits for a full copy engine's queue.
 * The few evictions here fill no queue.
 */
void replay_settle(void)
{
	while (are_workers_busy())
		sleep_ms(1);
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
