// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The first process of a virtual machine that loads gvm.ko and tries it from user space.
 * boot.sh compiles it, boots it, and reads its lines in the kernel's log.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define GUEST_TGID	"1000"
#define GUEST_CONTAINER "gvm/" GUEST_TGID "/0/"

/* Defaults; the kernel's command line overrides them (vm.sh). */
#define GUEST_RELOADS	     30
#define GUEST_STRESS_SECONDS 2

/* A control file for its user. */
struct guest_control {
	const char *name;
	const char *alias;   /* or NULL */
	mode_t mode;	     /* permission bits */
	const char *initial; /* its text in a new container */
};

static const struct guest_control guest_controls[] = {
	{ "gmem.limit.high", "memory.limit", 0644, "max\n" },
	{ "gmem.limit.low", NULL, 0644, "0\n" },
	{ "gmem.current", "memory.current", 0444, "0\n" },
	{ "gmem.peak", NULL, 0444, "0\n" },
	{ "gmem.events", NULL, 0444, "high 0\nhmem 0\noom 0\n" },
	{ "gmem.swap.current", "memory.swap.current", 0444, "0\n" },
	{ "gmem.clean.current", NULL, 0444, "0\n" },
	{ "hmem.limit", NULL, 0644, "max\n" },
	{ "compute.timeslice", NULL, 0644, "1024us\n" },
	{ "compute.priority", NULL, 0644, "9\n" },
	{ "compute.weight", NULL, 0644, "100\n" },
	{ "compute.freeze", NULL, 0644, "0\n" },
	{ "gcgroup.stat", NULL, 0444,
	  "nr_submitted_kernels: 0\nnr_ended_kernels: 0\nnr_pending_kernels: 0\n" },
};

#define GUEST_CONTROLS (sizeof(guest_controls) / sizeof(guest_controls[0]))

/*
 * A write: its text, its errno, and the file's text afterwards. The meaning of all texts is
 * tested by test_control.c, in here as in user space. This is about the way to the core.
 */
struct guest_value {
	const char *name;
	const char *text;
	int error;
	const char *after;
};

static const struct guest_value guest_values[] = {
	{ "gmem.limit.high", "6e9\n", 0, "6000000000\n" },
	{ "gmem.limit.high", "6GB", EINVAL, "6000000000\n" },
	{ "memory.limit", "512M", 0, "536870912\n" },
	{ "gmem.limit.high", "max", 0, "max\n" },
	{ "gmem.limit.low", "64K", 0, "65536\n" },
	{ "gmem.limit.low", "0", 0, "0\n" },
	{ "gmem.current", "0", EACCES, "0\n" },
	{ "memory.current", "0", EACCES, "0\n" },
	{ "gmem.peak", "0", EACCES, "0\n" },
	{ "gmem.events", "0", EACCES, "high 0\nhmem 0\noom 0\n" },
	{ "gmem.swap.current", "0", EACCES, "0\n" },
	{ "compute.timeslice", "500us\n", 0, "500us\n" },
	{ "compute.timeslice", "0", EINVAL, "500us\n" },
	{ "compute.priority", "2", 0, "2\n" },
	{ "compute.priority", "17", EINVAL, "2\n" },
	{ "compute.priority", "9", 0, "9\n" },
	{ "compute.weight", "0", EINVAL, "100\n" },
	{ "compute.weight", "10000", 0, "10000\n" },
	{ "compute.freeze", "1", 0, "1\n" },
	{ "compute.freeze", "0", 0, "0\n" },
	{ "gcgroup.stat", "0", EACCES,
	  "nr_submitted_kernels: 0\nnr_ended_kernels: 0\nnr_pending_kernels: 0\n" },
};

static void guest_expect_books(void)
{
	guest_expect_read("gvm_selftest/check", "ok\n");
}

