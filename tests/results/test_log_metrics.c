// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Metrics of small logs, each computed by hand: what a request without an answer does to them,
 * and what the client's view leaves out.
 */
#include "results_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"
#include "results/asked.h"

static struct app_record records[8];
static struct app_log log_made;
static struct summary_container made;
static u64 promises_ns[APP_PROMISES];

/* An empty log of an application with this report, of a run of 10 s. */
static void begin(const struct app_report *report)
{
	log_made = (struct app_log){ .records = records };
	made = (struct summary_container){ .report = report };
	memset(promises_ns, 0, sizeof(promises_ns));
}

/* A record of the log; a date of 0 did not happen. */
static void add(enum app_outcome outcome, u64 arrival_ns, u64 first_ns, u64 finish_ns)
{
	records[log_made.record_count++] = (struct app_record){
		.outcome = outcome,
		.arrival_ns = arrival_ns,
		.first_ns = first_ns,
		.finish_ns = finish_ns,
	};
}

static void compute(void)
{
	ck_assert_int_eq(summary_set_log(&made, &log_made, promises_ns, 10 * SEC), 0);
}

static struct summary_value get(const char *key)
{
	const struct summary_value *value;

	ck_assert_msg(summary_find_metric(&made, key, &value) != NULL, "%s", key);
	return *value;
}

/* The metric is known to a millionth of its unit, and is no bound. */
static void expect(const char *key, double number)
{
	struct summary_value value = get(key);

	ck_assert_msg(value.known && !value.bound, "%s is not known", key);
	ck_assert_double_eq_tol(value.real, number, 1e-6);
}

/* The log only tells that the metric is greater than this. */
static void expect_bound(const char *key, double number)
{
	struct summary_value value = get(key);

	ck_assert_msg(value.known && value.bound, "%s is no bound", key);
	ck_assert_double_eq_tol(value.real, number, 1e-6);
}

/*
 * One request answered after 100 ms, one that has waited 8 s when the run ends, one refused 7 s
 * before.
 */
static void add_three(void)
{
	add(APP_COMPLETED, 1 * SEC, 1 * SEC + 100 * MS, 2 * SEC);
	add(APP_DROPPED, 2 * SEC, 0, 0);
	add(APP_FAILED, 3 * SEC, 0, 3 * SEC);
}

/* 100 ms, then waits of 7 and 8 s: the middle one of the three has no answer. */
START_TEST(requests_without_an_answer_are_the_slowest)
{
	begin(&report_requests);
	add_three();
	compute();
	ck_assert_uint_eq(get("requests.arrived").count, 3);
	expect_bound("ttft_ms.p50", 7000);
	expect_bound("ttft_ms.p99", 7000 * 0.02 + 8000 * 0.98);
	expect_bound("ttft_ms.mean", (100 + 7000 + 8000) / 3.0);
}
END_TEST

START_TEST(the_clients_view_leaves_them_out)
{
	begin(&report_requests);
	promises_ns[APP_PROMISE_FIRST] = SEC;
	add_three();
	compute();
	expect("client_ttft_ms.mean", 100);
	expect("client_ttft_ms.p50", 100);
	expect("client_ttft_ms.p99", 100);
	expect("client_slo_attainment", 0.5);
	expect("slo_attainment", 1 / 3.0);
}
END_TEST

/*
 * Four answers and a wait of 1 s: the wait sorts after the answer of 5 s, which may be
 * shorter.
 */
START_TEST(a_percentile_on_answers_is_known)
{
	begin(&report_requests);
	add(APP_COMPLETED, 1 * SEC, 1 * SEC + 100 * MS, 2 * SEC);
	add(APP_COMPLETED, 1 * SEC, 1 * SEC + 200 * MS, 2 * SEC);
	add(APP_COMPLETED, 1 * SEC, 1 * SEC + 300 * MS, 2 * SEC);
	add(APP_COMPLETED, 1 * SEC, 6 * SEC, 7 * SEC);
	add(APP_DROPPED, 9 * SEC, 0, 0);
	compute();
	expect("ttft_ms.p50", 300);
	/*
	 * Rank 3.6 lies between the answer of 5 s and the wait: bounded by 300 ms, 1 s and 5 s
	 * in order.
	 */
	expect_bound("ttft_ms.p90", 1000 * 0.4 + 5000 * 0.6);
	expect_bound("ttft_ms.mean", (100 + 200 + 300 + 5000 + 1000) / 5.0);
}
END_TEST

