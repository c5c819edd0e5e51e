// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm.ko without memory: each allocation of each thing that user space can ask of it fails
 * once. No module is loaded before or after.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "inject.h"
#include "gvm_ioctl.h"

#define CONTAINER "gvm/2000/0/"

static const struct {
	const char *name;
	const char *value; /* a value to write, or NULL */
} files[] = {
	{ "gmem.limit.high", "8M" },	{ "gmem.limit.low", "2M" },
	{ "gmem.current", NULL },	{ "gmem.peak", NULL },
	{ "gmem.events", NULL },	{ "gmem.swap.current", NULL },
	{ "gmem.clean.current", NULL }, { "hmem.limit", "64M" },
	{ "compute.timeslice", "7ms" }, { "compute.priority", "3" },
	{ "compute.weight", "50" },	{ "compute.freeze", "1" },
	{ "gcgroup.stat", NULL },
};

#define FILES (sizeof(files) / sizeof(files[0]))

static size_t file; /* the control file that an entry is about */
static int fd = -1; /* open file of an entry */

static void close_fd(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

static int open_file(const char *path, int flags)
{
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? errno : 0;
}

/* Modules. */

/* Is there a file in debugfs? The lookup may also need memory. */
static int find_file(const char *path)
{
	char full[192];

	snprintf(full, sizeof(full), GUEST_DEBUGFS "/%s", path);
	return access(full, F_OK) ? errno : 0;
}

/* Load gvm.ko. Its files must be there. */
static int load_gvm(void)
{
	int error = guest_load("gvm", "");

	error = error ? error : find_file("gvm/devices");
	error = error ? error : find_file("gvm/attach");
	return error ? error : find_file("gvm/detach");
}

static void unload_gvm(void)
{
	guest_unload("gvm");
}

static int load_selftest(void)
{
	return guest_load("gvm_selftest", "");
}

static void unload_selftest(void)
{
	guest_unload("gvm_selftest");
}

static int load_second(void)
{
	return guest_write("gvm_selftest/second", "1");
}

static void unload_second(void)
{
	guest_write("gvm_selftest/second", "0");
}

/* Processes. A process that is attached has all of its control files. */

static int attach(void)
{
	int error = guest_write("gvm/attach", "2000 0");
	char path[128];

	for (size_t i = 0; i < FILES && !error; i++) {
		snprintf(path, sizeof(path), CONTAINER "%s", files[i].name);
		error = find_file(path);
	}
	return error;
}

static bool attach_first(void)
{
	return attach() == 0;
}

static int join(void)
{
	return guest_write("gvm/attach", "2001 0 2000");
}

static int detach(void)
{
	return guest_write("gvm/detach", "2000 0");
}

static void detach_all(void)
{
	guest_write("gvm/detach", "2001 0");
	guest_write("gvm/detach", "2000 0");
}

static bool open_space(void)
{
	return open_file(GUEST_DEBUGFS "/gvm_selftest/space", O_WRONLY) == 0;
}

static int attach_space(void)
{
	return write(fd, "1", 1) == 1 ? 0 : errno;
}

static int read_devices(void)
{
	char text[256];

	return guest_read("gvm/devices", text, sizeof(text));
}

/* Control files. */

static int open_control(void)
{
	char path[128];

	snprintf(path, sizeof(path), GUEST_DEBUGFS "/" CONTAINER "%s", files[file].name);
	return open_file(path, files[file].value ? O_RDWR : O_RDONLY);
}

static bool open_control_first(void)
{
	return open_control() == 0;
}

static int read_control(void)
{
	char text[256];

	return pread(fd, text, sizeof(text), 0) > 0 ? 0 : errno;
}

static int write_control(void)
{
	const char *value = files[file].value;
	ssize_t length = (ssize_t)strlen(value);

	return write(fd, value, (size_t)length) == length ? 0 : errno;
}

/* Charge memory for a limit to take. */
static bool charge_first(void)
{
	return guest_write("gvm/2000/0/gmem.limit.high", "max") == 0 &&
	       guest_write("gvm_selftest/charge", "2000 6") == 0;
}

static int cut_limit(void)
{
	return guest_write("gvm/2000/0/gmem.limit.high", "2M");
}

static void uncharge(void)
{
	guest_write("gvm_selftest/uncharge", "2000 1");
}

/* Pressure descriptors. init is attached by its address space. */

static int space_fd = -1, dev_fd = -1;

static int open_dev(void)
{
	return open_file("/dev/gvm", O_RDONLY);
}

static int listen_for_pressure(void)
{
	struct gvm_pressure_request request = { .gpu = 0, .flags = O_NONBLOCK };

	fd = ioctl(dev_fd, GVM_IOCTL_PRESSURE_OPEN, &request);
	return fd < 0 ? errno : 0;
}

static bool listen_first(void)
{
	return listen_for_pressure() == 0 && guest_write("gvm_selftest/charge", "1 2") == 0 &&
	       guest_write("gvm/1/0/gmem.limit.high", "2M") == 0;
}

static int poll_and_read(void)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	struct gvm_pressure_record record;

	if (poll(&pollfd, 1, 0) < 0)
		return errno;
	return read(fd, &record, sizeof(record)) == sizeof(record) ? 0 : errno;
}

