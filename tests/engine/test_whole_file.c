// SPDX-License-Identifier: MIT OR GPL-2.0
/* Files that appear whole or not at all, whatever stands there and whatever fails. */
#include "engine/whole_file.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "suite.h"

static char folder[64], path[128];
static struct whole_file file;
static struct sim_error err;

static void make_folder(void)
{
	suite_make_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/out", folder);
}

static void remove_folder(void)
{
	suite_remove_folder(folder);
}

/* The folder holds one file with this text, and nothing else. */
static void expect_only(const char *text)
{
	char content[64] = "";
	FILE *stream = fopen(path, "r");
	DIR *names = opendir(folder);
	int count = 0;

	ck_assert_ptr_nonnull(stream);
	ck_assert_ptr_eq(fgets(content, sizeof(content), stream), content);
	fclose(stream);
	ck_assert_str_eq(content, text);
	while (readdir(names))
		count++;
	closedir(names);
	ck_assert_int_eq(count, 3); /* it, "." and ".." */
}

START_TEST(the_file_is_there_when_it_is_whole)
{
	suite_put_file(path, "old");
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	fputs("new", file.stream);
	fflush(file.stream);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(whole_file_commit(&file, &err), 0);
	expect_only("new");
}
END_TEST

START_TEST(an_aborted_file_leaves_the_old_one)
{
	suite_put_file(path, "old");
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	fputs("new", file.stream);
	whole_file_abort(&file);
	expect_only("old");
}
END_TEST

/* The first write fails like that of a full disk. A later one would find room. */
START_TEST(an_earlier_failed_write_fails_the_file)
{
	struct rlimit none = { .rlim_cur = 1, .rlim_max = RLIM_INFINITY };
	struct rlimit all = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	suite_put_file(path, "old");
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	setvbuf(file.stream, NULL, _IONBF, 0);
	setrlimit(RLIMIT_FSIZE, &none);
	fputs("new", file.stream);
	setrlimit(RLIMIT_FSIZE, &all);
	fputs("er", file.stream);
	ck_assert_int_eq(whole_file_commit(&file, &err), -SIM_EXIT_RUNTIME);
	ck_assert_ptr_nonnull(strstr(err.text, "/out: cannot write: "));
	expect_only("old");
}
END_TEST

/* As root, a rename over /dev/null would break the machine. */
START_TEST(what_is_no_regular_file_is_refused)
{
	struct stat st;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(whole_file_open(&file, path, &err), -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(err.text, "/out: cannot write: is not a regular file"));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
}
END_TEST

START_TEST(an_empty_name_is_a_mistake)
{
	ck_assert_int_eq(whole_file_open(&file, "", &err), -SIM_EXIT_USER);
	ck_assert_str_eq(err.text, "the name of the file to write is empty, allowed: the path "
				   "of a file");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, the_file_is_there_when_it_is_whole);
	tcase_add_test(tests, an_aborted_file_leaves_the_old_one);
	tcase_add_test(tests, an_earlier_failed_write_fails_the_file);
	tcase_add_test(tests, what_is_no_regular_file_is_refused);
	tcase_add_test(tests, an_empty_name_is_a_mistake);
}

int main(void)
{
	return suite_run("whole_file", make_folder, remove_folder, add_tests);
}
