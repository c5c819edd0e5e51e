// SPDX-License-Identifier: MIT OR GPL-2.0
/* Both modules are loaded and unloaded, and no argument from user space does any harm. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define FAILED_NODES 6u
#define RELOADS	     30u /* unless GVM_TEST_RELOADS is set */
#define IOCTL_ROUNDS 2000u

static void use(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 4 * CHUNK);

	require(fakegpu_fill(context, va, 4 * CHUNK, index) == 0, "fill");
	require(fakegpu_verify(context, va, 4 * CHUNK, index, NULL) == 0, "verify");
	close(context);
}

static bool reload(void)
{
	bool ok = guest_load("gvm_fakegpu", "chunks=3") == 0;

	ok &= tenants_run(use, 1) == 1;
	ok &= guest_unload("gvm") == EAGAIN;
	return ok & (guest_unload("gvm_fakegpu") == 0);
}

static void test_cycles(void)
{
	unsigned long reloads = guest_number("GVM_TEST_RELOADS", RELOADS), well = 0;
	long objects;

	objects = guest_count_objects("gvm");
	for (unsigned long i = 0; i < reloads; i++)
		well += reload();
	guest_check(well == reloads, "%lu of %lu loads and unloads", well, reloads);
	guest_log("# %lu loads and unloads", reloads);
	guest_expect_no_leak("gvm", objects);
	guest_check(guest_load("gvm_fakegpu", "chunks=0") == EINVAL &&
			    guest_load("gvm_fakegpu", "gpus=5") == EINVAL &&
			    guest_load("gvm_fakegpu", "sms=17") == EINVAL,
		    "parameters out of range are refused");
}

