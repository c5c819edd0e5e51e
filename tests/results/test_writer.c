// SPDX-License-Identifier: MIT OR GPL-2.0
/* The files of a run, and the folder after a failed write. */
#include "results_fixture.h"
#include "results/folder.h"
#include "suite.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many entries @path has; -1: it does not exist. */
static int count_entries(const char *path)
{
	DIR *stream = opendir(path);
	int count = -2;

	if (!stream)
		return -1;
	while (readdir(stream))
		count++;
	closedir(stream);
	return count;
}

START_TEST(requests_csv_is_golden)
{
	char text[2048];

	must_write();
	get_file(RESULTS_REQUESTS, text, sizeof(text));
	ck_assert_str_eq(text,
			 "container,id,kind,arrival_ns,first_ns,finish_ns,prompt_tokens,"
			 "output_tokens,start_ns,preemptions,reason,outcome\n"
			 "vllm,0,request,1000000000,1100000000,2000000000,472,18,"
			 "1000000000,0,,completed\n"
			 "vllm,1,request,1000000000,1200000000,3000000000,7,2,"
			 "1100000000,0,,completed\n"
			 "vllm,2,request,2000000000,3000000000,4000000000,8,3,"
			 "2900000000,0,,completed\n"
			 "vllm,3,request,2000000000,3000000001,5000000000,9,4,"
			 "2900000000,2,,completed\n"
			 "vllm,4,request,3000000000,,,5,0,,0,refused,failed\n"
			 "vllm,5,request,9000000000,9001000000,,6,1,9000000000,0,,dropped\n"
			 "diffusion,0,image,0,,5000000000,,,,,,completed\n"
			 "diffusion,1,image,5000000000,,9000000000,,,,,,completed\n"
			 "diffusion,2,image,9000000000,,,,,,,,dropped\n");
}
END_TEST

/* The second interval is shorter than the first. */
START_TEST(timeline_csv_is_golden)
{
	char text[2048];

	must_write();
	get_file(RESULTS_TIMELINE, text, sizeof(text));
	ck_assert_str_eq(
		text,
		"time_ns,container,resident_bytes,swapped_bytes,gpu_busy_ns,gpu_share,"
		"stall_cpu_ns,stall_d2h_ns,stall_h2d_ns,blocked_ns,evictions,"
		"h2d_bytes,d2h_bytes,link_h2d_use,link_d2h_use,pending_kernels\n"
		"5000000000,vllm,4096,0,1000000000,0.200000,2000000,1000000,7000000,4000000,6,"
		"25000000000,0,0.500000,0.000000,3\n"
		"5000000000,diffusion,0,0,2000000000,0.400000,0,0,0,0,0,"
		"0,1,0.000000,0.000000,0\n"
		"8000000000,vllm,0,65536,1000000000,0.333333,5000000,0,0,0,0,"
		"0,0,0.000000,0.000000,0\n"
		"8000000000,diffusion,0,0,2000000000,0.666667,0,0,0,0,0,"
		"0,0,0.000000,0.000000,0\n");
}
END_TEST

START_TEST(config_json_carries_the_hash)
{
	json_t *root;

	must_write();
	ck_assert_int_eq(
		results_load_json(path_of(RESULTS_CONFIG), RESULTS_WRITTEN, &root, &error), 0);
	ck_assert_str_eq(json_string_value(json_object_get(root, "hash")), config.hash);
	ck_assert_ptr_nonnull(json_object_get(root, "gpu"));
	json_decref(root);
}
END_TEST

START_TEST(result_files_are_replaced_and_others_left)
{
	char text[64];
	struct stat info;

	must_write();
	put_file("notes.txt", "mine");
	put_file(RESULTS_SUMMARY, "{ \"config_hash\": \"earlier\", \"version\": \"0\" }");
	must_write();
	ck_assert_int_eq(count_entries(folder), 5); /* and no temporary file */
	get_file("notes.txt", text, sizeof(text));
	ck_assert_str_eq(text, "mine");
	get_file(RESULTS_SUMMARY, text, sizeof(text));
	ck_assert_ptr_null(strstr(text, "earlier"));
	ck_assert_int_eq(stat(path_of(RESULTS_SUMMARY), &info), 0);

	ck_assert_uint_eq(info.st_mode & 0400u, 0400u);
}
END_TEST

START_TEST(an_unwritable_folder_is_named_and_nothing_made)
{
	struct writer writer;
	char expected[512];
	char file[128];

	snprintf(file, sizeof(file), "%s/file", above);
	ck_assert_int_eq(fclose(fopen(file, "w")), 0);
	snprintf(folder, sizeof(folder), "%s/new/../file/deep/er", above);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), -SIM_EXIT_RUNTIME);
	snprintf(expected, sizeof(expected), "%s: cannot write results there: Not a directory",
		 folder);
	ck_assert_str_eq(error.text, expected);
	ck_assert_int_eq(count_entries(above), 1);
}
END_TEST

