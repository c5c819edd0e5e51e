// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ctl/cmd_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/host_files.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "gvm/control.h"

#define TRIES	   50
#define SHIM_TRIES 250
#define TRY_US	   20000

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "root", "DIR", false,
"Write below DIR, as DIR/PID/GPU/FILE, and not below the directories of\n"
"gvm.ko, of the GVM paper's driver, and of the shim (GVM_SHIM_DIR,\n"
"/run/gvm-shim, or /tmp/gvm-shim-UID without root)." },
	{ NULL, NULL, false, NULL },
};

const struct command command_set = {
	.name = "gvmctl set",
	.operands = "PID[:GPU]|/CGROUP[:GPU] FILE VALUE",
	.summary = "write a control file, and wait until it holds",
	.about =
"Writes a control file of a running process, or of a cgroup that is a container of gvm.ko, on one\n"
"GPU or on all that it uses. Values are those of \"gvmsim reference control-files\".\n"
"A process with the shim sets its timeslice and its freeze by calls of its own to NVIDIA's driver.\n",
	.options = options,
	.examples =
"    gvmctl set 4201 compute.priority 2\n"
"    gvmctl set 4242:0 gmem.limit.high 20G\n"
"    gvmctl set /tenant-a gmem.limit.high 20G\n",
	.run = run,
};
/* clang-format on */

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	const char *wrong = ctl_wrong_root(value);

	*(const char **)data = value;
	if (wrong)
		return command_bad_value(&command_set, option, err, "'%s' %s", value, wrong);
	return 0;
}

/* The number that a text stands for, in the file's unit. False: it is none. */
static bool number_of(const struct gvm_control_file *file, const char *text, u64 *ret_value)
{
	switch (file->kind) {
	case GVM_CONTROL_BYTES:
		return !gvm_parse_bytes(text, ret_value);
	case GVM_CONTROL_TIMESLICE:
		return !gvm_parse_timeslice_us(text, ret_value);
	case GVM_CONTROL_NUMBER:
		return !gvm_parse_u64(text, ret_value);
	default:
		return false;
	}
}

/* The form in which a driver shows a value: bytes without a suffix, microseconds. */
static bool usual_form(const struct gvm_control_file *file, const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (file->kind == GVM_CONTROL_TIMESLICE)
		return !strcmp(text + digits, "us");
	return !strcmp(text, "max") || !text[digits];
}

/*
 * Wait until a write holds. gvm.ko answers a write. The shim takes it a moment later, and
 * replaces the file by one with the value in force. Files of others are read until they have
 * the usual form, for a second. *ret_taken: the shim has taken it.
 */
static bool await_value(const struct ctl_container *container,
			const struct gvm_control_file *file, ino_t written, u64 wanted,
			char now[CTL_TEXT_MAX], bool *ret_taken)
{
	bool shim = ctl_is_shim(container);
	bool holds = false;
	u64 value;

	for (int i = 0; i < (shim ? SHIM_TRIES : TRIES); i++) {
		if (i)
			usleep(TRY_US);
		*ret_taken = !shim || ctl_inode(container, file->name) != written;
		holds = !ctl_read(container, file->name, now) && number_of(file, now, &value) &&
			value == wanted;
		if (shim ? *ret_taken : holds && usual_form(file, now))
			break;
	}
	return holds;
}

/* The shim reads these alone: kernel-port/shim/report.c. */
static bool shim_reads(const char *name)
{
	return !strcmp(name, "gmem.limit.high") || !strcmp(name, "compute.timeslice") ||
	       !strcmp(name, "compute.priority") || !strcmp(name, "compute.freeze");
}

static int set_one(const struct ctl_container *container, const struct gvm_control_file *file,
		   const char *text, u64 wanted, struct sim_error *err)
{
	char now[CTL_TEXT_MAX] = "";
	ino_t written = 0;
	bool taken, holds;
	int status;

	if (container->ended)
		return sim_runtime_error(err, "process %llu has ended, and left %s",
					 container->pid, container->path);
	if (ctl_is_shim(container) && !shim_reads(file->name))
		return sim_user_error(
			err,
			"process %llu has the shim, which has no %s, but "
			"gmem.limit.high, compute.timeslice, compute.priority and "
			"compute.freeze",
			container->pid, file->name);
	status = ctl_write(container, file->name, text, &written);
	if (status)
		return sim_runtime_error(err, "%s/%s: %s", container->path, file->name,
					 strerror(-status));
	holds = await_value(container, file, written, wanted, now, &taken);
	if (!taken)
		return sim_runtime_error(err,
					 "process %llu has not read its %s for %d s: it may be "
					 "stopped",
					 container->pid, file->name,
					 SHIM_TRIES * TRY_US / 1000000);
	if (!holds)
		return sim_runtime_error(err, "%s/%s holds '%s' and not %s", container->path,
					 file->name, now, text);
	if (container->pid)
		printf("%llu:%llu %s %s\n", container->pid, container->gpu, file->name, now);
	else
		printf("%s:%llu %s %s\n", container->cgroup, container->gpu, file->name, now);
	return 0;
}

