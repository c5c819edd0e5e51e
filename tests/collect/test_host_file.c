// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reading one control file of a host. The test has its own read() (ld --wrap), which behaves as
 * debugfs does: short pieces, interruptions, and an error when the process has gone.
 */
#include "collect/host_file.h"
#include "collect_fixture.h"
#include "core_world.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t piece = 4096; /* the most that a read gives */
static int interrupted_every;
static int fails_after = -1; /* calls */
static int fails_with;
static int calls;

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	calls++;
	if (interrupted_every && calls % interrupted_every == 0) {
		errno = EINTR;
		return -1;
	}
	if (fails_after >= 0 && calls > fails_after) {
		errno = fails_with;
		return -1;
	}
	return __real_read(fd, buffer, size < piece ? size : piece);
}

static int dir;
static struct host_value value;

static void setup(void)
{
	dir = open(tree, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(dir, 0);
}

static void teardown(void)
{
	close(dir);
}

/* Read the control file of this name into value. */
static int read_file(const char *name)
{
	return host_file_read(dir, gvm_control_find(name), &value);
}

/* Contents of the files of sim/core, and their values. */
static const struct {
	const char *name;
	const char *content;
	const char *text;
	u64 number;
} good[] = {
	{ "gmem.current", "4194304\n", "4194304", 4194304 },
	{ "gmem.current", "0", "0", 0 },
	{ "gmem.limit.high", "max\n", "max", U64_MAX },
	{ "gmem.limit.high", "18446744073709551615\n", "18446744073709551615", U64_MAX },
	{ "compute.timeslice", "2048us\n", "2048us", 2048 },
	{ "compute.priority", "16\n", "16", 16 },
	{ "gmem.events", "high 3\noom 0\n", "high 3 oom 0", 0 },
	{ "gcgroup.stat",
	  "nr_submitted_kernels: 12\nnr_ended_kernels: 7\nnr_pending_kernels: 5\n",
	  "nr_submitted_kernels: 12 nr_ended_kernels: 7 nr_pending_kernels: 5", 5 },
};

START_TEST(what_the_core_shows_is_understood)
{
	tree_put(good[_i].name, good[_i].content);
	ck_assert_int_eq(read_file(good[_i].name), 0);
	ck_assert_str_eq(value.text, good[_i].text);
	ck_assert_uint_eq(value.number, good[_i].number);
}
END_TEST

START_TEST(short_and_interrupted_reads_fit_together)
{
	piece = 3;
	interrupted_every = 4;
	tree_put(good[_i].name, good[_i].content);
	ck_assert_int_eq(read_file(good[_i].name), 0);
	ck_assert_str_eq(value.text, good[_i].text);
	ck_assert_uint_eq(value.number, good[_i].number);
	ck_assert_int_gt(calls, 1);
}
END_TEST

/* debugfs says EIO, the public GVM driver ENODEV. */
START_TEST(a_process_that_ends_in_the_middle_of_a_read_is_gone)
{
	static const int errors[] = { EIO, ENODEV };

	piece = 2;
	fails_after = 1;
	fails_with = errors[_i];
	tree_put("gmem.current", "4194304\n");
	ck_assert_int_eq(read_file("gmem.current"), -ENOENT);
}
END_TEST

START_TEST(another_error_is_what_it_is)
{
	fails_after = 0;
	fails_with = ENOMEM;
	tree_put("gmem.current", "4194304\n");
	ck_assert_int_eq(read_file("gmem.current"), -ENOMEM);
	ck_assert_int_eq(read_file("gmem.peak"), -ENOENT);
}
END_TEST

START_TEST(names_of_the_public_driver_are_aliases)
{
	tree_put("memory.current", "5\n");
	tree_put("memory.swap.current", "6\n");
	tree_put("memory.limit", "7\n");
	ck_assert_int_eq(read_file("gmem.current"), 0);
	ck_assert_uint_eq(value.number, 5);
	ck_assert_int_eq(read_file("gmem.swap.current"), 0);
	ck_assert_uint_eq(value.number, 6);
	ck_assert_int_eq(read_file("gmem.limit.high"), 0);
	ck_assert_uint_eq(value.number, 7);
}
END_TEST

static const struct {
	const char *name;
	const char *content;
	const char *text; /* as a message shows it */
} bad[] = {
	{ "gmem.current", "", "" },
	{ "gmem.current", "\n", "" },
	{ "gmem.current", "-1\n", "-1" },
	{ "gmem.current", "4M\n", "4M" },
	{ "gmem.current", "5\n6\n", "5 6" },
	{ "gmem.current", " 5\n", " 5" },
	{ "gmem.current", "18446744073709551616\n", "18446744073709551616" },
	{ "gmem.current", "a,\"b\x01\n", "a??b?" },
	{ "compute.priority", "max\n", "max" },
	{ "compute.timeslice", "2048\n", "2048" },
	{ "compute.timeslice", "us\n", "us" },
	{ "compute.timeslice", "2ms\n", "2ms" },
	{ "gmem.events", "high\n", "high" },
	{ "gmem.events", "high 3\n\noom 0\n", "high 3  oom 0" },
	{ "gmem.events", "high 3 4\n", "high 3 4" },
	{ "gmem.events", ": 4\n", ": 4" },
	{ "gcgroup.stat", "nr_submitted_kernels: 12\n", "nr_submitted_kernels: 12" },
};

START_TEST(nonsense_is_told_from_values)
{
	tree_put(bad[_i].name, bad[_i].content);
	ck_assert_int_eq(read_file(bad[_i].name), -EINVAL);
	ck_assert_str_eq(value.text, bad[_i].text);
	ck_assert_str_ne(host_file_allowed(gvm_control_find(bad[_i].name)), "");
}
END_TEST

START_TEST(half_a_number_is_no_number)
{
	char text[2 * GVM_CONTROL_TEXT_MAX];
	size_t length = GVM_CONTROL_TEXT_MAX - 1 + (size_t)_i;

	memset(text, '0', sizeof(text));
	text[length] = '\0';
	tree_put("gmem.current", text);
	ck_assert_int_eq(read_file("gmem.current"), _i ? -EINVAL : 0);
	ck_assert_uint_lt(strlen(value.text), GVM_CONTROL_TEXT_MAX);
}
END_TEST

START_TEST(a_zero_byte_does_not_end_a_number)
{
	FILE *stream = fopen(tree_path("gmem.current"), "w");

	ck_assert_uint_eq(fwrite("12\0"
				 "34\n",
				 1, 6, stream),
			  6);
	fclose(stream);
	ck_assert_int_eq(read_file("gmem.current"), -EINVAL);
}
END_TEST

START_TEST(what_is_no_file_is_not_waited_for)
{
	ck_assert_int_eq(mkfifo(tree_path("gmem.current"), 0666), 0);
	tree_mkdir("gmem.peak");
	ck_assert_int_eq(read_file("gmem.current"), -EINVAL);
	ck_assert_int_eq(read_file("gmem.peak"), -EINVAL);
}
END_TEST

START_TEST(settings_are_the_files_that_can_be_written)
{
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);

		ck_assert_int_eq(host_file_is_setting(file), file->store != NULL);
		ck_assert_str_ne(host_file_allowed(file), "");
	}
}
END_TEST

