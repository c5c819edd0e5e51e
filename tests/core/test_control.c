// SPDX-License-Identifier: MIT OR GPL-2.0
/* Control files: each file is read and written, and each way to write one wrongly is tried. */
#include "core_world.h"
#include "gvm/control.h"
#include "gvm/swap.h"

#include <stdio.h>
#include <stdlib.h>

static struct gvm_device *const device = &world.device;
static struct gvm_container *container;

static int write_text(const char *name, const char *text)
{
	return gvm_control_write(container, name, text, strlen(text));
}

static void expect_text(const char *name, const char *text)
{
	char buf[GVM_CONTROL_TEXT_MAX];
	int length = gvm_control_read(container, name, buf, sizeof(buf));

	ck_assert_int_eq(length, (int)strlen(text));
	ck_assert_str_eq(buf, text);
}

/* The table. */

static const struct {
	const char *name;
	const char *alias;
	bool writable;
	const char *initially;
} files[] = {
	{ "gmem.limit.high", "memory.limit", true, "max\n" },
	{ "gmem.limit.low", NULL, true, "0\n" },
	{ "gmem.current", "memory.current", false, "0\n" },
	{ "gmem.peak", NULL, false, "0\n" },
	{ "gmem.events", NULL, false, "high 0\nhmem 0\noom 0\n" },
	{ "gmem.swap.current", "memory.swap.current", false, "0\n" },
	{ "gmem.clean.current", NULL, false, "0\n" },
	{ "hmem.limit", NULL, true, "max\n" },
	{ "compute.timeslice", NULL, true, "1000us\n" },
	{ "compute.priority", NULL, true, "9\n" },
	{ "compute.weight", NULL, true, "100\n" },
	{ "compute.freeze", NULL, true, "0\n" },
	{ "gcgroup.stat", NULL, false,
	  "nr_submitted_kernels: 0\nnr_ended_kernels: 0\nnr_pending_kernels: 0\n" },
};

START_TEST(the_table_lists_these_files_in_order)
{
	ck_assert_uint_ge(gvm_control_count(), ARRAY_SIZE(files));
	for (u32 i = 0; i < ARRAY_SIZE(files); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);

		ck_assert_str_eq(file->name, files[i].name);
		ck_assert_pstr_eq(file->alias, files[i].alias);
		ck_assert_int_eq(file->store != NULL, files[i].writable);
		ck_assert_ptr_eq(gvm_control_find(files[i].name), file);
		if (files[i].alias)
			ck_assert_ptr_eq(gvm_control_find(files[i].alias), file);
	}
}
END_TEST

/* Write @value to @file as text, in the file's own units. */
static void write_value(const struct gvm_control_file *file, u64 value, int expected)
{
	char text[GVM_CONTROL_TEXT_MAX];

	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)value,
		 file->kind == GVM_CONTROL_TIMESLICE ? "us" : "");
	ck_assert_int_eq(gvm_control_write(container, file->name, text, strlen(text)),
			 expected);
}

START_TEST(the_table_gives_the_bounds_that_writes_obey)
{
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);

		if (!file->store)
			continue;
		write_value(file, file->min, 0);
		write_value(file, file->max, 0);
		if (file->min > 0)
			write_value(file, file->min - 1, -EINVAL);
		if (file->max < U64_MAX)
			write_value(file, file->max + 1, -EINVAL);
	}
}
END_TEST

START_TEST(the_table_says_all_that_documents_need)
{
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);
		u32 mode = (file->show ? 0444u : 0) | (file->store ? 0200u : 0);

		ck_assert_uint_eq(file->mode, mode);
		ck_assert_uint_ge(strlen(file->summary), 10);
		ck_assert_ptr_nonnull(file->unit);
		if (file->kind == GVM_CONTROL_BYTES)
			ck_assert_str_eq(file->unit, "bytes");
		ck_assert(file->kind != GVM_CONTROL_TEXT || !file->store);
		ck_assert(!file->store || file->min < file->max);
	}
}
END_TEST

