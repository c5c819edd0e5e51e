// SPDX-License-Identifier: MIT OR GPL-2.0
#include "library_fixture.h"

#include <stdio.h>

#define CHUNKS 16u

struct sim_gpu gpu;
struct cuda_device device;
struct sim_process processes[PROCESSES_MAX];
struct cuda_context contexts[PROCESSES_MAX];

const char *library_vgpu_types[PROCESSES_MAX];

static struct cfg_gpu profile = {
	.memory = CHUNKS * GVM_CHUNK_BYTES,
	.link = { .bandwidth = 65536000000000, .bandwidth_both = 131072000000000 },
	.sched = { .timeslice = MS, .timeslice_scale = CFG_PPM },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 32,
		   .zero_bandwidth = 65536000000000 },
};
static struct cfg_container containers[PROCESSES_MAX];
static struct cfg_control controls[PROCESSES_MAX];
static struct config config = { .containers = containers };
static void (*const *app_bodies)(void);
static const struct cuda_library *library;

static void app_main(void *data)
{
	u32 index = (u32)((struct sim_process *)data - processes);

	app_bodies[index]();
	cuda_context_destroy(&contexts[index]);
	cuda_process_exit(&contexts[index]);
}

static void machine_main(void *data)
{
	struct eng_actor *apps[PROCESSES_MAX];

	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	for (u32 i = 0; i < config.container_count; i++) {
		ck_assert_int_eq(sim_process_start(&processes[i], &gpu, i + 1), 0);
		cuda_context_create(&contexts[i], &device, &processes[i]);
		library->attach(&contexts[i], &containers[i]);
	}
	for (u32 i = 0; i < config.container_count; i++)
		apps[i] = eng_spawn("app", app_main, &processes[i]);
	for (u32 i = 0; i < config.container_count; i++)
		eng_join(apps[i]);
	cuda_device_stop(&device);
	sim_gpu_stop(&gpu);
}

void library_simulate(const struct sim_system *system, void *keys, u64 switch_ns,
		      const char *const *priorities, void (*const *bodies)(void))
{
	struct sim_memory_policy policy = { 0 };

	app_bodies = bodies;
	library = system->library;
	for (u32 i = 0; priorities[i]; i++) {
		controls[i].file = "compute.priority";
		snprintf(controls[i].text, sizeof(controls[i].text), "%s", priorities[i]);
		containers[i] = (struct cfg_container){ .enabled = true,
							.controls = &controls[i],
							.control_count = 1 };
		if (library_vgpu_types[i])
			snprintf(containers[i].vgpu_type, sizeof(containers[i].vgpu_type), "%s",
				 library_vgpu_types[i]);
		config.container_count = i + 1;
	}
	config.system_keys = keys;
	profile.sched.context_switch = switch_ns;
	config.gpu = profile;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &policy), 0);
	cuda_device_init(&device, &gpu);
	ck_assert_int_eq(library->create(&device, &config), 0);
	device.library = library;
	eng_spawn("machine", machine_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	library->destroy(&device);
	sim_gpu_destroy(&gpu);
}

void library_launch(u32 index, u32 count, u64 kernel_ns, u64 launch_ns)
{
	struct cuda_burst_config burst = { .kernels = count,
					   .kernel_ns = kernel_ns,
					   .launch_ns = launch_ns };

	ck_assert_int_eq(cuda_launch(&contexts[index], &burst), 0);
}

u64 library_ended(u32 index)
{
	fifo_update(&gpu.fifo);
	return fifo_ended_kernels(&processes[index].tsg);
}

u64 library_launched(u32 index)
{
	return library_ended(index) + fifo_pending_kernels(&processes[index].tsg);
}
