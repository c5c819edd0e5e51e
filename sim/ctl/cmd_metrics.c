// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmctl metrics", see cmd_metrics.h.
 *
 * Prometheus' text format, for the text file collector of node_exporter. All samples of a
 * metric stand together, so each metric is a pass over all processes. A file is replaced at
 * once (rename), as the collector may read it at any time; the new one has a name that the
 * collector does not read until then.
 */
#include "ctl/cmd_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/units.h"
#include "ctl/host_files.h"
#include "ctl/past_shim.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "gvm/control.h"
#include "terminal/signals.h"

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "out", "FILE", false, "replace this file, and do not print; for node_exporter it ends in .prom" },
	{ "interval", "TIME", false, "again and again, until a signal; with --out" },
	{ "root", "DIR", false,
"read these control files, as DIR/PID/GPU/FILE; by default\n"
"those that \"gvmctl list\" reads" },
	{ NULL, NULL, false, NULL },
};

const struct command command_metrics = {
	.name = "gvmctl metrics",
	.summary = "the same for Prometheus",
	.about =
"Prints memory, limits, settings and kernels of all processes that share the GPUs in Prometheus' text\n"
"format, and of the cgroups that are containers of gvm.ko; and the processes that use a GPU without the shim, as in\n"
"\"gvmctl list\". With --out it writes a file for the text file collector of node_exporter.\n",
	.options = options,
	.examples =
"    gvmctl metrics --out /var/lib/prometheus/node-exporter/gvm.prom --interval 15s\n",
	.run = run,
};
/* clang-format on */

struct metrics_args {
	const char *out;
	const char *root;
	u64 interval_ns; /* 0: once */
};

/* Where the value of a metric comes from. */
enum metric_kind {
	METRIC_BYTES,	/* a file of bytes; "max" is +Inf */
	METRIC_NUMBER,	/* a file with a number */
	METRIC_SECONDS, /* a timeslice, in microseconds */
	METRIC_LINE,	/* the number after a word of a file */
};

struct metric {
	const char *name; /* without "gvm_" */
	const char *type;
	const char *help;
	const char *file;
	enum metric_kind kind;
	const char *word;
};

static const struct metric metrics[] = {
	{ "memory_bytes", "gauge", "GPU memory of the container", "gmem.current", METRIC_BYTES,
	  NULL },
	{ "memory_peak_bytes", "gauge", "Highest GPU memory so far", "gmem.peak", METRIC_BYTES,
	  NULL },
	{ "memory_swap_bytes", "gauge", "GPU memory that is on the host", "gmem.swap.current",
	  METRIC_BYTES, NULL },
	{ "memory_limit_bytes", "gauge", "Limit of the GPU memory", "gmem.limit.high",
	  METRIC_BYTES, NULL },
	{ "memory_low_bytes", "gauge", "GPU memory that others do not take", "gmem.limit.low",
	  METRIC_BYTES, NULL },
	{ "timeslice_seconds", "gauge", "Timeslice on the GPU", "compute.timeslice",
	  METRIC_SECONDS, NULL },
	{ "priority", "gauge", "Priority; 0 is the most important", "compute.priority",
	  METRIC_NUMBER, NULL },
	{ "frozen", "gauge", "1: its work is off the GPU", "compute.freeze", METRIC_NUMBER,
	  NULL },
	{ "kernels_submitted_total", "counter", "Kernels that were launched", "gcgroup.stat",
	  METRIC_LINE, "nr_submitted_kernels:" },
	{ "kernels_ended_total", "counter", "Kernels that have ended", "gcgroup.stat",
	  METRIC_LINE, "nr_ended_kernels:" },
	{ "kernels_pending", "gauge", "Kernels that are queued or run", "gcgroup.stat",
	  METRIC_LINE, "nr_pending_kernels:" },
	{ "limit_events_total", "counter", "Pages that found no room under the limit",
	  "gmem.events", METRIC_LINE, "high" },
	{ "hmem_events_total", "counter", "Evictions that the limit of host memory forbade",
	  "gmem.events", METRIC_LINE, "hmem" },
	{ "oom_events_total", "counter", "Contexts that died for lack of memory", "gmem.events",
	  METRIC_LINE, "oom" },
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct metrics_args *args = data;
	const char *wrong = NULL;

	if (!strcmp(option, "out")) {
		args->out = value;
		wrong = *value ? NULL : "is empty";
	} else if (!strcmp(option, "root")) {
		args->root = value;
		wrong = ctl_wrong_root(value);
	} else if (units_parse_duration(value, &args->interval_ns) || !args->interval_ns ||
		   args->interval_ns > CTL_DAY_NS) {
		wrong = "is no time up to 24h, e.g. 15s";
	}
	if (wrong)
		return command_bad_value(&command_metrics, option, err, "'%s' %s", value,
					 wrong);
	return 0;
}

/* The number after @word. Lines are words and numbers in turn. False: there is none. */
static bool line_value(const char *text, const char *word, u64 *ret_value)
{
	size_t length = strlen(word);
	const char *found = text;
	char *end;

	/* ctl_read() has made the ends of lines printable. */
	while ((found = strstr(found, word)) &&
	       ((found != text && found[-1] != '?') || found[length] != ' '))
		found += length;
	if (!found)
		return false;
	*ret_value = strtoull(found + length, &end, 10);
	return end != found + length;
}