START_TEST(a_name_that_is_too_long_is_shown_in_part_with_the_reason)
{
	char name[PATH_MAX + 1] = "";
	struct writer writer;

	memset(name, 'x', PATH_MAX);
	ck_assert_int_eq(results_prepare(&writer, name, &error), -SIM_EXIT_RUNTIME);
	name[60] = '\0';
	ck_assert(!strncmp(error.text, name, 60));
	ck_assert_str_eq(error.text + 60,
			 "...: cannot write results there: File name too long");
}
END_TEST

START_TEST(a_folder_without_permission_is_named)
{
	struct writer writer;

	if (!geteuid())
		return; /* root may write anywhere */
	ck_assert_int_eq(chmod(above, 0555), 0);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), -SIM_EXIT_RUNTIME);
	ck_assert_ptr_nonnull(strstr(error.text, "Permission denied"));
	ck_assert_int_eq(chmod(above, 0755), 0);
	ck_assert_int_eq(count_entries(above), 0);
}
END_TEST

START_TEST(a_folder_in_a_files_place_is_found_before_simulating)
{
	struct writer writer;
	char expected[512];

	must_write();
	ck_assert_int_eq(unlink(path_of(RESULTS_TIMELINE)), 0);
	ck_assert_int_eq(mkdir(path_of(RESULTS_TIMELINE), 0777), 0);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), -SIM_EXIT_RUNTIME);
	snprintf(expected, sizeof(expected), "%s: cannot be replaced: Is a directory",
		 path_of(RESULTS_TIMELINE));
	ck_assert_str_eq(error.text, expected);
	ck_assert_int_eq(count_entries(folder), 4);
}
END_TEST

START_TEST(abandoned_folders_go_and_found_ones_stay)
{
	struct writer writer;
	char parent[128];

	ck_assert_int_eq(results_prepare(&writer, folder, &error), 0);
	ck_assert_int_eq(count_entries(folder), 0);
	writer_abort(&writer);
	ck_assert_int_eq(count_entries(above), 0);
	snprintf(parent, sizeof(parent), "%s/results", above);
	ck_assert_int_eq(mkdir(parent, 0777), 0);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), 0);
	writer_abort(&writer);
	ck_assert_int_eq(count_entries(parent), 0);
}
END_TEST

static void put_part(const char *name)
{
	FILE *stream = fopen(path_of(name), "w");

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(fclose(stream), 0);
}

/*
 * A killed process left a part of a file. Its PID tells nothing: that of the first one lives
 * again, and a process in another container may have the other one.
 */
START_TEST(parts_of_killed_writers_go_when_no_other_writer_is_at_work)
{
	struct writer at_work, next;

	ck_assert_int_eq(writer_open(&at_work, folder, &error), 0);
	ck_assert_int_eq(writer_begin(&at_work, "mine.csv", &error), 0);
	ck_assert_int_eq(writer_end(&at_work, &error), 0);
	put_part("a.csv.tmp-1-01234567");
	put_part("b.csv.tmp-4999999-89abcdef");
	put_part("notes.tmp-4999999"); /* no writer's */
	ck_assert_int_eq(writer_open(&next, folder, &error), 0);
	writer_remove_stale(&next);
	ck_assert_int_eq(count_entries(folder), 4);
	ck_assert_int_eq(writer_commit(&at_work, &error), 0);
	writer_remove_stale(&next);
	ck_assert_int_eq(count_entries(folder), 2);
	ck_assert_int_eq(access(path_of("mine.csv"), F_OK), 0);
	ck_assert_int_eq(access(path_of("notes.tmp-4999999"), F_OK), 0);
	writer_abort(&next);
}
END_TEST

