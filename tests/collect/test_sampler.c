// SPDX-License-Identifier: MIT OR GPL-2.0
/* Samples of a tree of control files that changes between them. Dates are the test's own. */
#include "collect/sampler.h"
#include "collect_fixture.h"
#include "engine/error.h"
#include "results/results.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS	 1000000ull
#define GROUP	 "9000001"
#define VLLM_DIR GROUP "/0"

static struct sampler sampler;
static struct sim_error error;
static u64 now_ns;

static void setup(void)
{
	sampler_init(&sampler, tree);
}

static void teardown(void)
{
	sampler_destroy(&sampler);
}

/* The container "vllm" of process NOBODY, on any GPU. */
static void name_vllm(void)
{
	ck_assert_int_eq(sampler_add(&sampler, "vllm", NOBODY, SAMPLER_ANY_GPU, &error), 0);
}

static void make_vllm(void)
{
	tree_mkdir(GROUP);
	tree_mkdir(VLLM_DIR);
	tree_put_all(VLLM_DIR);
}

static void take(void)
{
	now_ns += 100 * MS;
	ck_assert_msg(!sampler_take(&sampler, now_ns, &error), "%s", error.text);
}

static const struct sampler_row *last_row(void)
{
	ck_assert_uint_gt(sampler.row_count, 0);
	return &sampler.rows[sampler.row_count - 1];
}

static size_t count_notes(const char *part)
{
	size_t count = 0;

	for (size_t i = 0; i < sampler.note_count; i++)
		count += strstr(sampler.notes[i], part) != NULL;
	return count;
}

START_TEST(values_that_change_are_in_the_row_of_their_date)
{
	make_vllm();
	name_vllm();
	take();
	ck_assert_uint_eq(last_row()->time_ns, 100 * MS);
	ck_assert_uint_eq(last_row()->known,
			  RESULTS_RESIDENT | RESULTS_SWAPPED | RESULTS_PENDING);
	ck_assert_uint_eq(last_row()->resident_bytes, 4194304);
	ck_assert_uint_eq(last_row()->swapped_bytes, 2097152);
	ck_assert_uint_eq(last_row()->pending_kernels, 5);
	tree_put(VLLM_DIR "/gmem.current", "6291456\n");
	tree_put(VLLM_DIR "/gmem.swap.current", "0\n");
	take();
	ck_assert_uint_eq(last_row()->time_ns, 200 * MS);
	ck_assert_uint_eq(last_row()->resident_bytes, 6291456);
	ck_assert_uint_eq(last_row()->swapped_bytes, 0);
	ck_assert_uint_eq(last_row()->known & RESULTS_SWAPPED, RESULTS_SWAPPED);
	ck_assert_uint_eq(sampler.row_count, 2);
	ck_assert_uint_eq(sampler.note_count, 0);
	ck_assert_uint_eq(sampler.containers[0].resident_max_bytes, 6291456);
	ck_assert_uint_eq(sampler.containers[0].resident_sum_bytes, 4194304 + 6291456);
	ck_assert_uint_eq(sampler.containers[0].resident_samples, 2);
	ck_assert_uint_eq(sampler.containers[0].gpu, 0);
}
END_TEST

START_TEST(controls_are_kept_when_they_change)
{
	size_t first;

	make_vllm();
	name_vllm();
	take();
	first = sampler.change_count;
	ck_assert_uint_eq(first, gvm_control_count() - 2); /* the timeline has current memory */
	take();
	ck_assert_uint_eq(sampler.change_count, first);
	tree_put(VLLM_DIR "/gmem.limit.high", "6000000000\n");
	tree_put(VLLM_DIR "/gmem.current", "2097152\n");
	take();
	ck_assert_uint_eq(sampler.change_count, first + 1);
	ck_assert_uint_eq(sampler.changes[first].time_ns, 300 * MS);
	ck_assert_str_eq(sampler.changes[first].file->name, "gmem.limit.high");
	ck_assert_str_eq(sampler.changes[first].text, "6000000000");
}
END_TEST

START_TEST(a_file_that_disappears_leaves_the_others)
{
	make_vllm();
	name_vllm();
	take();
	tree_remove(VLLM_DIR "/gmem.current");
	for (int i = 0; i < 3; i++)
		take();
	ck_assert_uint_eq(last_row()->known, RESULTS_SWAPPED | RESULTS_PENDING);
	ck_assert_uint_eq(sampler.note_count, 0);
	tree_put(VLLM_DIR "/gmem.current", "3\n");
	take();
	ck_assert_uint_eq(last_row()->known & RESULTS_RESIDENT, RESULTS_RESIDENT);
	ck_assert_uint_eq(last_row()->resident_bytes, 3);
}
END_TEST