START_TEST(an_untouched_container_shows_defaults)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		expect_text(files[i].name, files[i].initially);
		if (files[i].alias)
			expect_text(files[i].alias, files[i].initially);
	}
}
END_TEST

START_TEST(what_is_read_can_be_written_back)
{
	char buf[GVM_CONTROL_TEXT_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		if (!files[i].writable)
			continue;
		gvm_control_read(container, files[i].name, buf, sizeof(buf));
		ck_assert_int_eq(write_text(files[i].name, buf), 0);
		expect_text(files[i].name, buf);
	}
}
END_TEST

/* D21 */
START_TEST(read_only_files_refuse_writes)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		if (!files[i].writable)
			ck_assert_int_eq(write_text(files[i].name, "1"), -EACCES);
	}
}
END_TEST

START_TEST(names_must_match_whole)
{
	static const char *const names[] = { "",
					     "gmem",
					     "gmem.limit",
					     "gmem.limit.high ",
					     "GMEM.CURRENT",
					     "compute.share",
					     "hmem.limit.high",
					     "memory.limit.high" };
	char buf[GVM_CONTROL_TEXT_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ck_assert_ptr_null(gvm_control_find(names[i]));
		ck_assert_int_eq(gvm_control_read(container, names[i], buf, sizeof(buf)),
				 -ENOENT);
		ck_assert_int_eq(write_text(names[i], "1"), -ENOENT);
	}
}
END_TEST

START_TEST(a_text_is_never_cut_short)
{
	char buf[8] = "before";

	ck_assert_int_eq(write_text("gmem.limit.high", "1234567"), 0);
	ck_assert_int_eq(gvm_control_read(container, "gmem.limit.high", buf, sizeof(buf)),
			 -E2BIG);
	ck_assert_str_eq(buf, "before");
	ck_assert_int_eq(gvm_control_read(container, "gmem.limit.high", buf, 0), -E2BIG);
	ck_assert_int_eq(write_text("gmem.limit.high", "123456"), 0);
	ck_assert_int_eq(gvm_control_read(container, "gmem.limit.high", buf, sizeof(buf)), 7);
	ck_assert_str_eq(buf, "123456\n");
}
END_TEST

START_TEST(the_longest_numbers_fit)
{
	const u64 most = U64_MAX - 1;

	container->kernels_submitted = most;
	expect_text("gcgroup.stat", "nr_submitted_kernels: 18446744073709551614\n"
				    "nr_ended_kernels: 0\n"
				    "nr_pending_kernels: 18446744073709551614\n");
	container->events[GVM_EVENT_HIGH] = container->events[GVM_EVENT_OOM] = most;
	container->events[GVM_EVENT_HMEM] = most;
	expect_text("gmem.events", "high 18446744073709551614\nhmem 18446744073709551614\n"
				   "oom 18446744073709551614\n");
}
END_TEST

/* Memory. */

START_TEST(limits_take_bytes_and_show_bytes)
{
	ck_assert_int_eq(write_text("gmem.limit.high", "6e9\n"), 0);
	expect_text("gmem.limit.high", "6000000000\n");
	ck_assert_int_eq(write_text("gmem.limit.low", "4M"), 0);
	expect_text("gmem.limit.low", "4194304\n");
	ck_assert(container->is_protected);
	ck_assert_int_eq(write_text("gmem.limit.low", "max"), 0);
	expect_text("gmem.limit.low", "max\n");
	ck_assert_int_eq(write_text("gmem.limit.high", "0"), 0);
	expect_text("gmem.limit.high", "0\n");
	ck_assert_int_eq(gvm_charge_reserve(container), -EDQUOT);
	expect_text("gmem.events", "high 1\nhmem 0\noom 0\n");
	ck_assert_int_eq(write_text("hmem.limit", "3G"), 0);
	expect_text("hmem.limit", "3221225472\n");
	ck_assert_int_eq(write_text("hmem.limit", "0"), 0);
	expect_text("hmem.limit", "0\n");
	ck_assert(container->is_swap_full);
	ck_assert_int_eq(write_text("gmem.limit.high", "18446744073709551615"), 0);
	expect_text("gmem.limit.high", "max\n");
	world_check();
}
END_TEST

