/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * GPU instances of MIG: the profiles of each GPU, and where the instances of a scenario lie.
 * The profiles are those of NVIDIA's Multi-Instance GPU User Guide, release 580.
 */
#ifndef SIM_SYSTEMS_MIG_LAYOUT_H
#define SIM_SYSTEMS_MIG_LAYOUT_H

#include "config/config.h"

/* Memory slices of a GPU. Each has an eighth of the memory's bandwidth and of the L2 cache. */
#define MIG_SLICES   8u

#define MIG_PROFILES 6u

/* A GPU instance profile. */
struct mig_profile {
	const char *name; /* "3g.20gb": compute slices, gigabytes */
	u32 size;	  /* memory slices that it takes, in a row */
	u32 starts;	  /* set of the slices at which it can begin: nvidia-smi mig -lgipp */
	u32 sms;
	u32 memory_mib;
	u32 copy_engines;
};

/* What can be made of a GPU. */
struct mig_gpu {
	u32 sms;	  /* without MIG; the largest instance can have fewer */
	u32 memory_mib;	  /* of the largest instance */
	u32 copy_engines; /* likewise */
	struct mig_profile profiles[MIG_PROFILES]; /* from the largest to the smallest */
};

/* A GPU instance of a scenario. */
struct mig_instance {
	const struct cfg_container *first; /* of the containers that share it */
	const struct mig_profile *profile;
	u32 start; /* its first memory slice */
};

/* The GPU instances on one GPU, in the order of their first containers. */
struct mig_layout {
	struct mig_instance instances[CFG_CONTAINERS_MAX];
	u32 count;
	u32 placed; /* the first so many have places; the next one has none beside them */
};

/* The table of a GPU, or NULL: it has no MIG. */
const struct mig_gpu *mig_gpu(const struct cfg_gpu *gpu);

/* The profile @name of a GPU, or NULL. */
const struct mig_profile *mig_profile_find(const struct mig_gpu *mig, const char *name);

/* Can an instance of this profile begin at memory slice @start? */
bool mig_profile_starts_at(const struct mig_profile *profile, u64 start);

/*
 * The first enabled container of those that share the GPU instance of @container: itself, if it
 * has an instance of its own.
 */
const struct cfg_container *mig_first(const struct config *config,
				      const struct cfg_container *container);

/*
 * Place the instances of all enabled containers on GPU number @gpu. Containers without a
 * profile get equal parts: the largest profile of which the GPU has as many as it has
 * instances. A profile that the GPU does not have counts like none. If not all can be placed
 * together, as many as can are, in order. Each takes the first place that leaves one for those
 * after it.
 */
void mig_lay_out(const struct config *config, size_t gpu, struct mig_layout *ret_layout);

#endif
