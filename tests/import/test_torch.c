// SPDX-License-Identifier: MIT OR GPL-2.0
/* Profiles of PyTorch programs: reading a trace, and the step that counts. */
#include "gvm/port.h"
#include "suite.h"
#include "torch_fixture.h"

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

/* What is no time of a step is left out. */
START_TEST(steps_without_the_profiler_are_kept)
{
	read_step(
		", \"gvmsim\": {\"plain_steps_ns\": [7000, 0, \"x\", -1, 5000, 100000000001]}",
		false);
	ck_assert_uint_eq(trace.plain_steps.count, 2);
	ck_assert_uint_eq(trace.plain_steps.ns[0], 7000);
	ck_assert_uint_eq(trace.plain_steps.ns[1], 5000);
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
	ck_assert_msg(!torch_trace_read(trace_path, &trace, &err), "%s", err.text);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, trace_path, &err), 0);
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
	ck_assert_msg(!torch_trace_read(trace_path, &trace, &err), "%s", err.text);
	ck_assert_msg(!torch_step_init(&step, &trace, &gpu, trace_path, &err), "%s", err.text);
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
	ck_assert_msg(!torch_trace_read(trace_path, &trace, &err), "%s", err.text);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, trace_path, &err), 0);
	/* With 1.2 us after each, of which 1 is overhead. */
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
	ck_assert_msg(!torch_trace_read(trace_path, &trace, &err), "%s", err.text);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, trace_path, &err), 0);
	ck_assert_uint_eq(step.count, 1);
	ck_assert(step.launches[0].graph);
	ck_assert_uint_eq(step.launches[0].kernels, 9);
	ck_assert_uint_eq(step.graph_gap_ns, 300);
	ck_assert_uint_eq(torch_launch_gpu_ns(&step.launches[0]), 9 * 2300);
	destroy();
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
	suite_put_file(trace_path, mistakes[_i].content);
	ck_assert_int_eq(torch_trace_read(trace_path, &trace, &err), -SIM_EXIT_USER);
	ck_assert_int_eq(strncmp(err.text, trace_path, strlen(trace_path)), 0);
	ck_assert_str_eq(err.text + strlen(trace_path), mistakes[_i].wrong);
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
	ck_assert_int_eq(torch_trace_read(trace_path, &trace, &err), 0);
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
	ck_assert_int_eq(torch_trace_read(trace_path, &trace, &err), 0);
	ck_assert_int_eq(torch_step_init(&step, &trace, &gpu, trace_path, &err), 0);
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
	ck_assert_int_eq(torch_trace_read(trace_path, &trace, &err), 0);
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
	char name[TORCH_DEVICE_MAX + 16];

	snprintf(name, sizeof(name), "%094d\\u00e9\\u00e9", 0);
	begin_trace_of(name);
	put_step();
	end_trace("", false);
	ck_assert_int_eq(torch_trace_read(trace_path, &trace, &err), 0);
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
	ck_assert_int_eq(torch_trace_read(trace_path, &trace, &err), 0);
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
	tcase_add_test(tests, steps_without_the_profiler_are_kept);
	tcase_add_test(tests, kernels_shrink_where_the_gpu_alone_takes_too_long);
	tcase_add_test(tests, kernels_shrink_by_a_fifth_at_most);
	tcase_add_test(tests, the_step_is_the_recorders);
	tcase_add_test(tests, the_step_of_median_length_counts);
	tcase_add_loop_test(tests, a_kernel_moves_no_more_than_the_memory_can, 0,
			    (int)ARRAY_SIZE(crowded));
	tcase_add_test(tests, time_of_kernels_side_by_side_counts_once);
	tcase_add_test(tests, a_graph_is_one_launch);
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
