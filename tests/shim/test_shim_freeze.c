// SPDX-License-Identifier: MIT OR GPL-2.0
/* A process is taken off the GPU by its channels, beside a stand-in for RM (rm_stand_in.h). */
#include "rm_beside.h"

#define MANY 150

/* All channels of both clients and GPUs, each by its own subdevice. */
START_TEST(a_frozen_process_has_no_channel_that_may_run)
{
	ck_assert(freeze_set(true));
	ck_assert(freeze_is_on());
	ck_assert_int_eq(rm_channels(true), 8);
	ck_assert_int_eq(rm_controls, 4);
	ck_assert(freeze_set(false));
	ck_assert(!freeze_is_on());
	ck_assert_int_eq(rm_channels(false), 8);
	ck_assert_int_eq(rm_strays, 0);
}
END_TEST

/* RM takes 64 in a call. */
START_TEST(many_channels_are_frozen)
{
	for (u32 i = 0; i < MANY; i++)
		rm_make(1, 0x20, 0x100 + i, RM_CLASS_CHANNEL);
	ck_assert(freeze_set(true));
	ck_assert_int_eq(rm_channels(true), MANY + 8);
	ck_assert_int_eq(rm_controls, 3 + 3);
	ck_assert(freeze_set(false));
	ck_assert_int_eq(rm_channels(true), 0);
}
END_TEST

/* Not those of a group. */
START_TEST(a_channel_in_no_group_is_frozen)
{
	rm_make(2, 0x11, 0x50, RM_CLASS_CHANNEL);
	ck_assert(freeze_set(true));
	ck_assert_int_eq(rm_channels(true), 9);
}
END_TEST

/* RM lets a channel run that is scheduled, also if it was disabled. */
START_TEST(what_is_scheduled_while_frozen_does_not_run)
{
	ck_assert(freeze_set(true));
	rm_make(1, 0x10, 0x40, RM_CLASS_GROUP);
	rm_make(1, 0x40, 0x41, RM_CLASS_CHANNEL);
	rm_make(1, 0x40, 0x42, RM_CLASS_CHANNEL);
	rm_schedule(1, 0x40);
	ck_assert_int_eq(rm_channels(false), 0);
	rm_make(2, 0x21, 0x43, RM_CLASS_CHANNEL);
	rm_schedule(2, 0x43);
	rm_schedule(2, 0x30);
	ck_assert_int_eq(rm_channels(false), 0);
	ck_assert(freeze_set(false));
	ck_assert_int_eq(rm_channels(true), 0);
	rm_schedule(1, 0x40);
	ck_assert_int_eq(rm_channels(true), 0);
	ck_assert_int_eq(rm_strays, 0);
}
END_TEST

/* Whichever call RM refuses, no channel stays off. */
START_TEST(what_cannot_be_frozen_as_a_whole_is_not_frozen)
{
	for (int call = 0; call < 4; call++) {
		rm_skips = call;
		rm_refuses = 1;
		ck_assert(!freeze_set(true));
		ck_assert(!freeze_is_on());
		ck_assert_int_eq(rm_channels(true), 0);
		ck_assert_ptr_nonnull(strstr(beside_warning, "cannot be frozen (status 0x65)"));
	}
}
END_TEST

/* It counts as frozen, so the next write of 0 tries again. */
START_TEST(a_thaw_that_fails_is_named)
{
	ck_assert(freeze_set(true));
	rm_refuses = 1;
	ck_assert(!freeze_set(false));
	ck_assert_ptr_nonnull(strstr(beside_warning, "cannot be thawed (status 0x65)"));
	ck_assert(freeze_is_on());
	ck_assert(freeze_set(false));
	ck_assert(!freeze_is_on());
	ck_assert_int_eq(rm_channels(true), 0);
}
END_TEST

/* Likewise where RM refuses to freeze, and then to take that back. */
START_TEST(a_process_that_stays_off_counts_as_frozen)
{
	rm_skips = 1;
	rm_refuses = 7;
	ck_assert(!freeze_set(true));
	ck_assert_int_gt(rm_channels(true), 0);
	ck_assert(freeze_is_on());
	ck_assert(freeze_set(false));
	ck_assert_int_eq(rm_channels(true), 0);
}
END_TEST

START_TEST(a_process_without_channels_cannot_be_frozen)
{
	for (u32 client = 1; client <= 2; client++)
		rm_give_up(client, client);
	ck_assert(!freeze_set(true));
	ck_assert_str_eq(beside_warning, "there is no channel to freeze");
	ck_assert(!freeze_is_on());
}
END_TEST

/* Its handle may be another object's by the thaw. */
START_TEST(a_channel_that_goes_while_frozen_is_not_named_again)
{
	ck_assert(freeze_set(true));
	rm_give_up(1, 0x30);
	rm_give_up(1, 0x21);
	rm_make(1, 0x10, 0x30, 0xc7b5);
	ck_assert(freeze_set(false));
	ck_assert_int_eq(rm_channels(false), 5);
	ck_assert_int_eq(rm_strays, 0);
}
END_TEST

/* The shim's table has room for 4096 objects. */
START_TEST(channels_that_the_shim_does_not_know_are_said)
{
	for (u32 i = 0; i < 4200; i++)
		rm_make(1, 0x20, 0x1000 + i, RM_CLASS_CHANNEL);
	ck_assert(freeze_set(true));
	ck_assert_ptr_nonnull(strstr(beside_warning, "more channels than the shim knows"));
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_frozen_process_has_no_channel_that_may_run);
	tcase_add_test(tests, many_channels_are_frozen);
	tcase_add_test(tests, a_channel_in_no_group_is_frozen);
	tcase_add_test(tests, what_is_scheduled_while_frozen_does_not_run);
	tcase_add_test(tests, what_cannot_be_frozen_as_a_whole_is_not_frozen);
	tcase_add_test(tests, a_thaw_that_fails_is_named);
	tcase_add_test(tests, a_process_that_stays_off_counts_as_frozen);
	tcase_add_test(tests, a_process_without_channels_cannot_be_frozen);
	tcase_add_test(tests, a_channel_that_goes_while_frozen_is_not_named_again);
	tcase_add_test(tests, channels_that_the_shim_does_not_know_are_said);
}

int main(void)
{
	return suite_run("shim_freeze", beside_begin, beside_end, add_tests);
}
