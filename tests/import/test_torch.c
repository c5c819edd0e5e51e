// SPDX-License-Identifier: MIT OR GPL-2.0
/* Profiles of PyTorch programs: reading a trace, and the application of a step. */
#include <jansson.h>
#include <zlib.h>

#include "config/config.h"
#include "engine/error.h"
#include "gvm/port.h"
#include "import/torch_app.h"
#include "import/torch_step.h"
#include "import/torch_trace.h"
#include "suite.h"

/* A byte and a FLOP take 1 ns; 4 SMs at 1 GHz. */
static const struct cfg_gpu gpu = {
	.profile = "toy",
	.memory_bandwidth = 1000000000,
	.flops_bf16 = 1000000000,
	.kernel_overhead = 1000,
	.kernel_gap = 1200,
	.graph_gap = 480,
	.sms = 4,
	.clock = 1000000000,
	.l2 = 1000,
};
static const struct cfg_host host = { .speed = 2 * CFG_PPM };

static char folder[64], path[96], out[96], text[16384];
static struct torch_trace trace;
static struct torch_step step;
static struct sim_error err;
static const struct torch_app mine = {
	.profile = "mine.json", .trace = &trace, .step = &step, .gpu = &gpu, .host = &host
};

static void make_folder(void)
{
	suite_make_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/trace.json", folder);
	snprintf(out, sizeof(out), "%s/app.json", folder);
	err = (struct sim_error){ 0 };
}

static void remove_folder(void)
{
	unlink(path);
	unlink(out);
	rmdir(folder);
}

static void begin_trace(void)
{
	snprintf(text, sizeof(text),
		 "{\"deviceProperties\": [{\"id\": 0, \"name\": \"Toy\", \"numSms\": 4}],"
		 "\"baseTimeNanoseconds\": 5000000, \"traceEvents\": [{\"ph\": \"M\"}");
}

static void put(const char *more)
{
	ck_assert_uint_lt(strlen(text) + strlen(more), sizeof(text));
	strcat(text, more);
}

/* Dates in us. */
static void put_event(const char *category, const char *name, double start, double end,
		      int correlation, int blocks)
{
	char event[512];

	snprintf(event, sizeof(event),
		 ", {\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"ts\": %.3f, "
		 "\"dur\": %.3f, \"args\": {\"device\": 0, \"correlation\": %d, "
		 "\"grid\": [%d, 1, 1], \"block\": [32, 1, 1], \"bytes\": 100}}",
		 category, name, start, end - start, correlation, blocks);
	put(event);
}

/* End the trace with @more keys and write it, with or without compression. */
static void end_trace(const char *more, bool packed)
{
	gzFile file = gzopen(path, packed ? "wb" : "wbT");

	put("]");
	put(more);
	put("}");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(gzwrite(file, text, (unsigned int)strlen(text)), (int)strlen(text));
	ck_assert_int_eq(gzclose(file), Z_OK);
}

/*
 * A product and a kernel of 8000 bytes in 10 us, each. The host waits, and launches 110.5 us after
 * the end of both a slow kernel on one SM. Calls without kernels do not count.
 */
static void put_step(void)
{
	put_event("user_annotation", "ProfilerStep#1", 0, 200, 0, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 10, 12, 1, 1);
	put_event("kernel", "sGEMM", 12, 22, 1, 8);
	put_event("cuda_runtime", "cudaGetDevice", 12.2, 12.8, 99, 1);
	put_event("cuda_driver", "cuLaunchKernelEx", 13, 14, 2, 1);
	put_event("kernel", "add", 22.5, 32.5, 2, 2);
	put_event("cuda_runtime", "cudaStreamSynchronize", 15, 33, 98, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 140, 142, 3, 1);
	put_event("kernel", "softmax", 143, 153, 3, 1);
}

#define BYTES                                                         \
	"\"kernel_bytes\": [[\"add\", [2, 1, 1], [32, 1, 1], 8000], " \
	"[\"softmax\", [1, 1, 1], [32, 1, 1], 500]]"

