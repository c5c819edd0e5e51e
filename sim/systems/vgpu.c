// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * vgpu: NVIDIA's time-sliced virtual GPUs. Each container is a virtual machine with a vGPU of a
 * fixed type.
 *
 * The type ("40C") says how much frame buffer a vGPU has: a fixed part of the GPU's memory.
 * Memory is not unified memory: an allocation is on the GPU as soon as it is made, and one that
 * does not fit fails. Here the context dies then, and the results say so. Nothing is paged.
 * (NVIDIA's vGPU has unified memory only where one vGPU has the whole GPU.) Without a type,
 * containers get equal parts: the largest type of which the GPU takes as many as it has
 * containers.
 *
 * In its turns a vGPU has all SMs and all of the bandwidth. system.policy says who has turns.
 * Source: chapter "Changing Scheduling Behavior for Time-Sliced vGPUs" of NVIDIA's Virtual GPU
 * Software User Guide (docs.nvidia.com/vgpu):
 *
 *     best-effort   The default. A vGPU uses cycles that others do not use. The software
 *                   scheduler is off ("DISABLED with policy BEST_EFFORT" in the kernel's log):
 *                   the hardware's timeslices, round robin among those that have work.
 *                   Work-conserving.
 *     equal-share   The GPU is shared equally amongst the running vGPUs: 1/n, where n changes
 *                   as vGPUs come and go. It imposes a limit on the cycles that a vGPU uses.
 *                   So the turn of a vGPU that is idle stays idle. Not work-conserving.
 *     fixed-share   A vGPU has 1/m, where m is the maximum number of vGPUs of its type on the
 *                   GPU, whether or not they exist. All vGPUs of a GPU are of one type. Not
 *                   work-conserving.
 *
 * The last two have fixed turns (fifo/turns.h), strictly round robin. A turn lasts 1 /
 * system.frequency. The guide's defaults: 480 Hz where a GPU takes up to 8 vGPUs of the type,
 * else 960 Hz. It raises a lower frequency than 63 Hz, and takes none above 960 Hz. The context
 * switch is a part of the turn that it begins: 385 of 2083 us on an A100.
 *
 *
 * How it differs from NVIDIA's
 *
 *   1. There, a slice can overshoot, and the next slices of that vGPU are shortened by a part
 *      of the overshoot (the averaging factor). Here a context without faults leaves at the
 *      end of its turn to the nanosecond, so there is nothing to average.
 *   2. The policy without strict round robin is not modelled. It schedules the vGPU with the
 *      least time so far, in slices of 2 or 1 ms.
 *   3. A vGPU that loads its weights copies them when it allocates them, at the rate of the
 *      link.
 *   4. Places of vGPUs of different types (mixed-size mode) are not modelled: the vGPUs fit if
 *      their sum does.
 *   5. The CPU time of the guest and of the hypervisor is nothing.
 */
#include <stdio.h>
#include <string.h>

#include "config/check.h"
#include "config/message.h"
#include "engine/guess.h"
#include "systems/system.h"

#define NS_PER_S       1000000000ull
#define TYPES_MAX      8
#define FREQUENCY_MIN  63u
#define FREQUENCY_FEW  480u /* the default where a GPU takes up to FEW vGPUs */
#define FREQUENCY_MANY 960u
#define FEW	       8u
#define TEXT_MAX       512

enum vgpu_policy {
	VGPU_BEST_EFFORT,
	VGPU_EQUAL_SHARE,
	VGPU_FIXED_SHARE,
};

static const char *const policy_words[] = {
	[VGPU_BEST_EFFORT] = "best-effort",
	[VGPU_EQUAL_SHARE] = "equal-share",
	[VGPU_FIXED_SHARE] = "fixed-share",
	NULL,
};

struct vgpu_keys {
	u64 policy;    /* enum vgpu_policy */
	u64 frequency; /* Hz; 0: by the type */
};

static const struct cfg_key vgpu_rows[] = {
	CFG_SYSTEM_KEY("policy", ENUM, struct vgpu_keys, policy, "best-effort",
		       "who has turns: NVIDIA's scheduling policies", .words = policy_words),
	CFG_SYSTEM_KEY("frequency", INTEGER, struct vgpu_keys, frequency, "0",
		       "turns a second under equal and fixed share; 0: 480, or 960 where a GPU "
		       "takes more than 8 vGPUs of the type; less than 63 is 63",
		       CFG_RANGE(0, FREQUENCY_MANY)),
};

/* A type of vGPU: how many a GPU takes of it, and its name. */
struct vgpu_type {
	const char *name; /* its frame buffer in gigabytes, and the series */
	u32 gigabytes;
	u32 max; /* on one GPU */
};

/*
 * The types of the C series, from the largest to the smallest. Source: NVIDIA AI Enterprise,
 * "vGPU types reference" for Ampere and Hopper, column "Maximum vGPUs per GPU in Equal-Size
 * Mode". The H200's and an H800's table were read. The H100's is taken as the H800's; the
 * A100's are from memory.
 */
static const struct vgpu_type vgpu_types[][TYPES_MAX + 2] = {
	[CFG_PRODUCT_A100_40GB] = { { "40C", 40, 1 },
				    { "20C", 20, 2 },
				    { "10C", 10, 4 },
				    { "8C", 8, 5 },
				    { "5C", 5, 8 },
				    { "4C", 4, 10 } },
	[CFG_PRODUCT_A100_80GB] = { { "80C", 80, 1 },
				    { "40C", 40, 2 },
				    { "20C", 20, 4 },
				    { "16C", 16, 5 },
				    { "10C", 10, 8 },
				    { "8C", 8, 10 },
				    { "4C", 4, 20 } },
	[CFG_PRODUCT_H100_80GB] = { { "80C", 80, 1 },
				    { "40C", 40, 2 },
				    { "20C", 20, 4 },
				    { "16C", 16, 5 },
				    { "10C", 10, 8 },
				    { "8C", 8, 10 },
				    { "5C", 5, 16 },
				    { "4C", 4, 20 } },
	[CFG_PRODUCT_H200_141GB] = { { "141C", 141, 1 },
				     { "70C", 70, 2 },
				     { "35C", 35, 4 },
				     { "28C", 28, 5 },
				     { "17C", 17, 8 },
				     { "14C", 14, 10 },
				     { "8C", 8, 16 },
				     { "7C", 7, 20 },
				     { "4C", 4, 32 } },
};

/* The types of a GPU, the largest first, or NULL: it has none. */
static const struct vgpu_type *gpu_types(const struct cfg_gpu *gpu)
{
	return gpu->product == CFG_PRODUCT_OTHER ? NULL : vgpu_types[gpu->product];
}

static const struct vgpu_type *type_find(const struct cfg_gpu *gpu, const char *name)
{
	for (const struct vgpu_type *type = gpu_types(gpu); type->name; type++)
		if (!strcmp(type->name, name))
			return type;
	return NULL;
}

/* The type of a container's vGPU; one without a type that the GPU has gets an equal part. */
static const struct vgpu_type *container_type(const struct config *config,
					      const struct cfg_container *container)
{
	const struct cfg_gpu *gpu = config_gpu(config, container);
	const struct vgpu_type *type = type_find(gpu, container->vgpu_type);
	u32 count = 0;

	if (type)
		return type;
	for (size_t i = 0; i < config->container_count; i++)
		count += config_is_on(config, &config->containers[i],
				      config_gpu_index(config, container));
	type = gpu_types(gpu);
	while (type->max < count && type[1].name)
		type++;
	return type;
}

/* Check that the type of a container's vGPU is one of its GPU's. */
static int check_type(struct cfg_load *load, const struct config *config,
		      const struct cfg_container *container)
{
	const struct cfg_gpu *gpu = config_gpu(config, container);
	char allowed[TEXT_MAX] = "", right[TEXT_MAX];

	if (!gpu_types(gpu))
		return cfg_reject_container(
			load, container, "gpu",
			"has the gpu.product \"other\", allowed with system "
			"\"vgpu\": a GPU whose vGPU types are known");
	if (!*container->vgpu_type || type_find(gpu, container->vgpu_type))
		return 0;
	for (const struct vgpu_type *type = gpu_types(gpu); type->name; type++)
		cfg_append(allowed, sizeof(allowed), "%s%s", *allowed ? ", " : "", type->name);
	guess_describe(container->vgpu_type, allowed, right, sizeof(right));
	if (strchr(right, '?')) /* near in letters is not always near in size */
		cfg_append(right, sizeof(right), " It has %s", allowed);
	return cfg_reject_container(load, container, "vgpu.type", "this GPU has no \"%s\", %s",
				    container->vgpu_type, right);
}

static u64 frame_buffer_bytes(const struct cfg_gpu *gpu, const struct vgpu_type *type)
{
	u64 bytes = (u64)((unsigned __int128)gpu->memory * type->gigabytes /
			  gpu_types(gpu)->gigabytes);

	return bytes >> GVM_CHUNK_SHIFT << GVM_CHUNK_SHIFT;
}

/* Check that a container's vGPU has frame buffer for its context. */
static int check_frame_buffer(struct cfg_load *load, const struct config *config,
			      const struct cfg_container *container)
{
	const struct cfg_gpu *gpu = config_gpu(config, container);
	const struct vgpu_type *type = container_type(config, container);
	u64 bytes = frame_buffer_bytes(gpu, type);

	if (bytes >= max(gpu->context, (u64)GVM_CHUNK_BYTES))
		return 0;
	return cfg_reject_container(load, container, "vgpu.type",
				    "a %s has %llu bytes of frame buffer, allowed: at least a "
				    "chunk of %llu, and gpu.context, %llu",
				    type->name, bytes, (u64)GVM_CHUNK_BYTES, gpu->context);
}

/* Check that a container's vGPU fits beside those of the containers before it. */
static int check_room(struct cfg_load *load, const struct config *config,
		      const struct cfg_container *container)
{
	const struct vgpu_keys *keys = config->system_keys;
	const struct cfg_gpu *gpu = config_gpu(config, container);
	const struct vgpu_type *type = container_type(config, container);
	u32 gigabytes = type->gigabytes, count = 1, same = 1;

	for (const struct cfg_container *other = config->containers; other != container;
	     other++) {
		const struct vgpu_type *beside;

		if (!config_is_on(config, other, config_gpu_index(config, container)))
			continue;
		beside = container_type(config, other);
		gigabytes += beside->gigabytes;
		count++;
		same += beside == type;
		if (keys->policy == VGPU_FIXED_SHARE && beside != type)
			return cfg_reject_container(
				load, container, "vgpu.type",
				"\"%s\" has a %s beside this %s, allowed with policy "
				"\"fixed-share\": one type",
				other->name, beside->name, type->name);
	}
	if (gigabytes <= gpu_types(gpu)->gigabytes && same <= type->max)
		return 0;
	return cfg_reject_container(load, container, "vgpu.type",
				    "a %s is one too many: with it %u vGPUs have %u GB, "
				    "allowed: at most %u of this type, and %u GB",
				    type->name, count, gigabytes, type->max,
				    gpu_types(gpu)->gigabytes);
}

static int vgpu_check(struct cfg_load *load, const struct config *config)
{
	int status = 0;

	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];

		if (!container->enabled)
			continue;
		status = check_type(load, config, container);
		if (!status)
			status = check_room(load, config, container);
		if (!status)
			status = check_frame_buffer(load, config, container);
	}
	return status;
}