/* The folder has gone since it was opened. */
START_TEST(a_file_that_cannot_be_made_is_named_as_the_user_knows_it)
{
	struct writer writer;
	char expected[512];

	ck_assert_int_eq(writer_open(&writer, folder, &error), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(writer_begin(&writer, "mine.csv", &error), -SIM_EXIT_RUNTIME);
	snprintf(expected, sizeof(expected), "%s: cannot be made: No such file or directory",
		 path_of("mine.csv"));
	ck_assert_str_eq(error.text, expected);
	writer_abort(&writer);
}
END_TEST

START_TEST(a_run_removes_what_killed_ones_have_left)
{
	must_write();
	put_part("requests.csv.tmp-4999999-89abcdef");
	must_write();
	ck_assert_int_eq(count_entries(folder), 4);
}
END_TEST

static int write_trace(struct writer *writer, const struct machine *unused,
		       struct sim_error *err)
{
	int rc = writer_begin(writer, RESULTS_TRACE, err);

	(void)unused;
	return rc ? rc : writer_end(writer, err);
}

/* Write results with a trace, but @name cannot be put in place. */
static void write_until(const char *name)
{
	struct summary summary;
	struct writer writer;

	must_compute(&summary);
	ck_assert_msg(!results_prepare(&writer, folder, &error), "%s", error.text);
	unlink(path_of(name));
	ck_assert_int_eq(mkdir(path_of(name), 0777), 0);
	ck_assert_int_eq(results_write(&writer, &machine, &summary, write_trace, &error),
			 -SIM_EXIT_RUNTIME);
	ck_assert_int_eq(rmdir(path_of(name)), 0);
	summary_destroy(&summary);
}

/* A kill between two renames, and the next run into the same folder. */
START_TEST(results_that_end_half_way_are_none_and_are_replaced)
{
	static const char *const names[] = { RESULTS_REQUESTS, RESULTS_TIMELINE, RESULTS_TRACE,
					     RESULTS_SUMMARY };
	struct folder half;

	for (size_t before = 0; before < 2; before++)
		for (size_t i = 0; i < COUNT(names); i++) {
			if (before)
				must_write();
			write_until(names[i]);
			ck_assert_int_eq(folder_load(&half, folder, &error), -SIM_EXIT_USER);
			ck_assert_ptr_nonnull(strstr(error.text, RESULTS_SUMMARY));
			must_write();
			ck_assert_int_eq(count_entries(folder), 4);
			suite_remove_folder(folder);
		}
}
END_TEST

/* Both forms of a file never stand beside each other under a new summary. */
START_TEST(the_older_form_of_a_file_goes_before_the_summary_comes)
{
	struct summary summary;
	struct writer writer;

	must_write();
	must_compute(&summary);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), 0);
	writer.packs = true;
	unlink(path_of(RESULTS_SUMMARY));
	ck_assert_int_eq(mkdir(path_of(RESULTS_SUMMARY), 0777), 0);
	ck_assert_int_eq(results_write(&writer, &machine, &summary, NULL, &error),
			 -SIM_EXIT_RUNTIME);
	ck_assert_int_eq(access(path_of(RESULTS_TIMELINE ".zst"), F_OK), 0);
	ck_assert_int_eq(access(path_of(RESULTS_TIMELINE), F_OK), -1);
	summary_destroy(&summary);
}
END_TEST

/* Containers that share a folder may have processes of the same PID. */
START_TEST(writers_of_one_pid_do_not_mix)
{
	static const char *const texts[] = { "first", "second" };
	struct writer writers[2];
	char text[16];

	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(writer_open(&writers[i], folder, &error), 0);
		ck_assert_int_eq(writer_begin(&writers[i], "a.txt", &error), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		writer_printf(&writers[i], "%s", texts[i]);
		ck_assert_int_eq(writer_end(&writers[i], &error), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		ck_assert_msg(!writer_commit(&writers[i], &error), "%s", error.text);
		get_file("a.txt", text, sizeof(text));
		ck_assert_str_eq(text, texts[i]);
	}
	ck_assert_int_eq(count_entries(folder), 1);
}
END_TEST

/* Write the files "a" and "b" with this text, but do not put them in place. */
static void prepare_two(struct writer *writer, const char *text)
{
	ck_assert_int_eq(writer_open(writer, folder, &error), 0);
	for (const char *name = "a\0b\0"; *name; name += 2) {
		ck_assert_int_eq(writer_begin(writer, name, &error), 0);
		writer_printf(writer, "%s", text);
		ck_assert_int_eq(writer_end(writer, &error), 0);
	}
}

/* Two runs into one folder that end at once: the files of one stay, of all the same one. */
START_TEST(two_writers_put_their_files_in_place_one_after_the_other)
{
	struct writer first, second;
	char text[16];
	int status;
	pid_t child;

	prepare_two(&first, "first");
	prepare_two(&second, "second");
	writer_exclude(&first);
	child = fork();
	if (!child)
		_exit(writer_commit(&second, &error) != 0);
	/* Give the second one time to come between, which it may not. */
	for (int i = 0; i < 100 && !waitpid(child, &status, WNOHANG); i++)
		usleep(1000);
	ck_assert_int_eq(writer_commit(&first, &error), 0);
	waitpid(child, &status, 0);
	get_file("a", text, sizeof(text));
	ck_assert_str_eq(text, "second");
	get_file("b", text, sizeof(text));
	ck_assert_str_eq(text, "second");
	close(second.lock);
	ck_assert_int_eq(count_entries(folder), 2);
}
END_TEST

/*
 * Limit the length of files: the kernel then says "File too large", as it says "No space" of a
 * full disk. No assertion may fail meanwhile, since libcheck keeps its messages in a file.
 */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		abort();
}