static void read_step(const char *more, bool packed)
{
	begin_trace();
	put_step();
	end_trace(more, packed);
	ck_assert_msg(!torch_trace_read(path, &trace, &err), "%s", err.text);
	ck_assert_msg(!torch_step_init(&step, &trace, &gpu, path, &err), "%s", err.text);
}

static void destroy(void)
{
	torch_step_destroy(&step);
	torch_trace_destroy(&trace);
}

START_TEST(a_trace_has_kernels_calls_and_steps)
{
	const struct torch_kernel *kernels;
	size_t count;

	read_step(", \"gvmsim\": {" BYTES "}", _i);
	ck_assert_str_eq(trace.device, "Toy");
	ck_assert_uint_eq(trace.sms, 4);
	ck_assert_uint_eq(trace.kernel_count, 3);
	ck_assert_uint_eq(trace.call_count, 4);
	ck_assert_uint_eq(trace.step_count, 1);
	ck_assert_uint_eq(trace.plain_step_ns, 0);
	ck_assert(trace.calls[2].waits);
	ck_assert_uint_eq(trace.calls[1].start_ns, 5000000 + 13000);
	kernels = torch_trace_kernels(&trace, &trace.calls[1], &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(kernels->bytes, 8000);
	ck_assert_uint_eq(kernels->blocks, 2);
	destroy();
}
END_TEST

/* Without a measured step, host times count in full. */
START_TEST(launches_have_host_and_gpu_times)
{
	read_step(", \"gvmsim\": {" BYTES "}", false);
	ck_assert_uint_eq(step.count, 3);
	ck_assert_uint_eq(step.gap_ns, 1200);
	ck_assert_uint_eq(step.host_ppm, CFG_PPM);
	ck_assert_uint_eq(step.profiled_ns, 200000);
	/* The first launch of a trace has nothing before it. */
	ck_assert_uint_eq(step.launches[0].host_ns, 0);
	/* 10 us and a gap of 1.2, of which 1 is overhead. */
	ck_assert_uint_eq(step.launches[0].overhead_ns, 1000);
	ck_assert_uint_eq(step.launches[0].gpu_ns[TORCH_BY_PRODUCTS], 10200);
	ck_assert_uint_eq(step.launches[0].sm_ns, 40800);
	/* The GPU can begin the first at 12 us, and the second at 14, when its call ends. */
	ck_assert_uint_eq(step.launches[1].host_ns, 2000);
	ck_assert_uint_eq(step.launches[1].gpu_ns[TORCH_BY_MEMORY], 10200);
	ck_assert_uint_eq(step.launches[1].sm_ns, 20400);
	ck_assert(!step.launches[1].waited);
	/* From the end of all work, 32.5 us, to the begin of the kernel. */
	ck_assert_uint_eq(step.launches[2].host_ns, 110500);
	ck_assert_uint_eq(step.launches[2].gpu_ns[TORCH_BY_SMS], 10200);
	ck_assert_uint_eq(step.launches[2].beside_bytes, 500);
	ck_assert(step.launches[2].waited);
	/* Two times 11.2 us, 110.5 of the host, 11.2. */
	ck_assert_uint_eq(step.reproduced_ns, 144100);
	destroy();
}
END_TEST

/* 33.6 us of the GPU, and of 110.5 us of the host 0.6 make 99.9 us. */
START_TEST(host_times_shrink_to_a_step_without_the_profiler)
{
	read_step(", \"gvmsim\": {\"plain_step_ns\": 99900, " BYTES "}", false);
	ck_assert_uint_eq(step.host_ppm, 600000);
	ck_assert_uint_eq(step.gpu_ppm, CFG_PPM);
	ck_assert_uint_eq(step.launches[2].host_ns, 66300);
	ck_assert_uint_eq(step.reproduced_ns, 99900);
	destroy();
}
END_TEST

/*
 * A wait takes the host 31 us at least, so 64.6 us are the shortest step: 65.2 within 1 %, with
 * 31.6 of the host. For 60 us the GPU has to be faster by 0.845.
 */
START_TEST(kernels_shrink_where_the_gpu_alone_takes_too_long)
{
	read_step(", \"gvmsim\": {\"plain_step_ns\": 60000, " BYTES "}", false);
	ck_assert_uint_eq(step.host_ppm, 286000);
	ck_assert_uint_eq(step.gpu_ppm, 845000);
	ck_assert_uint_eq(step.launches[0].overhead_ns, 845);
	ck_assert_uint_eq(step.launches[0].gpu_ns[TORCH_BY_PRODUCTS], 8619);
	ck_assert_uint_le(step.reproduced_ns, 60000);
	destroy();
}
END_TEST

/* A plain step that no factor explains leaves the kernels at 0.8 of their time. */
START_TEST(kernels_shrink_by_a_fifth_at_most)
{
	read_step(", \"gvmsim\": {\"plain_step_ns\": 20000, " BYTES "}", false);
	ck_assert_uint_eq(step.gpu_ppm, 800000);
	ck_assert_uint_gt(step.reproduced_ns, 20000);
	destroy();
}
END_TEST

/* The steps of gvm_profile replace the profiler's; here it has none of the third launch. */
START_TEST(the_step_is_the_recorders)
{
	read_step(", \"gvmsim\": {\"steps_ns\": [[5000000, 5030000]], \"memory\": "
		  "{\"state\": 2400, \"reserved\": 7200}}",
		  false);
	ck_assert_uint_eq(step.count, 2);
	ck_assert_uint_eq(trace.state_bytes, 2400);
	ck_assert_uint_eq(trace.reserved_bytes, 7200);
	destroy();
}
END_TEST

/* Of steps of 1, 2 and 3 kernels, the one of median length counts; an empty one never does. */
START_TEST(the_step_of_median_length_counts)
{
	begin_trace();
	for (int i = 0, at = 0; i < 3; i++) {
		put_event("user_annotation", "ProfilerStep#2", at, at + 50 * (i + 1), 0, 1);
		for (int n = 0; n <= i; n++) {
			int id = 10 * i + n + 1;

			put_event("cuda_runtime", "cudaLaunchKernel", at + 5 * n + 1,
				  at + 5 * n + 2, id, 1);
			put_event("kernel", "add", at + 5 * n + 2, at + 5 * n + 4, id, 1);
		}
		at += 50 * (i + 1);
	}
	put_event("user_annotation", "ProfilerStep#9", 300, 301, 0, 1);
	end_trace("", false);
	ck_assert_msg(!torch_trace_read(path, &trace, &err), "%s", err.text);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, path, &err), 0);
	ck_assert_uint_eq(step.count, 2);
	ck_assert_uint_eq(step.profiled_ns, 100000);
	/* It begins in the pause after the step before: 51 us after that one's kernel began. */
	ck_assert_uint_eq(step.launches[0].host_ns, 50000);
	destroy();
}
END_TEST