/* Open a device node or a file over and over, whether it exists or not. */
static void open_all(uint32_t index)
{
	static const char *const paths[] = { "/dev/gvm_fakegpu0", "/dev/gvm_fakegpu1",
					     "/dev/gvm", GUEST_DEBUGFS "/gvm/devices" };

	for (;;) {
		int fd = open(paths[index], O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			close(fd);
	}
}

/*
 * The node of a GPU cannot be made, be it the first or a later one, while users open the others.
 * A module that fails to load is gone at once, even if a user has a file open.
 */
static void test_failed_nodes(void)
{
	pid_t openers[4];
	uint32_t refused = 0, partly = 0;
	bool killed = true;

	for (uint32_t i = 0; i < 4; i++)
		openers[i] = tenant_start(open_all, i);
	for (uint32_t i = 0; i < FAILED_NODES; i++) {
		int fd;

		refused += guest_load("gvm_fakegpu", "chunks=3 gpus=3 fail_node=1") == ENOMEM &&
			   access("/dev/gvm_fakegpu0", F_OK) != 0;
		if (guest_load("gvm_fakegpu", "chunks=3 gpus=3 fail_node=2"))
			continue;
		fd = open("/dev/gvm_fakegpu2", O_RDWR | O_CLOEXEC);
		partly += fd >= 0 && access("/dev/gvm_fakegpu0", F_OK) == 0 &&
			  access("/dev/gvm_fakegpu1", F_OK) != 0;
		close(fd);
		while (guest_unload("gvm_fakegpu") == EAGAIN)
			sleep_ms(1); /* an opener still has the node open */
	}
	for (uint32_t i = 0; i < 4; i++)
		killed &= tenant_kill(openers[i]);
	guest_check(refused == FAILED_NODES, "%u loads fail with the first node", refused);
	guest_check(partly == FAILED_NODES, "%u loads go on without a later one", partly);
	guest_check(killed, "users open the others meanwhile");
}

/*
 * Random calls with random arguments. A mapping asks for less than three chunks, because the
 * driver grants what fits.
 */
static void misuse(uint32_t index)
{
	static const unsigned long commands[] = { GVM_FAKEGPU_CREATE,  GVM_FAKEGPU_MAP,
						  GVM_FAKEGPU_UNMAP,   GVM_FAKEGPU_DISCARD,
						  GVM_FAKEGPU_LAUNCH,  GVM_FAKEGPU_INFO,
						  _IOWR('G', 9, long), _IO('G', 1) };
	struct dice dice = fakegpu_dice(600 + index);
	uint64_t words[16];
	int fd;

	require(fakegpu_open_device(0, &fd) == 0, "open");
	for (uint32_t i = 0; i < IOCTL_ROUNDS; i++) {
		unsigned long command = commands[roll(&dice, 8)];

		for (uint32_t j = 0; j < 16; j++)
			words[j] = roll(&dice, 4) ? roll(&dice, 4) :
						    roll(&dice, UINT64_MAX) >> roll(&dice, 64);
		if (command == GVM_FAKEGPU_MAP)
			words[0] %= 3 * CHUNK;
		ioctl(fd, command, roll(&dice, 16) ? words : NULL);
		if (pread(fd, words, roll(&dice, 128), (off_t)words[3]) > 0)
			require(false, "there is nothing to be read there");
	}
	close(fd);
}

static void refuse(uint32_t index)
{
	struct gvm_fakegpu_launch launch = { .bytes = 8, .op = GVM_FAKEGPU_OPS };
	int context = tenant_open(0);
	uint64_t va;
	int other;

	(void)index;
	require(fakegpu_open(0, 0x7fffffff, 1, &other) == ESRCH, "no such container");
	require(fakegpu_open(0, 0, 0, &other) == EINVAL, "no TSG");
	require(fakegpu_open(0, 0, GVM_FAKEGPU_TSGS_MAX + 1, &other) == EINVAL, "TSGs");
	require(fakegpu_map(context, 0, &va) == EINVAL, "nothing to map");
	require(fakegpu_map(context, GVM_FAKEGPU_MAP_MAX + 1, &va) == EINVAL, "too much");
	require(fakegpu_unmap(context, CHUNK) == ENOENT, "nothing there");
	require(fakegpu_launch(context, &launch) == EINVAL, "no such operation");
	require(fakegpu_fill(context, 4, 8, 0) == EINVAL, "not aligned");
	require(fakegpu_fill(context, UINT64_MAX - 15, 64, 0) == EINVAL, "around the end");
	require(fakegpu_open_device(0, &other) == 0, "open");
	require(fakegpu_map(other, CHUNK, &va) == ENXIO, "no context");
	require(fakegpu_fill(other, 0, 8, 0) == ENXIO, "no context");
	close(other);
	close(context);
}

/* Regression: behind a mapping that took the last addresses, others were made without an end. */
static void use_last_addresses(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va;

	(void)index;
	require(fakegpu_map(context, 4 * CHUNK, &va) == ENOMEM, "more than there are");
	require(fakegpu_map(context, 3 * CHUNK, &va) == 0 && va == 0x7ffeffa00000ull,
		"the last ones: %llx", (unsigned long long)va);
	require(fakegpu_map(context, CHUNK, &va) == ENOMEM, "behind the last one");
	close(context);
}

static void write_limit(uint32_t index)
{
	int error = control_set((pid_t)index, "gmem.limit.high", "1G");

	require(error == ENODEV, "write: %s", guest_error_name(error));
}

/*
 * Regression: a writer that waited for the resume of a GPU whose driver went kept the driver
 * waiting, and no resume could come.
 */
static void test_unload_quiesced(void)
{
	uint64_t timeout_us = 20000000;
	char attach[32];
	pid_t writer;
	int context;

	guest_check(guest_load("gvm_fakegpu", "chunks=3") == 0, "load");
	snprintf(attach, sizeof(attach), "%d 0", getpid());
	guest_expect_write("gvm/attach", attach, 0);
	context = tenant_open(0);
	guest_check(ioctl(context, GVM_FAKEGPU_QUIESCE, &timeout_us) == 0, "quiesce");
	close(context);
	writer = tenant_start(write_limit, (uint32_t)getpid());
	sleep_ms(300);
	guest_check(guest_unload("gvm_fakegpu") == 0, "the driver of a quiesced GPU goes");
	guest_check(tenant_finish(writer), "a writer that waited for its resume gets ENODEV");
}

void test_reload(void)
{
	test_cycles();
	test_failed_nodes();
	test_unload_quiesced();
	gpu_load("chunks=24 skip_addresses=0xffeffa00000");
	guest_check(tenants_run(use_last_addresses, 1) == 1, "addresses come to an end");
	gpu_unload();
	gpu_load("chunks=24");
	guest_check(tenants_run(refuse, 1) == 1, "senseless requests are refused");
	guest_check(tenants_run(misuse, 4) == 4, "random calls do no harm");
	guest_check(tenants_run(use, 1) == 1, "the GPU still works");
	gpu_unload();
}