START_TEST(a_full_disk_is_named_and_leaves_the_old_results)
{
	struct summary summary;
	struct writer writer;
	char expected[512], before[4096], after[4096];
	int rc;

	must_write();
	get_file(RESULTS_SUMMARY, before, sizeof(before));
	machine.wall_ns *= 2;
	must_compute(&summary);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), 0);
	limit_files(400); /* config.json fits, requests.csv does not */
	rc = results_write(&writer, &machine, &summary, NULL, &error);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(rc, -SIM_EXIT_RUNTIME);
	snprintf(expected, sizeof(expected), "%s: cannot be written: File too large",
		 path_of(RESULTS_REQUESTS));
	ck_assert_str_eq(error.text, expected);
	get_file(RESULTS_SUMMARY, after, sizeof(after));
	ck_assert_str_eq(before, after);
	ck_assert_int_eq(count_entries(folder), 4);
	summary_destroy(&summary);
}
END_TEST

START_TEST(a_disk_that_fills_up_leaves_no_new_folder)
{
	struct summary summary;
	struct writer writer;
	int rc;

	must_compute(&summary);
	ck_assert_int_eq(results_prepare(&writer, folder, &error), 0);
	limit_files(400);
	rc = results_write(&writer, &machine, &summary, NULL, &error);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(rc, -SIM_EXIT_RUNTIME);
	ck_assert_int_eq(count_entries(above), 0);
	summary_destroy(&summary);
}
END_TEST

START_TEST(a_full_disk_is_found_before_simulating)
{
	struct writer writer;
	int rc;

	limit_files(100);
	rc = results_prepare(&writer, folder, &error);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(rc, -SIM_EXIT_RUNTIME);
	ck_assert_int_eq(count_entries(above), 0);
}
END_TEST

/* Text may fail when the buffer is flushed, or while it is printed. */
START_TEST(every_way_to_fail_is_noticed)
{
	static const size_t lengths[] = { 200, 100000 };
	struct writer writer;
	int rc;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		ck_assert_int_eq(writer_open(&writer, folder, &error), 0);
		ck_assert_int_eq(writer_begin(&writer, "file", &error), 0);
		limit_files(100);
		for (size_t n = 0; n < lengths[i]; n++)
			writer_printf(&writer, "x");
		rc = writer_end(&writer, &error);
		limit_files(RLIM_INFINITY);
		ck_assert_int_eq(rc, -SIM_EXIT_RUNTIME);
		ck_assert_ptr_nonnull(strstr(error.text, "/file: cannot be written: File too"));
		writer_abort(&writer);
		ck_assert_int_eq(count_entries(above), 0);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, requests_csv_is_golden);
	tcase_add_test(tests, timeline_csv_is_golden);
	tcase_add_test(tests, config_json_carries_the_hash);
	tcase_add_test(tests, result_files_are_replaced_and_others_left);
	tcase_add_test(tests, an_unwritable_folder_is_named_and_nothing_made);
	tcase_add_test(tests, a_name_that_is_too_long_is_shown_in_part_with_the_reason);
	tcase_add_test(tests, a_folder_without_permission_is_named);
	tcase_add_test(tests, a_folder_in_a_files_place_is_found_before_simulating);
	tcase_add_test(tests, abandoned_folders_go_and_found_ones_stay);
	tcase_add_test(tests, parts_of_killed_writers_go_when_no_other_writer_is_at_work);
	tcase_add_test(tests, a_file_that_cannot_be_made_is_named_as_the_user_knows_it);
	tcase_add_test(tests, a_run_removes_what_killed_ones_have_left);
	tcase_add_test(tests, results_that_end_half_way_are_none_and_are_replaced);
	tcase_add_test(tests, the_older_form_of_a_file_goes_before_the_summary_comes);
	tcase_add_test(tests, writers_of_one_pid_do_not_mix);
	tcase_add_test(tests, two_writers_put_their_files_in_place_one_after_the_other);
	tcase_add_test(tests, a_full_disk_is_named_and_leaves_the_old_results);
	tcase_add_test(tests, a_disk_that_fills_up_leaves_no_new_folder);
	tcase_add_test(tests, a_full_disk_is_found_before_simulating);
	tcase_add_test(tests, every_way_to_fail_is_noticed);
}

int main(void)
{
	return fixture_run("writer", add_tests);
}