/* The public GVM driver has no peak, no events, no lower limit and no time slice. */
START_TEST(what_a_driver_does_not_have_is_told_once)
{
	tree_mkdir(GROUP);
	for (int gpu = 0; gpu < 2; gpu++) {
		char name[64];

		snprintf(name, sizeof(name), GROUP "/%d", gpu);
		tree_mkdir(name);
		snprintf(name, sizeof(name), GROUP "/%d/memory.current", gpu);
		tree_put(name, "5\n");
	}
	for (int i = 0; i < 5; i++)
		take();
	ck_assert_uint_eq(last_row()->known, RESULTS_RESIDENT);
	ck_assert_uint_eq(sampler.note_count, gvm_control_count() - 1);
	ck_assert_uint_eq(count_notes("/gmem.peak is missing"), 1);
	ck_assert_uint_eq(count_notes("/gmem.limit.high or memory.limit is missing"), 1);
	ck_assert_uint_eq(count_notes("gmem.current"), 0);
}
END_TEST

START_TEST(nonsense_is_told_once_and_never_becomes_a_value)
{
	make_vllm();
	name_vllm();
	tree_put(VLLM_DIR "/gmem.current", "lots\n");
	take();
	take();
	ck_assert_uint_eq(last_row()->known, RESULTS_SWAPPED | RESULTS_PENDING);
	ck_assert_uint_eq(sampler.note_count, 1);
	ck_assert_uint_eq(count_notes("/" VLLM_DIR "/gmem.current: \"lots\" is not known, "
				      "allowed: bytes, or max"),
			  1);
	tree_put(VLLM_DIR "/gmem.current", "7\n");
	take();
	ck_assert_uint_eq(last_row()->resident_bytes, 7);
}
END_TEST

START_TEST(a_container_that_goes_ends_its_rows_and_may_come_back)
{
	make_vllm();
	name_vllm();
	take();
	for (u32 i = 0; i < gvm_control_count(); i++) {
		char name[64];

		snprintf(name, sizeof(name), VLLM_DIR "/%s", gvm_control_at(i)->name);
		tree_remove(name);
	}
	tree_remove(VLLM_DIR);
	take();
	ck_assert_uint_eq(sampler.row_count, 1);
	ck_assert(!sampler.containers[0].present);
	ck_assert(sampler_is_over(&sampler));
	ck_assert_uint_eq(sampler.containers[0].last_ns, 100 * MS);
	tree_remove(GROUP);
	make_vllm();
	take();
	ck_assert(!sampler_is_over(&sampler));
	ck_assert_uint_eq(sampler.row_count, 2);
	ck_assert_uint_eq(sampler.containers[0].first_ns, 100 * MS);
	ck_assert_uint_eq(last_row()->time_ns, 300 * MS);
}
END_TEST

START_TEST(a_container_that_never_appears_is_unknown_and_not_over)
{
	name_vllm();
	for (int i = 0; i < 3; i++)
		take();
	ck_assert_uint_eq(sampler.row_count, 0);
	ck_assert(!sampler.containers[0].seen);
	ck_assert(!sampler_is_over(&sampler));
	ck_assert_uint_eq(sampler.note_count, 1);
	ck_assert_str_eq(sampler.notes[0], "vllm: no process 9000001 yet");
}
END_TEST

