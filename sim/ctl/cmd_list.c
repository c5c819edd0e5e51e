// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ctl/cmd_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/units.h"
#include "ctl/host_files.h"
#include "ctl/past_shim.h"
#include "engine/error.h"
#include "gvm/control.h"
#include "terminal/signals.h"
#include "terminal/table.h"

#define SECOND_NS 1000000000ull

static int run_list(int argc, char **argv, struct sim_error *err);
static int run_watch(int argc, char **argv, struct sim_error *err);

/* clang-format off */
#define ROOT_OPTION \
	{ "root", "DIR", false, \
"Read these control files, as DIR/PID/GPU/FILE, and not those of\n" \
"gvm.ko, of the GVM paper's driver, and of the shim (GVM_SHIM_DIR,\n" \
"/run/gvm-shim, or /tmp/gvm-shim-UID without root)." }

static const struct command_option list_options[] = {
	ROOT_OPTION,
	{ NULL, NULL, false, NULL },
};

static const struct command_option watch_options[] = {
	{ "interval", "TIME", false, "Between two looks; 1s by default." },
	{ "count", "N", false, "Look N times, and not until Ctrl-C." },
	ROOT_OPTION,
	{ NULL, NULL, false, NULL },
};

const struct command command_list = {
	.name = "gvmctl list",
	.summary = "processes that share the GPUs, with memory and settings",
	.about =
"Prints a line for each process and GPU: memory, limit, timeslice, priority, and kernels that are\n"
"queued or run. \"-\" is unknown. \"(ended)\" is a process that was killed and left its files. Cgroups\n"
"that are containers of gvm.ko come last, with their path in the place of the command.\n"
"A line below tells of each process that uses a GPU without the shim, though its environment, an\n"
"ancestor or another process of its cgroup has it; without root only of one's own processes.\n",
	.options = list_options,
	.examples = "    gvmctl list\n",
	.run = run_list,
};

const struct command command_watch = {
	.name = "gvmctl watch",
	.summary = "the same again and again, with kernels a second",
	.about =
"Prints the list every second until Ctrl-C, with the kernels that each process launched a second\n"
"since the list before.\n",
	.options = watch_options,
	.examples = "    gvmctl watch --interval 500ms\n",
	.run = run_watch,
};
/* clang-format on */

struct list_args {
	const struct command *command; /* list or watch */
	const char *root;
	u64 interval_ns;
	u64 count; /* 0: without end */
};

/* What a list before this one said of a process or cgroup. */
struct list_before {
	u64 key, gpu;
	u64 launched;
};

/* The process's number; of a cgroup a number that its path alone has, but for one in 2^63. */
static u64 key_of(const struct ctl_container *container)
{
	u64 key = 0xcbf29ce484222325;

	if (container->pid)
		return container->pid;
	for (const char *c = container->cgroup; *c; c++)
		key = (key ^ (u64)(unsigned char)*c) * 0x100000001b3;
	return key | 1ull << 63;
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct list_args *args = data;

	if (!strcmp(option, "root")) {
		const char *wrong = ctl_wrong_root(value);

		args->root = value;
		if (wrong)
			return command_bad_value(args->command, option, err, "'%s' %s", value,
						 wrong);
	} else if (!strcmp(option, "interval")) {
		if (units_parse_duration(value, &args->interval_ns) || !args->interval_ns ||
		    args->interval_ns > CTL_DAY_NS)
			return command_bad_value(&command_watch, option, err,
						 "'%s' is no time up to 24h, e.g. 500ms",
						 value);
	} else if (units_parse_integer(value, &args->count) || !args->count) {
		return command_bad_value(&command_watch, option, err,
					 "'%s' is no number above 0", value);
	}
	return 0;
}

/* The number after @key in gcgroup.stat; false: there is none. */
static bool stat_number(const char *text, const char *key, u64 *ret_number)
{
	const char *found = strstr(text, key);
	char *end;

	if (!found)
		return false;
	found += strlen(key) + strspn(found + strlen(key), ": ");
	*ret_number = strtoull(found, &end, 10);
	return end != found;
}

/* For people: a decimal in the largest unit that fits. */
static void set_bytes(struct table *table, size_t column, const struct ctl_container *container,
		      const char *file)
{
	char text[CTL_TEXT_MAX];
	static const char units[] = "BKMGTP";
	u64 bytes;
	u64 tenths;
	int unit = 0;

	if (ctl_read(container, file, text) || gvm_parse_bytes(text, &bytes)) {
		table_set(table, column, "-");
	} else if (bytes > U64_MAX / 10) {
		table_set(table, column, "max");
	} else {
		for (tenths = 10 * bytes; tenths >= 10240 && units[unit + 1]; tenths /= 1024)
			unit++;
		table_set(table, column, "%llu.%llu%c", tenths / 10, tenths % 10, units[unit]);
	}
}

static void set_text(struct table *table, size_t column, const struct ctl_container *container,
		     const char *file)
{
	char text[CTL_TEXT_MAX];

	table_set(table, column, "%s", ctl_read(container, file, text) || !*text ? "-" : text);
}

/*
 * @before: NULL, or as many rows as @before_count, and a second of @interval_ns lies between.
 */