/* The value of a metric as text. False: the process has none. */
static bool read_value(const struct metric *metric, const struct ctl_container *container,
		       char *value, size_t size)
{
	char text[CTL_TEXT_MAX];
	u64 number;

	if (ctl_read(container, metric->file, text))
		return false;
	if (metric->kind == METRIC_SECONDS) {
		if (gvm_parse_timeslice_us(text, &number))
			return false;
		snprintf(value, size, "%llu.%06llu", number / 1000000, number % 1000000);
		return true;
	}
	if (metric->kind == METRIC_LINE ? !line_value(text, metric->word, &number) :
					  gvm_parse_bytes(text, &number) != 0)
		return false;
	if (number == U64_MAX)
		snprintf(value, size, "+Inf");
	else
		snprintf(value, size, "%llu", number);
	return true;
}

/*
 * A name may be no UTF-8, or be cut within a character: Prometheus would refuse the whole file.
 */
static void print_label(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', file);
		putc((unsigned char)*text < 0x80 ? *text : '?', file);
	}
}

/*
 * Does a container before @end have a value for the same process and GPU?
 * gvm.ko and the shim may both.
 */
static bool is_printed(const struct metric *metric, const struct ctl_list *list, size_t end)
{
	const struct ctl_container *last = &list->containers[end];
	char value[32];

	for (size_t i = 0; i < end; i++) {
		const struct ctl_container *container = &list->containers[i];

		if (container->pid == last->pid && container->gpu == last->gpu &&
		    !strcmp(container->cgroup, last->cgroup) &&
		    read_value(metric, container, value, sizeof(value)))
			return true;
	}
	return false;
}

static void print_metric(FILE *file, const struct metric *metric, const struct ctl_list *list)
{
	bool head = false;

	for (size_t i = 0; i < list->count; i++) {
		const struct ctl_container *container = &list->containers[i];
		char value[32];

		if (container->ended || !read_value(metric, container, value, sizeof(value)) ||
		    is_printed(metric, list, i))
			continue;
		if (!head)
			fprintf(file, "# HELP gvm_%s %s.\n# TYPE gvm_%s %s\n", metric->name,
				metric->help, metric->name, metric->type);
		head = true;
		fprintf(file, "gvm_%s{", metric->name);
		if (container->pid)
			fprintf(file, "pid=\"%llu\",gpu=\"%llu\",command=\"", container->pid,
				container->gpu);
		else
			fprintf(file, "gpu=\"%llu\",cgroup=\"", container->gpu);
		print_label(file, container->pid ? container->command : container->cgroup);
		fprintf(file, "\"} %s\n", value);
	}
}

/* Not where the user names the control files: of whom would these be? */
static int print_past(FILE *file)
{
	struct ctl_past_list list;
	int status = ctl_past_list(&list);

	if (list.count)
		fprintf(file, "# HELP gvm_without_shim Process that uses a GPU without the "
			      "shim, which its "
			      "container has.\n# TYPE gvm_without_shim gauge\n");
	for (size_t i = 0; i < list.count; i++) {
		fprintf(file, "gvm_without_shim{pid=\"%llu\",command=\"",
			list.processes[i].pid);
		print_label(file, list.processes[i].command);
		fprintf(file, "\"} 1\n");
	}
	ctl_past_list_destroy(&list);
	return status;
}

static int print_all(const struct metrics_args *args, FILE *file, struct sim_error *err)
{
	struct ctl_list list;

	if (ctl_list(args->root, &list))
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		print_metric(file, &metrics[i], &list);
	ctl_list_destroy(&list);
	if (!args->root && print_past(file))
		return sim_runtime_error(err, "out of memory");
	return 0;
}

/* The collector that reads it may be another user. */
static int write_file(const struct metrics_args *args, struct sim_error *err)
{
	struct whole_file file;
	int status = whole_file_open(&file, args->out, err);

	if (status)
		return status;
	fchmod(fileno(file.stream), 0644);
	status = print_all(args, file.stream, err);
	if (!status)
		return whole_file_commit(&file, err);
	whole_file_abort(&file);
	return status;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Until a signal. The last file is removed: it would stay true for ever. */
static int write_again(const struct metrics_args *args, struct sim_error *err)
{
	struct signals signals;
	u64 date_ns = now_ns();
	bool written = false;
	int status;

	signals_take(&signals);
	do {
		status = write_file(args, err);
		written = written || !status;
		date_ns += args->interval_ns;
	} while (!status && !signals_wait_until(&signals, date_ns));
	if (written)
		unlink(args->out);
	signals_release(&signals);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct metrics_args args = { 0 };
	struct command_line line;
	int status =
		command_parse(&command_metrics, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_metrics, err);
	if (line.operand_count)
		return command_mistake(&command_metrics, err, "'%s' is too many",
				       line.operands[0]);
	if (args.interval_ns && !args.out)
		return command_mistake(&command_metrics, err, "--interval needs --out");
	if (args.interval_ns)
		return write_again(&args, err);
	if (args.out)
		return write_file(&args, err);
	status = print_all(&args, stdout, err);
	return status ? status : command_flush(err);
}
