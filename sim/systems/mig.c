// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * mig: NVIDIA's Multi-Instance GPU. A GPU is cut up in hardware into GPU instances. Each has
 * SMs, memory, a part of the L2 cache and of the memory's bandwidth, and copy engines of its
 * own.
 *
 *     memory slices   0   1   2   3   4   5   6   7
 *                    [      4g.20gb  ][2g.10gb][1g]        one legal combination
 *                    [      3g.20gb  ][      3g.20gb  ]    another
 *
 * A profile such as 3g.20gb has fixed shares, and can begin at certain memory slices only:
 * NVIDIA's Multi-Instance GPU User Guide has the tables (mig_layout.c). A container names the
 * profile of its instance by mig.profile and, if it matters, its place by mig.start. Containers
 * with the same mig.instance share an instance: they take turns in it, as on a GPU under the
 * stock driver, or are clients of an MPS server there. Without a profile the GPU is cut into
 * equal parts. A combination that does not fit is refused.
 *
 * An instance is a simulated GPU of its own, with the stock driver's manager of its memory. Of
 * the GPU's profile it has:
 *
 *     gpu.sms, gpu.flops_*    x SMs of the instance / SMs of the GPU without MIG (98 of 108 in
 *                             a 7g.40gb)
 *     gpu.memory_bandwidth,   x memory slices / 8, as the guide has for the L2 cache and the
 *                             memory
 *     gpu.fault.zero_bandwidth
 *     gpu.memory(_total)      x memory of the profile / memory of the largest one
 *     gpu.link                x copy engines of the profile / those of the largest one; an
 *                             instance with one copy engine moves bytes in one direction at a
 *                             time
 *     all else                as it is: times of a fault, of a switch, of a kernel's start
 *
 * So nothing in one instance changes another one's results.
 *
 *
 * How it differs from hardware
 *
 *   1. The PCIe link is not cut up there. An instance that copies alone is faster, and
 *      instances that copy at the same time disturb each other. No measurement of the split is
 *      known here. system.link "whole" gives each instance all of the link, as if the others
 *      never copied: the other bound.
 *   2. All instances share one fault buffer and one thread of the driver that serves it
 *      (uvm_parent_gpu in NVIDIA's driver). So faults of one instance delay those of others.
 *      Here each instance has both.
 *   3. Power and clocks are shared there. They are not modelled.
 *   4. Compute instances (1c.3g.20gb) share the memory of a GPU instance, with SMs of their
 *      own. They are not modelled; clients of an MPS server in an instance come close to them.
 */
#include <stdio.h>
#include <string.h>

#include "config/check.h"
#include "config/message.h"
#include "engine/guess.h"
#include "systems/mig_layout.h"
#include "systems/system.h"

/* What an instance has of the link. */
enum mig_link {
	MIG_LINK_SHARES, /* as of the copy engines */
	MIG_LINK_WHOLE,
};

static const char *const link_words[] = {
	[MIG_LINK_SHARES] = "shares",
	[MIG_LINK_WHOLE] = "whole",
	NULL,
};

struct mig_keys {
	u64 link; /* enum mig_link */
};

static const struct cfg_key mig_rows[] = {
	CFG_SYSTEM_KEY("link", ENUM, struct mig_keys, link, "shares",
		       "what a GPU instance has of the link to the host", .words = link_words),
};

#define TEXT_MAX     512
#define GPU_NAME_MAX 40 /* characters; the name of an instance begins with its GPU's */

static bool mig_honours(const struct config *config, const char *control_file)
{
	(void)config;
	return !strcmp(control_file, "compute.timeslice");
}

static u64 part_of(u64 whole, u32 share, u32 shares)
{
	return (u64)((unsigned __int128)whole * share / shares);
}

/* Refuse a container's mig.start: no instance of @profile begins there. */
static int mig_reject_start(struct cfg_load *load, const struct cfg_container *container,
			    const struct mig_profile *profile)
{
	char allowed[TEXT_MAX] = "";

	for (u32 start = 0; start < MIG_SLICES; start++)
		if (mig_profile_starts_at(profile, start))
			cfg_append(allowed, sizeof(allowed), "%s%u", *allowed ? ", " : "",
				   start);
	return cfg_reject_container(load, container, "mig.start",
				    "a %s cannot begin at memory slice %llu, allowed: %s",
				    profile->name, container->mig.start, allowed);
}

/* Check that a container's profile and its start are among those that its GPU has. */
static int mig_check_profile(struct cfg_load *load, const struct mig_gpu *mig,
			     const struct cfg_container *container)
{
	const char *name = container->mig.profile;
	const struct mig_profile *profile = mig_profile_find(mig, name);
	char allowed[TEXT_MAX] = "", right[TEXT_MAX];

	if (*name && !profile) {
		for (u32 i = 0; i < MIG_PROFILES; i++)
			cfg_append(allowed, sizeof(allowed), "%s%s", i ? ", " : "",
				   mig->profiles[i].name);
		guess_describe(name, allowed, right, sizeof(right));
		if (strchr(right, '?')) /* near in letters is not always near in size */
			cfg_append(right, sizeof(right), " It has %s", allowed);
		return cfg_reject_container(load, container, "mig.profile",
					    "this GPU has no \"%s\", %s", name, right);
	}
	if (!profile || container->mig.start == CFG_MIG_ANYWHERE ||
	    mig_profile_starts_at(profile, container->mig.start))
		return 0;
	return mig_reject_start(load, container, profile);
}

/*
 * Check that a container agrees with the first one of its instance, and with the clients of its
 * MPS server.
 */
static int mig_check_shared(struct cfg_load *load, const struct config *config,
			    const struct cfg_container *container)
{
	const struct cfg_container *first = mig_first(config, container);

	if (*container->mig.profile && strcmp(container->mig.profile, first->mig.profile) != 0)
		return cfg_reject_container(
			load, container, "mig.profile",
			"\"%s\" is first in its instance and has %s, allowed: the same",
			first->name, *first->mig.profile ? first->mig.profile : "no profile");
	if (container->mig.start != CFG_MIG_ANYWHERE &&
	    container->mig.start != first->mig.start)
		return cfg_reject_container(
			load, container, "mig.start",
			"\"%s\" is first in its instance, allowed: its start, %llu",
			first->name, first->mig.start);
	for (const struct cfg_container *other = config->containers; other != container;
	     other++)
		if (other->enabled && *container->mps_server &&
		    !strcmp(other->mps_server, container->mps_server) &&
		    mig_first(config, other) != first)
			return cfg_reject_container(
				load, container, "mps.server",
				"\"%s\" has a client in another GPU instance, \"%s\", allowed: "
				"one instance (mig.instance)",
				container->mps_server, other->name);
	return 0;
}

/* Check that the memory of each instance has room for a chunk. */
static int mig_check_memory(struct cfg_load *load, const struct config *config,
			    const struct mig_layout *layout)
{
	for (u32 i = 0; i < layout->count; i++) {
		const struct mig_instance *instance = &layout->instances[i];
		const struct cfg_gpu *whole = config_gpu(config, instance->first);
		u64 bytes = part_of(whole->memory, instance->profile->memory_mib,
				    mig_gpu(whole)->memory_mib);

		if (bytes < GVM_CHUNK_BYTES)
			return cfg_reject_container(load, instance->first, "mig.profile",
						    "a %s has %llu bytes of memory, allowed: "
						    "at least a chunk of %llu",
						    instance->profile->name, bytes,
						    (u64)GVM_CHUNK_BYTES);
	}
	return 0;
}

/* "0 to 3", and "2" for one slice. */
static void append_slices(char *text, size_t size, u32 start, u32 count)
{
	cfg_append(text, size, "%u", start);
	if (count > 1)
		cfg_append(text, size, " to %u", start + count - 1);
}

/* Describe the places that an instance may have: "0 to 3 or 4 to 7". */
static void describe_places(const struct mig_instance *instance, char *text, size_t size)
{
	u64 wanted = instance->first->mig.start;

	*text = '\0';
	for (u32 start = 0; start < MIG_SLICES; start++)
		if (mig_profile_starts_at(instance->profile, start) &&
		    (wanted == CFG_MIG_ANYWHERE || wanted == start)) {
			cfg_append(text, size, "%s", *text ? " or " : "");
			append_slices(text, size, start, instance->profile->size);
		}
}

/* Describe the places that are taken, by whom and by what. */
static void describe_taken(const struct mig_layout *layout, char *text, size_t size)
{
	*text = '\0';
	for (u32 i = 0; i < layout->placed; i++) {
		const struct mig_instance *instance = &layout->instances[i];

		cfg_append(text, size, "%s", i ? ", " : "");
		append_slices(text, size, instance->start, instance->profile->size);
		cfg_append(text, size, " by \"%s\" (%s)", instance->first->name,
			   instance->profile->name);
	}
}

/*
 * Check that all instances of a GPU have places side by side. The message has the places that
 * are taken.
 */
static int mig_check_layout(struct cfg_load *load, const struct config *config, size_t gpu)
{
	struct mig_layout layout;
	const struct mig_instance *lost;
	char places[TEXT_MAX], taken[TEXT_MAX];
	int status;

	mig_lay_out(config, gpu, &layout);
	status = mig_check_memory(load, config, &layout);
	if (status || layout.placed == layout.count)
		return status;
	lost = &layout.instances[layout.placed];
	/* The start of a profile that is named was checked; an equal part has starts, too. */
	if (lost->first->mig.start != CFG_MIG_ANYWHERE &&
	    !mig_profile_starts_at(lost->profile, lost->first->mig.start))
		return mig_reject_start(load, lost->first, lost->profile);
	describe_places(lost, places, sizeof(places));
	describe_taken(&layout, taken, sizeof(taken));
	return cfg_reject_container(load, lost->first, "mig.profile",
				    "a %s needs memory slices %s, but taken are %s, allowed: "
				    "instances that fit side by side",
				    lost->profile->name, places, taken);
}

static int mig_check(struct cfg_load *load, const struct config *config)
{
	int status = 0;

	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];
		const struct mig_gpu *mig = mig_gpu(config_gpu(config, container));

		if (!container->enabled)
			continue;
		if (!mig)
			return cfg_reject_container(load, container, "gpu",
						    "has the gpu.product \"other\", allowed "
						    "with system \"mig\": a GPU that has MIG");
		if (strlen(config_gpu(config, container)->name) > GPU_NAME_MAX)
			return cfg_reject_container(load, container, "gpu",
						    "has too long a name, allowed with system "
						    "\"mig\": %d characters",
						    GPU_NAME_MAX);
		status = mig_check_profile(load, mig, container);
		if (!status)
			status = mig_check_shared(load, config, container);
	}
	for (size_t i = 0; !status && i < config->container_count; i++)
		if (config->containers[i].enabled)
			status = mig_check_layout(
				load, config, config_gpu_index(config, &config->containers[i]));
	return status;
}

