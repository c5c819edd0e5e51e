/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The memory managers of a simulated GPU. A system chooses one and its options. struct
 * gvm_memory_ops has the calls of a manager; this file creates and destroys it.
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
	/* small blocks share chunks: gvm_device_config.sub_chunks; not with limits */
	bool sub_chunks;
	/*
	 * The core's: containers are children of one (gvm/child.h), with these limits in bytes.
	 * Of system guardian, whose containers share a context.
	 */
	bool family;
	u64 family_high; /* its gmem.limit.high and gmem.limit.low */
	u64 family_low;
	/* Options of sim_manager_nvuvm. sim_manager_ghost_uvm has only host_fragmented. */
	bool limits;	      /* the published GVM's limits and its victims by container */
	bool fast_path;	      /* the published GVM's promotion to 2 MB and lazy freeing */
	bool one_list;	      /* its search for a victim in one list of all chunks */
	bool host_fragmented; /* the host gives 4 KB pages, unless fast_path insists */
};

/*
 * The arguments of create(). Borrowed while the manager exists; the policy only during the
 * call.
 */
struct sim_memory_config {
	struct gvm_device *device; /* initialised */
	const struct gvm_mmu_ops *mmu;
	void *gpu; /* passed to every call of mmu */
	const struct sim_memory_policy *policy;
};

/* A kind of memory manager. */
struct sim_memory_manager {
	const struct gvm_memory_ops *ops;
	/*
	 * create: returns the first argument for ops, or NULL without memory. destroy: no range
	 * may be left; NULL is allowed.
	 */
	void *(*create)(const struct sim_memory_config *config);
	void (*destroy)(void *memory);
	/*
	 * Start its threads: 0 or -ENOMEM. stop: no call into the manager may be running;
	 * returns all chunks that the manager keeps to the device. Both may be NULL. CONTEXT:
	 * process.
	 */
	int (*start)(void *memory);
	void (*stop)(void *memory);
};

/*
 * The core's block layer; the model of NVIDIA's driver (stock, or the published GVM's patch);
 * and the core's policy over that model.
 */
extern const struct sim_memory_manager sim_manager_core;
extern const struct sim_memory_manager sim_manager_nvuvm;
extern const struct sim_memory_manager sim_manager_ghost_uvm;

/* Returns the manager that a policy chooses. */
static inline const struct sim_memory_manager *
sim_memory_manager(const struct sim_memory_policy *policy)
{
	return policy->manager ? policy->manager : &sim_manager_core;
}

#endif