/* The content comes from the core itself, not from a copy in this test. */
START_TEST(what_the_core_itself_writes_is_read_back)
{
	struct gvm_container *container;
	char text[GVM_CONTROL_TEXT_MAX];

	world_init(WORLD_CHUNKS);
	container = world_attach(1);
	world_charge_many(container, 3);
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const char *name = gvm_control_at(i)->name;

		ck_assert_int_gt(gvm_control_read(container, name, text, sizeof(text)), 0);
		tree_put(name, text);
		ck_assert_msg(!read_file(name), "%s: %s", name, text);
	}
	ck_assert_int_eq(read_file("gmem.current"), 0);
	ck_assert_uint_eq(value.number, 3 * GVM_CHUNK_BYTES);
	world_detach(container);
	world_destroy();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, what_the_core_shows_is_understood, 0, ARRAY_SIZE(good));
	tcase_add_loop_test(tests, short_and_interrupted_reads_fit_together, 0,
			    ARRAY_SIZE(good));
	tcase_add_loop_test(tests, a_process_that_ends_in_the_middle_of_a_read_is_gone, 0, 2);
	tcase_add_test(tests, another_error_is_what_it_is);
	tcase_add_test(tests, names_of_the_public_driver_are_aliases);
	tcase_add_loop_test(tests, nonsense_is_told_from_values, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(tests, half_a_number_is_no_number, 0, 2);
	tcase_add_test(tests, a_zero_byte_does_not_end_a_number);
	tcase_add_test(tests, what_is_no_file_is_not_waited_for);
	tcase_add_test(tests, settings_are_the_files_that_can_be_written);
	tcase_add_test(tests, what_the_core_itself_writes_is_read_back);
}

int main(void)
{
	return tree_run("host_file", add_tests, setup, teardown);
}