static void vgpu_part(const struct config *config, const struct cfg_container *container,
		      struct cfg_gpu *gpu)
{
	u64 bytes = frame_buffer_bytes(gpu, container_type(config, container));

	gpu->memory = bytes;
	gpu->memory_total = bytes;
}

static struct fifo_turns vgpu_turns(const struct config *config, size_t gpu)
{
	const struct vgpu_keys *keys = config->system_keys;
	u64 frequency = max(keys->frequency, (u64)FREQUENCY_MIN);
	u32 most = 1;

	if (keys->policy == VGPU_BEST_EFFORT)
		return (struct fifo_turns){ 0 };
	for (size_t i = 0; i < config->container_count; i++)
		if (config_is_on(config, &config->containers[i], gpu))
			most = max(most, container_type(config, &config->containers[i])->max);
	if (!keys->frequency)
		frequency = most <= FEW ? FREQUENCY_FEW : FREQUENCY_MANY;
	return (struct fifo_turns){
		.length_ns = NS_PER_S / frequency,
		.count = keys->policy == VGPU_FIXED_SHARE ? most : 0,
	};
}

/* Who manages memory does not matter: nothing faults. */
static struct sim_memory_policy vgpu_memory(const struct config *config)
{
	(void)config;
	return (struct sim_memory_policy){ .manager = &sim_manager_nvuvm };
}

const struct sim_system system_vgpu = {
	.keys = {
		.name = "vgpu",
		.summary = "virtual machines with turns and frame buffers: NVIDIA's vGPU",
		CFG_KEYS(vgpu_rows),
		.bytes = sizeof(struct vgpu_keys),
		.check_containers = vgpu_check,
	},
	.part = vgpu_part,
	.frame_buffers = true,
	.memory = vgpu_memory,
	.turns = vgpu_turns,
};
