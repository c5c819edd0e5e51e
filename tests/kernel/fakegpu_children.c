// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Children of a container by address range, through /dev/gvm: who pays, what each one's limit
 * does to the other, who may make them, and that they end well while their memory moves.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"

#define OWNER	 1000
#define WINDOW	 (32 * CHUNK)
#define CHILDREN 64u /* that a container may have */
#define ROUNDS	 gpu_times(20)
#define KILLS	 gpu_times(8)

static volatile uint32_t *step;

/* One call on /dev/gvm for a child. Returns 0 or the errno. */
static int child_call(unsigned long call, const struct gvm_child_request *request)
{
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int error = dev < 0 || ioctl(dev, call, request) ? errno : 0;

	if (dev >= 0)
		close(dev);
	return error;
}

static int child_open(uint32_t number, uint64_t va, uint64_t bytes)
{
	struct gvm_child_request request = { .number = number, .va = va, .bytes = bytes };

	return child_call(GVM_IOCTL_CHILD_OPEN, &request);
}

static int child_close(uint32_t number)
{
	struct gvm_child_request request = { .number = number };

	return child_call(GVM_IOCTL_CHILD_CLOSE, &request);
}

static int child_resize(uint32_t number, uint64_t bytes)
{
	struct gvm_child_request request = { .number = number, .bytes = bytes };

	return child_call(GVM_IOCTL_CHILD_RESIZE, &request);
}

static void require_error(int error, int expected, const char *what)
{
	require(error == expected, "%s: %s, expected %s", what, guest_error_name(error),
		guest_error_name(expected));
}

static long long child_get(uint32_t number, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "child.%u/%s", number, file);
	return control_get(getpid(), path);
}

static int child_set(pid_t tgid, uint32_t number, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "child.%u/%s", number, file);
	return control_set(tgid, path, text);
}

/* Two tenants of one process, each in its window. */
static void two_tenants(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t first = gpu_next_va(context);
	uint64_t second, parents;

	(void)index;
	require_error(child_open(1, first, 5 * CHUNK), 0, "the first child");
	require_error(child_open(2, first + 5 * CHUNK, WINDOW), 0, "the second child");
	require(tenant_map(context, 4 * CHUNK) == first, "the first one's memory");
	second = tenant_map(context, 4 * CHUNK);
	require(fakegpu_fill(context, first, 4 * CHUNK, 1) == 0, "fill");
	require(fakegpu_fill(context, second, 4 * CHUNK, 2) == 0, "fill");
	require(child_get(1, "gmem.current") == (long long)(4 * CHUNK), "4 chunks are one's");
	require(child_get(2, "gmem.current") == (long long)(4 * CHUNK), "4 the other one's");
	parents = (uint64_t)control_get(getpid(), "gmem.current");
	require(parents >= 8 * CHUNK, "the parent pays for the sum");

	require(child_set(getpid(), 1, "gmem.limit.high", "4M") == 0, "a limit");
	require(child_get(1, "gmem.current") == (long long)(2 * CHUNK), "it holds at once");
	require(fakegpu_verify(context, first, 4 * CHUNK, 1, NULL) == 0, "verify");
	require(child_get(1, "gmem.current") == (long long)(2 * CHUNK), "and later");
	require(child_get(1, "gmem.swap.current") == (long long)(2 * CHUNK), "the rest is out");
	require(child_get(2, "gmem.swap.current") == 0, "a limit costs the other nothing");
	require(fakegpu_verify(context, second, 4 * CHUNK, 2, NULL) == 0, "verify");

	require_error(child_resize(2, 4 * CHUNK), 0, "a smaller window");
	require(tenant_map(context, CHUNK) > second, "memory behind the window");
	require(child_get(2, "gmem.current") == (long long)(4 * CHUNK), "is not the child's");
	fakegpu_close(context);
}

static void expect_errors(int context)
{
	uint64_t va = gpu_next_va(context);
	struct gvm_child_request request = { .gpu = 9, .va = va, .bytes = CHUNK };
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	uint64_t mapped;

	require_error(child_call(GVM_IOCTL_CHILD_OPEN, &request), ENODEV, "no such GPU");
	require(ioctl(dev, GVM_IOCTL_CHILD_OPEN, GUEST_NO_MEMORY) && errno == EFAULT, "EFAULT");
	close(dev);
	require_error(child_open(1, va, 0), EINVAL, "no addresses");
	require_error(child_open(1, va + PAGE, CHUNK), EINVAL, "not aligned");
	require_error(child_open(1, va, PAGE), EINVAL, "not of whole blocks");
	require_error(child_open(1, 0 - CHUNK, 2 * CHUNK), EINVAL, "wraps");
	require_error(child_close(1), ENOENT, "close no child");
	require_error(child_resize(1, CHUNK), ENOENT, "resize no child");
	require_error(child_open(1, va, 2 * CHUNK), 0, "a child");
	require_error(child_open(1, va + 4 * CHUNK, CHUNK), EEXIST, "the number");
	require_error(child_open(2, va + CHUNK, CHUNK), EEXIST, "a child of a child");
	require_error(child_resize(1, 0), EINVAL, "to nothing");
	require_error(fakegpu_map(context, 3 * CHUNK, &mapped), EINVAL, "in a window in part");
	for (uint32_t i = 2; i <= CHILDREN; i++)
		require_error(child_open(i, va + i * CHUNK, CHUNK), 0, "many");
	require_error(child_open(0, va + (CHILDREN + 1) * CHUNK, CHUNK), ENOSPC, "too many");
	require_error(child_close(CHILDREN), 0, "close one");
	require_error(child_close(CHILDREN), ENOENT, "twice");
	require_error(child_open(0, va + (CHILDREN + 1) * CHUNK, CHUNK), 0, "room for one");
}

