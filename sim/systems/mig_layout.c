// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The profiles of GPU instances, and their places; see mig_layout.h.
 *
 * Sources, all of NVIDIA's Multi-Instance GPU User Guide
 * (docs.nvidia.com/datacenter/tesla/mig-user-guide, release 580):
 *
 *     slices, copy engines     "Supported MIG Profiles", the tables of A100, H100 and H200. A
 *                              1g.10gb of an A100-40GB has 1/8 of the memory there, but 9.62 GB
 *                              and two slices in the listings; so it has 2/8 here, as the
 *                              1g.20gb of an H100 has in its table.
 *     places                   "Getting Started", nvidia-smi mig -lgipp: {0,1,2,3,4,5,6}:1 for
 *                              1g, {0,2,4,6}:2 for 1g with twice the memory, {0,2,4}:2 for 2g,
 *                              {0,4}:4 for 3g, {0}:4 for 4g, {0}:8 for 7g. They are the same on
 *                              all four GPUs.
 *     SMs, memory              "Getting Started", nvidia-smi mig -lgip, of an A100-40GB; the
 *                              same listing of other users' A100-80GB, H100 and H200. The tool
 *                              rounds 9.625 GiB to 9.62. No listing of a 3g.71gb or 4g.71gb was
 *                              found: 69.75 GiB is inferred from PyTorch's 69.8, and the SMs
 *                              from the H100, which is the same chip.
 *
 * Profiles with media engines ("+me") have the same shares of all that is modelled, so they are
 * left out.
 */
#include "systems/mig_layout.h"

#include <string.h>

#define GIB_8(eighths_) ((eighths_)*128u) /* MiB */

#define STARTS_1G	0x7fu
#define STARTS_1G_TWO	0x55u
#define STARTS_2G	0x15u
#define STARTS_3G	0x11u
#define STARTS_WHOLE	0x01u

static const struct mig_gpu gpus[] = {
	[CFG_PRODUCT_A100_40GB] = {
		.sms = 108, .memory_mib = GIB_8(314), .copy_engines = 7,
		.profiles = {
			{ "7g.40gb", 8, STARTS_WHOLE, 98, GIB_8(314), 7 },
			{ "4g.20gb", 4, STARTS_WHOLE, 56, GIB_8(156), 4 },
			{ "3g.20gb", 4, STARTS_3G, 42, GIB_8(156), 3 },
			{ "2g.10gb", 2, STARTS_2G, 28, GIB_8(77), 2 },
			{ "1g.10gb", 2, STARTS_1G_TWO, 14, GIB_8(77), 1 },
			{ "1g.5gb", 1, STARTS_1G, 14, GIB_8(38), 1 },
		},
	},
	[CFG_PRODUCT_A100_80GB] = {
		.sms = 108, .memory_mib = GIB_8(632), .copy_engines = 7,
		.profiles = {
			{ "7g.80gb", 8, STARTS_WHOLE, 98, GIB_8(632), 7 },
			{ "4g.40gb", 4, STARTS_WHOLE, 56, GIB_8(314), 4 },
			{ "3g.40gb", 4, STARTS_3G, 42, GIB_8(314), 3 },
			{ "2g.20gb", 2, STARTS_2G, 28, GIB_8(156), 2 },
			{ "1g.20gb", 2, STARTS_1G_TWO, 14, GIB_8(156), 1 },
			{ "1g.10gb", 1, STARTS_1G, 14, GIB_8(76), 1 },
		},
	},
	[CFG_PRODUCT_H100_80GB] = {
		.sms = 132, .memory_mib = GIB_8(634), .copy_engines = 8,
		.profiles = {
			{ "7g.80gb", 8, STARTS_WHOLE, 132, GIB_8(634), 8 },
			{ "4g.40gb", 4, STARTS_WHOLE, 64, GIB_8(316), 4 },
			{ "3g.40gb", 4, STARTS_3G, 60, GIB_8(316), 3 },
			{ "2g.20gb", 2, STARTS_2G, 32, GIB_8(157), 2 },
			{ "1g.20gb", 2, STARTS_1G_TWO, 26, GIB_8(157), 1 },
			{ "1g.10gb", 1, STARTS_1G, 16, GIB_8(78), 1 },
		},
	},
	[CFG_PRODUCT_H200_141GB] = {
		.sms = 132, .memory_mib = GIB_8(1120), .copy_engines = 8,
		.profiles = {
			{ "7g.141gb", 8, STARTS_WHOLE, 132, GIB_8(1120), 8 },
			{ "4g.71gb", 4, STARTS_WHOLE, 64, GIB_8(558), 4 },
			{ "3g.71gb", 4, STARTS_3G, 60, GIB_8(558), 3 },
			{ "2g.35gb", 2, STARTS_2G, 32, GIB_8(260), 2 },
			{ "1g.35gb", 2, STARTS_1G_TWO, 26, GIB_8(260), 1 },
			{ "1g.18gb", 1, STARTS_1G, 16, GIB_8(128), 1 },
		},
	},
};

