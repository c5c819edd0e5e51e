// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Results: golden statistics of a hand-made machine, the files that are written of it, what is
 * left when writing fails, and what comes back when the files are read.
 *
 * Each test has a fresh folder.
 */
#include "results/folder.h"
#include "results/results.h"
#include "results/series.h"

#include "engine/error.h"
#include "results/csv.h"
#include "results/fixed.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS	     1000000ull
#define SEC	     1000000000ull
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char folder[128]; /* does not exist until something makes it */
static char above[64];	 /* what it lies in */
static struct sim_error error;

/*
 * A machine that ran for 10 s: an LLM server whose requests took 100, 200, ... ms to their first
 * token, 1 s in time for the SLO, and a diffusion pipeline.
 */
static struct app_record llm_records[] = {
	{ .id = 0,
	  .arrival_ns = 1 * SEC,
	  .first_ns = 1 * SEC + 100 * MS,
	  .finish_ns = 2 * SEC,
	  .prompt_tokens = 472,
	  .output_tokens = 18 },
	{ .id = 1,
	  .arrival_ns = 1 * SEC,
	  .first_ns = 1 * SEC + 200 * MS,
	  .finish_ns = 3 * SEC,
	  .prompt_tokens = 7,
	  .output_tokens = 2 },
	{ .id = 2,
	  .arrival_ns = 2 * SEC,
	  .first_ns = 3 * SEC,
	  .finish_ns = 4 * SEC,
	  .prompt_tokens = 8,
	  .output_tokens = 3 }, /* exactly at the SLO */
	{ .id = 3,
	  .arrival_ns = 2 * SEC,
	  .first_ns = 3 * SEC + 1,
	  .finish_ns = 5 * SEC,
	  .prompt_tokens = 9,
	  .output_tokens = 4 }, /* a nanosecond late */
	{ .id = 4, .arrival_ns = 3 * SEC, .prompt_tokens = 5, .outcome = APP_FAILED },
	{ .id = 5,
	  .arrival_ns = 9 * SEC,
	  .first_ns = 9 * SEC + 1 * MS,
	  .prompt_tokens = 6,
	  .output_tokens = 1,
	  .outcome = APP_DROPPED },
};
static u64 llm_gaps[] = { 30 * MS, 10 * MS, 20 * MS, 15 * MS };
static struct app_record images[] = {
	{ .id = 0, .arrival_ns = 0, .finish_ns = 5 * SEC },
	{ .id = 1, .arrival_ns = 5 * SEC, .finish_ns = 9 * SEC },
	{ .id = 2, .arrival_ns = 9 * SEC, .outcome = APP_DROPPED },
};
static struct cfg_control controls[] = {
	{ .file = "gmem.limit.high", .text = "6000000000" },
	{ .file = "gmem.limit.low", .text = "" },
	{ .file = "compute.priority", .text = "10" },
};
static struct cfg_event events[] = {
	{ .at = SEC, .container = "diffusion", .file = "compute.priority", .value = "2" },
	{ .at = 2 * SEC, .container = "diffusion", .file = "gmem.limit.high", .value = "max" },
};
static struct timeline_row rows[] = {
	{ .time_ns = 5 * SEC,
	  .tenant = 0,
	  .resident_bytes = 4096,
	  .busy_ns = 1 * SEC,
	  .bytes_h2d = 25 * 1000000000ull,
	  .pending_kernels = 3 },
	{ .time_ns = 5 * SEC, .tenant = 1, .busy_ns = 2 * SEC, .bytes_d2h = 1 },
	{ .time_ns = 8 * SEC, .tenant = 0, .busy_ns = 1 * SEC, .swapped_bytes = 65536 },
	{ .time_ns = 8 * SEC, .tenant = 1, .busy_ns = 2 * SEC },
};

static struct cfg_container containers[2];
static struct tenant tenants[2];
static struct config config;
static struct machine machine;

static bool test_honours(const char *control_file)
{
	return !strcmp(control_file, "compute.priority");
}

static const struct sim_system test_system = { .name = "test", .honours = test_honours };

