/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The memory managers that a simulated GPU can have, and what a system chooses: a manager and its
 * options. What a manager does is struct gvm_memory_ops; this is how one is made and taken down.
 */
#ifndef SIM_GPU_MANAGER_H
#define SIM_GPU_MANAGER_H

#include "gvm/memory.h"

struct gvm_device;
struct sim_memory_manager;

/* A system's choice. All zero: the core's block layer, without evictors. */
struct sim_memory_policy {
	const struct sim_memory_manager *manager; /* NULL: sim_manager_core */
	bool evictors;				  /* the core's background evictors run */
	u32 features;				  /* the core's: set of enum gvm_feature */
	/* Options of sim_manager_nvuvm; the last one also of sim_manager_ghost_uvm. */
	bool limits;	      /* the published GVM's limits and its victims by container */
	bool fast_path;	      /* the published GVM's promotion to 2 MB and lazy freeing */
	bool host_fragmented; /* the host gives 4 KB pages, unless fast_path insists */
};

/* What a manager is made for. All borrowed for its life, but for the policy. */
struct sim_memory_config {
	struct gvm_device *device; /* initialised */
	const struct gvm_mmu_ops *mmu;
	void *gpu; /* passed to every call of mmu */
	const struct sim_memory_policy *policy;
};

/* How to make a manager. */
struct sim_memory_manager {
	const struct gvm_memory_ops *ops;
	/* Returns the argument of ops, or NULL: no memory. destroy: no range is left; NULL is fine. */
	void *(*create)(const struct sim_memory_config *config);
	void (*destroy)(void *memory);
	/*
	 * Its threads: 0 or -ENOMEM. stop: when nobody is at work in it; all chunks that it keeps go back
	 * to the device. Or NULL. CONTEXT: process.
	 */
	int (*start)(void *memory);
	void (*stop)(void *memory);
};

/*
 * The core's block layer; the model of NVIDIA's driver (stock, or the published GVM's patch); and the
 * core's policy over that model.
 */
extern const struct sim_memory_manager sim_manager_core;
extern const struct sim_memory_manager sim_manager_nvuvm;
extern const struct sim_memory_manager sim_manager_ghost_uvm;

/* The manager of a policy. */
static inline const struct sim_memory_manager *
sim_memory_manager(const struct sim_memory_policy *policy)
{
	return policy->manager ? policy->manager : &sim_manager_core;
}

#endif
