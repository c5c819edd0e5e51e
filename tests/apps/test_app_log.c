// SPDX-License-Identifier: MIT OR GPL-2.0
/* The log of an application. */
#include "apps/app_log.h"
#include "runner.h"

START_TEST(the_log_grows)
{
	struct app_log app_log = { 0 };
	struct app_record record = { 0 };

	for (u64 i = 0; i < 1000; i++) {
		record.id = i;
		ck_assert_int_eq(app_log_add(&app_log, &record), 0);
		ck_assert_int_eq(app_log_add_gap(&app_log, APP_GAPS_COMPLETED, i), 0);
	}
	ck_assert_uint_eq(app_log.records[999].id, 999);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].ns[999], 999);
	app_log_destroy(&app_log);
	ck_assert_uint_eq(app_log.record_count, 0);
}
END_TEST

/* Three million gaps of a hundred different lengths need no more memory than one million. */
START_TEST(gaps_of_a_long_run_are_folded)
{
	struct app_log app_log = { 0 };
	u64 all = 0;

	for (u64 i = 0; i < 3000000; i++)
		if (app_log_add_gap(&app_log, APP_GAPS_COMPLETED, i % 100))
			ck_abort_msg("no memory for gap %llu", i);
	ck_assert_uint_le(app_log.gaps[APP_GAPS_COMPLETED].room, 1 << 20);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].folded.n, 100);
	for (size_t i = 0; i < 100; i++)
		all += app_log.gaps[APP_GAPS_COMPLETED].folded.list[i].count;
	ck_assert_uint_eq(all + app_log.gaps[APP_GAPS_COMPLETED].count, 3000000);
	app_log_destroy(&app_log);
}
END_TEST

TEST_MAIN("app_log", the_log_grows, gaps_of_a_long_run_are_folded)