static void add_row(struct table *table, const struct ctl_container *container,
		    const struct list_before *before, size_t before_count, u64 interval_ns,
		    u64 *ret_launched)
{
	char text[CTL_TEXT_MAX];
	u64 pending;

	table_add(table);
	if (container->pid)
		table_set(table, 0, "%llu", container->pid);
	else
		table_set(table, 0, "-");
	table_set(table, 1, "%s", container->pid ? container->command : container->cgroup);
	table_set(table, 2, "%llu", container->gpu);
	set_bytes(table, 3, container, "gmem.current");
	set_bytes(table, 4, container, "gmem.peak");
	set_bytes(table, 5, container, "gmem.limit.high");
	set_text(table, 6, container, "compute.timeslice");
	set_text(table, 7, container, "compute.priority");
	*ret_launched = 0;
	if (ctl_read(container, "gcgroup.stat", text) ||
	    !stat_number(text, "nr_pending_kernels", &pending) ||
	    !stat_number(text, "nr_submitted_kernels", ret_launched)) {
		table_set(table, 8, "-");
		table_set(table, 9, "-");
		return;
	}
	table_set(table, 8, "%llu", pending);
	table_set(table, 9, "%llu", *ret_launched);
	for (size_t i = 0; i < before_count; i++)
		if (before[i].key == key_of(container) && before[i].gpu == container->gpu &&
		    *ret_launched >= before[i].launched)
			table_set(table, 10, "%llu",
				  (*ret_launched - before[i].launched) * SECOND_NS /
					  interval_ns);
}

static void add_head(struct table *table, bool rates)
{
	static const char *const heads[] = { "pid",    "command",  "gpu",	"memory",
					     "peak",   "limit",	   "timeslice", "priority",
					     "queued", "launched", "launched/s" };

	table_add(table);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]) - !rates; i++)
		table_set(table, i, "%s", heads[i]);
}

/* Say who uses a GPU past the shim, a line each. Returns 0 or -ENOMEM. */
static int print_past(void)
{
	struct ctl_past_list list;
	int status = ctl_past_list(&list);

	for (size_t i = 0; i < list.count; i++) {
		const struct ctl_past *past = &list.processes[i];

		printf("process %llu (%s) uses a GPU without the shim, ", past->pid,
		       past->command);
		if (past->reason == CTL_PAST_OWN)
			printf("for which its environment asks");
		else if (past->reason == CTL_PAST_ANCESTOR)
			printf("which its ancestor %llu (%s) has", past->other,
			       past->other_command);
		else if (past->reason == CTL_PAST_ASKED)
			printf("for which the environment of its ancestor %llu (%s) asks",
			       past->other, past->other_command);
		else
			printf("which process %llu (%s) of its cgroup has", past->other,
			       past->other_command);
		printf(": its memory is not limited, and its launches are not counted\n");
	}
	ctl_past_list_destroy(&list);
	return status;
}

/* Say that there is nothing in @root, NULL: where gvmctl looks by itself, and why. */
static void print_nothing(const char *root)
{
	printf("no process and no cgroup has control files");
	if (root && access(root, F_OK))
		printf(": %s is no folder yet", root);
	else if (!root && access(CTL_MODULE_ROOT, F_OK))
		printf(": gvm.ko is not loaded, and no process of this user has the shim");
	putchar('\n');
}

/* Print one list. *before is replaced by what this one says; owned by the caller. */
static int print_list(const struct list_args *args, struct list_before **before,
		      size_t *before_count, u64 since_ns, struct sim_error *err)
{
	struct list_before *now = NULL;
	struct table table = { 0 };
	struct ctl_list list;
	int status = ctl_list(args->root, &list);

	if (!status && list.count)
		now = calloc(list.count, sizeof(*now));
	if (status || (list.count && !now)) {
		ctl_list_destroy(&list);
		return sim_runtime_error(err, "out of memory");
	}
	add_head(&table, *before_count > 0);
	for (size_t i = 0; i < list.count; i++) {
		now[i].key = key_of(&list.containers[i]);
		now[i].gpu = list.containers[i].gpu;
		add_row(&table, &list.containers[i], *before, *before_count, since_ns,
			&now[i].launched);
	}
	if (list.count)
		table_print(&table, stdout);
	else
		print_nothing(args->root);
	table_destroy(&table);
	if (!args->root && print_past())
		status = sim_runtime_error(err, "out of memory");
	if (!status)
		status = command_flush(err);
	free(*before);
	*before = now;
	*before_count = list.count;
	ctl_list_destroy(&list);
	return status;
}

static int run_list(int argc, char **argv, struct sim_error *err)
{
	struct list_args args = { .command = &command_list };
	struct list_before *before = NULL;
	struct command_line line;
	size_t count = 0;
	int status = command_parse(&command_list, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_list, err);
	if (line.operand_count)
		return command_mistake(&command_list, err, "'%s' is too many",
				       line.operands[0]);
	status = print_list(&args, &before, &count, 1, err);
	free(before);
	return status;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * SECOND_NS + (u64)now.tv_nsec;
}

static int run_watch(int argc, char **argv, struct sim_error *err)
{
	struct list_args args = { .command = &command_watch, .interval_ns = SECOND_NS };
	struct list_before *before = NULL;
	struct command_line line;
	struct signals signals;
	size_t count = 0;
	u64 last = now_ns();
	int status = command_parse(&command_watch, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_watch, err);
	if (line.operand_count)
		return command_mistake(&command_watch, err, "'%s' is too many",
				       line.operands[0]);
	signals_take(&signals);
	for (u64 i = 0; !status && (!args.count || i < args.count); i++) {
		u64 now;

		if (i && signals_wait_until(&signals, last + args.interval_ns))
			break;
		now = now_ns();
		if (isatty(STDOUT_FILENO))
			printf("\033[H\033[2J");
		else if (i)
			putchar('\n');
		status = print_list(&args, &before, &count, i ? now - last : 1, err);
		last = now;
	}
	signals_release(&signals);
	free(before);
	return status;
}