/* A process of the same container: it reaches no child of the other one. */
static void relative(uint32_t leader)
{
	int context = tenant_open(leader);
	uint64_t va = gpu_next_va(context);

	require_error(child_close(1), ENOENT, "close another process's child");
	require_error(child_resize(1, CHUNK), ENOENT, "resize it");
	require_error(child_open(1, va, CHUNK), EEXIST, "its number");
	/* The same addresses of another address space. */
	require_error(child_close(CHILDREN), ENOENT, "close nothing");
	require_error(child_open(CHILDREN, va, CHUNK), 0, "a child of its own");
	require(child_get(CHILDREN, "gmem.current") == 0, "in its own directory");
	fakegpu_close(context);
}

static void mistakes(uint32_t index)
{
	int context, other;

	(void)index;
	require_error(child_open(1, CHUNK, CHUNK), ESRCH, "a process without the GPU");
	context = tenant_open(0);
	expect_errors(context);
	require_error(child_close(0), 0, "close");
	require(tenant_finish(tenant_start(relative, (uint32_t)getpid())), "a relative");
	other = tenant_open(0);
	require_error(child_open(0, CHUNK, CHUNK), ENOTUNIQ, "two address spaces");
	fakegpu_close(other);
	require_error(child_open(0, CHUNK, CHUNK), 0, "one again");
	fakegpu_close(context);
}

/* Attached by hand: no driver names its address space. */
static void by_hand(uint32_t index)
{
	char text[32];

	(void)index;
	snprintf(text, sizeof(text), "%d 0", getpid());
	require(guest_write("gvm/attach", text) == 0, "attach");
	require_error(child_open(1, CHUNK, CHUNK), EOPNOTSUPP, "no address space");
	require(guest_write("gvm/detach", text) == 0, "detach");
}

/* Write a file of sysfs. Returns 0 or the errno. */
static int sysfs_write(const char *file, const char *text)
{
	char path[96];
	int fd, error;

	snprintf(path, sizeof(path), "/sys/kernel/gvm/%d/0/%s", getpid(), file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	error = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

/* A process without privileges divides what it has, and no more. */
static void plain_user(uint32_t index)
{
	int context = gpu_can(GPU_OPENS_TO_USERS) ? -1 : tenant_open(0);
	uint64_t va;

	(void)index;
	require(setgroups(0, NULL) == 0 && setgid(OWNER) == 0 && setuid(OWNER) == 0, "setuid");
	if (context < 0)
		context = tenant_open(0);
	va = gpu_next_va(context);
	require_error(child_open(1, va, WINDOW), 0, "a child");
	require_error(sysfs_write("child.1/gmem.limit.high", "4M"), 0, "its limit");
	require_error(sysfs_write("gmem.limit.high", "max"), EACCES, "the parent's limit");
	va = tenant_map(context, 4 * CHUNK);
	require(fakegpu_fill(context, va, 4 * CHUNK, 7) == 0, "fill");
	require(fakegpu_verify(context, va, 4 * CHUNK, 7, NULL) == 0, "verify");
	require_error(child_close(1), 0, "close");
	require_error(sysfs_write("child.1/gmem.limit.high", "4M"), ENOENT, "no file any more");
	fakegpu_close(context);
}

/* What a thread of a process with children fills and verifies all the time. */
struct worker {
	pthread_t thread;
	int context;
	uint64_t va;
	uint64_t bytes;
	volatile bool ends;
};

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (uint64_t seed = 1; !worker->ends; seed++) {
		require(fakegpu_fill(worker->context, worker->va, worker->bytes, seed) == 0,
			"fill");
		require(fakegpu_verify(worker->context, worker->va, worker->bytes, seed,
				       NULL) == 0,
			"verify");
	}
	return NULL;
}

/* A file of the child stays open over its end. */
static int open_limit(uint32_t number)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/gvm/%d/0/child.%u/gmem.limit.high",
		 getpid(), number);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	require(fd >= 0, "open a file of the child");
	return fd;
}

