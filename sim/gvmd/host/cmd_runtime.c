// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmd runtime", see cmd_runtime.h.
 *
 * Docker and containerd start a container by two calls of a runtime: "create" makes its
 * cgroup and a process that waits, "start" lets that process become the container's
 * program. Limits are given in between:
 *
 *     containerd -- create --> gvmd runtime -- create --> runc
 *                                   |------- state ----> runc: its process and its bundle
 *                                   |------------------> gvm.ko: "+PATH gmem.limit.high=20G"
 *     containerd -- start ---> gvmd runtime, which becomes runc
 *
 * If a limit cannot be set, the container is deleted, and "create" fails.
 */
#include "gvmd/host/cmd_runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/error.h"
#include "gvmd/host/cmd_hook.h"
#include "gvmd/host/host_gpus.h"

#define WORDS_MAX 64

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	HOOK_OPTIONS,
	{ "runtime", "PROGRAM", false, "the runtime that does the work; runc by default" },
	{ NULL, NULL, false, NULL },
};

const struct command command_runtime = {
	.name = "gvmd runtime",
	.operands = "-- WORD...",
	.summary = "give containers of Docker and containerd their limits: a runtime around runc",
	.about =
"Does what \"runc WORD...\" does. Between \"create\" and \"start\" of a container it gives the\n"
"container its limits, as gvmd hook does. If a limit cannot be set, \"create\" fails.\n"
"\"run\" and \"restore\" start a container at once and are refused.\n",
	.options = options,
	.examples =
"    gvmd runtime --memory 80G -- create one\n"
"    gvmd runtime --runtime nvidia-container-runtime -- start one\n",
	.run = run,
};
/* clang-format on */

struct runtime_args {
	struct hook_target target;
	const char *program;
};

/* The words for the runtime, cut where its command is. */
struct runtime_words {
	char **words; /* borrowed; NULL at the end */
	int count;
	int before;	      /* words before the command: the runtime's own options */
	const char *command;  /* NULL: none */
	const char *log_path; /* NULL: none */
	bool log_json;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct runtime_args *args = data;

	if (strcmp(option, "runtime") != 0)
		return hook_take_option(&command_runtime, &args->target, option, value, err);
	args->program = value;
	return 0;
}

/*
 * Those of runc and crun; each other option of theirs has a value, after
 * '=' or as the next word.
 */
static bool is_flag(const char *word)
{
	static const char *const flags[] = { "--debug", "--systemd-cgroup",
					     "--help",	"--version",
					     "-h",	"-v" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!strcmp(word, flags[i]))
			return true;
	return strchr(word, '=') != NULL;
}

/* The value of option @name at word @i; NULL: it is another one. */
static const char *value_of(const struct runtime_words *words, int i, const char *name)
{
	size_t length = strlen(name);
	const char *word = words->words[i];

	if (strncmp(word, name, length) != 0)
		return NULL;
	if (word[length] == '=')
		return word + length + 1;
	return word[length] ? NULL : words->words[i + 1];
}

static void cut_words(struct runtime_words *words)
{
	int i = 0;

	while (i < words->count && words->words[i][0] == '-') {
		const char *path = value_of(words, i, "--log");
		const char *format = value_of(words, i, "--log-format");

		if (path)
			words->log_path = path;
		if (format)
			words->log_json = !strcmp(format, "json");
		i += is_flag(words->words[i]) ? 1 : 2;
	}
	words->before = i < words->count ? i : words->count;
	words->command = i < words->count ? words->words[i] : NULL;
}

/* Become the runtime. Returns only if that fails. */
static int become(const char *program, char *const *words, struct sim_error *err)
{
	execvp(program, words);
	return sim_runtime_error(err, "%s: %s", program, strerror(errno));
}

/*
 * Start the runtime; its standard output goes to @output, unless that is -1.
 * Returns its process, or -1.
 */