START_TEST(aliases_are_the_same_files)
{
	ck_assert_int_eq(write_text("memory.limit", "8M"), 0);
	expect_text("gmem.limit.high", "8388608\n");
	expect_text("memory.limit", "8388608\n");
	world_charge(container);
	expect_text("memory.current", "2097152\n");
	gvm_swap_charge(container, GVM_PAGE_BYTES);
	expect_text("memory.swap.current", "65536\n");
	gvm_swap_uncharge(container, GVM_PAGE_BYTES);
	ck_assert_int_eq(write_text("memory.current", "0"), -EACCES);
}
END_TEST

START_TEST(usage_files_follow_the_books)
{
	u32 chunk;

	world_charge(container);
	chunk = world_charge(container);
	expect_text("gmem.current", "4194304\n");
	gvm_uncharge(device, chunk);
	expect_text("gmem.current", "2097152\n");
	expect_text("gmem.peak", "4194304\n");
	gvm_swap_charge(container, 2 * GVM_CHUNK_BYTES);
	expect_text("gmem.swap.current", "4194304\n");
	gvm_swap_uncharge(container, 2 * GVM_CHUNK_BYTES);
	gvm_container_count_event(container, GVM_EVENT_HMEM);
	gvm_container_count_event(container, GVM_EVENT_OOM);
	expect_text("gmem.events", "high 0\nhmem 1\noom 1\n");
}
END_TEST

/*
 * F11: an open file holds a reference, so a write can come at any time, even after the process
 * ended.
 */
START_TEST(files_can_be_written_until_the_last_reference_goes)
{
	gvm_container_get(container);
	gvm_container_detach(container);
	ck_assert_int_eq(write_text("gmem.limit.high", "4M"), 0);
	ck_assert_int_eq(write_text("compute.freeze", "1"), 0);
	expect_text("gmem.limit.high", "4194304\n");
	world_check();
	gvm_container_put(container);
	container = world_attach(1);
	expect_text("gmem.limit.high", "max\n");
}
END_TEST

/* D22 */
START_TEST(pending_kernels_never_go_below_zero)
{
	gvm_container_count_kernels(container, 5, 3);
	expect_text("gcgroup.stat", "nr_submitted_kernels: 5\n"
				    "nr_ended_kernels: 3\n"
				    "nr_pending_kernels: 2\n");
	gvm_container_count_kernels(container, 0, 4);
	expect_text("gcgroup.stat", "nr_submitted_kernels: 5\n"
				    "nr_ended_kernels: 7\n"
				    "nr_pending_kernels: 0\n");
}
END_TEST

/* Compute. */

START_TEST(a_timeslice_is_milliseconds_unless_it_says_otherwise)
{
	ck_assert_int_eq(write_text("compute.timeslice", "2"), 0);
	expect_text("compute.timeslice", "2000us\n");
	ck_assert_int_eq(write_text("compute.timeslice", "30ms\n"), 0);
	expect_text("compute.timeslice", "30000us\n");
	ck_assert_int_eq(write_text("compute.timeslice", "750us"), 0);
	expect_text("compute.timeslice", "750us\n");
}
END_TEST

START_TEST(a_priority_sets_the_timeslice)
{
	ck_assert_int_eq(write_text("compute.priority", "2"), 0);
	expect_text("compute.priority", "2\n");
	expect_text("compute.timeslice", "131072us\n");
	ck_assert_int_eq(write_text("compute.priority", "16"), 0);
	expect_text("compute.timeslice", "8us\n");
	ck_assert_int_eq(write_text("compute.timeslice", "1us"), 0);
	expect_text("compute.priority", "16\n");
}
END_TEST