/*
 * In 10 us the memory moves 10000 bytes. Kernels whose tensors have more have not moved them all.
 * Half of them are operands for sure: the result's size is a guess.
 */
static const struct {
	const char *name;
	unsigned int bytes;
	enum torch_bound bound;
	unsigned int beside; /* bytes */
} crowded[] = {
	/* A gather reads some rows of a table. Which ones is not known. */
	{ "EmbeddingBag_updateOutputKernel_sum_mean", 10001, TORCH_BY_SMS, 0 },
	{ "indexSelectSmallIndex", 15000, TORCH_BY_SMS, 0 },
	{ "vectorized_gather_kernel", 200000, TORCH_BY_SMS, 0 },
	{ "EmbeddingBag_updateOutputKernel_sum_mean", 10000, TORCH_BY_MEMORY, 0 },
	{ "EmbeddingBag_updateOutputKernel_sum_mean", 4000, TORCH_BY_SMS, 4000 },
	/* Others read all their operands, if the memory can do that. */
	{ "sGEMM", 20000, TORCH_BY_MEMORY, 0 },
	{ "sGEMM", 20001, TORCH_BY_PRODUCTS, 0 },
	{ "add", 20000, TORCH_BY_MEMORY, 0 },
	{ "add", 20001, TORCH_BY_SMS, 0 },
};

