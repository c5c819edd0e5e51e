// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A GPU without memory. Each allocation of each thing that user space can ask of gvm_fakegpu.ko
 * fails once, and so do those of the fault handler that this sets to work. Then allocations
 * fail at random while tenants page. All data that was stored reads back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"
#include "inject.h"

#define RANGE_CHUNKS   4u
#define STORM_TENANTS  4u
#define STORM_CHUNKS   8u
#define STORM_SECONDS  20u
#define STORM_ONE_IN   23u
#define EXIT_INJECTION 12u /* allocations that fail in turn; no exit is known to make one */

static int context = -1;
static uint64_t va;
static uint32_t lost; /* how often memory was wrong after evict() */

static void close_context(void)
{
	if (context >= 0)
		close(context);
	context = -1;
}

static int load(void)
{
	return guest_load("gvm_fakegpu", "chunks=4 sms=2");
}

static void unload(void)
{
	guest_unload("gvm_fakegpu");
}

static int open_device(void)
{
	return fakegpu_open_device(0, &context);
}

static bool device_first(void)
{
	return open_device() == 0;
}

static int create(void)
{
	struct gvm_fakegpu_create arguments = { .tsgs = 2 };

	return ioctl(context, GVM_FAKEGPU_CREATE, &arguments) ? errno : 0;
}

static bool context_first(void)
{
	return device_first() && create() == 0;
}

static int map(void)
{
	return fakegpu_map(context, RANGE_CHUNKS * CHUNK, &va);
}

static int map_on_host(void)
{
	return fakegpu_map_on_host(context, RANGE_CHUNKS * CHUNK, 5, &va);
}

static int open_child(void)
{
	struct gvm_child_request request = { .number = 1, .va = CHUNK, .bytes = CHUNK };
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int error = dev < 0 || ioctl(dev, GVM_IOCTL_CHILD_OPEN, &request) ? errno : 0;

	if (dev >= 0)
		close(dev);
	return error;
}

static bool map_first(void)
{
	return context_first() && map() == 0;
}

static bool map_on_host_first(void)
{
	return context_first() && map_on_host() == 0;
}

static int fill(void)
{
	return fakegpu_fill(context, va, RANGE_CHUNKS * CHUNK, 6);
}

static bool fill_first(void)
{
	return map_first() && fill() == 0;
}

static int verify(void)
{
	return fakegpu_verify(context, va, RANGE_CHUNKS * CHUNK, 5, NULL);
}

static int verify_filled(void)
{
	return fakegpu_verify(context, va, RANGE_CHUNKS * CHUNK, 6, NULL);
}

/* Evict everything. The chunks need host memory for the first time. */
static int evict(void)
{
	return control_set(getpid(), "gmem.limit.high", "0");
}

/* Chunks that the write did not evict are unchanged. */
static void verify_and_close(void)
{
	control_set(getpid(), "gmem.limit.high", "max");
	lost += verify_filled() != 0;
	close_context();
}

static int load_bytes(void)
{
	uint64_t words[64];

	return fakegpu_load(context, va, words, sizeof(words));
}

static int store_bytes(void)
{
	uint64_t words[64] = { 1 };

	return fakegpu_store(context, va, words, sizeof(words));
}

static int discard(void)
{
	return fakegpu_discard(context, va, RANGE_CHUNKS * CHUNK);
}

static int unmap(void)
{
	return fakegpu_unmap(context, va);
}

static int info(void)
{
	struct gvm_fakegpu_info info;

	return fakegpu_info(context, &info);
}

static int check(void)
{
	return fakegpu_check(context);
}

/* close() of a whole context. */
static int end(void)
{
	int error = close(context) ? errno : 0;

	context = -1;
	return error;
}