START_TEST(freeze_without_a_tsg_shows_the_wish)
{
	ck_assert_int_eq(write_text("compute.freeze", "1"), 0);
	expect_text("compute.freeze", "1\n");
	ck_assert_int_eq(write_text("compute.freeze", "0"), 0);
	expect_text("compute.freeze", "0\n");
}
END_TEST

START_TEST(freeze_with_a_tsg_shows_what_is_known_of_it)
{
	struct gvm_tsg tsg;

	ck_assert_int_eq(gvm_tsg_attach(container, &tsg, 1), 0);
	/*
	 * The TSG is disabled but not preempted, so it is not frozen. The write returns the
	 * error.
	 */
	world_expect_calls(1, -EIO);
	ck_assert_int_eq(write_text("compute.freeze", "1"), -EIO);
	expect_text("compute.freeze", "0\n");
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(write_text("compute.freeze", "1"), 0);
	expect_text("compute.freeze", "1\n");
	/* A thaw that failed leaves the container frozen. */
	world_expect_calls(0, -EIO);
	ck_assert_int_eq(write_text("compute.freeze", "0"), -EIO);
	expect_text("compute.freeze", "1\n");
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(write_text("compute.freeze", "0"), 0);
	expect_text("compute.freeze", "0\n");
	gvm_tsg_detach(&tsg);
}
END_TEST

/* D17 */
START_TEST(an_rpcs_error_comes_back_as_it_is)
{
	struct gvm_tsg tsg;

	ck_assert_int_eq(gvm_tsg_attach(container, &tsg, 1), 0);
	world_expect_calls(0, -ERANGE);
	ck_assert_int_eq(write_text("compute.priority", "3"), -ERANGE);
	world_expect_calls(0, -ETIMEDOUT);
	ck_assert_int_eq(write_text("compute.timeslice", "7"), -ETIMEDOUT);
	gvm_tsg_detach(&tsg);
}
END_TEST

/* Writes that must fail, and change nothing. */

static const struct {
	const char *name;
	const char *text;
} malformed[] = {
	{ "gmem.limit.high", "-1" },
	{ "gmem.limit.high", " 1" },
	{ "gmem.limit.high", "MAX" },
	{ "gmem.limit.high", "maximum" },
	{ "gmem.limit.high", "18446744073709551616" },
	{ "gmem.limit.low", "1.5G" },
	{ "gmem.limit.low", "6GB" },
	{ "compute.timeslice", "0" },
	{ "compute.timeslice", "0us" },
	{ "compute.timeslice", "16001" },
	{ "compute.timeslice", "16000001us" },
	{ "compute.timeslice", "1s" },
	{ "compute.timeslice", "max" },
	{ "compute.timeslice", "18446744073709551615" },
	{ "compute.priority", "17" },
	{ "compute.priority", "-1" },
	{ "compute.priority", "4294967296" },
	{ "compute.priority", "1K" },
	{ "compute.weight", "0" },
	{ "compute.weight", "10001" },
	{ "compute.weight", "4294967396" },
	{ "compute.weight", "max" },
	{ "compute.freeze", "2" },
	{ "compute.freeze", "yes" },
	{ "compute.freeze", "1 1" },
};

/* F15 */
START_TEST(malformed_writes_change_nothing)
{
	char before[GVM_CONTROL_TEXT_MAX];
	const char *name = malformed[_i].name;

	gvm_control_read(container, name, before, sizeof(before));
	ck_assert_int_eq(write_text(name, malformed[_i].text), -EINVAL);
	expect_text(name, before);
	ck_assert_uint_eq(world.call_count, 0);
}
END_TEST

START_TEST(white_space_at_the_end_is_trimmed)
{
	ck_assert_int_eq(write_text("gmem.limit.high", "7 \t\r\n\v\f\n"), 0);
	expect_text("gmem.limit.high", "7\n");
}
END_TEST

