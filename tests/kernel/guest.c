// SPDX-License-Identifier: MIT OR GPL-2.0
/* See guest.h. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Taints: a module built out of tree, an unsigned module; a warning. */
#define GUEST_TAINT_MODULE  ((1L << 12) | (1L << 13))
#define GUEST_TAINT_WARNING (1L << 9)

static unsigned int guest_points;
static long guest_taint = GUEST_TAINT_MODULE; /* allowed taints */

/*
 * Write a record to the kernel's log: its level, "tap: ", and the text with "|" for each
 * newline.
 */
static void guest_log_record(const char *text)
{
	char record[900];
	int length = snprintf(record, sizeof(record), "<5>tap: %s", text);
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (length >= (int)sizeof(record))
		length = (int)sizeof(record) - 1;
	for (int i = 0; i < length; i++)
		if (record[i] == '\n')
			record[i] = '|';
	if (fd < 0 || write(fd, record, (size_t)length) < 0)
		_exit(1); /* exit of init: the kernel panics, and the host sees it */
	close(fd);
}

void guest_log(const char *fmt, ...)
{
	char text[800];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	guest_log_record(text);
}

int guest_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

unsigned int guest_log_count(int fd, const char *text)
{
	unsigned int count = 0;
	char record[8192]; /* the kernel's longest */
	ssize_t length;

	while ((length = read(fd, record, sizeof(record) - 1)) > 0) {
		record[length] = '\0';
		count += strstr(record, text) != NULL;
	}
	close(fd);
	return count;
}

bool guest_check(bool ok, const char *fmt, ...)
{
	char text[700];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	guest_points++;
	guest_log("%s %u - %s", ok ? "ok" : "not ok", guest_points, text);
	return ok;
}

/* The plan, once, as the last line. */
static void guest_plan(void)
{
	guest_log("1..%u", guest_points);
}

const char *guest_error_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "success";

	return name ? name : "unknown error";
}

/* Open a file of debugfs. Returns a descriptor, or -1 with errno. */
static int guest_open(const char *path, int flags)
{
	char full[256];

	snprintf(full, sizeof(full), GUEST_DEBUGFS "/%s", path);
	return open(full, flags | O_CLOEXEC);
}

int guest_write(const char *path, const char *text)
{
	int fd = guest_open(path, O_WRONLY);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = errno;
	close(fd);
	return error;
}

/* Read up to the end of a file. Returns 0 or the errno. */
static int guest_read_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;

	do {
		got = read(fd, text + length, size - 1 - length);
		if (got > 0)
			length += (size_t)got;
	} while (got > 0);
	text[length] = '\0';
	return got < 0 ? errno : 0;
}

int guest_read(const char *path, char *text, size_t size)
{
	int fd = guest_open(path, O_RDONLY);
	int error;

	text[0] = '\0';
	if (fd < 0)
		return errno;
	error = guest_read_all(fd, text, size);
	close(fd);
	return error;
}

void guest_expect_write(const char *path, const char *text, int error)
{
	int got = guest_write(path, text);

	guest_check(got == error, "write '%.40s' to %s: %s, expected %s", text, path,
		    guest_error_name(got), guest_error_name(error));
}

void guest_expect_read(const char *path, const char *text)
{
	char got[GUEST_TEXT_MAX];
	int error = guest_read(path, got, sizeof(got));

	if (error)
		guest_check(false, "read %s: %s", path, guest_error_name(error));
	else
		guest_check(strcmp(got, text) == 0, "read %s: '%.200s', expected '%.200s'",
			    path, got, text);
}

