// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as a profile of a PyTorch program. Either an application of its phases is
 * written, whose numbers a program of phases accepts. Or there is an error of one line.
 */
#include "apps/phases.h"
#include "fuzz.h"
#include "import/torch_app.h"
#include "import/torch_step.h"
#include "import/torch_trace.h"

#include <jansson.h>

#include "config/config.h"

static const struct cfg_gpu gpu = {
	.profile = "fuzzed",
	.memory_bandwidth = 4800000000000,
	.flops_bf16 = 989000000000000,
	.kernel_overhead = 3800,
	.kernel_gap = 1200,
	.graph_gap = 480,
	.sms = 132,
	.clock = 1980000000,
	.l2 = 62914560,
};
static const struct cfg_host host = { .speed = CFG_PPM };

static void dump_value(const json_t *app, const char *key, char *text, size_t size)
{
	const json_t *leaf = json_object_get(json_object_get(app, "app"), key);
	size_t length =
		json_dumpb(json_object_get(leaf, "value"), text, size - 1, JSON_COMPACT);

	FUZZ_ASSERT(length < size);
	text[length] = '\0';
}

/* Assert that an application of phases can be read from the profile in @text. */
static void check_app(char *text, size_t size)
{
	static struct cfg_phases cfg;
	json_t *app = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	struct phases_program *program;
	char wrong[PHASES_WRONG_MAX];
	const char *key;

	FUZZ_ASSERT(app);
	dump_value(app, "tensors", cfg.tensors, sizeof(cfg.tensors));
	dump_value(app, "phases", cfg.phases, sizeof(cfg.phases));
	*cfg.host_times = '\0';
	if (json_object_get(json_object_get(app, "app"), "host_times"))
		dump_value(app, "host_times", cfg.host_times, sizeof(cfg.host_times));
	json_decref(app);
	program = phases_program_read(&cfg, &key, wrong);
	if (!program)
		fprintf(stderr, "%s: %s\n", key, wrong);
	FUZZ_ASSERT(program);
	free(program);
}

static int write_app(struct torch_trace *trace, const struct torch_step *step,
		     struct sim_error *err)
{
	u32 host_times[PHASES_HOST_TIMES_MAX];
	const struct torch_app app = {
		.profile = "fuzzed",
		.trace = trace,
		.step = step,
		.gpu = &gpu,
		.host = &host,
		.steps = "fuzzed",
		.host_times = host_times,
		.host_time_count = torch_steps_factors(&trace->plain_steps, step->reproduced_ns,
						       1000, PHASES_HOST_TIME_MAX, host_times,
						       PHASES_HOST_TIMES_MAX),
	};
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	int status;

	FUZZ_ASSERT(stream);
	status = torch_app_write(&app, stream, err);
	FUZZ_ASSERT(!fclose(stream));
	if (!status)
		check_app(text, size);
	free(text);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_error err = { 0 };
	struct torch_trace trace;
	struct torch_step step;
	struct fuzz_file file;
	int status;

	fuzz_accepted = false;
	fuzz_file_open(&file, data, size);
	status = torch_trace_read(file.path, &trace, &err);
	if (!status) {
		status = torch_step_init(&step, &trace, &gpu, "fuzzed", &err);
		if (!status) {
			status = write_app(&trace, &step, &err);
			torch_step_destroy(&step);
		}
		torch_trace_destroy(&trace);
	}
	fuzz_file_close(&file);
	fuzz_accepted = !status;
	if (status)
		fuzz_check_mistake(status, &err);
	return 0;
}
