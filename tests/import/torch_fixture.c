// SPDX-License-Identifier: MIT OR GPL-2.0
#include "torch_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "suite.h"

const struct cfg_gpu gpu = {
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
const struct cfg_host host = { .speed = 2 * CFG_PPM };

static char folder[64], text[16384];
char trace_path[96], app_path[96];
struct torch_trace trace;
struct torch_step step;
struct sim_error err;

void make_folder(void)
{
	suite_make_folder(folder, sizeof(folder));
	snprintf(trace_path, sizeof(trace_path), "%s/trace.json", folder);
	snprintf(app_path, sizeof(app_path), "%s/app.json", folder);
	err = (struct sim_error){ 0 };
}

void remove_folder(void)
{
	unlink(trace_path);
	unlink(app_path);
	rmdir(folder);
}

void begin_trace_of(const char *device)
{
	snprintf(text, sizeof(text),
		 "{\"deviceProperties\": [{\"id\": 0, \"name\": \"%s\", \"numSms\": 4}],"
		 "\"baseTimeNanoseconds\": 5000000, \"traceEvents\": [{\"ph\": \"M\"}",
		 device);
}

void begin_trace(void)
{
	begin_trace_of("Toy");
}

void put(const char *more)
{
	ck_assert_uint_lt(strlen(text) + strlen(more), sizeof(text));
	strcat(text, more);
}

void put_event(const char *category, const char *name, double start, double end,
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

void end_trace(const char *more, bool packed)
{
	gzFile file = gzopen(trace_path, packed ? "wb" : "wbT");

	put("]");
	put(more);
	put("}");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(gzwrite(file, text, (unsigned int)strlen(text)), (int)strlen(text));
	ck_assert_int_eq(gzclose(file), Z_OK);
}

void put_step(void)
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

void read_step(const char *more, bool packed)
{
	begin_trace();
	put_step();
	end_trace(more, packed);
	ck_assert_msg(!torch_trace_read(trace_path, &trace, &err), "%s", err.text);
	ck_assert_msg(!torch_step_init(&step, &trace, &gpu, trace_path, &err), "%s", err.text);
}

void destroy(void)
{
	torch_step_destroy(&step);
	torch_trace_destroy(&trace);
}
