// SPDX-License-Identifier: MIT OR GPL-2.0
/* The command-line tool, as a user runs it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define ARGUMENTS_MAX 8u

/* Run the tool. Its output goes to @text. Returns its exit status. */
static int tool(char *const *arguments, char *text, size_t size)
{
	size_t length = 0;
	int status, ends[2];
	ssize_t got;
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execv("/gvm-fakegpu", arguments);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Split @line at spaces and run it. The output must begin with @output. */
static void expect_tool(const char *line, int status, const char *output)
{
	char copy[128], text[GUEST_TEXT_MAX];
	char *arguments[ARGUMENTS_MAX + 1] = { 0 };
	char *rest = copy;
	int got;

	snprintf(copy, sizeof(copy), "%s", line);
	for (uint32_t i = 0; i < ARGUMENTS_MAX && rest; i++)
		arguments[i] = strsep(&rest, " ");
	got = tool(arguments, text, sizeof(text));
	guest_check(got == status && strncmp(text, output, strlen(output)) == 0,
		    "%s: %d '%.60s', expected %d '%s'", line, got, text, status, output);
}

void test_tool(void)
{
	gpu_load("chunks=8");
	expect_tool("gvm-fakegpu --help", 0, "usage: gvm-fakegpu");
	expect_tool("gvm-fakegpu", 2, "gvm-fakegpu: say info or run");
	expect_tool("gvm-fakegpu walk", 2, "gvm-fakegpu: not a command: walk");
	expect_tool("gvm-fakegpu run --mib 1x", 2, "gvm-fakegpu: --mib: 1x");
	expect_tool("gvm-fakegpu run --order up", 2, "gvm-fakegpu: --order: up");
	expect_tool("gvm-fakegpu run --gpu 7", 1,
		    "gvm-fakegpu: cannot create a context: No such");
	expect_tool("gvm-fakegpu info", 0, "gpu 0: 8 of 8 chunks free, 4 SMs\nMiB in 0, out 0");
	expect_tool("gvm-fakegpu run --mib 24 --order shuffled --rounds 2", 0, "process ");
	guest_check(gpu_info().bytes_out >= 24 << 20, "it swapped: %llu MB went out",
		    gpu_info().bytes_out >> 20);
	gpu_unload();
}