static pid_t start(const char *program, char *const *words, int output)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	/* Docker kills a runtime that takes too long. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || (output >= 0 && dup2(output, STDOUT_FILENO) < 0))
		_exit(127);
	execvp(program, words);
	fprintf(stderr, "gvmd runtime: %s: %s\n", program, strerror(errno));
	_exit(127);
}

/* Its exit code, as a shell has it. */
static int end_of(pid_t pid)
{
	int status;

	if (pid < 0)
		return 127;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * "PROGRAM OPTIONS... COMMAND [EXTRA] ID", with the options and the container of @words. runc
 * and crun have the ID as the last word of "create".
 */
static void other_words(const struct runtime_words *words, const char *program,
			const char *command, const char *extra, char **ret_words)
{
	size_t n = 0;

	ret_words[n++] = (char *)(uintptr_t)program;
	for (int i = 0; i < words->before; i++)
		ret_words[n++] = words->words[i];
	ret_words[n++] = (char *)(uintptr_t)command;
	if (extra)
		ret_words[n++] = (char *)(uintptr_t)extra;
	ret_words[n++] = words->words[words->count - 1];
	ret_words[n] = NULL;
}

/* The container has its process, and its program has not started. */
static int give_limits(const struct runtime_args *args, const struct runtime_words *words,
		       struct sim_error *err)
{
	char *state_words[WORDS_MAX + 4];
	int ends[2];
	FILE *state;
	pid_t pid;
	int status, code;

	if (pipe2(ends, O_CLOEXEC))
		return sim_runtime_error(err, "a pipe: %s", strerror(errno));
	state = fdopen(ends[0], "r");
	if (!state) {
		close(ends[0]);
		close(ends[1]);
		return sim_runtime_error(err, "no memory");
	}
	other_words(words, args->program, "state", NULL, state_words);
	pid = start(args->program, state_words, ends[1]);
	close(ends[1]);
	status = hook_give_limits(&args->target, state, err);
	fclose(state);
	code = end_of(pid);
	if (!status && code)
		status = sim_runtime_error(err, "%s state: exit code %d", args->program, code);
	return status;
}

/* containerd takes what it tells a user from the last line of this log. */
static void log_error(const struct runtime_words *words, const char *text)
{
	char now[32] = "";
	time_t seconds = time(NULL);
	struct tm parts;
	json_t *line;
	FILE *file;

	if (!words->log_path || !words->log_json || !gmtime_r(&seconds, &parts))
		return;
	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &parts);
	line = json_pack("{s:s, s:s, s:s}", "level", "error", "msg", text, "time", now);
	file = fopen(words->log_path, "ae");
	if (file && line) {
		json_dumpf(line, file, JSON_COMPACT | JSON_PRESERVE_ORDER);
		fputc('\n', file);
	}
	if (file)
		fclose(file);
	json_decref(line);
}

static int create(const struct runtime_args *args, struct runtime_words *words,
		  struct sim_error *err)
{
	char *delete_words[WORDS_MAX + 4];
	int status = end_of(start(args->program, words->words - 1, -1));

	if (status)
		return -status; /* it has said why */
	status = give_limits(args, words, err);
	if (!status)
		return 0;
	other_words(words, args->program, "delete", "--force", delete_words);
	end_of(start(args->program, delete_words, -1));
	log_error(words, err->text);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct runtime_args args = { .target = { .root = HOOK_ROOT, .gpus = HOST_GPUS },
				     .program = "runc" };
	struct runtime_words words = { 0 };
	struct command_line line;
	int status =
		command_parse(&command_runtime, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_runtime, err);
	if (!line.operand_count)
		return command_mistake(&command_runtime, err,
				       "words for the runtime are missing");
	if (line.operand_count > WORDS_MAX)
		return command_mistake(&command_runtime, err, "more than %d words", WORDS_MAX);
	/*
	 * The word before them, "--" or an option of ours, makes room for the runtime's name.
	 */
	words.words = line.operands;
	words.count = line.operand_count;
	words.words[-1] = (char *)(uintptr_t)args.program;
	cut_words(&words);
	if (words.command &&
	    (!strcmp(words.command, "run") || !strcmp(words.command, "restore")))
		return command_mistake(&command_runtime, err,
				       "'%s' starts a container at once: before it has limits",
				       words.command);
	if (words.command && !strcmp(words.command, "create"))
		return create(&args, &words, err);
	return become(args.program, words.words - 1, err);
}
