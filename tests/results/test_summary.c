// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The summary of a run: golden statistics of a hand-made machine.
 */
#include "results/fixed.h"
#include "results_fixture.h"

#include <errno.h>
#include <stdlib.h>

static const char golden[] =
	"{\"name\": \"golden\", \"system\": \"test\", \"complete\": true, "
	"\"sim_seconds\": 10.0, \"wall_seconds\": 0.04, \"speedup\": 250.0, "
	"\"requests\": 6, \"requests_per_wall_second\": 150.0, "
	"\"seed\": 7, \"gpu_reserved_bytes\": 1073741824, \"gpus\": {\"gpu0\": "
	"{\"busy_share\": 0.5, \"switching_share\": 0.1, \"stalled_share\": "
	"0.15, \"idle_share\": 0.25, \"switches\": 7}}, \"config_hash\": "
	"\"0123456789abcdef0123456789abcdef\", \"version\": \"VERSION\", "
	"\"ignored_keys\": [\"containers.diffusion.gmem.limit.high\", "
	"\"events.1.file\"], \"containers\": {\"vllm\": {\"type\": "
	"\"llm-server\", \"status\": \"ok\", \"requests\": {\"arrived\": 6, "
	"\"completed\": 4, \"failed\": 1, \"dropped\": 1}, \"failures\": "
	"{\"refused\": 1, \"too_long\": 0, \"out_of_memory\": 0, \"killed\": 0, "
	"\"error\": 0}, \"ttft_ms\": {\"mean\": {\"at_least\": 1550.16666683}, "
	"\"p50\": 600.0, \"p90\": {\"at_least\": 4000.0000005}, \"p99\": "
	"{\"at_least\": 6700.00000005}}, \"queue_ms\": {\"mean\": {\"at_least\": "
	"1483.33333333}, \"p50\": 500.0, \"p90\": {\"at_least\": 3950.0}, "
	"\"p99\": {\"at_least\": 6695.0}}, \"itl_ms\": {\"mean\": {\"at_least\": "
	"185.666666667}, \"p50\": 25.0, \"p90\": {\"at_least\": 519.5}, \"p99\": "
	"{\"at_least\": 951.05}}, \"e2e_s\": {\"mean\": {\"at_least\": "
	"2.66666666667}, \"p50\": 2.5, \"p90\": {\"at_least\": 5.0}, \"p99\": "
	"{\"at_least\": 6.8}}, \"slo_attainment\": 0.666666666667, "
	"\"itl_slo_attainment\": null, \"goodput_per_s\": 0.333333333333, "
	"\"requests_per_s\": 0.444444444444, \"tokens_per_s\": 3.11111111111, "
	"\"preemptions\": 2, \"client_ttft_ms\": {\"mean\": 575.00000025, "
	"\"p50\": 600.0, \"p90\": 1000.0000007, \"p99\": 1000.00000097}, "
	"\"client_itl_ms\": {\"mean\": 18.75, \"p50\": 17.5, \"p90\": 27.0, "
	"\"p99\": 29.7}, \"client_slo_attainment\": 0.6, \"gmem\": {\"current\": "
	"1073741824, \"mean\": 4096, \"peak\": 3221225472, \"swap\": 0}, "
	"\"gmem_events\": {\"high\": 3, \"hmem\": 2, \"oom\": 0}, \"kernels\": "
	"{\"submitted\": 700, \"ended\": 690, \"per_s\": 150.0}, \"faults\": "
	"11, \"fault_batches\": 5, \"evictions\": 2, \"bytes_h2d\": "
	"1099511627776, \"bytes_d2h\": 4096, \"gpu_seconds\": 2.5, "
	"\"slow_seconds\": 0.25, "
	"\"stall_seconds\": 0.125, \"stall_cpu_seconds\": 0.05, "
	"\"stall_d2h_seconds\": 0.06, \"stall_h2d_seconds\": 0.015, "
	"\"blocked_seconds\": 0.375, \"switching_seconds\": 0.5, "
	"\"waited_seconds\": 1.5, \"idle_seconds\": 4.75, \"gpu_share\": 0.25}, "
	"\"diffusion\": {\"type\": \"diffusion\", \"status\": \"ok\", "
	"\"images\": 2, \"images_per_s\": 0.2, \"latency_s\": {\"mean\": 4.5, "
	"\"p50\": 4.5, \"p90\": 4.9, \"p99\": 4.99}, \"client_latency_s\": "
	"{\"mean\": 4.5, \"p50\": 4.5, \"p90\": 4.9, \"p99\": 4.99}, \"gmem\": "
	"{\"current\": 1073741824, \"mean\": null, \"peak\": 3221225472, "
	"\"swap\": 1}, \"gmem_events\": {\"high\": 3, \"hmem\": 2, \"oom\": 1}, "
	"\"kernels\": {\"submitted\": 700, \"ended\": 690}, "
	"\"faults\": 11, \"fault_batches\": 5, \"evictions\": 2, \"bytes_h2d\": "
	"1099511627776, \"bytes_d2h\": 4096, \"gpu_seconds\": 2.5, "
	"\"slow_seconds\": 0.25, "
	"\"stall_seconds\": 0.125, \"stall_cpu_seconds\": 0.05, "
	"\"stall_d2h_seconds\": 0.06, \"stall_h2d_seconds\": 0.015, "
	"\"blocked_seconds\": 0.375, \"switching_seconds\": 0.5, "
	"\"waited_seconds\": 1.5, \"idle_seconds\": 4.75, \"gpu_share\": 0.25}}}";

/* The texts are too long for a message of libcheck, so it has where they part. */
static void assert_same_text(const char *text, const char *expected)
{
	size_t same = 0;

	while (text[same] && text[same] == expected[same])
		same++;
	same -= min(same, (size_t)40);
	ck_assert_msg(!strcmp(text, expected), "\"...%.80s...\", expected \"...%.80s...\"",
		      text + same, expected + same);
}