/* A dropped request that had its first token has a TTFT, and its client does not count it. */
START_TEST(an_answer_that_was_cut_off_has_a_first_token)
{
	begin(&report_requests);
	promises_ns[APP_PROMISE_FIRST] = SEC;
	add(APP_DROPPED, 1 * SEC, 1 * SEC + 50 * MS, 0);
	compute();
	expect("ttft_ms.p99", 50);
	expect("slo_attainment", 1);
	ck_assert(!get("client_ttft_ms.p50").known);
	ck_assert(!get("client_slo_attainment").known);
}
END_TEST

/* Waits of 1 s and of a nanosecond more at the end of the log, which is the client's at 9 s. */
START_TEST(a_wait_within_the_promise_is_undecided_and_one_beyond_it_a_miss)
{
	begin(&report_requests);
	promises_ns[APP_PROMISE_FIRST] = SEC;
	log_made.end_ns = 9 * SEC;
	add(APP_DROPPED, 8 * SEC, 0, 0);
	compute();
	ck_assert(!get("slo_attainment").known);
	add(APP_DROPPED, 8 * SEC - 1, 0, 0);
	compute();
	expect("slo_attainment", 0);
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC);
	compute();
	expect("slo_attainment", 0.5);
}
END_TEST

START_TEST(a_promise_that_was_not_made_is_not_reported)
{
	begin(&report_requests);
	add_three();
	compute();
	ck_assert(!get("slo_attainment").known);
	ck_assert(!get("client_slo_attainment").known);
}
END_TEST

/* Gaps of a request that completed, of one that did not, and the 2 s since its last token. */
START_TEST(gaps_of_all_requests_count)
{
	u64 completed[] = { 10 * MS, 30 * MS }, others[] = { 20 * MS }, open[] = { 2 * SEC };

	begin(&report_requests);
	log_made.gaps[APP_GAPS_COMPLETED].ns = completed;
	log_made.gaps[APP_GAPS_COMPLETED].count = COUNT(completed);
	log_made.gaps[APP_GAPS_OTHERS].ns = others;
	log_made.gaps[APP_GAPS_OTHERS].count = COUNT(others);
	log_made.gaps[APP_GAPS_OPEN].ns = open;
	log_made.gaps[APP_GAPS_OPEN].count = COUNT(open);
	compute();
	expect_bound("itl_ms.mean", (10 + 20 + 30 + 2000) / 4.0);
	expect("itl_ms.p50", 25);
	expect_bound("itl_ms.p99", 30 * 0.03 + 2000 * 0.97);
	expect("client_itl_ms.mean", 20);
	expect("client_itl_ms.p99", 10 * 0.01 + 30 * 0.99);
}
END_TEST

/* The same gaps, folded: the same digits. */
START_TEST(folded_gaps_give_the_same_statistics)
{
	u64 completed[] = { 30 * MS, 10 * MS }, others[] = { 20 * MS }, open[] = { 2 * SEC };
	struct stats_weights *folded = &log_made.gaps[APP_GAPS_COMPLETED].folded;

	begin(&report_requests);
	ck_assert_int_eq(stats_weights_add(folded, completed, COUNT(completed)), 0);
	log_made.gaps[APP_GAPS_OTHERS].ns = others;
	log_made.gaps[APP_GAPS_OTHERS].count = COUNT(others);
	log_made.gaps[APP_GAPS_OPEN].ns = open;
	log_made.gaps[APP_GAPS_OPEN].count = COUNT(open);
	compute();
	expect_bound("itl_ms.mean", (10 + 20 + 30 + 2000) / 4.0);
	expect("itl_ms.p50", 25);
	expect_bound("itl_ms.p99", 30 * 0.03 + 2000 * 0.97);
	expect("client_itl_ms.mean", 20);
	expect("client_itl_ms.p99", 10 * 0.01 + 30 * 0.99);
	free(folded->list);
}
END_TEST

