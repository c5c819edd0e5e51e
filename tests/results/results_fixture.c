// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results_fixture.h"

#include "apps/llm_server.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

char folder[128];
char above[64];
struct sim_error error;

struct app_record llm_records[6] = {
	{ .id = 0,
	  .arrival_ns = 1 * SEC,
	  .start_ns = 1 * SEC,
	  .first_ns = 1 * SEC + 100 * MS,
	  .finish_ns = 2 * SEC,
	  .prompt_tokens = 472,
	  .output_tokens = 18 },
	{ .id = 1,
	  .arrival_ns = 1 * SEC,
	  .start_ns = 1 * SEC + 100 * MS,
	  .first_ns = 1 * SEC + 200 * MS,
	  .finish_ns = 3 * SEC,
	  .prompt_tokens = 7,
	  .output_tokens = 2 },
	{ .id = 2,
	  .arrival_ns = 2 * SEC,
	  .start_ns = 2 * SEC + 900 * MS,
	  .first_ns = 3 * SEC,
	  .finish_ns = 4 * SEC,
	  .prompt_tokens = 8,
	  .output_tokens = 3 }, /* exactly at the SLO */
	{ .id = 3,
	  .arrival_ns = 2 * SEC,
	  .start_ns = 2 * SEC + 900 * MS,
	  .first_ns = 3 * SEC + 1,
	  .finish_ns = 5 * SEC,
	  .prompt_tokens = 9,
	  .output_tokens = 4,
	  .preemptions = 2 }, /* a nanosecond late */
	{ .id = 4,
	  .arrival_ns = 3 * SEC,
	  .prompt_tokens = 5,
	  .outcome = APP_FAILED,
	  .reason = APP_REFUSED },
	{ .id = 5,
	  .arrival_ns = 9 * SEC,
	  .start_ns = 9 * SEC,
	  .first_ns = 9 * SEC + 1 * MS,
	  .prompt_tokens = 6,
	  .output_tokens = 1,
	  .outcome = APP_DROPPED },
};
static u64 llm_gaps[] = { 30 * MS, 10 * MS, 20 * MS, 15 * MS };
static u64 llm_other_gaps[] = { 40 * MS };
static u64 llm_open_gaps[] = { 999 * MS };
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
	  .container = 0,
	  .resident_bytes = 4096,
	  .pending_kernels = 3,
	  .usage = { .busy_ns = 1 * SEC,
		     .stall_ns = 10 * MS,
		     .stall_h2d_ns = 7 * MS,
		     .stall_d2h_ns = 1 * MS,
		     .blocked_ns = 4 * MS,
		     .evictions = 6,
		     .bytes_h2d = 25 * 1000000000ull } },
	{ .time_ns = 5 * SEC, .container = 1, .usage = { .busy_ns = 2 * SEC, .bytes_d2h = 1 } },
	{ .time_ns = 8 * SEC,
	  .container = 0,
	  .swapped_bytes = 65536,
	  .usage = { .busy_ns = 1 * SEC, .stall_ns = 5 * MS } },
	{ .time_ns = 8 * SEC, .container = 1, .usage = { .busy_ns = 2 * SEC } },
};

static struct sim_gpu gpu = { .name = "gpu0" };
static struct fifo_usage gpu_usage = {
	.busy_ns = 5 * SEC,
	.switching_ns = 1 * SEC,
	.stalled_ns = 1500 * MS,
	.switches = 7,
};

struct cfg_container containers[2];
struct sim_container sim_containers[2];
struct config config;
struct machine machine;

static bool test_honours(const struct config *unused, const char *control_file)
{
	(void)unused;
	return !strcmp(control_file, "compute.priority");
}

static const struct sim_system test_system = {
	.keys = { .name = "test" },
	.honours = test_honours,
};
static struct cfg_llm llm = { .client.slo_ttft = 1 * SEC };

