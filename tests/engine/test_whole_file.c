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

/* Two threads, or processes of one PID in two containers that share the folder. */
START_TEST(writers_of_one_pid_do_not_mix)
{
	static struct whole_file second;

	suite_put_file(path, "old");
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	fputs("first", file.stream);
	ck_assert_int_eq(whole_file_open(&second, path, &err), 0);
	fputs("second", second.stream);
	ck_assert_msg(!whole_file_commit(&file, &err), "%s", err.text);
	ck_assert_msg(!whole_file_commit(&second, &err), "%s", err.text);
	expect_only("second");
}
END_TEST

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(name, &st), 0);
	return st.st_mode & 07777;
}

/* A new file has the mode of any new file. A file that is replaced keeps its own. */
START_TEST(modes_are_those_of_a_shells_redirection)
{
	umask(027);
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	ck_assert_int_eq(whole_file_commit(&file, &err), 0);
	ck_assert_int_eq(mode_of(path), 0640);
	ck_assert_int_eq(chmod(path, 0606), 0);
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	ck_assert_int_eq(whole_file_commit(&file, &err), 0);
	ck_assert_int_eq(mode_of(path), 0606);
}
END_TEST

/* A killed writer left a part. It goes when no other writer of the folder is at work. */
START_TEST(parts_of_killed_writers_go)
{
	static struct whole_file next;
	char part[160], other[160];

	snprintf(part, sizeof(part), "%s.tmp-1-01234567", path);
	snprintf(other, sizeof(other), "%s.tmp-1", path); /* no writer's */
	suite_put_file(path, "old");
	ck_assert_int_eq(whole_file_open(&file, path, &err), 0);
	suite_put_file(part, "");
	suite_put_file(other, "");
	ck_assert_int_eq(whole_file_open(&next, path, &err), 0);
	whole_file_abort(&next);
	ck_assert_int_eq(access(part, F_OK), 0);
	whole_file_abort(&file);
	ck_assert_int_eq(whole_file_open(&next, path, &err), 0);
	ck_assert_int_ne(access(part, F_OK), 0);
	whole_file_abort(&next);
	ck_assert_int_eq(unlink(other), 0);
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
	tcase_add_test(tests, writers_of_one_pid_do_not_mix);
	tcase_add_test(tests, modes_are_those_of_a_shells_redirection);
	tcase_add_test(tests, parts_of_killed_writers_go);
	tcase_add_test(tests, an_earlier_failed_write_fails_the_file);
	tcase_add_test(tests, what_is_no_regular_file_is_refused);
	tcase_add_test(tests, an_empty_name_is_a_mistake);
}

int main(void)
{
	return suite_run("whole_file", make_folder, remove_folder, add_tests);
}