/* Whose control files are written. */
struct set_target {
	char name[PATH_MAX]; /* as the user says it, without the GPU */
	u64 pid;	     /* 0: a cgroup */
	u64 gpu;	     /* U64_MAX: all */
};

/* "4201", "4201:0", "/tenant-a" or "/tenant-a:0". False: none of these. */
static bool parse_target(const char *text, struct set_target *ret_target)
{
	const char *colon = strrchr(text, ':');
	size_t length;

	ret_target->gpu = U64_MAX;
	ret_target->pid = 0;
	/* A cgroup's name may have a colon, too. */
	if (colon &&
	    (gvm_parse_u64(colon + 1, &ret_target->gpu) || ret_target->gpu == U64_MAX)) {
		if (*text != '/')
			return false;
		colon = NULL;
		ret_target->gpu = U64_MAX;
	}
	length = colon ? (size_t)(colon - text) : strlen(text);
	if (length >= sizeof(ret_target->name))
		return false;
	memcpy(ret_target->name, text, length);
	ret_target->name[length] = '\0';
	if (*text == '/')
		return length > 1;
	return !gvm_parse_u64(ret_target->name, &ret_target->pid) && ret_target->pid;
}

static bool is_target(const struct ctl_container *container, const struct set_target *target)
{
	return container->pid == target->pid &&
	       (target->pid || !strcmp(container->cgroup, target->name)) &&
	       (target->gpu == U64_MAX || container->gpu == target->gpu);
}

static int set_all(const char *root, const struct set_target *target,
		   const struct gvm_control_file *file, const char *text, u64 wanted,
		   struct sim_error *err)
{
	const char *what = target->pid ? "process" : "cgroup";
	struct ctl_list list;
	size_t found = 0;
	int status = ctl_list(root, &list);

	if (status)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < list.count; i++) {
		if (!is_target(&list.containers[i], target))
			continue;
		found++;
		status = set_one(&list.containers[i], file, text, wanted, err);
	}
	ctl_list_destroy(&list);
	if (status || found)
		return status ? status : command_flush(err);
	if (target->gpu != U64_MAX)
		return sim_user_error(err,
				      "%s %s has no control files of GPU %llu; see gvmctl list",
				      what, target->name, target->gpu);
	return sim_user_error(err, "%s %s has no control files; see gvmctl list", what,
			      target->name);
}

/* Completion reads the names of the files from here. */
static int print_help(struct sim_error *err)
{
	command_print_head(&command_set);
	printf("Files:\n");
	for (u32 i = 0; i < gvm_control_count(); i++)
		if (gvm_control_at(i)->mode & 0200)
			printf("  %-18s  %s\n", gvm_control_at(i)->name,
			       gvm_control_at(i)->summary);
	putchar('\n');
	command_print_tail(&command_set);
	return command_flush(err);
}

/* A mistake, which names the file that may be meant. */
static int no_such_file(const char *name, struct sim_error *err)
{
	struct guess guess;

	guess_begin(&guess, name);
	for (u32 i = 0; i < gvm_control_count(); i++)
		if (gvm_control_at(i)->mode & 0200)
			guess_offer(&guess, gvm_control_at(i)->name);
	return command_mistake(&command_set, err, "'%s' is no control file to be written%s%s%s",
			       name, *guess.name ? ", did you mean '" : "", guess.name,
			       *guess.name ? "'?" : "");
}

static int run(int argc, char **argv, struct sim_error *err)
{
	const struct gvm_control_file *file;
	const char *root = NULL;
	struct command_line line;
	struct set_target target;
	u64 value;
	int status = command_parse(&command_set, argc, argv, take_option, &root, &line, err);

	if (status)
		return status;
	if (line.help)
		return print_help(err);
	if (line.operand_count != 3)
		return command_mistake(&command_set, err, "three words are wanted");
	if (!parse_target(line.operands[0], &target))
		return command_mistake(&command_set, err, "'%s' is no process and no cgroup",
				       line.operands[0]);
	file = gvm_control_find(line.operands[1]);
	if (!file || !(file->mode & 0200))
		return no_such_file(line.operands[1], err);
	if (!number_of(file, line.operands[2], &value) || value < file->min ||
	    value > file->max)
		return command_mistake(&command_set, err, "%s: '%s' is no value of it",
				       file->name, line.operands[2]);
	return set_all(root, &target, file, line.operands[2], value, err);
}
