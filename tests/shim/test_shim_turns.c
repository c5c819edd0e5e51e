// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The channel groups that the shim knows of, beside a stand-in for NVIDIA's resource manager (RM).
 * No control call may name an object that is no channel group of the application any more.
 */
#include <fcntl.h>
#include <unistd.h>

#include "rm_beside.h"

#define SLICE_US 2048

static void setup(void)
{
	beside_begin();
	shim_settings.timeslice_us = SLICE_US;
}

/* Set all turns anew. Returns how many groups of RM's have them. */
static int set_all(void)
{
	int count = 0;

	for (int i = 0; i < RM_OBJECTS; i++)
		rm_made[i].slice_us = 0;
	turns_changed();
	turns_apply();
	for (int i = 0; i < RM_OBJECTS; i++)
		count += rm_made[i].class && rm_made[i].slice_us == SLICE_US;
	return count;
}

START_TEST(each_group_gets_its_slice)
{
	ck_assert_uint_eq(turns_groups(), 4);
	ck_assert_int_eq(set_all(), 4);
	ck_assert_int_eq(rm_controls, 8); /* set, and read back */
	rm_give_up(1, 0x20);
	ck_assert_uint_eq(turns_groups(), 3);
	ck_assert_int_eq(set_all(), 3);
	ck_assert_int_eq(rm_strays, 0);
}
END_TEST

/* Its handle may be another object's then. */
START_TEST(a_group_goes_with_its_device)
{
	rm_give_up(1, 0x10);
	rm_make(1, 0x11, 0x20, RM_CLASS_CHANNEL);
	ck_assert_uint_eq(turns_groups(), 3);
	ck_assert_int_eq(set_all(), 3);
	ck_assert_int_eq(rm_strays, 0);
}
END_TEST

START_TEST(a_group_goes_with_its_client)
{
	rm_give_up(2, 2);
	ck_assert_uint_eq(turns_groups(), 2);
	ck_assert_int_eq(set_all(), 2);
	ck_assert_int_eq(rm_strays, 0);
}
END_TEST

/* RM frees a client when its file is closed: no call says so. */
START_TEST(a_handle_that_comes_again_is_one_group)
{
	rm_lose(1, 1);
	rm_make(1, 0, 1, RM_CLASS_CLIENT);
	rm_make(1, 1, 0x30, RM_CLASS_DEVICE);
	rm_make(1, 0x30, 0x20, RM_CLASS_GROUP);
	ck_assert_uint_eq(turns_groups(), 4);
	set_all();
	rm_give_up(1, 0x20);
	ck_assert_uint_eq(turns_groups(), 3);
}
END_TEST

/* The application has closed its file of RM, and has another one under the number. */
START_TEST(no_call_goes_to_a_file_that_is_not_the_drivers)
{
	int other = open("/dev/zero", O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(dup2(other, rm_file), rm_file);
	close(other);
	turns_changed();
	turns_apply();
	ck_assert_int_eq(rm_controls, 0);
	ck_assert_uint_eq(turns_groups(), 0);
}
END_TEST

/* It is no lack of rights. */
START_TEST(a_slice_that_the_driver_changes_is_named)
{
	shim_settings.timeslice_us = 1;
	set_all();
	ck_assert_str_eq(beside_warning,
			 "the timeslice of 4 channel groups is 16 us and not 1 us: the driver "
			 "has chosen it");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, each_group_gets_its_slice);
	tcase_add_test(tests, a_group_goes_with_its_device);
	tcase_add_test(tests, a_group_goes_with_its_client);
	tcase_add_test(tests, a_handle_that_comes_again_is_one_group);
	tcase_add_test(tests, a_slice_that_the_driver_changes_is_named);
	tcase_add_test(tests, no_call_goes_to_a_file_that_is_not_the_drivers);
}

int main(void)
{
	return suite_run("shim_turns", setup, beside_end, add_tests);
}
