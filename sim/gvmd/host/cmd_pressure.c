// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmd pressure", see cmd_pressure.h. */
#include "gvmd/host/cmd_pressure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "config/units.h"
#include "ctl/host_files.h"
#include "engine/error.h"
#include "gvmd/host/pressure.h"
#include "terminal/signals.h"

#define DEFAULT_FOLDER	  "/run/gvm"
#define DEFAULT_SOCKET	  DEFAULT_FOLDER "/pressure.sock"
#define DEFAULT_PERIOD_NS 100000000ull
#define REPEAT_NS	  1000000000ull

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "socket", "PATH", false, "the socket; " DEFAULT_SOCKET " by default" },
	{ "period", "TIME", false, "between two looks at the control files; 100ms by default" },
	{ "root", "DIR", false,
"read these control files, as DIR/PID/GPU/FILE; by default\n"
"those that gvmctl reads" },
	{ "duration", "TIME", false, "end after that time, and not at a signal alone" },
	{ NULL, NULL, false, NULL },
};

const struct command command_pressure = {
	.name = "gvmd pressure",
	.summary = "tell applications of memory pressure, without gvm.ko",
	.about =
"Tells each process that is above its gmem.limit.high how many bytes it is to give. A process\n"
"connects to the socket, says nothing, and hears of itself and of its descendants. The Python\n"
"package gvm_pressure does so. With gvm.ko a process has a descriptor of /dev/gvm instead.\n",
	.options = options,
	.more =
"The first line is \"gvm-pressure 1\". Each event is a line\n"
"\n"
"    pressure pid=4201 gpu=0 target=1073741824 sequence=3\n"
"\n"
"target is in bytes. An event is sent when the target changes, and again every second while the\n"
"process is above its limit. A gap in the sequence is of events that the reader was too slow for.\n",
	.examples =
"    gvmd pressure\n"
"    gvmctl set 4201 gmem.limit.high 10G\n",
	.run = run,
};
/* clang-format on */

struct pressure_args {
	struct pressure pressure;
	u64 period_ns;
	u64 duration_ns; /* 0: until a signal */
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct pressure_args *args = data;
	u64 *time_ns = !strcmp(option, "period") ? &args->period_ns : &args->duration_ns;
	const char *wrong = NULL;

	if (!strcmp(option, "socket")) {
		args->pressure.path = value;
		wrong = *value ? NULL : "is empty";
	} else if (!strcmp(option, "root")) {
		args->pressure.root = value;
		wrong = ctl_wrong_root(value);
	} else if (units_parse_duration(value, time_ns) != UNITS_OK || *time_ns < 1000000) {
		wrong = "is no time of a millisecond or more, e.g. 100ms";
	}
	if (wrong)
		return command_bad_value(&command_pressure, option, err, "'%s' %s", value,
					 wrong);
	return 0;
}

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* @ns after a date; the end of time at most. */
static u64 later(u64 date_ns, u64 ns)
{
	return ns > U64_MAX - date_ns ? U64_MAX : date_ns + ns;
}

static int serve(struct pressure_args *args, struct sim_error *err)
{
	struct pressure *pressure = &args->pressure;
	struct signals signals;
	u64 start_ns = clock_ns(), date_ns = start_ns;
	u64 end_ns = args->duration_ns ? later(start_ns, args->duration_ns) : U64_MAX;
	int status;

	if (!strcmp(pressure->path, DEFAULT_SOCKET))
		mkdir(DEFAULT_FOLDER, 0755);
	signals_take(&signals);
	status = pressure_open(pressure);
	if (status)
		return sim_runtime_error(err, "%s: %s", pressure->path,
					 status == -EADDRINUSE ?
						 "another process listens there, or it is no "
						 "socket" :
						 strerror(-status));
	printf("listening on %s\n", pressure->path);
	fflush(stdout);
	while (!status && !signals_wait_until(&signals, date_ns)) {
		date_ns = clock_ns();
		if (date_ns >= end_ns)
			break;
		status = pressure_tick(pressure, date_ns);
		date_ns = later(date_ns, args->period_ns);
		if (date_ns > end_ns)
			date_ns = end_ns;
	}
	printf("%llu events were sent\n", pressure->events);
	pressure_close(pressure);
	return status ? sim_runtime_error(err, "out of memory") : command_flush(err);
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct pressure_args args = {
		.pressure = { .path = DEFAULT_SOCKET, .repeat_ns = REPEAT_NS },
		.period_ns = DEFAULT_PERIOD_NS,
	};
	struct command_line line;
	int status =
		command_parse(&command_pressure, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_pressure, err);
	if (line.operand_count)
		return command_mistake(&command_pressure, err, "'%s' is not valid here",
				       line.operands[0]);
	return serve(&args, err);
}
