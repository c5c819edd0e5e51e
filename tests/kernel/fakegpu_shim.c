// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * libgvm_shim.so beside gvm.ko itself: what an application launches is in gcgroup.stat of its
 * container, and in the shim's own file. boot.sh puts the shim and shim_application.c there, with
 * GVM_TEST=shim alone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define LOG	   "/shim/log"
#define WAIT_STEPS 1200u /* of 100 ms */

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int log = open(LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execve("/shim/application", (char *[]){ "application", NULL },
		       (char *[]){ "LD_PRELOAD=/shim/libgvm_shim.so", "LD_LIBRARY_PATH=/shim",
				   "GVM_SHIM_DIR=/shim/files", NULL });
		_exit(127);
	}
	return pid;
}

/* All of a file; empty: there is none. */
static const char *content(const char *path)
{
	static char text[GUEST_TEXT_MAX];
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	close(fd);
	text[length < 0 ? 0 : length] = '\0';
	return text;
}

static bool await(const char *path, const char *line)
{
	for (uint32_t i = 0; i < WAIT_STEPS; i++) {
		if (strstr(content(path), line))
			return true;
		sleep_ms(100);
	}
	guest_log("# %s: %s", path, content(path));
	guest_log("# the application: %.300s", content(LOG));
	return false;
}

void test_shim(void)
{
	char ours[96], module[128];
	pid_t pid;

	gpu_load("");
	pid = start();
	snprintf(module, sizeof(module), GUEST_DEBUGFS "/gvm/%d/0/gcgroup.stat", pid);
	snprintf(ours, sizeof(ours), "/shim/files/%d/0/gcgroup.stat", pid);
	guest_check(await(module, "nr_pending_kernels: 7\n") &&
			    strstr(content(module), "nr_submitted_kernels: 7\n"),
		    "gvm.ko hears of seven launches from the shim");
	guest_check(await(ours, "nr_pending_kernels: 7\n"), "the shim's file has them, too");
	close(open("/shim/release", O_WRONLY | O_CREAT, 0600));
	guest_check(await(module, "nr_ended_kernels: 7\n") &&
			    strstr(content(module), "nr_pending_kernels: 0\n"),
		    "gvm.ko hears of their ends");
	guest_check(await(ours, "nr_pending_kernels: 0\n"), "so does the shim's file");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	guest_check(gpu_check(), "the books are in order");
	gpu_unload();
}