static void make_config(void)
{
	containers[0] = (struct cfg_container){
		.name = "vllm",
		.enabled = true,
		.app_type = &llm_server_app.keys,
		.app = &llm,
	};
	containers[1] = (struct cfg_container){
		.name = "diffusion",
		.enabled = true,
		.app_type = &diffusion_app.keys,
		.controls = controls,
		.control_count = COUNT(controls),
	};
	config = (struct config){
		.name = "golden",
		.system = &test_system.keys,
		.duration = 10 * SEC,
		.seed = 7,
		.gpu.profile = "a100-40g",
		.gpu.memory = 30ull << 30,
		.gpu.memory_total = 31ull << 30,
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

static void make_containers(void)
{
	for (u32 i = 0; i < 2; i++)
		sim_containers[i] = (struct sim_container){
			.cfg = &containers[i],
			.app = sim_app_of(containers[i].app_type),
			.machine = &machine,
			.config = &config,
			.index = i,
			.started = true,
			.gmem_current = 1ull << 30,
			.gmem_peak = 3ull << 30,
			.gmem_swap = i,
			.events = { [GVM_EVENT_HIGH] = 3,
				    [GVM_EVENT_HMEM] = 2,
				    [GVM_EVENT_OOM] = i },
			.launched_kernels = 700,
			.ended_kernels = 690,
			.stats = { .faults = 11, .fault_batches = 5 },
			.usage = { .busy_ns = 2500 * MS,
				   .slow_ns = 250 * MS,
				   .stall_ns = 125 * MS,
				   .stall_h2d_ns = 15 * MS,
				   .stall_d2h_ns = 60 * MS,
				   .blocked_ns = 375 * MS,
				   .switching_ns = 500 * MS,
				   .waited_ns = 1500 * MS,
				   .evictions = 2,
				   .bytes_h2d = 1ull << 40,
				   .bytes_d2h = 4096 },
		};
	/* 600 kernels within 4 s. The pipeline has launched none that a sample saw. */
	sim_containers[0].launches =
		(struct launches){ .launched = 600, .from_ns = 5 * SEC, .to_ns = 9 * SEC };
	sim_containers[0].log = (struct app_log){
		.records = llm_records,
		.record_count = COUNT(llm_records),
		.gaps = { [APP_GAPS_COMPLETED] = { .ns = llm_gaps, .count = COUNT(llm_gaps) },
			  [APP_GAPS_OTHERS] = { .ns = llm_other_gaps,
						.count = COUNT(llm_other_gaps) },
			  [APP_GAPS_OPEN] = { .ns = llm_open_gaps,
					      .count = COUNT(llm_open_gaps) } },
		.has_server = true,
	};
	sim_containers[1].log =
		(struct app_log){ .records = images, .record_count = COUNT(images) };
}

static void setup(void)
{
	suite_make_folder(above, sizeof(above));
	snprintf(folder, sizeof(folder), "%s/results/run", above);
	memset(&error, 0, sizeof(error));
	make_config();
	make_containers();
	machine = (struct machine){
		.config = &config,
		.system = &test_system,
		.containers = sim_containers,
		.container_count = 2,
		.gpus = &gpu,
		.gpu_usage = &gpu_usage,
		.gpu_count = 1,
		.timeline = rows,
		.row_count = COUNT(rows),
		.end_ns = 10 * SEC,
		.wall_ns = 40 * MS,
	};
}

static void teardown(void)
{
	json_decref(config.resolved);
	suite_remove_folder(above);
}

const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

void get_file(const char *name, char *ret_text, size_t size)
{
	FILE *stream = fopen(path_of(name), "r");
	size_t length;

	ck_assert_msg(stream, "no %s", path_of(name));
	length = fread(ret_text, 1, size - 1, stream);
	ret_text[length] = '\0';
	fclose(stream);
}

void put_file(const char *name, const char *text)
{
	suite_put_file(path_of(name), text);
}

void must_compute(struct summary *summary)
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
		rc = results_write(&writer, &machine, &summary, NULL, &error);
	summary_destroy(&summary);
	return rc;
}

void must_write(void)
{
	ck_assert_msg(!write_results(), "%s", error.text);
}

int fixture_run(const char *name, void (*add_tests)(TCase *tests))
{
	return suite_run(name, setup, teardown, add_tests);
}
