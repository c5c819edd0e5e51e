// SPDX-License-Identifier: MIT OR GPL-2.0
/* The folder of runs: which entries a process finds there after it has tidied up. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figures/cache_folder.h"
#include "suite.h"

#define ENTRIES 6

static char folder[] = "/tmp/test_cache_folder.XXXXXX";

/* The path of entry @i: the names of entries are 32 hexadecimal digits. */
static const char *entry(int i)
{
	static char path[sizeof(folder) + 40];

	snprintf(path, sizeof(path), "%s/%032x", folder, (unsigned)i);
	return path;
}

/* Entry 0 was used longest ago. */
static void make_entries(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < ENTRIES; i++) {
		struct timespec used[2] = { { .tv_sec = 1000 + i }, { .tv_sec = 1000 + i } };

		ck_assert_int_eq(mkdir(entry(i), 0700), 0);
		ck_assert_int_eq(utimensat(AT_FDCWD, entry(i), used, 0), 0);
	}
}

/* Enter the folder once, and expect the last @stay entries alone to be left. */
static void expect_left(size_t coming, size_t most, size_t held, int stay)
{
	int lock = cache_folder_enter(folder, coming, most, held);

	ck_assert_int_ge(lock, 0);
	cache_folder_leave(lock);
	for (int i = 0; i < ENTRIES; i++)
		ck_assert_int_eq(access(entry(i), F_OK) == 0, i >= ENTRIES - stay);
	cache_folder_remove(folder);
}

START_TEST(entries_used_longest_ago_make_room)
{
	make_entries();
	expect_left(1, 5, 0, 4);
}
END_TEST

START_TEST(entries_that_the_caller_still_reads_stay)
{
	make_entries();
	expect_left(10, 5, 2, 2);
}
END_TEST

START_TEST(a_folder_without_bound_keeps_all)
{
	make_entries();
	expect_left(10, SIZE_MAX, 0, ENTRIES);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, entries_used_longest_ago_make_room);
	tcase_add_test(tests, entries_that_the_caller_still_reads_stay);
	tcase_add_test(tests, a_folder_without_bound_keeps_all);
}

int main(void)
{
	return suite_run("cache_folder", NULL, NULL, add_tests);
}