START_TEST(a_kernel_moves_no_more_than_the_memory_can)
{
	char more[256];

	begin_trace();
	put_event("user_annotation", "ProfilerStep#1", 0, 100, 0, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 1, 2, 1, 1);
	put_event("kernel", crowded[_i].name, 2, 12, 1, 1);
	snprintf(more, sizeof(more),
		 ", \"gvmsim\": {\"kernel_bytes\": [[\"%s\", [1, 1, 1], [32, 1, 1], %u]]}",
		 crowded[_i].name, crowded[_i].bytes);
	end_trace(more, false);
	ck_assert_msg(!torch_trace_read(path, &trace, &err), "%s", err.text);
	ck_assert_msg(!torch_step_init(&step, &trace, &gpu, path, &err), "%s", err.text);
	for (size_t bound = 0; bound < TORCH_BOUNDS; bound++)
		ck_assert_uint_eq(step.launches[0].gpu_ns[bound],
				  bound == crowded[_i].bound ? 10200 : 0);
	ck_assert_uint_eq(step.launches[0].beside_bytes, crowded[_i].beside);
	destroy();
}
END_TEST

/* Kernels of two streams at once: each counts for the time in which it runs first. */
START_TEST(time_of_kernels_side_by_side_counts_once)
{
	begin_trace();
	put_event("user_annotation", "ProfilerStep#1", 0, 100, 0, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 1, 2, 1, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 3, 4, 2, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 5, 6, 3, 1);
	put_event("kernel", "add", 2, 22, 1, 1);
	put_event("kernel", "add", 4, 24, 2, 1);
	put_event("kernel", "add", 6, 16, 3, 1);
	end_trace("", false);
	ck_assert_msg(!torch_trace_read(path, &trace, &err), "%s", err.text);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, path, &err), 0);
	/* With 1.2 us behind each, of which 1 is overhead. */
	ck_assert_uint_eq(step.launches[0].gpu_ns[TORCH_BY_MEMORY], 20200);
	ck_assert_uint_eq(step.launches[1].gpu_ns[TORCH_BY_MEMORY], 2200);
	ck_assert_uint_eq(step.launches[2].gpu_ns[TORCH_BY_MEMORY], 200);
	destroy();
}
END_TEST

/* Nine kernels of a graph with 0.3 us between them: one launch, whose gaps are measured. */
START_TEST(a_graph_is_one_launch)
{
	begin_trace();
	put_event("user_annotation", "ProfilerStep#1", 0, 100, 0, 1);
	put_event("cuda_runtime", "cudaGraphLaunch", 1, 9, 7, 1);
	for (int i = 0; i < 9; i++)
		put_event("kernel", "add", 4 + 2.3 * i, 6 + 2.3 * i, 7, 1);
	end_trace("", false);
	ck_assert_msg(!torch_trace_read(path, &trace, &err), "%s", err.text);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, path, &err), 0);
	ck_assert_uint_eq(step.count, 1);
	ck_assert(step.launches[0].graph);
	ck_assert_uint_eq(step.launches[0].kernels, 9);
	ck_assert_uint_eq(step.graph_gap_ns, 300);
	ck_assert_uint_eq(torch_launch_gpu_ns(&step.launches[0]), 9 * 2300);
	destroy();
}
END_TEST

static json_t *write_app(void)
{
	const struct torch_app app = {
		.profile = path, .trace = &trace, .step = &step, .gpu = &gpu, .host = &host
	};
	FILE *stream = fopen(out, "w");
	json_t *json;

	ck_assert_ptr_nonnull(stream);
	ck_assert_msg(!torch_app_write(&app, stream, &err), "%s", err.text);
	ck_assert_int_eq(fclose(stream), 0);
	json = json_load_file(out, 0, NULL);
	ck_assert_ptr_nonnull(json);
	return json;
}

static const json_t *value(const json_t *app, const char *key)
{
	const json_t *leaf = json_object_get(json_object_get(app, "app"), key);

	ck_assert_ptr_nonnull(json_object_get(leaf, "source"));
	return json_object_get(leaf, "value");
}

#define expect_text(phase_, key_, text_) \
	ck_assert_str_eq(json_string_value(json_object_get(phase_, key_)), text_)

/*
 * A kernel takes 11.2 us, 1 of them overhead: 10.2 at 0.74 and 0.89 of the rates, or 4 SMs of 1
 * GHz. Host times are those of a host half as fast.
 */