/* Images of 4 and 2 s, and one in flight for 3 s and for a nanosecond more. */
START_TEST(an_image_in_flight_counts_when_it_outlasts_the_mean)
{
	begin(&report_images);
	add(APP_COMPLETED, 0, 0, 4 * SEC);
	add(APP_COMPLETED, 4 * SEC, 0, 6 * SEC);
	add(APP_DROPPED, 7 * SEC, 0, 0);
	compute();
	expect("latency_s.mean", 3);
	expect("latency_s.p50", 3);
	records[2].arrival_ns = 7 * SEC - 1;
	compute();
	expect_bound("latency_s.mean", (4 + 2 + 3.000000001) / 3);
	expect("latency_s.p50", 4);
	expect("client_latency_s.mean", 3);
}
END_TEST

/*
 * An SLO of 100 ms between tokens. 3 tokens in 200 ms keep it, in a nanosecond more they do
 * not; one token has no gap; a failed answer misses. Of requests in flight at 10 s, one has had
 * 2 tokens in 200 ms and may keep it yet, one 2 in more, and one has waited 9 s for its first.
 */
START_TEST(a_request_keeps_the_mean_of_its_gaps)
{
	begin(&report_requests);
	promises_ns[APP_PROMISE_GAPS] = 100 * MS;
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC + 200 * MS);
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC + 200 * MS + 1);
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC);
	add(APP_FAILED, 1 * SEC, 2 * SEC, 2 * SEC + 1);
	add(APP_DROPPED, 9 * SEC, 10 * SEC - 200 * MS, 0);
	add(APP_DROPPED, 9 * SEC, 10 * SEC - 200 * MS - 1, 0);
	add(APP_DROPPED, 1 * SEC, 0, 0);
	for (size_t i = 0; i < log_made.record_count; i++)
		records[i].output_tokens = i < 2 ? 3 : i < 4 ? 1 : 2;
	records[6].output_tokens = 0;
	compute();
	expect("itl_slo_attainment", 2 / 6.0);
	ck_assert(!get("slo_attainment").known);
}
END_TEST

/* The end of the run is at 10 s, and the first token reaches the client after it. */
START_TEST(a_first_token_after_the_end_has_missed_no_gap)
{
	begin(&report_requests);
	promises_ns[APP_PROMISE_GAPS] = 100 * MS;
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC);
	add(APP_DROPPED, 9 * SEC, 10 * SEC + 1, 0);
	records[0].output_tokens = records[1].output_tokens = 1;
	compute();
	expect("itl_slo_attainment", 1);
}
END_TEST

/*
 * From the first arrival at 1 s to the end at 10 s. Of four completed requests, one has kept
 * both SLOs, one is late with its first token, one with the others, and one with both.
 */
START_TEST(goodput_is_what_kept_every_promise)
{
	begin(&report_requests);
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC + 100 * MS);
	add(APP_COMPLETED, 1 * SEC, 3 * SEC, 3 * SEC + 100 * MS);
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC + 101 * MS);
	add(APP_COMPLETED, 1 * SEC, 3 * SEC, 3 * SEC + 101 * MS);
	add(APP_DROPPED, 1 * SEC, 2 * SEC, 0);
	for (size_t i = 0; i < log_made.record_count; i++)
		records[i].output_tokens = 2;
	compute();
	ck_assert(!get("goodput_per_s").known);
	expect("requests_per_s", 4 / 9.0);
	expect("tokens_per_s", 10 / 9.0);
	promises_ns[APP_PROMISE_FIRST] = SEC;
	compute();
	expect("goodput_per_s", 2 / 9.0);
	promises_ns[APP_PROMISE_GAPS] = 100 * MS;
	compute();
	expect("goodput_per_s", 1 / 9.0);
}
END_TEST

/*
 * Two requests began at once and after 1 s; one has waited for 2 s at the end; one was refused
 * 4 s before.
 */
