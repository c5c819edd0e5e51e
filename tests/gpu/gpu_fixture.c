// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gpu_fixture.h"

struct sim_gpu gpu;

static void (*gpu_body)(void);

static void body_main(void *data)
{
	const struct fifo_tsg *tsg;
	u32 i;

	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	gpu_body();
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	fifo_for_each_tsg(&gpu.fifo, i, tsg)
		sim_process_exit(container_of(tsg, struct sim_process, tsg));
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	ck_assert_uint_eq(gpu.device.bound_chunks, 0);
	ck_assert_uint_eq(gpu.device.container_count, 0);
	ck_assert_uint_eq(gpu.free_count, gpu.device.chunk_count);
}

void run_gpu(const struct cfg_gpu *profile, const struct sim_memory_policy *policy,
	     void (*body)(void))
{
	gpu_body = body;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", profile, policy), 0);
	eng_spawn("body", body_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}
