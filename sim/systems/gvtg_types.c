// SPDX-License-Identifier: MIT OR GPL-2.0
#include "systems/gvtg_types.h"

#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/message.h"
#include "engine/guess.h"
#include "gvm/port.h"

#define WEIGHT_OF_WHOLE 16u
#define PARTS_MAX	8u
#define FENCES_EACH	4u
#define HOST_TYPE	"host"
#define TYPES		"V5_1, V5_2, V5_4, V5_8, host"
#define TYPE_PREFIX	"V5_" /* of a type's name; then the number of such parts */

/* What vGPUs of one GPU take together. */
struct taken {
	u64 bytes;
	u32 eighths; /* of the memory, by types */
	u32 hosts;
	u32 guests;
	bool own_sizes; /* one of them has a vgpu.partition */
};

bool gvtg_is_host(const struct cfg_container *container)
{
	return !strcmp(container->vgpu_type, HOST_TYPE);
}

/* A container's part of the memory is one of so many: 1, 2, 4 or 8. The host's is as V5_8. */
static u32 type_parts(const struct config *config, const struct cfg_container *container)
{
	size_t gpu = config_gpu_index(config, container);
	u32 count = 0, parts = 1;

	if (gvtg_is_host(container))
		return PARTS_MAX;
	if (*container->vgpu_type)
		return (u32)strtoul(container->vgpu_type + strlen(TYPE_PREFIX), NULL, 10);
	for (size_t i = 0; i < config->container_count; i++)
		count += config_is_on(config, &config->containers[i], gpu);
	while (parts < count && parts < PARTS_MAX)
		parts *= 2;
	return parts;
}

u64 gvtg_part_bytes(const struct config *config, const struct cfg_container *container)
{
	u64 bytes = config_gpu(config, container)->memory / type_parts(config, container);

	if (container->vgpu_partition)
		bytes = container->vgpu_partition;
	return bytes >> GVM_CHUNK_SHIFT << GVM_CHUNK_SHIFT;
}

u32 gvtg_weight(const struct config *config, const struct cfg_container *container)
{
	return container->vgpu_weight ? (u32)container->vgpu_weight :
					WEIGHT_OF_WHOLE / type_parts(config, container);
}

static int check_known(struct cfg_load *load, const struct cfg_container *container)
{
	const char *type = container->vgpu_type;
	char right[128];

	if (!*type || !strcmp(type, "V5_1") || !strcmp(type, "V5_2") || !strcmp(type, "V5_4") ||
	    !strcmp(type, "V5_8") || gvtg_is_host(container))
		return 0;
	guess_describe(type, TYPES, right, sizeof(right));
	if (strchr(right, '?')) /* near in letters is not near in size */
		cfg_append(right, sizeof(right), " There are " TYPES);
	return cfg_reject_container(load, container, "vgpu.type", "\"%s\" is not known, %s",
				    type, right);
}

/* What container number @last and those before it take of its GPU. */
static struct taken taken_up_to(const struct config *config, size_t last)
{
	size_t gpu = config_gpu_index(config, &config->containers[last]);
	struct taken taken = { 0 };

	for (size_t i = 0; i <= last; i++) {
		const struct cfg_container *container = &config->containers[i];

		if (!config_is_on(config, container, gpu))
			continue;
		taken.bytes = min(taken.bytes + gvtg_part_bytes(config, container), ~0ull >> 1);
		taken.eighths += PARTS_MAX / type_parts(config, container);
		taken.hosts += gvtg_is_host(container);
		taken.guests += !gvtg_is_host(container);
		taken.own_sizes |= container->vgpu_partition != 0;
	}
	return taken;
}

/* Check that the GPU has enough of everything. @container is the last one of @taken. */
static int check_enough(struct cfg_load *load, const struct config *config,
			const struct cfg_container *container, const struct taken *taken,
			u64 fences)
{
	u64 memory = config_gpu(config, container)->memory;

	if (taken->hosts > 1)
		return cfg_reject_container(load, container, "vgpu.type",
					    "is the second \"host\" of its GPU, allowed: one");
	if (fences && (taken->guests + 1) * FENCES_EACH > fences)
		return cfg_reject_container(
			load, container, "vgpu.type",
			"is one too many: %u vGPUs and the host have %u fences, allowed: %llu",
			taken->guests, (taken->guests + 1) * FENCES_EACH, fences);
	if (taken->own_sizes && taken->bytes > memory)
		return cfg_reject_container(
			load, container, "vgpu.partition",
			"is too much: with it vGPUs have %llu bytes, allowed: the GPU's %llu",
			taken->bytes, memory);
	if (!taken->own_sizes && taken->eighths > PARTS_MAX)
		return cfg_reject_container(
			load, container, "vgpu.type",
			"is one too many: with it vGPUs have %u eighths of the memory, "
			"allowed: 8",
			taken->eighths);
	return 0;
}

/* Check that a part holds a context and a chunk: a frame buffer of 0 bytes would be none. */
static int check_part(struct cfg_load *load, const struct config *config,
		      const struct cfg_container *container)
{
	u64 context = config_gpu(config, container)->context;
	u64 bytes = gvtg_part_bytes(config, container);

	if (bytes >= max(context, (u64)GVM_CHUNK_BYTES))
		return 0;
	return cfg_reject_container(load, container,
				    container->vgpu_partition ? "vgpu.partition" : "vgpu.type",
				    "its part of the memory has %llu bytes, allowed: at least "
				    "a chunk of %llu, and gpu.context, %llu",
				    bytes, (u64)GVM_CHUNK_BYTES, context);
}

int gvtg_types_check(struct cfg_load *load, const struct config *config, u64 fences)
{
	int status = 0;

	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];

		if (!container->enabled)
			continue;
		status = check_known(load, container);
		if (!status) {
			struct taken taken = taken_up_to(config, i);

			status = check_enough(load, config, container, &taken, fences);
		}
		if (!status)
			status = check_part(load, config, container);
	}
	return status;
}