START_TEST(queue_and_end_to_end_times_count_all)
{
	begin(&report_requests);
	log_made.has_server = true;
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 2 * SEC);
	add(APP_COMPLETED, 1 * SEC, 2 * SEC, 3 * SEC);
	add(APP_DROPPED, 8 * SEC, 0, 0);
	add(APP_FAILED, 6 * SEC, 0, 6 * SEC);
	records[0].start_ns = 1 * SEC;
	records[1].start_ns = 2 * SEC;
	records[1].preemptions = 3;
	records[3].reason = APP_REFUSED;
	compute();
	expect_bound("queue_ms.mean", (0 + 1000 + 2000 + 4000) / 4.0);
	expect_bound("queue_ms.p50", 1500);
	expect_bound("e2e_s.p99", 2 * 0.03 + 4 * 0.97);
	expect_bound("e2e_s.mean", (1 + 2 + 2 + 4) / 4.0);
	ck_assert_uint_eq(get("requests.arrived").count, 4);
	ck_assert_uint_eq(get("requests.completed").count, 2);
	ck_assert_uint_eq(get("requests.failed").count, 1);
	ck_assert_uint_eq(get("requests.dropped").count, 1);
	ck_assert_uint_eq(get("preemptions").count, 3);
	ck_assert_uint_eq(get("failures.refused").count, 1);
	ck_assert_uint_eq(get("failures.out_of_memory").count, 0);
}
END_TEST

/* A client's log tells neither when its server began nor how often it began again. */
START_TEST(what_only_a_server_knows_is_unknown_from_a_client)
{
	begin(&report_requests);
	add_three();
	compute();
	ck_assert(!get("queue_ms.p50").known);
	ck_assert(!get("preemptions").known);
}
END_TEST

/* A log of 30000 requests of all kinds, the last 50 of which are in flight at the end. */
static void log_all_kinds(struct app_log *log, const char *scratch_folder)
{
	*log = (struct app_log){ .scratch_folder = scratch_folder, .has_server = true };
	srand(7);
	for (u64 i = 0; i < 30000; i++) {
		struct app_record record = { .id = i, .arrival_ns = i * MS / 5 };

		record.start_ns = record.arrival_ns + (u64)(rand() % 1000) * 1009;
		record.first_ns = record.start_ns + (u64)(rand() % 100000) * 1009 + 1;
		record.finish_ns = record.first_ns + (u64)rand() % SEC;
		record.output_tokens = 1 + (u32)rand() % 9;
		record.preemptions = (u32)rand() % 2;
		if (rand() % 100 < 3 || i >= 29950)
			record.first_ns = record.finish_ns = 0;
		if (i >= 29950)
			record.outcome = APP_DROPPED;
		else if (!record.first_ns || rand() % 100 < 5)
			record.outcome = APP_FAILED;
		if (record.outcome == APP_FAILED)
			record.reason = APP_KILLED;
		ck_assert_int_eq(app_log_add(log, &record), 0);
	}
}

/* So do statistics that are asked for. p50.00 is p50. */
static void check_asked(const struct app_log *kept, const struct app_log *streamed)
{
	static const char *const keys[] = { "ttft_ms.above_60ms", "e2e_s.share_above_500ms",
					    "ttft_ms.p95",	  "ttft_ms.p99.9",
					    "queue_ms.p50.00",	  "client_ttft_ms.p33.333" };
	struct summary_value values[2], all[REPORT_METRICS_MAX];
	const u64 promises[APP_PROMISES] = { 0 };
	struct sim_error err = { 0 };
	struct asked asked;

	ck_assert_int_eq(log_metrics_compute(&report_requests, kept, promises, 10 * SEC, all),
			 0);
	for (size_t i = 0; i < COUNT(keys); i++) {
		ck_assert_int_eq(asked_parse(&asked, keys[i], &report_requests, "", &err), 0);
		ck_assert_int_eq(
			asked_compute(&asked, &report_requests, kept, 10 * SEC, &values[0]), 0);
		ck_assert_int_eq(asked_compute(&asked, &report_requests, streamed, 10 * SEC,
					       &values[1]),
				 0);
		ck_assert(values[0].known && values[1].known);
		ck_assert_int_eq(values[0].bound, values[1].bound);
		ck_assert_uint_eq(values[0].count, values[1].count);
		ck_assert_double_eq(values[0].real, values[1].real);
		ck_assert(values[0].count > 0 || values[0].real > 0);
		for (size_t k = 0; k < report_requests.metric_count; k++)
			if (i == 4 && !strcmp(report_requests.metrics[k].key, "queue_ms.p50"))
				ck_assert_double_eq(values[0].real, all[k].real);
	}
	/* That is a metric of the report. */
	ck_assert_int_eq(asked_parse(&asked, "ttft_ms.p99", &report_requests, "", &err), 1);
}