static void make_config(void)
{
	containers[0] = (struct cfg_container){
		.name = "vllm",
		.enabled = true,
		.app_type = CFG_APP_LLM_SERVER,
		.llm.client.slo_ttft = 1 * SEC,
	};
	containers[1] = (struct cfg_container){
		.name = "diffusion",
		.enabled = true,
		.app_type = CFG_APP_DIFFUSION,
		.controls = controls,
		.control_count = COUNT(controls),
	};
	config = (struct config){
		.name = "golden",
		.system = "test",
		.duration = 10 * SEC,
		.seed = 7,
		.gpu.profile = "a100-40g",
		.gpu.link.bandwidth = 10000000000ull,
		.containers = containers,
		.container_count = 2,
		.events = events,
		.event_count = COUNT(events),
		.hash = "0123456789abcdef0123456789abcdef",
		.resolved = json_pack("{s{ss}s{s{s{ss}}}}", "gpu", "profile", "a100-40g",
				      "containers", "vllm", "app", "slo_ttft", "1s"),
	};
}

static void make_tenants(void)
{
	for (u32 i = 0; i < 2; i++)
		tenants[i] = (struct tenant){
			.cfg = &containers[i],
			.machine = &machine,
			.index = i,
			.started = true,
			.gmem_current = 1ull << 30,
			.gmem_peak = 3ull << 30,
			.gmem_swap = i,
			.busy_ns = 2500 * MS,
			.stall_ns = 125 * MS,
			.stats = { .faults = 11,
				   .fault_batches = 5,
				   .evictions = 2,
				   .bytes_h2d = 1ull << 40,
				   .bytes_d2h = 4096 },
		};
	tenants[0].log = (struct app_log){
		.records = llm_records,
		.record_count = COUNT(llm_records),
		.gaps_ns = llm_gaps,
		.gap_count = COUNT(llm_gaps),
		.arrived = 6,
	};
	tenants[1].log = (struct app_log){ .records = images, .record_count = COUNT(images) };
}

