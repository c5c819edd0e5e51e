// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cuda_fixture.h"

struct cfg_gpu profile = {
	.memory = CHUNKS * CHUNK,
	.link = { .bandwidth = 65536000000000, .bandwidth_both = 131072000000000 },
	.sched = { .timeslice = MS, .timeslice_scale = CFG_PPM },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 32,
		   .zero_bandwidth = 65536000000000 },
};
struct sim_memory_policy policy;
struct gvm_scheduler_config scheduling;
struct fifo_share partition;
u32 client_ppm;

struct sim_gpu gpu;
struct sim_mps mps;
struct cuda_device device;
struct sim_process process;
struct cuda_context cuda;
struct eng_actor *app;

static struct eng_timer timer;
static void (*app_body)(void);

static void app_main(void *data)
{
	(void)data;
	app_body();
}

/* The application may return without a look at what it has queued. */
static void machine_main(void *data)
{
	(void)data;
	cuda_device_start(&device);
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	if (client_ppm) {
		sim_mps_init(&mps, &gpu);
		ck_assert_int_eq(sim_process_start_client(&process, &gpu, 1, &mps, client_ppm),
				 0);
	} else {
		ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	}
	cuda_context_create(&cuda, &device, &process);
	app = eng_spawn("app", app_main, NULL);
	eng_join(app);
	cuda_context_destroy(&cuda);
	ck_assert(!process.running || !fifo_busy(&process.tsg));
	cuda_process_exit(&cuda);
	cuda_process_exit(&cuda);
	cuda_device_stop(&device);
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	ck_assert_uint_eq(gpu.free_count, profile.memory / CHUNK);
}

void simulate(void (*body)(void))
{
	app_body = body;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &policy), 0);
	gpu.scheduling = scheduling;
	if (partition.sm_ppm) {
		struct fifo_config config = gpu.fifo.config;

		config.partition_count = 1;
		config.partitions[0] = partition;
		fifo_init(&gpu.fifo, &config, &gpu.gmmu);
	}
	cuda_device_init(&device, &gpu);
	eng_spawn("machine", machine_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

static void fire_kill(struct eng_timer *fired)
{
	(void)fired;
	sim_process_die(&process, -EFAULT);
}

static void fire_interrupt(struct eng_timer *fired)
{
	(void)fired;
	eng_interrupt(app);
}

void kill_at(u64 date)
{
	timer.fire = fire_kill;
	eng_timer_set(&timer, date);
}

void interrupt_at(u64 date)
{
	timer.fire = fire_interrupt;
	eng_timer_set(&timer, date);
}

int launch_on(struct cuda_stream *stream, u32 kernels, u64 kernel_ns,
	      const struct cuda_access *access)
{
	return cuda_launch(&cuda,
			   &(struct cuda_burst_config){ .kernels = kernels,
							.kernel_ns = kernel_ns,
							.stream = stream,
							.accesses = access,
							.access_count = access ? 1 : 0 });
}

struct cuda_memory resident(u32 chunks)
{
	struct cuda_memory memory;
	struct cuda_access access;

	ck_assert_int_eq(cuda_malloc_managed(&cuda, chunks * CHUNK, false, &memory), 0);
	access = cuda_access_all(&memory, CUDA_WRITE);
	ck_assert_int_eq(launch_on(NULL, 1, US, &access), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	return memory;
}