/* Records that have left the memory give the same metrics, to the bit. */
START_TEST(streamed_records_give_the_same_metrics)
{
	static struct summary_value kept[REPORT_METRICS_MAX], streamed[REPORT_METRICS_MAX];
	const struct app_report *const reports[] = { &report_requests, &report_images };
	const u64 promises[APP_PROMISES] = { 50 * MS, 100 * MS };
	struct app_log logs[2];

	log_all_kinds(&logs[0], NULL);
	log_all_kinds(&logs[1], above);
	ck_assert_uint_eq(logs[0].passed, 0);
	ck_assert_uint_gt(logs[1].passed, 20000);
	for (size_t r = 0; r < COUNT(reports); r++) {
		ck_assert_int_eq(
			log_metrics_compute(reports[r], &logs[0], promises, 10 * SEC, kept), 0);
		ck_assert_int_eq(log_metrics_compute(reports[r], &logs[1], promises, 10 * SEC,
						     streamed),
				 0);
		for (size_t i = 0; i < reports[r]->metric_count; i++) {
			const char *key = reports[r]->metrics[i].key;

			ck_assert_msg(kept[i].known == streamed[i].known, "%s", key);
			ck_assert_msg(kept[i].bound == streamed[i].bound, "%s", key);
			ck_assert_msg(kept[i].count == streamed[i].count, "%s", key);
			ck_assert_msg(kept[i].real == streamed[i].real, "%s", key);
		}
	}
	check_asked(&logs[0], &logs[1]);
	/* A file that cannot be read is an error, and not a number. */
	close(logs[1].scratch);
	ck_assert_int_eq(log_metrics_compute(&report_requests, &logs[1], promises, 10 * SEC,
					     streamed),
			 -EIO);
	logs[1].passed = 0;
	app_log_destroy(&logs[0]);
	app_log_destroy(&logs[1]);
}
END_TEST

/* As of requests to a server that is not there, all at the date of its end. */
START_TEST(streamed_times_may_all_be_zero)
{
	static struct summary_value values[REPORT_METRICS_MAX];
	const u64 promises[APP_PROMISES] = { 0 };
	struct app_log log = { .scratch_folder = above };
	struct app_record record = {
		.arrival_ns = SEC, .finish_ns = SEC, .outcome = APP_FAILED, .reason = APP_KILLED
	};

	for (record.id = 0; record.id < 30002; record.id++)
		ck_assert_int_eq(app_log_add(&log, &record), 0);
	ck_assert_uint_gt(log.passed, 20000);
	log.end_ns = SEC;
	ck_assert_int_eq(
		log_metrics_compute(&report_requests, &log, promises, 10 * SEC, values), 0);
	for (size_t i = 0; i < report_requests.metric_count; i++)
		if (strstr(report_requests.metrics[i].key, "ttft_ms.p"))
			ck_assert_msg(values[i].real == 0, "%s is %f",
				      report_requests.metrics[i].key, values[i].real);
	app_log_destroy(&log);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, streamed_records_give_the_same_metrics);
	tcase_add_test(tests, streamed_times_may_all_be_zero);
	tcase_add_test(tests, requests_without_an_answer_are_the_slowest);
	tcase_add_test(tests, the_clients_view_leaves_them_out);
	tcase_add_test(tests, a_percentile_on_answers_is_known);
	tcase_add_test(tests, an_answer_that_was_cut_off_has_a_first_token);
	tcase_add_test(tests, a_wait_within_the_promise_is_undecided_and_one_beyond_it_a_miss);
	tcase_add_test(tests, a_promise_that_was_not_made_is_not_reported);
	tcase_add_test(tests, gaps_of_all_requests_count);
	tcase_add_test(tests, folded_gaps_give_the_same_statistics);
	tcase_add_test(tests, a_request_keeps_the_mean_of_its_gaps);
	tcase_add_test(tests, a_first_token_after_the_end_has_missed_no_gap);
	tcase_add_test(tests, goodput_is_what_kept_every_promise);
	tcase_add_test(tests, queue_and_end_to_end_times_count_all);
	tcase_add_test(tests, what_only_a_server_knows_is_unknown_from_a_client);
	tcase_add_test(tests, an_image_in_flight_counts_when_it_outlasts_the_mean);
}

int main(void)
{
	return fixture_run("log_metrics", add_tests);
}