static void setup(void)
{
	strcpy(above, "/tmp/test_results.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(above));
	snprintf(folder, sizeof(folder), "%s/results/run", above);
	memset(&error, 0, sizeof(error));
	make_config();
	make_tenants();
	machine = (struct machine){
		.config = &config,
		.system = &test_system,
		.tenants = tenants,
		.tenant_count = 2,
		.timeline = rows,
		.row_count = COUNT(rows),
		.end_ns = 10 * SEC,
		.wall_ns = 40 * MS,
	};
}

static void teardown(void)
{
	char command[128];

	json_decref(config.resolved);
	snprintf(command, sizeof(command), "rm -rf '%s'", above);
	ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void get_file(const char *name, char *ret_text, size_t size)
{
	FILE *stream = fopen(path_of(name), "r");
	size_t length;

	ck_assert_msg(stream, "no %s", path_of(name));
	length = fread(ret_text, 1, size - 1, stream);
	ret_text[length] = '\0';
	fclose(stream);
}

static void put_file(const char *name, const char *text)
{
	FILE *stream = fopen(path_of(name), "w");

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_ge(fputs(text, stream), 0);
	ck_assert_int_eq(fclose(stream), 0);
}

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

static void must_compute(struct summary *summary)
{
	ck_assert_msg(!summary_compute(summary, &machine, &error), "%s", error.text);
}

static int write_results(void)
{
	struct summary summary;
	struct writer writer;
	int rc;

	must_compute(&summary);
	rc = results_prepare(&writer, folder, &error);
	if (!rc)
		rc = results_write(&writer, &machine, &summary, &error);
	summary_destroy(&summary);
	return rc;
}

static void must_write(void)
{
	ck_assert_msg(!write_results(), "%s", error.text);
}

/* --- statistics ------------------------------------------------------------------------------ */

START_TEST(summary_is_golden)
{
	static const char golden[] =
		"{\"name\": \"golden\", \"system\": \"test\", \"complete\": true, "
		"\"sim_seconds\": 10.0, \"wall_seconds\": 0.04, \"speedup\": 250.0, \"seed\": "
		"7, "
		"\"config_hash\": \"0123456789abcdef0123456789abcdef\", \"version\": "
		"\"VERSION\", "
		"\"ignored_keys\": [\"containers.diffusion.gmem.limit.high\", "
		"\"events.1.file\"], \"containers\": {\"vllm\": "
		"{\"type\": \"llm-server\", \"status\": \"ok\", \"requests\": "
		"{\"arrived\": 6, \"completed\": 4, \"failed\": 1, \"dropped\": 1}, "
		"\"ttft_ms\": {\"mean\": 575.00000025, \"p50\": 600.0, \"p90\": 1000.0000007, "
		"\"p99\": 1000.00000097}, "
		"\"itl_ms\": {\"mean\": 18.75, \"p50\": 17.5, \"p90\": 27.0, \"p99\": 29.7}, "
		"\"slo_attainment\": 0.6, "
		"\"gmem\": {\"current\": 1073741824, \"peak\": 3221225472, \"swap\": 0}, "
		"\"faults\": 11, \"fault_batches\": 5, \"evictions\": 2, "
		"\"bytes_h2d\": 1099511627776, \"bytes_d2h\": 4096, \"gpu_seconds\": 2.5, "
		"\"stall_seconds\": 0.125, \"gpu_share\": 0.25}, "
		"\"diffusion\": {\"type\": \"diffusion\", \"status\": \"ok\", \"images\": 2, "
		"\"latency_s\": {\"mean\": 4.5, \"p50\": 4.5, \"p99\": 4.99}, "
		"\"gmem\": {\"current\": 1073741824, \"peak\": 3221225472, \"swap\": 1}, "
		"\"faults\": 11, \"fault_batches\": 5, \"evictions\": 2, "
		"\"bytes_h2d\": 1099511627776, \"bytes_d2h\": 4096, \"gpu_seconds\": 2.5, "
		"\"stall_seconds\": 0.125, \"gpu_share\": 0.25}}}";
	struct summary summary;
	json_t *root;
	char *text;

	must_compute(&summary);
	root = summary_json(&summary);
	json_object_set_new(root, "version", json_string("VERSION"));
	text = json_dumps(root, JSON_REAL_PRECISION(12));
	ck_assert_str_eq(text, golden);
	free(text);
	json_decref(root);
	summary_destroy(&summary);
}
END_TEST

START_TEST(no_samples_are_null)
{
	struct summary summary;
	struct summary_value *values;

	tenants[0].log = (struct app_log){ 0 };
	tenants[1].log = (struct app_log){ 0 };
	machine.wall_ns = 0;
	must_compute(&summary);
	values = summary.containers[0].values;
	ck_assert(values[SUMMARY_COMPLETED].known && !values[SUMMARY_COMPLETED].count);
	for (int i = SUMMARY_TTFT_MEAN; i <= SUMMARY_SLO_ATTAINMENT; i++)
		ck_assert_msg(!values[i].known, "%s", summary_metrics[i].key);
	values = summary.containers[1].values;
	ck_assert(values[SUMMARY_IMAGES].known && !values[SUMMARY_IMAGES].count);
	ck_assert(!values[SUMMARY_LATENCY_MEAN].known && !values[SUMMARY_LATENCY_P99].known);
	ck_assert(!summary.speedup.known);
	summary_destroy(&summary);
	must_write();
	ck_assert_msg(!summary_load(&summary, path_of(RESULTS_SUMMARY), &error), "%s",
		      error.text);
	ck_assert(!summary.containers[0].values[SUMMARY_TTFT_MEAN].known);
	summary_destroy(&summary);
}
END_TEST

START_TEST(only_dropped_requests_attain_nothing)
{
	struct summary summary;

	tenants[0].log.records = &llm_records[5];
	tenants[0].log.record_count = 1;
	must_compute(&summary);
	ck_assert(!summary.containers[0].values[SUMMARY_SLO_ATTAINMENT].known);
	summary_destroy(&summary);
}
END_TEST

START_TEST(only_failed_requests_attain_zero)
{
	struct summary summary;

	tenants[0].log.records = &llm_records[4];
	tenants[0].log.record_count = 1;
	must_compute(&summary);
	ck_assert(summary.containers[0].values[SUMMARY_SLO_ATTAINMENT].known);
	ck_assert(summary.containers[0].values[SUMMARY_SLO_ATTAINMENT].real <= 0);
	ck_assert(!summary.containers[0].values[SUMMARY_TTFT_MEAN].known);
	summary_destroy(&summary);
}
END_TEST

START_TEST(status_tells_what_became_of_a_container)
{
	struct summary summary;

	tenants[0].status = -EIO;
	tenants[0].failed_ns = 57 * SEC + 100 * MS;
	containers[1].start = 10 * SEC;
	machine.interrupted = true;
	must_compute(&summary);
	ck_assert(!summary.complete);
	ck_assert_str_eq(summary.containers[0].status,
			 "context died at 57.100 s: a page fault found no free memory and "
			 "nothing to evict");
	ck_assert_str_eq(summary.containers[1].status, "not started");
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
	fixed_seconds(100 * MS, text);
	ck_assert_str_eq(text, "0.100000000");
}
END_TEST

/* --- files ----------------------------------------------------------------------------------- */

START_TEST(requests_csv_is_golden)
{
	char text[2048];

	must_write();
	get_file(RESULTS_REQUESTS, text, sizeof(text));
	ck_assert_str_eq(text,
			 "container,id,kind,arrival_ns,first_ns,finish_ns,prompt_tokens,"
			 "output_tokens,outcome\n"
			 "vllm,0,request,1000000000,1100000000,2000000000,472,18,completed\n"
			 "vllm,1,request,1000000000,1200000000,3000000000,7,2,completed\n"
			 "vllm,2,request,2000000000,3000000000,4000000000,8,3,completed\n"
			 "vllm,3,request,2000000000,3000000001,5000000000,9,4,completed\n"
			 "vllm,4,request,3000000000,,,5,0,failed\n"
			 "vllm,5,request,9000000000,9001000000,,6,1,dropped\n"
			 "diffusion,0,image,0,,5000000000,,,completed\n"
			 "diffusion,1,image,5000000000,,9000000000,,,completed\n"
			 "diffusion,2,image,9000000000,,,,,dropped\n");
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
		"time_ns,container,resident_bytes,swapped_bytes,gpu_busy_ns,gpu_share,h2d_"
		"bytes,"
		"d2h_bytes,link_h2d_use,link_d2h_use,pending_kernels\n"
		"5000000000,vllm,4096,0,1000000000,0.200000,25000000000,0,0.500000,0.000000,3\n"
		"5000000000,diffusion,0,0,2000000000,0.400000,0,1,0.000000,0.000000,0\n"
		"8000000000,vllm,0,65536,1000000000,0.333333,0,0,0.000000,0.000000,0\n"
		"8000000000,diffusion,0,0,2000000000,0.666667,0,0,0.000000,0.000000,0\n");
}
END_TEST

START_TEST(config_json_carries_the_hash)
{
	json_t *root;

	must_write();
	ck_assert_int_eq(results_load_json(path_of(RESULTS_CONFIG), &root, &error), 0);
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
	put_file(RESULTS_SUMMARY, "old");
	must_write();
	ck_assert_int_eq(count_entries(folder), 5); /* and no temporary file */
	get_file("notes.txt", text, sizeof(text));
	ck_assert_str_eq(text, "mine");
	get_file(RESULTS_SUMMARY, text, sizeof(text));
	ck_assert(text[0] == '{');
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

START_TEST(a_folder_without_permission_is_named)
{
	struct writer writer;

	if (!geteuid())
		return; /* root writes anywhere */
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

/*
 * Files longer than the limit: the kernel then says "File too large", as it would "No space".
 * No assertion while it holds: libcheck keeps its own messages in a file.
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
	rc = results_write(&writer, &machine, &summary, &error);
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
	rc = results_write(&writer, &machine, &summary, &error);
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

/* Buffered text that fails only when it is flushed, and text that fails while it is printed. */
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

/* --- reading back ---------------------------------------------------------------------------- */

START_TEST(a_folder_reads_back)
{
	const struct summary_container *vllm;
	struct folder read;

	must_write();
	ck_assert_msg(!folder_load(&read, folder, &error), "%s", error.text);
	ck_assert_str_eq(read.summary.name, "golden");
	ck_assert_str_eq(read.gpu, "a100-40g");
	ck_assert_uint_eq(read.end_ns, 10 * SEC);
	ck_assert_uint_eq(read.slo_ns[0], SEC);
	ck_assert_uint_eq(read.record_count, 9);
	ck_assert_uint_eq(read.records[3].record.first_ns, 3 * SEC + 1);
	ck_assert_uint_eq(read.sample_count, 4);
	vllm = summary_find(&read.summary, "vllm");
	ck_assert_ptr_nonnull(vllm);
	ck_assert_uint_eq(vllm->values[SUMMARY_BYTES_H2D].count, 1ull << 40);
	ck_assert(vllm->values[SUMMARY_ITL_P99].real > 29.69999 &&
		  vllm->values[SUMMARY_ITL_P99].real < 29.70001);
	ck_assert_ptr_null(summary_find(&read.summary, "nobody"));
	folder_destroy(&read);
}
END_TEST

/* What is put into a file of a good folder, and what is said about it behind the path. */
static const struct {
	const char *file;
	const char *text;
	const char *message;
} bad_files[] = {
	{ RESULTS_SUMMARY, "{", ":1:1: string or '}' expected near end of file" },
	{ RESULTS_SUMMARY, "{}", ":name: is missing, allowed: a string" },
	{ RESULTS_SUMMARY, "{\"name\": 3}", ":name: is no string, allowed: a string" },
	{ RESULTS_SUMMARY,
	  "{\"name\": \"n\", \"system\": \"s\", \"config_hash\": \"\", \"version\": \"\", "
	  "\"sim_seconds\": 1, \"wall_seconds\": 1, \"complete\": true, \"containers\": "
	  "{\"vllm\": {\"type\": \"llm-server\", \"status\": \"ok\", \"requests\": "
	  "{\"arrived\": 1, \"completed\": -1}}}}",
	  ":containers.vllm.requests.completed: is of a wrong type, allowed: an integer that "
	  "is "
	  "not negative" },
	{ RESULTS_SUMMARY,
	  "{\"name\": \"n\", \"system\": \"s\", \"config_hash\": \"\", \"version\": \"\", "
	  "\"sim_seconds\": 1, \"wall_seconds\": 1, \"complete\": true, \"containers\": "
	  "{\"vllm\": {\"type\": \"toaster\", \"status\": \"ok\"}}}",
	  ":containers.vllm.type: is unknown, allowed: \"llm-server\" or \"diffusion\"" },
	{ RESULTS_CONFIG, "{}", ":gpu.profile: is missing, allowed: the name of a profile" },
	{ RESULTS_CONFIG, "{\"gpu\": {\"profile\": \"x\"}}",
	  ":containers.vllm.app.slo_ttft: is missing, allowed: a duration such as \"7.463s\"" },
	{ RESULTS_REQUESTS, "", ":1: is empty, allowed: a file that \"gvmsim run\" wrote" },
	{ RESULTS_REQUESTS, "container,arrival_ns\n",
	  ":1: no column \"first_ns\", allowed: a file that \"gvmsim run\" wrote" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns\n1,vllm\n",
	  ":2: 2 fields, expected 3" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns\n-1,vllm,5\n",
	  ":2: gpu_busy_ns: \"-1\" is no count, allowed: digits" },
	{ RESULTS_TIMELINE, "gpu_busy_ns,container,time_ns\n1,who,5\n",
	  ":2: no container \"who\" in summary.json" },
};

START_TEST(bad_files_are_one_line_and_exit_2)
{
	struct folder read;
	char expected[1024];

	must_write();
	put_file(bad_files[_i].file, bad_files[_i].text);
	ck_assert_int_eq(folder_load(&read, folder, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "%s%s", path_of(bad_files[_i].file),
		 bad_files[_i].message);
	ck_assert_str_eq(error.text, expected);
	ck_assert_ptr_null(read.records);
}
END_TEST

START_TEST(a_missing_summary_is_named)
{
	struct folder read;
	char expected[512];

	ck_assert_int_eq(folder_load(&read, folder, &error), -SIM_EXIT_USER);
	snprintf(expected, sizeof(expected),
		 "%s: cannot be read: No such file or directory, allowed: a folder that "
		 "\"gvmsim run\" wrote",
		 path_of(RESULTS_SUMMARY));
	ck_assert_str_eq(error.text, expected);
}
END_TEST

/* Ten seconds in 128 bins of 0.1 s would be too fine for samples every 5 s: two bins. */
START_TEST(series_are_golden)
{
	struct series series;
	struct writer writer;
	struct folder read;
	char text[2048];

	must_write();
	ck_assert_int_eq(folder_load(&read, folder, &error), 0);
	series_init(&series, &read, &read);
	ck_assert_uint_eq(series.bin_ns, 5 * SEC);
	ck_assert_uint_eq(series.bin_count, 2);
	ck_assert_uint_eq(series_count_ttft(&series, SERIES_ALONE), 4);
	ck_assert_uint_eq(series_count_failed(&series, SERIES_SHARED), 1);
	ck_assert_uint_eq(series_count_images(&series, SERIES_SHARED), 2);
	ck_assert_int_eq(writer_open(&writer, folder, &error), 0);
	ck_assert_int_eq(series_write_load(&series, &writer, "load", &error), 0);
	ck_assert_int_eq(series_write_share(&series, &writer, "share", &error), 0);
	ck_assert_int_eq(series_write_images(&series, &writer, "images", &error), 0);
	ck_assert_int_eq(series_write_ttft(&series, &writer, "ttft", &error), 0);
	ck_assert_int_eq(writer_commit(&writer, &error), 0);
	get_file("load", text, sizeof(text));
	/* 1 + 2 + 2 + 3 s of requests in the first bin, 1 s of the dropped one in the second */
	ck_assert_str_eq(text, "time_s,arrivals_alone_per_s,arrivals_shared_per_s,"
			       "in_flight_alone,in_flight_shared\n"
			       "2.500000000,1.000000,1.000000,1.600000,1.600000\n"
			       "7.500000000,0.200000,0.200000,0.200000,0.200000\n");
	get_file("share", text, sizeof(text));
	ck_assert_str_eq(text, "time_s,vllm,diffusion\n"
			       "2.500000000,0.200000,0.400000\n"
			       "7.500000000,0.200000,0.400000\n");
	get_file("images", text, sizeof(text));
	ck_assert_str_eq(text, "time_s,latency_alone_s,latency_shared_s\n"
			       "5.000000000,5.000000000,\n9.000000000,4.000000000,\n"
			       "5.000000000,,5.000000000\n9.000000000,,4.000000000\n");
	get_file("ttft", text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "\n2.000000000,1.000000001,,,\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n2.000000000,,1.000000001,,\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n3.000000000,,,1,\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n3.000000000,,,,1\n"));
	folder_destroy(&read);
}
END_TEST

static void add_summary_tests(TCase *tests)
{
	tcase_add_test(tests, summary_is_golden);
	tcase_add_test(tests, no_samples_are_null);
	tcase_add_test(tests, only_dropped_requests_attain_nothing);
	tcase_add_test(tests, only_failed_requests_attain_zero);
	tcase_add_test(tests, status_tells_what_became_of_a_container);
	tcase_add_test(tests, fixed_decimals_are_rounded_half_up);
}

static void add_file_tests(TCase *tests)
{
	tcase_add_test(tests, requests_csv_is_golden);
	tcase_add_test(tests, timeline_csv_is_golden);
	tcase_add_test(tests, config_json_carries_the_hash);
	tcase_add_test(tests, result_files_are_replaced_and_others_left);
	tcase_add_test(tests, an_unwritable_folder_is_named_and_nothing_made);
	tcase_add_test(tests, a_folder_without_permission_is_named);
	tcase_add_test(tests, a_folder_in_a_files_place_is_found_before_simulating);
	tcase_add_test(tests, abandoned_folders_go_and_found_ones_stay);
	tcase_add_test(tests, a_full_disk_is_named_and_leaves_the_old_results);
	tcase_add_test(tests, a_disk_that_fills_up_leaves_no_new_folder);
	tcase_add_test(tests, a_full_disk_is_found_before_simulating);
	tcase_add_test(tests, every_way_to_fail_is_noticed);
}

static void add_folder_tests(TCase *tests)
{
	tcase_add_test(tests, a_folder_reads_back);
	tcase_add_loop_test(tests, bad_files_are_one_line_and_exit_2, 0, COUNT(bad_files));
	tcase_add_test(tests, a_missing_summary_is_named);
	tcase_add_test(tests, series_are_golden);
}

static void add_case(Suite *suite, const char *name, void (*add_tests)(TCase *tests))
{
	TCase *tests = tcase_create(name);

	tcase_add_checked_fixture(tests, setup, teardown);
	add_tests(tests);
	suite_add_tcase(suite, tests);
}

int main(void)
{
	Suite *suite = suite_create("results");
	SRunner *runner = srunner_create(suite);
	int failed;

	add_case(suite, "summary", add_summary_tests);
	add_case(suite, "files", add_file_tests);
	add_case(suite, "folder", add_folder_tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
