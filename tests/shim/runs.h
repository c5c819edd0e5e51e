/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Programs that run with the shim and without it, and the files that they
 * leave: for tests of the shim.
 */
#ifndef TESTS_SHIM_RUNS_H
#define TESTS_SHIM_RUNS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "suite.h"

static char folder[64];

static inline void setup(void)
{
	strcpy(folder, "");
	suite_make_folder(folder, sizeof(folder));
}

static inline void teardown(void)
{
	suite_remove_folder(folder);
}

/* A program that runs: its pipes, and what it has printed so far. */
struct program {
	pid_t pid;
	FILE *to, *from;
	char out[4096];
	int status;
};

static inline void path_of(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", folder, name);
}

/*
 * Start PROGRAM WAY TASK NUMBER; @shim: with the shim. @variables: "A=1 B=2", or NULL. Its
 * files are in @folder: shim/ (control files), log, report (of the driver), stderr.
 */
static inline void start(struct program *program, bool shim, const char *way, const char *task,
			 int number, const char *variables)
{
	int to[2], from[2];
	char text[512];

	ck_assert_int_eq(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	program->pid = fork();
	if (!program->pid) {
		bool linked = !strcmp(way, "linked");

		path_of("stderr", text, sizeof(text));
		dup2(open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), 2);
		dup2(to[0], 0);
		dup2(from[1], 1);
		setenv("LD_LIBRARY_PATH", DRIVER, 1);
		path_of("report", text, sizeof(text));
		setenv("FAKE_REPORT", text, 1);
		if (shim) {
			setenv("LD_PRELOAD", SHIM, 1);
			path_of("log", text, sizeof(text));
			setenv("GVM_SHIM_LOG", text, 1);
			path_of("shim", text, sizeof(text));
			setenv("GVM_SHIM_DIR", text, 0); /* a test may have set it */
		}
		snprintf(text, sizeof(text), "%s", variables ? variables : "");
		for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
			putenv(strdup(word));
		snprintf(text, sizeof(text), "%d", number);
		/* A path: exec() of the program's own name works, too. */
		execl(linked ? LINKED : LOADED, linked ? LINKED : LOADED, way, task, text,
		      NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	program->to = fdopen(to[1], "w");
	program->from = fdopen(from[0], "r");
	*program->out = '\0';
}

/* Read until it says that it is ready. */
static inline void wait_ready(struct program *program)
{
	char line[256];

	while (fgets(line, sizeof(line), program->from)) {
		if (!strcmp(line, "ready\n"))
			return;
		strcat(program->out, line);
	}
	ck_abort_msg("the program ended early: %s", program->out);
}

static inline void go_on(struct program *program)
{
	fputs("go\n", program->to);
	fflush(program->to);
}

static inline void finish(struct program *program)
{
	char line[256];

	while (fgets(line, sizeof(line), program->from))
		strcat(program->out, line);
	fclose(program->to);
	fclose(program->from);
	ck_assert_int_eq(waitpid(program->pid, &program->status, 0), program->pid);
}

/* The program stands before its last but one step: let it make both, and end. */
static inline void go_to_end(struct program *program)
{
	go_on(program);
	wait_ready(program);
	go_on(program);
	finish(program);
}

/* All of a file; empty if there is none. */
static inline const char *content(const char *name)
{
	static char text[65536];
	char path[256];
	FILE *file;
	size_t length = 0;

	path_of(name, path, sizeof(path));
	file = fopen(path, "r");
	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return text;
}

static inline void run(struct program *program, bool shim, const char *way, const char *task,
		       int number, const char *variables)
{
	start(program, shim, way, task, number, variables);
	finish(program);
	ck_assert_msg(WIFEXITED(program->status) && !WEXITSTATUS(program->status),
		      "%s %s: status %x: %s%s", way, task, (unsigned int)program->status,
		      program->out, content("stderr"));
}

/* The number after the last @key in a file; -1: there is none. */
static inline long long last_number(const char *name, const char *key)
{
	const char *text = content(name);
	long long number = -1;

	while ((text = strstr(text, key))) {
		text += strlen(key);
		number = strtoll(text, NULL, 10);
	}
	return number;
}

static inline void forget_files(void)
{
	char path[256];

	path_of("log", path, sizeof(path));
	unlink(path);
	path_of("report", path, sizeof(path));
	unlink(path);
	path_of("stderr", path, sizeof(path));
	unlink(path);
}

/* A control file of a running program, on a GPU. */
static inline const char *control_of(const struct program *program, int gpu, const char *file)
{
	char name[128];

	snprintf(name, sizeof(name), "shim/%d/%d/%s", (int)program->pid, gpu, file);
	return content(name);
}

static inline const char *control(const struct program *program, const char *file)
{
	return control_of(program, 0, file);
}

/* The path of such a file, to write to it. */
static inline void control_path_of(const struct program *program, int gpu, const char *file,
				   char path[256])
{
	snprintf(path, 256, "%s/shim/%d/%d/%s", folder, (int)program->pid, gpu, file);
}

/* The worker publishes a while after the program has said something. */
static inline void await_gpu(const struct program *program, int gpu, const char *file,
			     const char *expected)
{
	for (int i = 0; i < 1000; i++) {
		if (!strcmp(control_of(program, gpu, file), expected))
			return;
		usleep(10000);
	}
	ck_abort_msg("%s of GPU %d holds '%s' and not '%s'", file, gpu,
		     control_of(program, gpu, file), expected);
}

static inline void await(const struct program *program, const char *file, const char *expected)
{
	await_gpu(program, 0, file, expected);
}

/* The shim's thread writes into the log a while after the program has said something. */
static inline void await_line(const char *line)
{
	for (int i = 0; i < 1000 && !strstr(content("log"), line); i++)
		usleep(10000);
	ck_assert_msg(strstr(content("log"), line), "no '%s' in '%s'", line, content("log"));
}

static inline void assert_nothing_left(void)
{
	char path[256];

	path_of("shim", path, sizeof(path));
	ck_assert_msg(access(path, F_OK) != 0, "%s is still there", path);
}

#endif