START_TEST(an_application_takes_the_times_of_the_step)
{
	json_t *app;
	const json_t *phases, *phase;

	read_step(", \"gvmsim\": {\"memory\": {\"state\": 2400, \"reserved\": 7200}, " BYTES
		  "}",
		  false);
	app = write_app();
	phases = value(app, "phases");
	ck_assert_uint_eq(json_array_size(phases), 3);
	phase = json_array_get(phases, 0);
	expect_text(phase, "flops", "7548");
	expect_text(phase, "launch", "0ns");
	ck_assert_int_eq(json_integer_value(json_object_get(phase, "blocks")), 4);
	ck_assert_ptr_null(json_object_get(phase, "turns")); /* a product waits for its turn */
	phase = json_array_get(phases, 1);
	ck_assert(json_real_value(json_object_get(phase, "turns")) == 0.36);
	expect_text(phase, "traffic", "9078");
	expect_text(phase, "launch", "4000ns");
	ck_assert_ptr_null(json_object_get(phase, "host"));
	phase = json_array_get(phases, 2);
	expect_text(phase, "cycles", "40800");
	expect_text(phase, "traffic_beside", "500");
	ck_assert(json_real_value(json_object_get(phase, "turns")) == 0.19);
	expect_text(phase, "host", "221000ns");
	expect_text(phase, "launch", "0ns");
	ck_assert_ptr_null(json_object_get(phase, "kernel_overhead"));
	/* A third of 24 parts each. */
	ck_assert_uint_eq(json_array_size(json_object_get(phase, "reads")), 8);
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(phase, "writes"), 0)),
			 "activations 16");
	ck_assert_uint_eq(json_object_size(value(app, "tensors")), 48);
	json_decref(app);
	destroy();
}
END_TEST

/* A step of one or two launches goes through all parts, too: there are fewer of them. */
START_TEST(a_short_step_touches_all_memory)
{
	json_t *app, *seen = json_object();
	const json_t *phases, *tensors;
	double bytes = 0;
	const char *name;
	json_t *tensor, *part;
	size_t k;

	trace = (struct torch_trace){ .state_bytes = 4800, .reserved_bytes = 9600 };
	step = (struct torch_step){ .count = (size_t)_i };
	step.launches = calloc(step.count, sizeof(*step.launches));
	for (size_t i = 0; i < step.count; i++)
		step.launches[i] = (struct torch_launch){ .kernels = 1, .turns = CFG_PPM };
	app = write_app();
	phases = value(app, "phases");
	tensors = value(app, "tensors");
	for (size_t i = 0; i < json_array_size(phases); i++) {
		const json_t *phase = json_array_get(phases, i);

		ck_assert_uint_le(json_array_size(json_object_get(phase, "reads")), 8);
		json_array_foreach(json_object_get(phase, "reads"), k, part)
			json_object_set(seen, json_string_value(part), part);
		json_array_foreach(json_object_get(phase, "writes"), k, part)
			json_object_set(seen, json_string_value(part), part);
	}
	json_object_foreach((json_t *)tensors, name, tensor) {
		ck_assert_msg(json_object_get(seen, name) != NULL, "%s", name);
		bytes += json_number_value(json_object_get(tensor, "bytes"));
	}
	ck_assert_uint_eq(json_object_size(seen), json_object_size(tensors));
	ck_assert_double_eq(bytes, 9600);
	json_decref(seen);
	json_decref(app);
	torch_step_destroy(&step);
}
END_TEST

