// SPDX-License-Identifier: MIT OR GPL-2.0
/* See rig.h. */
#include "validate/rig.h"

#include <stdlib.h>

/* On a host of speed 1: "launch submit" of plots/reference/hardware/h100-580.txt. */
#define C_LAUNCH_NS 4490ull

int hw_rig_start(struct hw_rig *rig, const struct config *config, u32 count)
{
	static const struct sim_memory_policy nvidia = { .manager = &sim_manager_nvuvm };
	int status = sim_gpu_init(&rig->gpu, "gpu", &config->gpu, &nvidia);

	rig->count = 0;
	if (status)
		return status;
	cuda_device_init(&rig->device, &rig->gpu);
	status = sim_gpu_start(&rig->gpu);
	while (!status && rig->count < count) {
		struct sim_process *process = &rig->processes[rig->count];

		status = sim_process_start(process, &rig->gpu, rig->count + 1);
		if (!status)
			cuda_context_create(&rig->contexts[rig->count++], &rig->device,
					    process);
	}
	return status;
}

void hw_rig_stop(struct hw_rig *rig)
{
	while (rig->count)
		cuda_process_exit(&rig->contexts[--rig->count]);
	sim_gpu_stop(&rig->gpu);
	sim_gpu_destroy(&rig->gpu);
}

u64 hw_launch_ns(const struct config *config)
{
	return C_LAUNCH_NS * CFG_PPM / config->host.speed;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

u64 hw_median(u64 *times_ns, u32 count)
{
	if (!count)
		return 0;
	qsort(times_ns, count, sizeof(*times_ns), compare_u64);
	return times_ns[count / 2];
}
