// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What becomes of a machine in which the core finds that its books are broken (gvm_world.h): a free
 * chunk is given back. The thread ends there, with the leaf lock of its GPU, which nobody must touch
 * afterwards; so this is a machine of its own. See broken.sh.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void guest_test_broken(void)
{
	int status = 0;
	pid_t child;

	guest_expect_load("gvm", 0);
	guest_expect_load("gvm_selftest", 0);
	guest_expect_write("gvm_selftest/second", "1", 0);
	guest_expect_write("gvm/attach", "2000 1", 0);
	child = fork();
	if (child == 0)
		_exit(guest_write("gvm_selftest/break", "1"));
	waitpid(child, &status, 0);
	guest_check(WIFSIGNALED(status), "the thread that broke it ends there");
	guest_expect_write("gvm/2000/1/gmem.limit.high", "4M", 0);
	guest_expect_read("gvm/2000/1/gmem.limit.high", "4194304\n");
	guest_expect_write("gvm/detach", "2000 1", 0);
	guest_expect_write("gvm_selftest/second", "0", 0);
}

/* Each mistake of selftest_wrong.c; what the kernel says to them, debug_kernel.sh looks for. */
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