static void test_load(void)
{
	guest_expect_load("gvm_selftest",
			  ENOENT); /* its symbols are missing: gvm.ko comes first */
	guest_expect_load("gvm", 0);
	guest_expect_read("gvm/devices", "");
	guest_expect_load("gvm_selftest", 0);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
	guest_expect_unload("gvm", EAGAIN); /* the other module uses it */
	guest_expect_books();
}

/* The core's tests need no gvm.ko. They leave nothing behind. */
static void test_core(void)
{
	guest_expect_load("gvm_coretest", 0);
	guest_run_failing_tests();
	guest_run_tests();
	guest_expect_no_leak("gvm_coretest", 0);
	guest_expect_unload("gvm_coretest", 0);
}

static void test_attach(long objects)
{
	guest_expect_write("gvm/attach", "0 0", EINVAL);
	guest_expect_write("gvm/attach", "", EINVAL);
	guest_expect_write("gvm/attach", "1000", EINVAL);
	guest_expect_write("gvm/attach", "1000 0 0", EINVAL);
	guest_expect_write("gvm/attach", "1000 0 1000 1", EINVAL);
	guest_expect_write("gvm/attach", "1000 0 7", ESRCH);
	guest_expect_write("gvm/attach", "-1 0", EINVAL);
	guest_expect_write("gvm/attach", "4294967296 0", ERANGE);
	guest_expect_write("gvm/attach", "1000 1", ENODEV);
	guest_expect_write("gvm/attach", "1000 0                                   ", E2BIG);
	guest_expect_write("gvm/detach", GUEST_TGID " 0", ENOENT);
	guest_expect_write("gvm/attach", GUEST_TGID " 0\n", 0);
	guest_expect_write("gvm/attach", GUEST_TGID " 0\n", EEXIST);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	guest_check(guest_count_objects("gvm") > objects, "the leak detector sees a container");
	guest_expect_books();
}

/* The file's mode, or 0 if there is no file. */
static mode_t guest_mode(const char *name)
{
	char path[256];
	struct stat status;

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/" GUEST_CONTAINER "%s", name);
	return stat(path, &status) ? 0 : status.st_mode & 07777;
}

static unsigned int guest_count_files(void)
{
	DIR *dir = opendir(GUEST_DEBUGFS "/" GUEST_CONTAINER);
	unsigned int count = 0;
	struct dirent *entry;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			count++;
	closedir(dir);
	return count;
}

/* D21 */
static void test_directory(void)
{
	unsigned int expected = 0;
	char path[128];

	for (size_t i = 0; i < GUEST_CONTROLS; i++) {
		const struct guest_control *control = &guest_controls[i];

		snprintf(path, sizeof(path), GUEST_CONTAINER "%s", control->name);
		guest_expect_read(path, control->initial);
		guest_check(guest_mode(control->name) == control->mode, "mode of %s is %o",
			    control->name, control->mode);
		expected++;
		if (!control->alias)
			continue;
		snprintf(path, sizeof(path), GUEST_CONTAINER "%s", control->alias);
		guest_expect_read(path, control->initial);
		guest_check(guest_mode(control->alias) == control->mode, "mode of %s is %o",
			    control->alias, control->mode);
		expected++;
	}
	guest_check(guest_count_files() == expected, "%u control files, expected %u",
		    guest_count_files(), expected);
}

/* F15 */
static void test_values(void)
{
	char path[128];

	for (size_t i = 0; i < sizeof(guest_values) / sizeof(guest_values[0]); i++) {
		const struct guest_value *value = &guest_values[i];

		snprintf(path, sizeof(path), GUEST_CONTAINER "%s", value->name);
		guest_expect_write(path, value->text, value->error);
		guest_expect_read(path, value->after);
	}
	guest_expect_write(GUEST_CONTAINER "compute.priority", "2", 0);
	guest_expect_read(GUEST_CONTAINER "compute.timeslice", "131072us\n");
	guest_expect_write(GUEST_CONTAINER "compute.timeslice", "1024us", 0);
	guest_expect_books();
}