/* A child inherits its parent's open context, and joins its container with one of its own. */
static void be_child(pid_t parent)
{
	int own = tenant_open((uint32_t)parent);
	uint64_t own_va = tenant_map(own, CHUNK);

	require(fakegpu_fill(own, own_va, CHUNK, 7) == 0, "fill");
	require(fakegpu_verify(own, own_va, CHUNK, 7, NULL) == 0, "verify");
	require(verify_filled() == 0, "verify the parent's");
	_exit(0);
}

static int fork_child(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return errno;
	if (pid == 0)
		be_child(parent);
	while (waitpid(pid, &status, 0) != pid)
		;
	return status ? ECHILD : 0;
}

static const struct inject_entry load_entry = {
	.name = "load gvm_fakegpu",
	.run = load,
	.undo = unload,
};

static const struct inject_entry entries[] = {
	{ .name = "open the GPU", .run = open_device, .undo = close_context },
	{ .name = "create a context",
	  .prepare = device_first,
	  .run = create,
	  .undo = close_context },
	{ .name = "make a child",
	  .prepare = context_first,
	  .run = open_child,
	  .undo = close_context },
	{ .name = "map", .prepare = context_first, .run = map, .undo = close_context },
	{ .name = "map host memory",
	  .prepare = context_first,
	  .run = map_on_host,
	  .undo = close_context },
	{ .name = "launch", .prepare = map_first, .run = fill, .undo = close_context },
	{ .name = "read memory",
	  .prepare = fill_first,
	  .run = load_bytes,
	  .undo = close_context },
	{ .name = "write memory",
	  .prepare = fill_first,
	  .run = store_bytes,
	  .undo = close_context },
	{ .name = "evict by a limit",
	  .prepare = fill_first,
	  .run = evict,
	  .undo = verify_and_close },
	{ .name = "discard", .prepare = fill_first, .run = discard, .undo = close_context },
	{ .name = "unmap", .prepare = fill_first, .run = unmap, .undo = close_context },
	{ .name = "ask about the GPU",
	  .prepare = device_first,
	  .run = info,
	  .undo = close_context },
	{ .name = "check the books",
	  .prepare = device_first,
	  .run = check,
	  .undo = close_context },
	{ .name = "close a context", .prepare = fill_first, .run = end, .undo = close_context },
	{ .name = "fork",
	  .prepare = fill_first,
	  .run = fork_child,
	  .undo = close_context,
	  .also = EAGAIN },
};

/* Allocations of the thread that services faults. A launch makes work for it. */
static struct inject_entry fault_entries[] = {
	{ .name = "faults on new memory",
	  .prepare = map_first,
	  .run = fill,
	  .undo = close_context },
	{ .name = "faults on host memory",
	  .prepare = map_on_host_first,
	  .run = verify,
	  .undo = close_context },
	{ .name = "faults on evicted memory",
	  .prepare = fill_first,
	  .run = verify_filled,
	  .undo = close_context },
};

/* Exits are not an entry: a process that exits cannot tell whether an allocation failed. */
static void exit_with_memory(uint32_t nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth + 1);
	int fd = open("/proc/self/fail-nth", O_WRONLY | O_CLOEXEC);

	require(fill_first(), "fill");
	require(write(fd, text, (size_t)length) == length, "arm");
}

static void test_exits(void)
{
	uint32_t well = 0;

	for (uint32_t i = 0; i < EXIT_INJECTION; i++) {
		well += tenant_finish(tenant_start(exit_with_memory, i));
		well -= !gpu_check();
	}
	guest_check(well == EXIT_INJECTION, "injection: %u processes exit without memory",
		    well);
}

/* Counts over all tenants of the storm. */
struct storm_counts {
	volatile uint64_t verified, wrong, refused;
};

static struct storm_counts *storm_counts;

/* Was the call refused for lack of memory? Other errors end the test. */
static bool storm_refused(int error)
{
	require(error == 0 || error == ENOMEM || error == EIO || error == EBADMSG, "storm: %s",
		guest_error_name(error));
	if (error == ENOMEM || error == EIO)
		__sync_fetch_and_add(&storm_counts->refused, 1);
	return error == ENOMEM || error == EIO;
}