START_TEST(summary_is_golden)
{
	struct summary summary;
	json_t *root;
	char *text;

	must_compute(&summary);
	root = summary_json(&summary);
	json_object_set_new(root, "version", json_string("VERSION"));
	text = json_dumps(root, JSON_REAL_PRECISION(12));
	assert_same_text(text, golden);
	free(text);
	json_decref(root);
	summary_destroy(&summary);
}
END_TEST

/* The value of a metric that the container has. */
static struct summary_value value_of(const struct summary *summary, size_t container,
				     const char *key)
{
	const struct summary_value *value;

	ck_assert_msg(summary_find_metric(&summary->containers[container], key, &value) != NULL,
		      "%s", key);
	return *value;
}

/* Metrics that may be missing come back as well, and a folder without them is read. */
START_TEST(optional_metrics_are_read_back)
{
	static const char *const keys[] = { "failures.stopped", "kernels.submitted",
					    "kernels.ended", "kernels.per_s" };
	struct summary summary;
	json_t *root, *vllm;

	llm_records[4].reason = APP_STOPPED;
	sim_containers[0].restarts = 1;
	must_write();
	llm_records[4].reason = APP_REFUSED;
	ck_assert_msg(!summary_load(&summary, path_of(RESULTS_SUMMARY), &error), "%s",
		      error.text);
	ck_assert_uint_eq(value_of(&summary, 0, keys[0]).count, 1);
	ck_assert_uint_eq(value_of(&summary, 0, keys[1]).count, 700);
	ck_assert_uint_eq(value_of(&summary, 0, keys[2]).count, 690);
	ck_assert_double_eq(value_of(&summary, 0, keys[3]).real, 150);
	ck_assert(!value_of(&summary, 1, keys[3]).known);
	summary_destroy(&summary);
	root = json_load_file(path_of(RESULTS_SUMMARY), 0, NULL);
	vllm = json_object_get(json_object_get(root, "containers"), "vllm");
	ck_assert_int_eq(json_object_del(vllm, "kernels"), 0);
	ck_assert_int_eq(json_dump_file(root, path_of(RESULTS_SUMMARY), 0), 0);
	json_decref(root);
	ck_assert_msg(!summary_load(&summary, path_of(RESULTS_SUMMARY), &error), "%s",
		      error.text);
	for (size_t i = 1; i < COUNT(keys); i++)
		ck_assert(!value_of(&summary, 0, keys[i]).known);
	summary_destroy(&summary);
}
END_TEST

START_TEST(no_samples_are_null)
{
	struct summary summary;

	sim_containers[0].log = (struct app_log){ 0 };
	sim_containers[1].log = (struct app_log){ 0 };
	machine.wall_ns = 0;
	must_compute(&summary);
	ck_assert(value_of(&summary, 0, "requests.completed").known);
	ck_assert_uint_eq(value_of(&summary, 0, "requests.completed").count, 0);
	for (size_t i = 0; i < report_requests.metric_count; i++)
		if (report_requests.metrics[i].unit != METRIC_COUNT)
			ck_assert(!value_of(&summary, 0, report_requests.metrics[i].key).known);
	ck_assert(value_of(&summary, 1, "images").known);
	ck_assert_uint_eq(value_of(&summary, 1, "images").count, 0);
	ck_assert(!value_of(&summary, 1, "latency_s.mean").known);
	ck_assert(!value_of(&summary, 1, "latency_s.p99").known);
	ck_assert(!summary.speedup.known);
	summary_destroy(&summary);
	must_write();
	ck_assert_msg(!summary_load(&summary, path_of(RESULTS_SUMMARY), &error), "%s",
		      error.text);
	ck_assert(!value_of(&summary, 0, "ttft_ms.mean").known);
	summary_destroy(&summary);
}
END_TEST

START_TEST(status_tells_what_became_of_a_container)
{
	struct summary summary;

	sim_containers[0].status = -EIO;
	sim_containers[0].failed_ns = 57 * SEC + 100 * MS;
	sim_containers[0].process.killed = true;
	containers[1].start = 10 * SEC;
	machine.interrupted = true;
	must_compute(&summary);
	ck_assert(!summary.complete);
	ck_assert_str_eq(summary.containers[0].status,
			 "context died at 57.100 s: a page fault found no free memory and "
			 "nothing to evict");
	ck_assert_str_eq(summary.containers[1].status, "not started");
	ck_assert(summary_has_failed(&summary.containers[0]));
	ck_assert(!summary_has_failed(&summary.containers[1]));
	/* gvmcollect says so of one that it has not seen. */
	strcpy(summary.containers[1].status, "never appeared");
	ck_assert(!summary_has_failed(&summary.containers[1]));
	summary_destroy(&summary);
}
END_TEST

START_TEST(fixed_decimals_are_rounded_half_up)
{
	char text[FIXED_MAX];

	fixed_format(1, 3, text);
	ck_assert_str_eq(text, "0.333333");
	fixed_format(1, 2000000, text);
	ck_assert_str_eq(text, "0.000001");
	fixed_format(U64_MAX, 1, text);
	ck_assert_str_eq(text, "18446744073709551615.000000");
	fixed_format(5, 0, text);
	ck_assert_str_eq(text, "0.000000");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, summary_is_golden);
	tcase_add_test(tests, optional_metrics_are_read_back);
	tcase_add_test(tests, no_samples_are_null);
	tcase_add_test(tests, status_tells_what_became_of_a_container);
	tcase_add_test(tests, fixed_decimals_are_rounded_half_up);
}

int main(void)
{
	return fixture_run("summary", add_tests);
}