/* A text that is one byte too long for any control file. */
static void test_long_write(void)
{
	char text[257];

	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	guest_expect_write(GUEST_CONTAINER "gmem.limit.high", text, E2BIG);
	guest_expect_read(GUEST_CONTAINER "gmem.limit.high", "max\n");
}

static int guest_open_control(const char *name, int flags)
{
	char path[256];

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/" GUEST_CONTAINER "%s", name);
	return open(path, flags | O_CLOEXEC);
}

/* Read one byte at a time while the value changes: the reader gets one whole value. */
static void test_short_reads(void)
{
	int fd = guest_open_control("gmem.limit.high", O_RDWR);
	char text[32] = "";
	size_t length = 0;

	guest_check(write(fd, "12345678", 8) == 8, "write through a descriptor kept open");
	lseek(fd, 0, SEEK_SET);
	while (length < sizeof(text) - 1 && read(fd, text + length, 1) == 1) {
		length++;
		guest_write(GUEST_CONTAINER "gmem.limit.high", "max");
	}
	guest_check(strcmp(text, "12345678\n") == 0, "short reads fit together: '%s'", text);
	memset(text, 0, sizeof(text));
	guest_check(pread(fd, text, sizeof(text), 0) == 4 && strcmp(text, "max\n") == 0,
		    "a read from the start sees the news: '%s'", text);
	close(fd);
}

