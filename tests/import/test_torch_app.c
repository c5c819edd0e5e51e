// SPDX-License-Identifier: MIT OR GPL-2.0
/* Profiles of PyTorch programs: the application of a step. */
#include <jansson.h>

#include "gvm/port.h"
#include "import/torch_app.h"
#include "suite.h"
#include "torch_fixture.h"

static const struct torch_app mine = {
	.profile = "mine.json", .trace = &trace, .step = &step, .gpu = &gpu, .host = &host
};

static json_t *write_app(void)
{
	const struct torch_app app = { .profile = trace_path,
				       .trace = &trace,
				       .step = &step,
				       .gpu = &gpu,
				       .host = &host };
	FILE *stream = fopen(app_path, "w");
	json_t *json;

	ck_assert_ptr_nonnull(stream);
	ck_assert_msg(!torch_app_write(&app, stream, &err), "%s", err.text);
	ck_assert_int_eq(fclose(stream), 0);
	json = json_load_file(app_path, 0, NULL);
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

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, an_application_takes_the_times_of_the_step);
	tcase_add_loop_test(tests, a_short_step_touches_all_memory, 1, 8);
	tcase_add_test(tests, many_launches_are_few_phases);
	tcase_add_test(tests, more_waits_than_phases_are_refused);
	tcase_add_test(tests, phases_that_a_run_has_no_room_for_are_refused);
	tcase_add_test(tests, phases_that_a_run_has_room_for_are_written);
	tcase_add_test(tests, a_full_disk_is_named);
	tcase_add_test(tests, an_application_that_a_run_would_refuse_is_not_written);
}

int main(void)
{
	return suite_run("torch_app", make_folder, remove_folder, add_tests);
}