/* What an application gets is all that there is: 500 launches of one SM in up to 120 phases. */
START_TEST(many_launches_are_few_phases)
{
	struct torch_launch *launches = calloc(500, sizeof(*launches));
	const json_t *phases;
	double cycles = 0;
	u64 kernels = 0;
	json_t *app;

	step = (struct torch_step){ .launches = launches, .count = 500, .host_ppm = CFG_PPM };
	for (size_t i = 0; i < 500; i++)
		launches[i] = (struct torch_launch){ .host_ns = 5000,
						     .overhead_ns = 1000,
						     .gpu_ns[TORCH_BY_SMS] = 2000,
						     .sm_ns = 2000,
						     .kernels = 1,
						     .turns = CFG_PPM };
	app = write_app();
	phases = value(app, "phases");
	ck_assert_uint_eq(json_array_size(phases), torch_app_phases(&step));
	ck_assert_uint_le(json_array_size(phases), TORCH_PHASES);
	for (size_t i = 0; i < json_array_size(phases); i++) {
		const json_t *phase = json_array_get(phases, i);

		kernels += (u64)json_integer_value(json_object_get(phase, "kernels"));
		cycles += atof(json_string_value(json_object_get(phase, "cycles")));
		expect_text(phase, "launch", "10000ns");
		ck_assert_int_eq(json_integer_value(json_object_get(phase, "blocks")), 1);
	}
	ck_assert_uint_eq(kernels, 500);
	/* 2 of 3 us of 4 SMs: the third is the GPU's overhead. */
	ck_assert_double_eq(cycles, 500.0 * 2000 * 4);
	json_decref(app);
	torch_step_destroy(&step);
}
END_TEST

START_TEST(more_waits_than_phases_are_refused)
{
	step = (struct torch_step){ .count = 241 };
	step.launches = calloc(step.count, sizeof(*step.launches));
	for (size_t i = 0; i < step.count; i++)
		step.launches[i] =
			(struct torch_launch){ .kernels = 1, .turns = CFG_PPM, .waited = true };
	ck_assert_int_eq(torch_app_write(&mine, stdout, &err), -SIM_EXIT_USER);
	ck_assert_str_eq(err.text, "mine.json: a step has 241 waits and graphs, allowed: up to "
				   "240 phases; record shorter steps");
	torch_step_destroy(&step);
}
END_TEST

/* Its numbers of FLOP, bytes and cycles are long. */
static const struct cfg_gpu fast_gpu = {
	.profile = "fast",
	.memory_bandwidth = 4800000000000,
	.flops_bf16 = 989000000000000,
	.kernel_overhead = 3800,
	.kernel_gap = 1200,
	.graph_gap = 480,
	.sms = 132,
	.clock = 1980000000,
};

/* Give @step so many launches, each a phase of long numbers. */
static void put_long_phases(size_t count)
{
	step = (struct torch_step){ .count = count, .host_ppm = CFG_PPM };
	step.launches = calloc(count, sizeof(*step.launches));
	for (size_t i = 0; i < count; i++)
		step.launches[i] = (struct torch_launch){
			.kernels = 100000,
			.turns = 12345678900,
			.waited = true,
			.graph = true,
			.host_ns = 123456789,
			.overhead_ns = 123456789,
			.gpu_ns = { 123456789, 123456789, 123456789 },
			.sm_ns = 12345678900,
			.beside_bytes = 12345678900,
		};
}

/* 240 phases are within their number; what a run keeps of them is 64 KiB. */
START_TEST(phases_that_a_run_has_no_room_for_are_refused)
{
	const struct torch_app app = { .profile = "mine.json",
				       .trace = &trace,
				       .step = &step,
				       .gpu = &fast_gpu,
				       .host = &host };
	char *content = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&content, &size);

	trace = (struct torch_trace){ .state_bytes = 4800, .reserved_bytes = 9600 };
	put_long_phases(240);
	ck_assert_int_eq(torch_app_write(&app, stream, &err), -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(
		strstr(err.text, "mine.json: a step makes 240 phases, whose phases take "));
	ck_assert_ptr_nonnull(strstr(err.text, "allowed: up to 65535; record shorter steps"));
	torch_step_destroy(&step);
	ck_assert_int_eq(fclose(stream), 0);
	ck_assert_uint_eq(size, 0);
	free(content);
}
END_TEST

/* As many as a run has room for are written, up to the last of them. */
START_TEST(phases_that_a_run_has_room_for_are_written)
{
	trace = (struct torch_trace){ .state_bytes = 4800, .reserved_bytes = 9600 };
	put_long_phases(100);
	json_decref(write_app());
	torch_step_destroy(&step);
}
END_TEST