static void mig_part(const struct config *config, const struct cfg_container *container,
		     struct cfg_gpu *gpu)
{
	const struct mig_keys *keys = config->system_keys;
	const struct mig_gpu *mig = mig_gpu(gpu);
	const struct mig_instance *instance;
	const struct mig_profile *profile;
	struct mig_layout layout;
	char name[CFG_NAME_MAX];

	mig_lay_out(config, config_gpu_index(config, container), &layout);
	instance = layout.instances;
	while (instance->first != mig_first(config, container))
		instance++;
	profile = instance->profile;
	snprintf(name, sizeof(name), "%.*s-%s-%u", GPU_NAME_MAX, gpu->name, profile->name,
		 instance->start);
	memcpy(gpu->name, name, sizeof(name));
	gpu->memory = part_of(gpu->memory, profile->memory_mib, mig->memory_mib);
	gpu->memory_total = part_of(gpu->memory_total, profile->memory_mib, mig->memory_mib);
	if (gpu->sms) /* a part of 0 would be "any kernel fills them all" */
		gpu->sms = max(part_of(gpu->sms, profile->sms, mig->sms), 1ull);
	gpu->flops_bf16 = part_of(gpu->flops_bf16, profile->sms, mig->sms);
	gpu->flops_fp8 = part_of(gpu->flops_fp8, profile->sms, mig->sms);
	gpu->flops_bf16_mma = part_of(gpu->flops_bf16_mma, profile->sms, mig->sms);
	gpu->memory_bandwidth = part_of(gpu->memory_bandwidth, profile->size, MIG_SLICES);
	gpu->fault.zero_bandwidth =
		part_of(gpu->fault.zero_bandwidth, profile->size, MIG_SLICES);
	if (keys->link == MIG_LINK_WHOLE)
		return;
	gpu->link.bandwidth =
		part_of(gpu->link.bandwidth, profile->copy_engines, mig->copy_engines);
	gpu->link.bandwidth_both = profile->copy_engines == 1 ?
					   gpu->link.bandwidth :
					   part_of(gpu->link.bandwidth_both,
						   profile->copy_engines, mig->copy_engines);
}

const struct sim_system system_mig = {
	.keys = {
		.name = "mig",
		.summary = "GPU instances, each with SMs and memory of its own: NVIDIA's MIG",
		CFG_KEYS(mig_rows),
		.bytes = sizeof(struct mig_keys),
		.check_containers = mig_check,
	},
	.part = mig_part,
	.own_parts = true,
	.honours = mig_honours,
	.memory = sim_system_nvidia_memory,
};