const struct mig_gpu *mig_gpu(const struct cfg_gpu *gpu)
{
	return gpu->product == CFG_PRODUCT_OTHER ? NULL : &gpus[gpu->product];
}

const struct mig_profile *mig_profile_find(const struct mig_gpu *mig, const char *name)
{
	for (u32 i = 0; i < MIG_PROFILES; i++)
		if (!strcmp(mig->profiles[i].name, name))
			return &mig->profiles[i];
	return NULL;
}

bool mig_profile_starts_at(const struct mig_profile *profile, u64 start)
{
	return start < MIG_SLICES && profile->starts & 1u << start;
}

const struct cfg_container *mig_first(const struct config *config,
				      const struct cfg_container *container)
{
	const struct cfg_container *first = config->containers;
	size_t gpu = config_gpu_index(config, container);

	if (!*container->mig.instance)
		return container;
	while (first != container &&
	       (!first->enabled || config_gpu_index(config, first) != gpu ||
		strcmp(first->mig.instance, container->mig.instance) != 0))
		first++;
	return first;
}

/* The memory slices of an instance at @start. */
static u32 profile_slices(const struct mig_profile *profile, u32 start)
{
	return ((1u << profile->size) - 1) << start;
}

/* The largest profile of which a GPU has @count side by side; the smallest if there is none. */
static const struct mig_profile *mig_equal_part(const struct mig_gpu *mig, u32 count)
{
	for (u32 i = 0; i < MIG_PROFILES; i++) {
		const struct mig_profile *profile = &mig->profiles[i];

		if ((u32)__builtin_popcount(profile->starts) >= count)
			return profile;
	}
	return &mig->profiles[MIG_PROFILES - 1];
}

/*
 * Place the instances from number @from up to @to on the slices that @taken has not. Recursion:
 * at most 8 deep.
 */
static bool layout_place(struct mig_layout *layout, u32 from, u32 to, u32 taken)
{
	struct mig_instance *instance = &layout->instances[from];
	u64 wanted;

	if (from == to)
		return true;
	wanted = instance->first->mig.start;
	for (u32 start = 0; start < MIG_SLICES; start++) {
		u32 slices = profile_slices(instance->profile, start);

		if (!mig_profile_starts_at(instance->profile, start) || taken & slices ||
		    (wanted != CFG_MIG_ANYWHERE && wanted != start))
			continue;
		instance->start = start;
		if (layout_place(layout, from + 1, to, taken | slices))
			return true;
	}
	return false;
}

void mig_lay_out(const struct config *config, size_t gpu, struct mig_layout *ret_layout)
{
	const struct mig_gpu *mig = mig_gpu(gpu ? &config->gpus[gpu - 1] : &config->gpu);

	*ret_layout = (struct mig_layout){ 0 };
	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *container = &config->containers[i];

		if (container->enabled && config_gpu_index(config, container) == gpu &&
		    mig_first(config, container) == container)
			ret_layout->instances[ret_layout->count++].first = container;
	}
	for (u32 i = 0; i < ret_layout->count; i++) {
		struct mig_instance *instance = &ret_layout->instances[i];

		instance->profile = mig_profile_find(mig, instance->first->mig.profile);
		if (!instance->profile)
			instance->profile = mig_equal_part(mig, ret_layout->count);
	}
	/* A failure changes places, so the longest row that can be placed is placed again. */
	while (ret_layout->placed < ret_layout->count &&
	       layout_place(ret_layout, 0, ret_layout->placed + 1, 0))
		ret_layout->placed++;
	layout_place(ret_layout, 0, ret_layout->placed, 0);
}
