// SPDX-License-Identifier: MIT OR GPL-2.0
/* The log of an application: what it keeps, and where. */
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

/*
 * Log @count records, each of which ends 100 records later; every 1000th fails. Returns the
 * most records that were in memory.
 */
static size_t log_many(struct app_log *log, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		struct app_record record = { .id = i, .arrival_ns = i, .outcome = APP_DROPPED };

		if (app_log_add(log, &record))
			ck_abort_msg("no memory for record %zu", i);
		if (i >= 100) {
			struct app_record *ended = app_log_at(log, i - 100);

			ck_assert_uint_eq(ended->id, i - 100);
			ended->finish_ns = i;
			ended->outcome = i % 1000 ? APP_COMPLETED : APP_FAILED;
		}
		if (log->record_room > most)
			most = log->record_room;
	}
	return most;
}

/* Ten times as many records need the same memory, and come back in order and as they were. */
START_TEST(memory_does_not_grow_with_records_that_have_ended)
{
	struct app_log few = { .scratch_folder = "." }, many = { .scratch_folder = "." };
	struct app_log_reader reader = { .log = &many };
	const struct app_record *record;
	size_t room = log_many(&few, 100000);

	ck_assert_uint_eq(log_many(&many, 1000000), room);
	ck_assert_uint_le(room, 8192);
	for (size_t i = 0; i < 1000000; i++) {
		record = app_log_next(&reader);
		if (!record || record->id != i ||
		    record->finish_ns != (i < 999900 ? i + 100 : 0) ||
		    record->outcome != (i >= 999900	 ? APP_DROPPED :
					(i + 100) % 1000 ? APP_COMPLETED :
							   APP_FAILED))
			ck_abort_msg("record %zu", i);
	}
	ck_assert_ptr_null(app_log_next(&reader));
	ck_assert(!reader.failed);
	app_log_destroy(&few);
	app_log_destroy(&many);
}
END_TEST

/* A record that stays open keeps all after it, which are right all the same. */
START_TEST(an_open_record_keeps_those_behind_it)
{
	struct app_log log = { .scratch_folder = "." };
	struct app_record open = { .outcome = APP_DROPPED },
			  ended = { .id = 1, .outcome = APP_FAILED };

	ck_assert_int_eq(app_log_add(&log, &open), 0);
	for (size_t i = 0; i < 50000; i++)
		ck_assert_int_eq(app_log_add(&log, &ended), 0);
	ck_assert_uint_eq(log.passed, 0);
	app_log_at(&log, 0)->outcome = APP_COMPLETED;
	for (size_t i = 0; i < 50000; i++)
		ck_assert_int_eq(app_log_add(&log, &ended), 0);
	ck_assert_uint_gt(log.passed, 0);
	app_log_destroy(&log);
}
END_TEST

/* Without a place for the file nothing is lost. */
START_TEST(records_stay_in_memory_where_no_file_can_be)
{
	struct app_log log = { .scratch_folder = "./none" };

	log_many(&log, 100000);
	ck_assert_uint_eq(log.passed, 0);
	ck_assert_uint_eq(log.records[99999].id, 99999);
	app_log_destroy(&log);
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
	ck_assert_uint_le(app_log.gaps[APP_GAPS_COMPLETED].room, 1 << 17);
	ck_assert_uint_eq(app_log.gaps[APP_GAPS_COMPLETED].folded.n, 100);
	for (size_t i = 0; i < 100; i++)
		all += app_log.gaps[APP_GAPS_COMPLETED].folded.list[i].count;
	ck_assert_uint_eq(all + app_log.gaps[APP_GAPS_COMPLETED].count, 3000000);
	app_log_destroy(&app_log);
}
END_TEST

/* Gaps that are all different are rounded, so that their number does not grow either. */
START_TEST(different_gaps_are_rounded_when_there_are_too_many)
{
	struct app_log app_log = { 0 };
	u64 all = 0;

	for (u64 i = 0; i < 5000000; i++)
		if (app_log_add_gap(&app_log, APP_GAPS_COMPLETED, 1000000 + i * 7))
			ck_abort_msg("no memory for gap %llu", i);
	ck_assert_uint_le(app_log.gaps[APP_GAPS_COMPLETED].folded.n, APP_LOG_VALUES_MAX);
	ck_assert_uint_le(app_log.gaps[APP_GAPS_COMPLETED].room, 2 * APP_LOG_VALUES_MAX);
	for (size_t i = 0; i < app_log.gaps[APP_GAPS_COMPLETED].folded.n; i++)
		all += app_log.gaps[APP_GAPS_COMPLETED].folded.list[i].count;
	ck_assert_uint_eq(all + app_log.gaps[APP_GAPS_COMPLETED].count, 5000000);
	app_log_destroy(&app_log);
}
END_TEST

TEST_MAIN("app_log", the_log_grows, memory_does_not_grow_with_records_that_have_ended,
	  an_open_record_keeps_those_behind_it, records_stay_in_memory_where_no_file_can_be,
	  different_gaps_are_rounded_when_there_are_too_many, gaps_of_a_long_run_are_folded)
