/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* For tests of gvmfenced: a manager and its clients, over a driver of the host's memory. */
#ifndef TESTS_FENCED_RUNS_H
#define TESTS_FENCED_RUNS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "engine/types.h"
#include "suite.h"

static char folder[64], socket_path[128];
static pid_t manager;
static const char *client_program = CLIENT;

struct client {
	pid_t pid;
	FILE *to, *from;
	char out[2048];
	int status;
};

static inline const char *log_text(void)
{
	static char text[65536];
	char path[128];
	FILE *file;
	size_t length = 0;

	snprintf(path, sizeof(path), "%s/log", folder);
	file = fopen(path, "r");
	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return text;
}

/* The end of it, for a message: libcheck ends a test whose message is above 8 KiB without a word. */
static inline const char *log_end(void)
{
	const char *text = log_text();
	size_t length = strlen(text);

	return length > 4000 ? text + length - 4000 : text;
}

static inline int count_in_log(const char *words)
{
	int count = 0;

	for (const char *at = log_text(); (at = strstr(at, words)); at++)
		count++;
	return count;
}

static inline void await_log(const char *words, int count)
{
	for (int i = 0; i < 1000 && count_in_log(words) < count; i++)
		usleep(10000);
	ck_assert_msg(count_in_log(words) >= count, "no '%s' in: %s", words, log_end());
}

/* @option and @value are more of them, or NULL; so is the folder of control files. */
static inline void launch_manager(const char *mode, const char *limit, const char *option,
				  const char *value, bool control)
{
	char path[128], files[128];
	const char *last[] = { option, value, NULL, NULL, NULL };
	u32 at = !option ? 0 : !value ? 1 : 2;

	snprintf(path, sizeof(path), "%s/log", folder);
	snprintf(files, sizeof(files), "%s/control", folder);
	if (control) {
		last[at] = "--control";
		last[at + 1] = files;
	}
	manager = fork();
	if (!manager) {
		int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(log, 2);
		setenv("LD_LIBRARY_PATH", FAKE, 1);
		execl(MANAGER, MANAGER, "serve", "--socket", socket_path, "--mode", mode,
		      "--memory", strcmp(mode, "4g") ? "128M" : "16G", "--limit", limit,
		      last[0], last[1], last[2], last[3], NULL);
		_exit(127);
	}
}

/* The same, until it serves. */
static inline void start_manager_with(const char *mode, const char *limit, const char *option,
				      const char *value, bool control)
{
	int before = count_in_log("serving");

	launch_manager(mode, limit, option, value, control);
	await_log("serving", before + 1);
}

static inline void start_manager(const char *mode, const char *limit)
{
	start_manager_with(mode, limit, NULL, NULL, false);
}

static inline void stop_manager(void)
{
	kill(manager, SIGTERM);
	waitpid(manager, NULL, 0);
}

static inline void setup(void)
{
	signal(SIGPIPE, SIG_IGN); /* a client may be dead */
	strcpy(folder, "");
	suite_make_folder(folder, sizeof(folder));
	snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
}

static inline void teardown(void)
{
	suite_remove_folder(folder);
}

static inline void start(struct client *client, const char *task, int number,
			 const char *memory)
{
	int to[2], from[2];
	char text[16];

	ck_assert_int_eq(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	client->pid = fork();
	if (!client->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		setenv("LD_LIBRARY_PATH", CLIENT_LIBRARY, 1);
		setenv("GVM_FENCED_SOCKET", socket_path, 1);
		setenv("GVM_FENCED_MEMORY", memory, 1);
		snprintf(text, sizeof(text), "%d", number);
		execl(client_program, client_program, task, text, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	client->to = fdopen(to[1], "w");
	client->from = fdopen(from[0], "r");
	*client->out = '\0';
}

static inline void wait_ready(struct client *client)
{
	char line[256];

	while (fgets(line, sizeof(line), client->from)) {
		if (!strcmp(line, "ready\n"))
			return;
		strcat(client->out, line);
	}
	ck_abort_msg("the client ended early: %s%s", client->out, log_end());
}

static inline void finish(struct client *client)
{
	char line[256];

	fputs("go\n", client->to);
	fflush(client->to);
	while (fgets(line, sizeof(line), client->from))
		strcat(client->out, line);
	fclose(client->to);
	fclose(client->from);
	waitpid(client->pid, &client->status, 0);
}

static inline void run(struct client *client, const char *task, int number, const char *memory)
{
	start(client, task, number, memory);
	finish(client);
}

/* What the client's 1000 numbers are after @rounds, as one sum. */
static inline unsigned int sum_after(int rounds)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		unsigned int number = i;

		for (int round = 0; round < rounds; round++)
			number = number * 3 + i;
		sum = sum * 31 + number;
	}
	return sum;
}

static inline unsigned int sum_of(unsigned int number)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 1000; i++)
		sum = sum * 31 + number;
	return sum;
}

#endif