START_TEST(texts_without_a_value_are_refused)
{
	ck_assert_int_eq(write_text("gmem.limit.high", ""), -EINVAL);
	ck_assert_int_eq(write_text("gmem.limit.high", "\n"), -EINVAL);
	ck_assert_int_eq(write_text("gmem.limit.high", " \t\n"), -EINVAL);
	expect_text("gmem.limit.high", "max\n");
}
END_TEST

START_TEST(a_zero_byte_is_refused_wherever_it_is)
{
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "1\0", 2), -EINVAL);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "1\0002", 3), -EINVAL);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "\0001", 2), -EINVAL);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "1\0\n", 3), -EINVAL);
	expect_text("gmem.limit.high", "max\n");
}
END_TEST

START_TEST(a_text_needs_no_terminator)
{
	const char text[] = { '1', '2', '3', '4' };

	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", text, 2), 0);
	expect_text("gmem.limit.high", "12\n");
}
END_TEST

START_TEST(texts_up_to_the_maximum_are_taken_and_longer_ones_are_not)
{
	char text[GVM_CONTROL_TEXT_MAX + 1];

	memset(text, '0', sizeof(text));
	text[GVM_CONTROL_TEXT_MAX - 2] = '5';
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", text,
					   GVM_CONTROL_TEXT_MAX - 1),
			 0);
	expect_text("gmem.limit.high", "5\n");
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", text,
					   GVM_CONTROL_TEXT_MAX),
			 -E2BIG);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", text, (size_t)-1),
			 -E2BIG);
	expect_text("gmem.limit.high", "5\n");
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
	container = world_attach(1);
}

static void teardown(void)
{
	world_detach(container);
	world_destroy();
}

static void add_file_tests(TCase *tests)
{
	tcase_add_test(tests, the_table_lists_these_files_in_order);
	tcase_add_test(tests, the_table_gives_the_bounds_that_writes_obey);
	tcase_add_test(tests, the_table_says_all_that_documents_need);
	tcase_add_test(tests, an_untouched_container_shows_defaults);
	tcase_add_test(tests, what_is_read_can_be_written_back);
	tcase_add_test(tests, read_only_files_refuse_writes);
	tcase_add_test(tests, names_must_match_whole);
	tcase_add_test(tests, a_text_is_never_cut_short);
	tcase_add_test(tests, the_longest_numbers_fit);
	tcase_add_test(tests, limits_take_bytes_and_show_bytes);
	tcase_add_test(tests, aliases_are_the_same_files);
	tcase_add_test(tests, usage_files_follow_the_books);
	tcase_add_test(tests, files_can_be_written_until_the_last_reference_goes);
	tcase_add_test(tests, pending_kernels_never_go_below_zero);
	tcase_add_test(tests, a_timeslice_is_milliseconds_unless_it_says_otherwise);
	tcase_add_test(tests, a_priority_sets_the_timeslice);
	tcase_add_test(tests, freeze_without_a_tsg_shows_the_wish);
	tcase_add_test(tests, freeze_with_a_tsg_shows_what_is_known_of_it);
	tcase_add_test(tests, an_rpcs_error_comes_back_as_it_is);
}

static void add_border_tests(TCase *tests)
{
	tcase_add_loop_test(tests, malformed_writes_change_nothing, 0, ARRAY_SIZE(malformed));
	tcase_add_test(tests, white_space_at_the_end_is_trimmed);
	tcase_add_test(tests, texts_without_a_value_are_refused);
	tcase_add_test(tests, a_zero_byte_is_refused_wherever_it_is);
	tcase_add_test(tests, a_text_needs_no_terminator);
	tcase_add_test(tests, texts_up_to_the_maximum_are_taken_and_longer_ones_are_not);
}

int main(void)
{
	Suite *suite = suite_create("control");

	world_add_case(suite, "files", setup, teardown, add_file_tests);
	world_add_case(suite, "border", setup, teardown, add_border_tests);
	return world_run(suite);
}