static void stop_listening(void)
{
	close_fd();
	guest_write("gvm/1/0/gmem.limit.high", "max");
	guest_write("gvm_selftest/uncharge", "1 1");
}

static const struct inject_entry load_entries[] = {
	{ .name = "load gvm", .run = load_gvm, .undo = unload_gvm },
};

static const struct inject_entry selftest_entries[] = {
	{ .name = "load gvm_selftest", .run = load_selftest, .undo = unload_selftest },
};

static const struct inject_entry process_entries[] = {
	{ .name = "register a GPU", .run = load_second, .undo = unload_second },
	{ .name = "attach", .run = attach, .undo = detach_all },
	{ .name = "attach to a group",
	  .prepare = attach_first,
	  .run = join,
	  .undo = detach_all },
	{ .name = "detach", .prepare = attach_first, .run = detach, .undo = detach_all },
	{ .name = "attach an address space",
	  .prepare = open_space,
	  .run = attach_space,
	  .undo = close_fd },
	{ .name = "read devices", .run = read_devices },
};

static const struct inject_entry control_entries[] = {
	{ .name = "open", .run = open_control, .undo = close_fd },
	{ .name = "read",
	  .prepare = open_control_first,
	  .run = read_control,
	  .undo = close_fd },
	{ .name = "write",
	  .prepare = open_control_first,
	  .run = write_control,
	  .undo = close_fd },
};

static const struct inject_entry reclaim_entries[] = {
	{ .name = "a cut of a limit",
	  .prepare = charge_first,
	  .run = cut_limit,
	  .undo = uncharge },
};

static const struct inject_entry pressure_entries[] = {
	{ .name = "open /dev/gvm", .run = open_dev, .undo = close_fd },
	{ .name = "open a pressure descriptor", .run = listen_for_pressure, .undo = close_fd },
	{ .name = "poll and read a pressure descriptor",
	  .prepare = listen_first,
	  .run = poll_and_read,
	  .undo = stop_listening },
};

static void inject_all(const struct inject_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		inject_entry(&entries[i]);
}

#define INJECT_ALL(entries) inject_all(entries, sizeof(entries) / sizeof(entries[0]))

/* All that can be done with each control file. */
static void inject_into_controls(void)
{
	for (file = 0; file < FILES; file++) {
		for (size_t i = 0; i < (files[file].value ? 3 : 2); i++) {
			struct inject_entry entry = control_entries[i];
			char name[64];

			snprintf(name, sizeof(name), "%s %s", entry.name, files[file].name);
			entry.name = name;
			inject_entry(&entry);
		}
	}
	guest_write("gvm/2000/0/compute.freeze", "0");
}

static void inject_into_pressure(void)
{
	dev_fd = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	space_fd = open(GUEST_DEBUGFS "/gvm_selftest/space", O_WRONLY | O_CLOEXEC);
	guest_check(dev_fd >= 0 && write(space_fd, "1", 1) == 1, "init attaches");
	INJECT_ALL(pressure_entries);
	close(space_fd);
	close(dev_fd);
}

void guest_test_injection(void)
{
	if (!inject_begin())
		return;
	INJECT_ALL(load_entries);
	guest_expect_load("gvm", 0);
	INJECT_ALL(selftest_entries);
	guest_expect_load("gvm_selftest", 0);
	INJECT_ALL(process_entries);
	guest_expect_write("gvm/attach", "2000 0", 0);
	inject_into_controls();
	INJECT_ALL(reclaim_entries);
	guest_expect_write("gvm/detach", "2000 0", 0);
	inject_into_pressure();
	guest_expect_read("gvm_selftest/check", "ok\n");
	guest_expect_unload("gvm_selftest", 0);
	guest_expect_unload("gvm", 0);
	inject_end();
}