START_TEST(all_that_appear_are_taken_in_by_number)
{
	static const char *const folders[] = { "9000010",   "9000010/1", "9000010/0", "9000002",
					       "9000002/3", "list",	 "9000003" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		tree_mkdir(folders[i]);
	tree_put("9000003/0", "a file, no container");
	tree_put("devices", "0\n");
	tree_put("17", "a file, no process");
	take();
	ck_assert_uint_eq(sampler.container_count, 3);
	ck_assert_str_eq(sampler.containers[0].name, "9000002-3");
	ck_assert_str_eq(sampler.containers[1].name, "9000010-0");
	ck_assert_str_eq(sampler.containers[2].name, "9000010-1");
	tree_mkdir("9000003x");
	tree_mkdir("9000004");
	tree_mkdir("9000004/0");
	take();
	ck_assert_uint_eq(sampler.container_count, 4);
	ck_assert_str_eq(sampler.containers[3].name, "9000004-0");
	ck_assert_uint_eq(sampler.containers[3].first_ns, 200 * MS);
	ck_assert_uint_eq(sampler.row_count, 7);
}
END_TEST

START_TEST(only_named_containers_are_sampled_when_there_are_any)
{
	make_vllm();
	tree_mkdir("9000002");
	tree_mkdir("9000002/0");
	name_vllm();
	take();
	ck_assert_uint_eq(sampler.container_count, 1);
	ck_assert_int_eq(sampler_add(&sampler, "vllm", 5, 0, &error), -SIM_EXIT_USER);
	ck_assert_str_eq(error.text, "container \"vllm\" is named twice");
}
END_TEST

START_TEST(there_is_an_end_to_containers)
{
	char name[64];

	for (int i = 0; i < CFG_CONTAINERS_MAX + 2; i++) {
		snprintf(name, sizeof(name), "%d", NOBODY + i);
		tree_mkdir(name);
		snprintf(name, sizeof(name), "%d/0", NOBODY + i);
		tree_mkdir(name);
	}
	take();
	take();
	ck_assert_uint_eq(sampler.container_count, CFG_CONTAINERS_MAX);
	ck_assert_uint_eq(count_notes("more than"), 1);
}
END_TEST

/* Under a stock driver only the process is visible. */
START_TEST(without_control_files_a_process_is_at_least_there)
{
	sampler_destroy(&sampler);
	sampler_init(&sampler, "/nowhere/at/all");
	ck_assert_int_eq(sampler_add(&sampler, "me", (u64)getpid(), 0, &error), 0);
	take();
	take();
	ck_assert_uint_eq(sampler.row_count, 2);
	ck_assert_uint_eq(last_row()->known, 0);
	ck_assert_str_eq(sampler.containers[0].command, "test_sampler");
	ck_assert_uint_eq(sampler.note_count, 1);
	for (u32 i = 0; i < gvm_control_count(); i++)
		ck_assert_uint_eq(count_notes(gvm_control_at(i)->name), 1);
}
END_TEST

/* The files of debugfs are root's. That a further folder is not there is not the reason. */
START_TEST(a_closed_folder_is_told_before_one_that_is_not_there)
{
	char *closed;

	if (geteuid())
		return;
	ck_assert_int_eq(mkdir(tree_path("closed"), 0700), 0);
	sampler.roots[0] = closed = strdup(tree_path("closed/gvm"));
	sampler.roots[sampler.root_count++] = "/nowhere/at/all";
	ck_assert_int_eq(seteuid(65534), 0);
	take();
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_uint_eq(count_notes("Permission denied (debugfs is root's)"), 1);
	ck_assert_int_eq(rmdir(tree_path("closed")), 0);
	free(closed);
}
END_TEST

/* A link to itself cannot be opened, as a file that a kernel refuses. */
START_TEST(what_cannot_be_read_is_told_with_the_reason)
{
	make_vllm();
	name_vllm();
	tree_remove(VLLM_DIR "/gmem.peak");
	ck_assert_int_eq(symlink("gmem.peak", tree_path(VLLM_DIR "/gmem.peak")), 0);
	take();
	take();
	ck_assert_uint_eq(sampler.note_count, 1);
	ck_assert_uint_eq(count_notes("/gmem.peak: cannot be read: Too many levels"), 1);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, values_that_change_are_in_the_row_of_their_date);
	tcase_add_test(tests, controls_are_kept_when_they_change);
	tcase_add_test(tests, a_file_that_disappears_leaves_the_others);
	tcase_add_test(tests, what_a_driver_does_not_have_is_told_once);
	tcase_add_test(tests, nonsense_is_told_once_and_never_becomes_a_value);
	tcase_add_test(tests, a_container_that_goes_ends_its_rows_and_may_come_back);
	tcase_add_test(tests, a_container_that_never_appears_is_unknown_and_not_over);
	tcase_add_test(tests, all_that_appear_are_taken_in_by_number);
	tcase_add_test(tests, only_named_containers_are_sampled_when_there_are_any);
	tcase_add_test(tests, there_is_an_end_to_containers);
	tcase_add_test(tests, without_control_files_a_process_is_at_least_there);
	tcase_add_test(tests, what_cannot_be_read_is_told_with_the_reason);
	tcase_add_test(tests, a_closed_folder_is_told_before_one_that_is_not_there);
}

int main(void)
{
	return tree_run("sampler", add_tests, setup, teardown);
}
