// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Broken books: a free chunk is uncharged, and the core finds it (gvm_world.h). From then on
 * the device is dead, and its files answer with an error. Other GPUs and the machine go on, and
 * the modules can be unloaded. The dead device's memory is never freed, so this test has a
 * machine of its own. See broken.sh.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define CGROUPS "/sys/fs/cgroup"

static const char *const readable[] = {
	"gvm/2000/0/gmem.current",
	"gvm/2000/0/gmem.events",
	"gvm/2000/0/compute.freeze",
	"gvm/2000/0/gcgroup.stat",
};

void guest_test_broken(void)
{
	char text[GUEST_TEXT_MAX];

	guest_expect_load("gvm", 0);
	guest_expect_load("gvm_selftest", 0);
	guest_expect_write("gvm_selftest/second", "1", 0);
	guest_expect_write("gvm/attach", "2000 1", 0);
	guest_expect_write("gvm/attach", "2000 0", 0);
	guest_expect_write("gvm_selftest/charge", "2000 3", 0);
	guest_expect_write("gvm_selftest/break", "1", 0);
	for (size_t i = 0; i < sizeof(readable) / sizeof(readable[0]); i++)
		guest_check(guest_read(readable[i], text, sizeof(text)) == EIO, "%s: EIO",
			    readable[i]);
	guest_expect_write("gvm/2000/0/gmem.limit.high", "0", EIO);
	guest_expect_write("gvm/2000/0/compute.freeze", "1", EIO);
	guest_expect_write("gvm/attach", "2001 0", EIO);
	guest_expect_write("gvm_selftest/charge", "2000 1", EIO);
	guest_expect_write("gvm/2000/1/gmem.limit.high", "4M", 0);
	guest_expect_read("gvm/2000/1/gmem.limit.high", "4194304\n");
	/* Regression: the dead GPU kept cgroups from containers on all GPUs. */
	mkdir(CGROUPS, 0755);
	guest_check(mount("cgroup", CGROUPS, "cgroup2", 0, NULL) == 0 &&
			    mkdir(CGROUPS "/tenant", 0755) == 0,
		    "a cgroup");
	guest_expect_write("gvm/cgroups", "+/tenant gmem.limit.high=6M", 0);
	guest_expect_read("gvm/cgroup/tenant/1/gmem.limit.high", "6291456\n");
	guest_expect_write("gvm/cgroups", "-/tenant", 0);
	guest_expect_write("gvm/detach", "2000 1", 0);
	guest_expect_write("gvm/detach", "2000 0", 0);
	guest_expect_write("gvm_selftest/second", "0", 0);
	guest_expect_unload("gvm_selftest", 0);
	guest_expect_unload("gvm", 0);
	guest_expect_load("gvm", 0);
	guest_expect_unload("gvm", 0);
}

/* Make each mistake of selftest_wrong.c. debug_kernel.sh looks for the kernel's complaints. */
void guest_test_wrong(void)
{
	static const char *const wrongs[] = { "order", "sleep", "use", "shift", "lose" };

	guest_expect_load("gvm", 0);
	guest_expect_load("gvm_selftest", 0);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++)
		guest_expect_write("gvm_selftest/wrong", wrongs[i], 0);
	guest_expect_unload("gvm_selftest", 0);
	guest_expect_unload("gvm", 0);
	guest_watch_end();
}