int guest_load(const char *name, const char *parameters)
{
	char path[64];
	int error = 0;
	int fd;

	snprintf(path, sizeof(path), "/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

int guest_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

void guest_expect_load(const char *name, int error)
{
	int got = guest_load(name, "");

	guest_check(got == error, "load %s: %s, expected %s", name, guest_error_name(got),
		    guest_error_name(error));
}

void guest_expect_unload(const char *name, int error)
{
	int got = guest_unload(name);

	guest_check(got == error, "unload %s: %s, expected %s", name, guest_error_name(got),
		    guest_error_name(error));
}

/*
 * Count in one cache's alloc_traces. A record is a line that begins with the number of objects
 * and names the caller, then indented lines with the rest of its stack, the innermost first.
 * The objects count for the first of our modules in the record. So a table that gvm.ko enlarges
 * in a call of a GPU's driver counts for gvm.ko, before and after.
 */
static long guest_count_traces(FILE *file, const char *tag)
{
	char line[512];
	long record = 0;
	long total = 0;

	while (fgets(line, sizeof(line), file)) {
		long count;

		if (sscanf(line, " %ld", &count) == 1)
			record = count;
		if (record && strstr(line, " [gvm")) {
			total += strstr(line, tag) ? record : 0;
			record = 0;
		}
	}
	return total;
}

/* Count the areas that vmalloc() gave to callers in a module, a line each. */
static long guest_count_areas(const char *tag)
{
	FILE *file = fopen("/proc/vmallocinfo", "re");
	char line[512];
	long total = 0;

	while (file && fgets(line, sizeof(line), file))
		total += strstr(line, tag) != NULL;
	if (file)
		fclose(file);
	return total;
}

/*
 * KASAN keeps freed objects back to see later uses of them. They still count as allocated:
 * drain them.
 */
static void guest_drain_quarantine(void)
{
	glob_t found;

	if (glob("/sys/kernel/slab/kmalloc-*/shrink", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int fd = open(found.gl_pathv[i], O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, "1", 1) == 1)
			close(fd);
	}
	globfree(&found);
}

/*
 * The kernel's cache of names keeps the nodes of files in sysfs that are gone, until it looks a
 * name up again. They are no leak: drop them. A 4 keeps the log free of messages about it.
 */
static void guest_drop_names(void)
{
	static const char *const words[] = { "4", "2" };
	const char *path = "/proc/sys/vm/drop_caches";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0 && write(fd, words[i], 1) == 1)
			close(fd);
	}
}

long guest_count_objects(const char *module)
{
	glob_t found;
	char tag[64];
	long total;

	if (glob(GUEST_DEBUGFS "/slab/kmalloc-*/alloc_traces", 0, NULL, &found))
		return -1;
	guest_drop_names();
	guest_drain_quarantine();
	snprintf(tag, sizeof(tag), "[%s]", module);
	total = guest_count_areas(tag);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "re");

		if (!file)
			return -1;
		total += guest_count_traces(file, tag);
		fclose(file);
	}
	globfree(&found);
	return total;
}

/* Log the callers that allocated a module's objects. They tell the leaked one. */
static void guest_show_objects(const char *module)
{
	char line[512], first[512] = "", tag[64];
	long count;
	glob_t found;

	snprintf(tag, sizeof(tag), "[%s]", module);
	if (glob(GUEST_DEBUGFS "/slab/kmalloc-*/alloc_traces", 0, NULL, &found))
		return;
	for (size_t i = 0; i <= found.gl_pathc; i++) {
		FILE *file = fopen(i ? found.gl_pathv[i - 1] : "/proc/vmallocinfo", "re");

		while (file && fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = '\0';
			if (sscanf(line, " %ld", &count) == 1)
				memcpy(first, line, sizeof(first));
			if (!strstr(line, tag))
				continue;
			guest_log("# %s: %s", first, line);
			first[0] = '\0';
		}
		if (file)
			fclose(file);
	}
	globfree(&found);
}

void guest_expect_no_leak(const char *module, long before)
{
	long after = guest_count_objects(module);

	for (int i = 0; i < 20 && after != before; i++) {
		usleep(100000);
		after = guest_count_objects(module);
	}
	if (after != before)
		guest_show_objects(module);
	guest_check(before >= 0 && after == before, "%ld objects of %s.ko left, expected %ld",
		    after, module, before);
}

/*
 * To kmemleak, an object is lost when it is 5 seconds old, no pointer to it is found, and it
 * did not change between two scans. If its only pointer moved during a scan, a third scan finds
 * it.
 */
static bool guest_kmemleak_scan(void)
{
	for (int i = 0; i < 3; i++) {
		if (guest_write("kmemleak", "scan"))
			return false;
		sleep(6);
	}
	return true;
}

void guest_watch_begin(void)
{
	if (guest_write("kmemleak", "scan=off") == 0 && guest_kmemleak_scan())
		guest_write("kmemleak", "clear");
}

/*
 * Log what was lost, line by line. Objects of processor 0's idle task are skipped: they are
 * from the kernel's own start, before any process. By chance a pointer to them was found when
 * the other objects of that kind were cleared.
 */
static void guest_expect_no_kmemleak(void)
{
	static char text[64 * GUEST_TEXT_MAX];
	const char *start = "  comm \"swapper/0\", pid 0, ";
	unsigned int lost = 0;
	bool ours = false;
	char *rest = text;
	char *line;

	guest_check(guest_kmemleak_scan(), "kmemleak scans for lost objects");
	guest_check(guest_read("kmemleak", text, sizeof(text)) == 0,
		    "and its report can be read");
	while ((line = strsep(&rest, "\n")) && *line) {
		if (strncmp(line, "unreferenced object ", 20) == 0 && rest)
			ours = strncmp(rest, start, strlen(start)) != 0;
		lost += ours;
		if (ours)
			guest_log("# %s", line);
	}
	guest_check(lost == 0, "kmemleak has found nothing");
}