static void test_charge(void)
{
	guest_expect_write("gvm_selftest/charge", "1000 5", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "10485760\n");
	guest_expect_books();
	guest_expect_write("gvm_selftest/uncharge", "1000 2", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "6291456\n");
	guest_expect_read(GUEST_CONTAINER "gmem.peak", "10485760\n");
	guest_expect_books();

	guest_expect_write(GUEST_CONTAINER "gmem.limit.high", "8M", 0);
	guest_expect_write("gvm_selftest/charge", "1000 2", EDQUOT);
	guest_expect_read(GUEST_CONTAINER "memory.current", "8388608\n");
	guest_expect_read(GUEST_CONTAINER "gmem.events", "high 1\nhmem 0\noom 0\n");
	guest_expect_books();
	guest_expect_write("gvm_selftest/evict", "1000 1", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "6291456\n");
	guest_expect_read(GUEST_CONTAINER "memory.swap.current", "2097152\n");
	guest_expect_books();

	/*
	 * A lower limit evicts the excess. A victim whose eviction fails is put back and tried
	 * again.
	 */
	guest_expect_write(GUEST_CONTAINER "gmem.limit.high", "4M", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "4194304\n");
	guest_expect_write("gvm_selftest/fail_next", "5", 0);
	guest_expect_write(GUEST_CONTAINER "gmem.limit.high", "0", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "0\n");
	guest_expect_books();

	guest_expect_write(GUEST_CONTAINER "gmem.limit.high", "max", 0);
	guest_expect_write("gvm_selftest/charge", "1000 20", ENOMEM);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "33554432\n");
	guest_expect_books();
	guest_expect_write("gvm/detach", GUEST_TGID " 0", EBUSY);
	guest_expect_write("gvm_selftest/uncharge", "1000 15", 0);

	/* The container also owns swapped memory: it cannot end. */
	guest_expect_write("gvm_selftest/evict", "1000 1", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.current", "0\n");
	guest_expect_write("gvm/detach", GUEST_TGID " 0", EBUSY);
	guest_expect_write("gvm_selftest/uncharge", "1000 0", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.swap.current", "0\n");
	guest_expect_books();
}

/* Each of two containers has files of its own. The files of the one that ends go with it. */
static void test_second_container(void)
{
	guest_expect_write("gvm/attach", "1001 0", 0);
	guest_expect_write("gvm/1001/0/gmem.limit.low", "4M", 0);
	guest_expect_read(GUEST_CONTAINER "gmem.limit.low", "0\n");
	guest_expect_write("gvm_selftest/charge", "1001 3", 0);
	guest_expect_read("gvm/1001/0/gmem.current", "6291456\n");
	guest_expect_read(GUEST_CONTAINER "gmem.current", "0\n");
	guest_expect_books();
	guest_expect_write("gvm_selftest/uncharge", "1001 3", 0);
	guest_expect_write("gvm/detach", "1001 0", 0);
	guest_check(access(GUEST_DEBUGFS "/gvm/1001", F_OK) != 0, "gvm/1001 has gone");
	guest_expect_books();
}

/* Expect these calls of the GPU's driver since the last time. */
static void guest_expect_calls(const char *calls)
{
	guest_expect_read("gvm_selftest/calls", calls);
	guest_write("gvm_selftest/calls", "forget");
}

/* D17: a write makes calls of the GPU's driver, and returns their error. */
static void test_tsgs(void)
{
	guest_expect_write("gvm_selftest/tsg_attach", "1000 7", 0);
	guest_expect_write("gvm_selftest/tsg_attach", "1000 8", 0);
	guest_write("gvm_selftest/calls", "forget");
	guest_expect_write(GUEST_CONTAINER "compute.priority", "2", 0);
	guest_expect_calls("timeslice 7 131072\ntimeslice 8 131072\n");
	guest_expect_write("gvm_selftest/fail_next", "5", 0);
	guest_expect_write(GUEST_CONTAINER "compute.freeze", "1", EIO);
	guest_expect_read(GUEST_CONTAINER "compute.freeze", "0\n");
	guest_expect_calls("disable 7\ndisable 8\npreempt 8\n");
	guest_expect_books();
	guest_expect_write(GUEST_CONTAINER "compute.freeze", "0", 0);
	guest_expect_calls("enable 8\n");

	guest_expect_write("gvm_selftest/tsg_detach", "1000 7", 0);
	guest_expect_write("gvm_selftest/tsg_detach", "1000 7", ENOENT);
	guest_expect_write("gvm_selftest/tsg_detach", "1000 8", 0);
	guest_expect_books();
}

/* The core's fault handler on a thread of its own, and the tracepoints in it. */
static void test_faults(void)
{
	char trace[GUEST_TEXT_MAX];

	guest_expect_write("tracing/events/gvm/gvm_cost/enable", "1", 0);
	guest_expect_write("tracing/events/gvm/gvm_batch/enable", "1", 0);
	guest_expect_write("gvm_selftest/fault", "1000 3", 0);
	guest_expect_calls("service 3\nreplay\n");
	guest_expect_read("gvm_selftest/fault",
			  "batches 1 faults 4 duplicates 1 cancelled 0\n");
	guest_expect_write("gvm_selftest/fail_next", "12", 0);
	guest_expect_write("gvm_selftest/fault", "1000 2", 0);
	guest_expect_calls("service 2\ncancel 0\nreplay\n");
	guest_expect_write("tracing/events/gvm/enable", "0", 0);
	guest_check(guest_read("tracing/trace", trace, sizeof(trace)) == 0 &&
			    strstr(trace, "gvm_cost: kind=entry n=4"),
		    "the tracepoint gvm:gvm_cost counts four entries");
	guest_check(strstr(trace, "gvm_batch: begin gpu=") && strstr(trace, " faults=4\n"),
		    "the tracepoint gvm:gvm_batch says that a batch of four begins");
	guest_check(
		strstr(trace, "gvm_batch: end gpu=") && strstr(trace, " faults=3\n"),
		"the tracepoint gvm:gvm_batch says that three were left without duplicates");
	guest_expect_books();
}

/* F11: a file stays open while its container, its device and its driver go. */
static void test_open_file(void)
{
	int fd = guest_open_control("gmem.limit.high", O_RDWR);
	char text[32];

	guest_check(read(fd, text, 1) == 1, "read one byte");
	guest_expect_write("gvm/detach", GUEST_TGID " 0", 0);
	guest_check(access(GUEST_DEBUGFS "/gvm/" GUEST_TGID, F_OK) != 0,
		    "gvm/" GUEST_TGID " has gone");
	guest_check(read(fd, text, 1) < 0 && errno == EIO, "read after detach: EIO");
	guest_check(write(fd, "1", 1) < 0 && errno == EIO, "write after detach: EIO");
	guest_expect_write("gvm/attach", GUEST_TGID " 0", 0);
	guest_check(pread(fd, text, 1, 0) < 0 && errno == EIO, "read after attach: still EIO");
	guest_expect_read(GUEST_CONTAINER "gmem.limit.high", "max\n");
	guest_expect_books();
	guest_expect_unload("gvm_selftest", 0);
	guest_check(pread(fd, text, 1, 0) < 0 && errno == EIO, "read without a device: EIO");
	guest_expect_unload("gvm", EAGAIN); /* the open file keeps it */
	close(fd);
	guest_expect_read("gvm/devices", "");
}

/* The test's device goes while containers, memory, swap, TSGs and a freeze still exist. */
static void test_reload(unsigned int round)
{
	guest_log("reload %u", round);
	guest_expect_load("gvm", 0);
	guest_expect_load("gvm_selftest", 0);
	guest_expect_write("gvm/attach", GUEST_TGID " 0", 0);
	guest_expect_write("gvm/attach", "1001 0", 0);
	guest_expect_write("gvm_selftest/tsg_attach", "1000 1", 0);
	guest_expect_write(GUEST_CONTAINER "compute.freeze", "1", 0);
	guest_expect_write("gvm_selftest/charge", "1000 4", 0);
	guest_expect_write("gvm_selftest/evict", "1000 1", 0);
	guest_expect_write("gvm_selftest/charge", "1001 4", 0);
	guest_expect_write("gvm_selftest/tsg_attach", "1001 2", 0);
	guest_expect_write("gvm_selftest/uncharge", "1001 4", 0);
	guest_expect_write("gvm/detach", "1001 0", 0); /* its TSG keeps it */
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 2\n");
	guest_expect_books();
	guest_expect_unload("gvm_selftest", 0);
	guest_expect_unload("gvm", 0);
}

/*
 * One of the processes of the stress. Its calls may fail, depending on what the other process
 * has just done. The module must not crash. Returns whether this process made progress.
 */
static bool guest_stress_attach(void)
{
	bool attached = guest_write("gvm/attach", GUEST_TGID " 0") == 0;

	guest_write("gvm_selftest/charge", "1000 2");
	guest_write("gvm_selftest/evict", "1000 1");
	guest_write("gvm_selftest/uncharge", "1000 1");
	guest_write("gvm/detach", GUEST_TGID " 0");
	return attached;
}

static bool guest_stress_control(void)
{
	char text[GUEST_TEXT_MAX];
	int fd = guest_open_control("gmem.limit.low", O_RDWR);

	if (fd < 0)
		return false;
	for (int i = 0; i < 20; i++) {
		if (write(fd, i % 2 ? "4M" : "0", i % 2 ? 2 : 1) < 0 ||
		    pread(fd, text, sizeof(text), 0) < 0)
			break;
	}
	close(fd);
	guest_write(GUEST_CONTAINER "gmem.limit.high", "2M");
	guest_write(GUEST_CONTAINER "gmem.limit.high", "0");
	guest_write(GUEST_CONTAINER "gmem.limit.high", "max");
	guest_write(GUEST_CONTAINER "compute.freeze", "1");
	guest_write(GUEST_CONTAINER "compute.freeze", "0");
	return guest_read(GUEST_CONTAINER "gmem.current", text, sizeof(text)) == 0;
}

/* A process that repeats @step, and how often it made progress. */
struct guest_stress {
	const char *name;
	bool (*step)(void);
	pid_t pid;
	unsigned int *count; /* shared with the process */
};

static void guest_stress_start(struct guest_stress *stress)
{
	stress->count = mmap(NULL, sizeof(*stress->count), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stress->pid = fork();
	if (stress->pid == 0) {
		for (;;)
			*stress->count += stress->step();
	}
}

static void guest_stress_stop(struct guest_stress *stress)
{
	kill(stress->pid, SIGKILL);
	waitpid(stress->pid, NULL, 0);
	guest_check(*stress->count > 10, "%u rounds of stress by the %s", *stress->count,
		    stress->name);
}

/* F11: containers begin and end under readers and writers of their files, on two processors. */
static void test_stress(void)
{
	struct guest_stress attacher = { .name = "attacher", .step = guest_stress_attach };
	struct guest_stress writer = { .name = "writer", .step = guest_stress_control };
	unsigned long seconds = guest_number("GVM_TEST_STRESS_SECONDS", GUEST_STRESS_SECONDS);
	long end = guest_seconds() + (long)seconds;
	char text[64];
	int error;

	guest_expect_load("gvm_selftest", 0);
	guest_stress_start(&attacher);
	guest_stress_start(&writer);
	while (guest_seconds() < end) {
		usleep(100000);
		error = guest_read("gvm_selftest/check", text, sizeof(text));
		if (error || strcmp(text, "ok\n") != 0)
			guest_check(false, "books under stress: %s '%s'",
				    guest_error_name(error), text);
	}
	guest_stress_stop(&attacher);
	guest_stress_stop(&writer);
	guest_log("# %lu seconds of stress", seconds);
	guest_expect_books();
	guest_expect_unload("gvm_selftest", 0);
}

/* Load once to learn what gvm.ko itself allocates before it does any work. */
static long guest_baseline(void)
{
	long before;

	guest_expect_load("gvm", 0);
	before = guest_count_objects("gvm");
	guest_expect_unload("gvm", 0);
	return before;
}

static void test_container(long objects)
{
	test_attach(objects);
	test_directory();
	test_values();
	test_long_write();
	test_short_reads();
	test_charge();
	test_second_container();
	test_tsgs();
	test_faults();
	test_open_file();
}

static void test_reloads(void)
{
	unsigned long reloads = guest_number("GVM_TEST_RELOADS", GUEST_RELOADS);

	for (unsigned int round = 1; round <= reloads; round++)
		test_reload(round);
	guest_log("# %lu loads and unloads", reloads);
}

static void test_injection(void)
{
	guest_test_injection();
	guest_watch_end();
}

static void test_all(void)
{
	long objects;

	test_core();
	objects = guest_baseline();
	test_load();
	test_container(objects);
	test_stress();
	guest_expect_load("gvm_selftest", 0);
	guest_test_processes();
	guest_test_pressure();
	guest_test_files();
	guest_expect_unload("gvm_selftest", 0);
	guest_expect_no_leak("gvm", objects);
	guest_expect_unload("gvm", 0);
	test_reloads();
	test_injection();
}

static void test_pressure_alone(void)
{
	test_load();
	guest_test_pressure();
	guest_expect_unload("gvm_selftest", 0);
	guest_expect_unload("gvm", 0);
	guest_watch_end();
}

static void test_reloads_alone(void)
{
	test_reloads();
	guest_watch_end();
}

/* Runs in place of the whole test, by their names on the kernel's command line. */
/* clang-format off */
static const struct {
	const char *name;
	void (*run)(void);
} guest_parts[] = {
	{ "broken", guest_test_broken },
	{ "wrong", guest_test_wrong },
	{ "injection", test_injection },
	{ "pressure", test_pressure_alone },
	{ "reload", test_reloads_alone },
};
/* clang-format on */

static void test(const char *name)
{
	for (size_t i = 0; name && i < sizeof(guest_parts) / sizeof(guest_parts[0]); i++) {
		if (strcmp(name, guest_parts[i].name) == 0) {
			guest_parts[i].run();
			return;
		}
	}
	test_all();
}

int main(void)
{
	guest_mount();
	guest_watch_begin();
	guest_log("begin");
	guest_start_processes();
	test(getenv("GVM_TEST"));
	guest_end();
	return 1;
}