/* The child is closed while its faults are serviced, again and again. */
static void closed_at_work(uint32_t index)
{
	struct worker worker = { .context = tenant_open(0), .bytes = 4 * CHUNK };
	uint64_t va = gpu_next_va(worker.context);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		int fd;

		require_error(child_open(index, va, 5 * CHUNK), 0, "a child");
		worker.va = tenant_map(worker.context, worker.bytes);
		require(worker.va == va, "memory in its window");
		require(child_set(getpid(), index, "gmem.limit.high", "4M") == 0, "a limit");
		worker.ends = false;
		require(pthread_create(&worker.thread, NULL, work, &worker) == 0, "thread");
		sleep_ms(i % 7 * 3);
		fd = open_limit(index);
		require_error(child_close(index), 0, "close");
		require(write(fd, "0", 1) < 0 && errno == EIO, "no file any more");
		close(fd);
		require_error(child_open(index, va + WINDOW, CHUNK), 0, "the number is free");
		require_error(child_close(index), 0, "close");
		worker.ends = true;
		pthread_join(worker.thread, NULL);
		/* Its own limit has gone with it, and its memory is the parent's. */
		require(fakegpu_fill(worker.context, va, worker.bytes, 5) == 0, "fill");
		require(control_get(getpid(), "gmem.current") >= (long long)(4 * CHUNK),
			"the parent pays");
		require(control_get(getpid(), "gmem.swap.current") == 0, "without the limit");
		require(fakegpu_unmap(worker.context, va) == 0, "unmap");
		va += 5 * CHUNK;
	}
	fakegpu_close(worker.context);
}

/* Two children, whose memory is larger than the GPU's. It never ends. */
static void hold_children(uint32_t index)
{
	struct worker workers[2] = { { .bytes = 10 * CHUNK }, { .bytes = 10 * CHUNK } };
	int context = tenant_open(0);
	uint64_t va = gpu_next_va(context);

	(void)index;
	for (uint32_t i = 0; i < 2; i++) {
		workers[i].context = context;
		require_error(child_open(i + 1, va, 11 * CHUNK), 0, "a child");
		workers[i].va = tenant_map(context, workers[i].bytes);
		va += 11 * CHUNK;
	}
	require(pthread_create(&workers[0].thread, NULL, work, &workers[0]) == 0, "thread");
	*step = 1;
	work(&workers[1]);
}

/* Cut a limit of each child for ever. */
static void cut_children(uint32_t tgid)
{
	for (uint32_t i = 0;; i++) {
		child_set((pid_t)tgid, 1 + i % 2, "gmem.limit.high", "4M");
		child_set((pid_t)tgid, 1 + i % 2, "gmem.limit.high", "max");
	}
}

static bool directory_has_gone(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/gvm/%d", pid);
	return access(path, F_OK) != 0;
}

/* Starts a process with two children at work. */
static pid_t start_holder(void)
{
	pid_t holder;

	*step = 0;
	holder = tenant_start(hold_children, 0);
	for (uint32_t i = 0; i < 2000 && !*step; i++)
		sleep_ms(5);
	return holder;
}

/* The process dies while its children fault and their limits are written. */
static void test_kills(void)
{
	struct dice dice = fakegpu_dice(700);
	uint32_t died = 0, gone = 0, broken = 0;

	for (uint32_t i = 0; i < KILLS; i++) {
		pid_t victim = start_holder();
		pid_t writer = tenant_start(cut_children, (uint32_t)victim);

		sleep_ms((unsigned int)roll(&dice, 60));
		died += *step == 1 && tenant_kill(victim);
		gone += directory_has_gone(victim);
		broken += !gpu_check();
		died -= !tenant_kill(writer);
	}
	guest_check(died == KILLS, "%u of %u with children are killed under a writer", died,
		    KILLS);
	guest_check(gone == KILLS, "%u of %u directories have gone", gone, KILLS);
	guest_check(broken == 0, "the books were in order after each");
}

/* Children keep the GPU's module, and go with their process. */
static void test_unload(void)
{
	pid_t holder = start_holder();

	guest_expect_unload(gpu_module, EAGAIN);
	guest_check(*step == 1 && tenant_kill(holder), "the holder of two children is killed");
}

void test_children(void)
{
	step = shared_alloc(sizeof(*step));
	gpu_load("chunks=16");
	guest_check(tenants_run(two_tenants, 1) == 1, "two children of one process");
	guest_check(tenants_run(mistakes, 1) == 1, "mistakes are refused");
	guest_check(tenants_run(by_hand, 1) == 1, "no address space, no child");
	guest_check(tenants_run(plain_user, 1) == 1, "a user without privileges");
	guest_check(tenants_run(closed_at_work, 1) == 1,
		    "children are closed while they fault");
	guest_check(gpu_check(), "the books are in order");
	test_kills();
	test_unload();
	gpu_unload();
}