START_TEST(a_full_disk_is_named)
{
	FILE *stream = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(stream);
	setbuf(stream, NULL);
	put_long_phases(1);
	ck_assert_int_eq(torch_app_write(&mine, stream, &err), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "mine.json: cannot write an application of it: No space "
				   "left on device");
	torch_step_destroy(&step);
	fclose(stream);
}
END_TEST

/* A run takes up to a million kernels in a burst. */
START_TEST(an_application_that_a_run_would_refuse_is_not_written)
{
	trace = (struct torch_trace){ 0 };
	put_long_phases(1);
	step.launches[0].kernels = 1000001;
	ck_assert_int_eq(torch_app_write(&mine, stdout, &err), -SIM_EXIT_USER);
	ck_assert_str_eq(err.text, "mine.json: a run would refuse the application's phases: "
				   "1-1.kernels: 1000001 is out of range, allowed: an integer "
				   "from 1 to 1000000");
	torch_step_destroy(&step);
}
END_TEST

static const struct {
	const char *content;
	const char *wrong; /* after the path */
} mistakes[] = {
	{ "", ":1: is no JSON: '[' or '{' expected near end of file" },
	{ "{\"a\": 1}", ": has no traceEvents, allowed: a trace of torch.profiler" },
	{ "{\"traceEvents\": []}", ": has no kernels, allowed: a trace with CUDA activity" },
	{ "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, "
	  "\"dur\": 1}]}",
	  ": has no steps, allowed: a trace of gvm_profile, or one whose program calls the "
	  "profiler's step()" },
	{ "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, "
	  "\"dur\": 1}, {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, "
	  "\"dur\": 1, \"args\": {\"device\": 1}}]}",
	  ": has kernels of two GPUs, allowed: one GPU" },
	{ "{\"traceEvents\": [3, [], {}, {\"ph\": 1}, {\"ph\": \"X\", \"cat\": \"kernel\", "
	  "\"name\": \"k\", \"ts\": -1, \"dur\": 1}], \"gvmsim\": 3, \"deviceProperties\": {}}",
	  ": has no kernels, allowed: a trace with CUDA activity" },
};

START_TEST(a_mistake_is_named)
{
	suite_put_file(path, mistakes[_i].content);
	ck_assert_int_eq(torch_trace_read(path, &trace, &err), -SIM_EXIT_USER);
	ck_assert_int_eq(strncmp(err.text, path, strlen(path)), 0);
	ck_assert_str_eq(err.text + strlen(path), mistakes[_i].wrong);
}
END_TEST

/* 0 is no correlation: kernels of unknown launches are not those of all other calls. */
START_TEST(calls_without_a_correlation_launch_nothing)
{
	size_t count;

	begin_trace();
	put_event("user_annotation", "ProfilerStep#1", 0, 100, 0, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 1, 2, 0, 1);
	put_event("cuda_runtime", "cudaStreamSynchronize", 3, 9, 0, 1);
	put_event("kernel", "add", 2, 4, 0, 1);
	end_trace("", false);
	ck_assert_int_eq(torch_trace_read(path, &trace, &err), 0);
	ck_assert_uint_eq(trace.call_count, 1);
	torch_trace_kernels(&trace, &trace.calls[0], &count);
	ck_assert_uint_eq(count, 0);
	torch_trace_destroy(&trace);
}
END_TEST

/* Calls of one correlation: the first has its kernel, and no gap is noted twice. */
START_TEST(a_kernel_has_one_call)
{
	begin_trace();
	put_event("user_annotation", "ProfilerStep#1", 0, 100, 0, 1);
	put_event("cuda_runtime", "cudaGraphLaunch", 1, 2, 7, 1);
	put_event("kernel", "add", 2, 12, 7, 1);
	put_event("kernel", "add", 13, 13, 8, 1);
	for (int i = 0; i < 9; i++)
		put_event("cuda_driver", "cuGraphLaunch", 3 + i, 3 + i, 8, 1);
	end_trace("", false);
	ck_assert_int_eq(torch_trace_read(path, &trace, &err), 0);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, path, &err), 0);
	ck_assert_uint_eq(step.count, 2);
	ck_assert_uint_eq(step.launches[1].kernels, 1);
	ck_assert_uint_eq(step.graph_gap_ns, 480);
	destroy();
}
END_TEST