/* lockdep switches itself off after its first report. */
static void guest_expect_lockdep(void)
{
	char text[8 * GUEST_TEXT_MAX];
	int fd = open("/proc/lockdep_stats", O_RDONLY | O_CLOEXEC);
	char *line;

	guest_check(fd >= 0 && guest_read_all(fd, text, sizeof(text)) == 0 &&
			    (line = strstr(text, "debug_locks:")) &&
			    strtol(line + strlen("debug_locks:"), NULL, 10) == 1,
		    "lockdep has watched until the end");
	close(fd);
}

static void guest_expect_taint(void)
{
	char text[32] = "";
	int fd = open("/proc/sys/kernel/tainted", O_RDONLY | O_CLOEXEC);
	long taint;

	guest_check(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, "taint can be read");
	close(fd);
	taint = strtol(text, NULL, 10);
	guest_check((taint & ~guest_taint) == 0, "taint is %ld: our modules' only", taint);
}

void guest_watch_end(void)
{
	if (access(GUEST_DEBUGFS "/kmemleak", F_OK) == 0)
		guest_expect_no_kmemleak();
	if (access("/proc/lockdep_stats", F_OK) == 0)
		guest_expect_lockdep();
	guest_expect_taint();
}

void guest_mount(void)
{
	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL) ||
	    mount("debug", GUEST_DEBUGFS, "debugfs", 0, NULL))
		_exit(1);
	/*
	 * To record the names of tasks, as it does for every enabled event, the kernel patches
	 * the scheduler's code while that code runs. QEMU 7.2 sometimes keeps a breakpoint that
	 * the kernel has removed, and a processor then hits it for ever.
	 */
	guest_write("tracing/options/record-cmd", "0");
}

void guest_allow_warnings(void)
{
	guest_taint |= GUEST_TAINT_WARNING;
}

pid_t guest_fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

void guest_start_processes(void)
{
	static const pid_t pids[] = { 1000, 1001, 2000, 2001, 2002, 2003 };
	unsigned int started = 0;

	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		pid_t pid = guest_fork_as(pids[i]);

		while (pid == 0)
			pause();
		started += pid == pids[i];
	}
	guest_check(started == sizeof(pids) / sizeof(pids[0]),
		    "%u processes have the numbers that tests use", started);
}

unsigned long guest_number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

bool guest_list_has(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

/* Read a file of /proc/PID. Returns false if the thread has gone. */
static bool read_of_thread(const char *pid, const char *name, char *text, size_t size)
{
	char path[300];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return true;
}

/* The state of a thread: "PID (NAME) S ..." sleeps. 0: its name does not begin so. */
static char thread_state(const char *pid, const char *name)
{
	char text[256];
	const char *begin, *end;

	if (!read_of_thread(pid, "stat", text, sizeof(text)))
		return 0;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || strncmp(begin + 1, name, strlen(name)) != 0)
		return 0;
	return end[1] && end[2] ? end[2] : 0;
}

/*
 * A thread had the state S; does it sleep? The state alone does not tell. One that goes to wait
 * has it before it looks for work, and still has it when it has found some. On a busy host it
 * may lose its processor just there. wchan is 0 as long as the scheduler has the thread to run.
 * If the state is S before and after that, the thread was off the processor in between: so the
 * first S was no look for work, or that work is done by the second one.
 */
static bool is_asleep(const char *pid, const char *name)
{
	char wchan[128];

	return read_of_thread(pid, "wchan", wchan, sizeof(wchan)) && strcmp(wchan, "0") != 0 &&
	       thread_state(pid, name) == 'S';
}

/* Returns whether all of these threads sleep. *ret_there: there is one. */
static bool are_threads_asleep(const char *name, bool *ret_there)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool asleep = true;
	char state;

	*ret_there = false;
	while (processes && asleep && (entry = readdir(processes))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		state = thread_state(entry->d_name, name);
		if (!state)
			continue;
		*ret_there = true;
		asleep = state == 'S' && is_asleep(entry->d_name, name);
	}
	if (processes)
		closedir(processes);
	return asleep;
}

bool guest_wait_for_threads(const char *name)
{
	bool there;

	while (!are_threads_asleep(name, &there))
		usleep(1000);
	return there;
}

long guest_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)now.tv_sec;
}

unsigned long long guest_task_ns(void)
{
	FILE *file = fopen("/proc/schedstat", "re");
	unsigned long long sum = 0, ns;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %llu", &ns) == 1)
			sum += ns;
	if (file)
		fclose(file);
	return sum;
}

/* Not every kernel can switch the power off. A reset also ends QEMU (vm.sh). */
void guest_end(void)
{
	guest_plan();
	sync();
	reboot(RB_AUTOBOOT);
}