/*
 * Use one TSG of a context after the other. Each lives until one of its faults finds no memory.
 * The next TSG finds the data of the last complete store.
 */
static void storm_context(int fd, uint64_t seed)
{
	struct gvm_fakegpu_launch launch = { .bytes = STORM_CHUNKS * CHUNK, .seed = seed };
	bool stored = false;
	int error;

	if (storm_refused(fakegpu_map(fd, STORM_CHUNKS * CHUNK, (uint64_t *)&launch.va)))
		return;
	for (launch.tsg = 0; launch.tsg < GVM_FAKEGPU_TSGS_MAX; launch.tsg += error != 0) {
		launch.op = stored ? GVM_FAKEGPU_VERIFY : GVM_FAKEGPU_FILL;
		launch.seed += !stored;
		error = fakegpu_launch(fd, &launch);
		if (error == EBADMSG)
			__sync_fetch_and_add(&storm_counts->wrong, 1);
		if (storm_refused(error))
			continue;
		if (stored)
			__sync_fetch_and_add(&storm_counts->verified, launch.bytes / PAGE);
		stored = !stored;
	}
}

static void storm(uint32_t index)
{
	inject_into_me();
	for (uint64_t seed = (uint64_t)(index + 1) << 32;; seed += 1 << 16) {
		int fd;
		int error = fakegpu_open(0, 0, GVM_FAKEGPU_TSGS_MAX, &fd);

		if (storm_refused(error))
			continue;
		storm_context(fd, seed);
		close(fd);
	}
}

/*
 * Any allocation of our modules may fail: those of tenants, of the fault handler and of
 * evictors.
 */
static void test_storm(void)
{
	pid_t pids[STORM_TENANTS];
	uint32_t well = 0;

	storm_counts = shared_alloc(sizeof(*storm_counts));
	inject_at_random(STORM_ONE_IN);
	for (uint32_t i = 0; i < STORM_TENANTS; i++)
		pids[i] = tenant_start(storm, i);
	for (uint32_t i = 0; i < STORM_SECONDS * 10; i++) {
		inject_into_threads(); /* evictors come and go with containers */
		control_set(pids[i % STORM_TENANTS], "gmem.limit.high", i % 2 ? "9M" : "max");
		well += gpu_check();
		sleep_ms(100);
	}
	inject_nothing();
	guest_check(well == STORM_SECONDS * 10, "the books were in order at each of %u looks",
		    well);
	for (uint32_t i = 0; i < STORM_TENANTS; i++)
		guest_check(tenant_kill(pids[i]), "tenant %u of the storm was well to the end",
			    i);
	guest_check(
		storm_counts->verified && storm_counts->refused && !storm_counts->wrong,
		"injection: at random: %lu allocations failed, %llu calls did too, %llu pages "
		"were looked at, %llu wrong",
		inject_random_count(), (unsigned long long)storm_counts->refused,
		(unsigned long long)storm_counts->verified,
		(unsigned long long)storm_counts->wrong);
}

static void inject_into_faults(void)
{
	pid_t handler = inject_find_thread("gvm faults");

	guest_check(handler, "there is a fault handler");
	for (size_t i = 0; i < sizeof(fault_entries) / sizeof(fault_entries[0]); i++) {
		fault_entries[i].task = handler;
		inject_entry(&fault_entries[i]);
	}
}

void test_injection(void)
{
	if (!inject_begin())
		return;
	inject_entry(&load_entry);
	gpu_load("chunks=24");
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		inject_entry(&entries[i]);
	guest_check(lost == 0, "memory that could not be evicted is unchanged");
	test_exits();
	gpu_unload();
	gpu_load("chunks=4");
	inject_into_faults();
	gpu_unload();
	gpu_load("chunks=20");
	test_storm();
	gpu_unload();
	inject_end();
}