/* After a pause of 9 hours a step is as long as that: 64 bits hold no ns times ppm. */
START_TEST(a_pause_of_hours_is_refused)
{
	begin_trace();
	put_event("cuda_runtime", "cudaLaunchKernel", 1, 2, 1, 1);
	put_event("kernel", "add", 2, 4, 1, 1);
	put_event("user_annotation", "ProfilerStep#2", 36893488148, 36893488200, 0, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 36893488149, 36893488150, 2, 1);
	put_event("kernel", "add", 36893488150, 36893488160, 2, 1);
	end_trace("", false);
	ck_assert_int_eq(torch_trace_read(path, &trace, &err), 0);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, "mine.json", &err),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(err.text,
			 "mine.json: a step is longer than 100 s, allowed: shorter steps");
	torch_trace_destroy(&trace);
}
END_TEST

/* A name that is cut within a character could not be written. */
START_TEST(a_device_with_a_long_name_is_not_said)
{
	snprintf(text, sizeof(text),
		 "{\"deviceProperties\": [{\"id\": 0, \"name\": \"%094d\\u00e9\\u00e9\"}],"
		 "\"traceEvents\": [{\"ph\": \"M\"}",
		 0);
	put_step();
	end_trace("", false);
	ck_assert_int_eq(torch_trace_read(path, &trace, &err), 0);
	ck_assert_str_eq(trace.device, "");
	torch_trace_destroy(&trace);
}
END_TEST

/* A step of a trace without kernels in it. */
START_TEST(a_step_without_kernels_is_refused)
{
	begin_trace();
	put_event("user_annotation", "ProfilerStep#1", 50, 60, 0, 1);
	put_event("cuda_runtime", "cudaLaunchKernel", 1, 2, 1, 1);
	put_event("kernel", "add", 2, 4, 1, 1);
	end_trace("", false);
	ck_assert_int_eq(torch_trace_read(path, &trace, &err), 0);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, "mine.json", &err),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(err.text,
			 "mine.json: no step has kernels, allowed: steps that do work");
	torch_trace_destroy(&trace);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_loop_test(tests, a_trace_has_kernels_calls_and_steps, 0, 2);
	tcase_add_test(tests, launches_have_host_and_gpu_times);
	tcase_add_test(tests, host_times_shrink_to_a_step_without_the_profiler);
	tcase_add_test(tests, kernels_shrink_where_the_gpu_alone_takes_too_long);
	tcase_add_test(tests, kernels_shrink_by_a_fifth_at_most);
	tcase_add_test(tests, the_step_is_the_recorders);
	tcase_add_test(tests, the_step_of_median_length_counts);
	tcase_add_loop_test(tests, a_kernel_moves_no_more_than_the_memory_can, 0,
			    (int)ARRAY_SIZE(crowded));
	tcase_add_test(tests, time_of_kernels_side_by_side_counts_once);
	tcase_add_test(tests, a_graph_is_one_launch);
	tcase_add_test(tests, an_application_takes_the_times_of_the_step);
	tcase_add_loop_test(tests, a_short_step_touches_all_memory, 1, 8);
	tcase_add_test(tests, many_launches_are_few_phases);
	tcase_add_test(tests, more_waits_than_phases_are_refused);
	tcase_add_test(tests, phases_that_a_run_has_no_room_for_are_refused);
	tcase_add_test(tests, phases_that_a_run_has_room_for_are_written);
	tcase_add_test(tests, a_full_disk_is_named);
	tcase_add_test(tests, an_application_that_a_run_would_refuse_is_not_written);
	tcase_add_loop_test(tests, a_mistake_is_named, 0, (int)ARRAY_SIZE(mistakes));
	tcase_add_test(tests, calls_without_a_correlation_launch_nothing);
	tcase_add_test(tests, a_kernel_has_one_call);
	tcase_add_test(tests, a_pause_of_hours_is_refused);
	tcase_add_test(tests, a_device_with_a_long_name_is_not_said);
	tcase_add_test(tests, a_step_without_kernels_is_refused);
}

int main(void)
{
	return suite_run("torch", make_folder, remove_folder, add_tests);
}
