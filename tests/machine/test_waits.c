// SPDX-License-Identifier: MIT OR GPL-2.0
/* What an LLM server reports to a policy: who waits, and how long, at dates by hand. */
#include "machine/waits.h"
#include "runner.h"

#define S 1000000000ull

static void expect_waits(const struct app_log *log, size_t *settled, u64 now_ns, u64 longest_ns,
			 u64 waiting)
{
	struct waits waits = waits_of_log(log, settled, now_ns);

	ck_assert_uint_eq(waits.longest_ns, longest_ns);
	ck_assert_uint_eq(waits.waiting, waiting);
}

START_TEST(a_request_that_waits_counts_with_its_age_and_its_first_token_for_a_second)
{
	struct app_record records[] = {
		{ .arrival_ns = 1 * S },
		{ .arrival_ns = 2 * S },
	};
	struct app_log log = { .records = records, .record_count = 1 };
	size_t settled = 0;

	expect_waits(&log, &settled, 1 * S, 0, 1);
	expect_waits(&log, &settled, 3 * S, 2 * S, 1);
	records[0].first_ns = 4 * S;
	log.record_count = 2;
	expect_waits(&log, &settled, 4 * S, 3 * S, 1);
	expect_waits(&log, &settled, 5 * S - 1, 3 * S, 1);
	ck_assert_uint_eq(settled, 0);
	/* The second request is now the longest. */
	expect_waits(&log, &settled, 5 * S, 3 * S, 1);
	expect_waits(&log, &settled, 6 * S, 4 * S, 1);
	ck_assert_uint_eq(settled, 1);
	log.end_ns = 6 * S;
	expect_waits(&log, &settled, 6 * S, 0, 0);
}
END_TEST

START_TEST(a_failed_request_waits_for_nothing_and_an_earlier_one_that_waits_is_not_forgotten)
{
	struct app_record records[] = {
		{ .arrival_ns = 1 * S },
		{ .arrival_ns = 2 * S, .finish_ns = 2 * S, .outcome = APP_FAILED },
		{ .arrival_ns = 3 * S, .first_ns = 3 * S + 5 },
	};
	struct app_log log = { .records = records, .record_count = 3 };
	size_t settled = 0;

	expect_waits(&log, &settled, 10 * S, 9 * S, 1);
	ck_assert_uint_eq(settled, 0);
	records[0].first_ns = 11 * S;
	expect_waits(&log, &settled, 11 * S, 10 * S, 0);
	expect_waits(&log, &settled, 12 * S, 0, 0);
	ck_assert_uint_eq(settled, 3);
}
END_TEST

TEST_MAIN("waits", a_request_that_waits_counts_with_its_age_and_its_first_token_for_a_second,
	  a_failed_request_waits_for_nothing_and_an_earlier_one_that_waits_is_not_forgotten)
