/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Systems: ways of managing a GPU. Each has one file, with its keys, the control files that it
 * honours, and its managers of memory and time.
 */
#ifndef SIM_SYSTEMS_SYSTEM_H
#define SIM_SYSTEMS_SYSTEM_H

#include <stdbool.h>

#include "config/config.h"
#include "config/schema.h"
#include "cuda/library.h"

/* One way of managing the GPU. */
struct sim_system {
	struct cfg_keys keys; /* its name, and its own keys: parts that can be switched */
	bool own_gpu;	      /* every container has a whole GPU of its own */
	/*
	 * Of a system that cuts GPUs up: the part of a GPU that @container has. *gpu is the
	 * whole GPU before the call. Its name stays, or names the part among all parts. NULL: a
	 * container sees the whole GPU.
	 */
	void (*part)(const struct config *config, const struct cfg_container *container,
		     struct cfg_gpu *gpu);
	bool own_parts;	    /* each part, by its name, is simulated as a GPU of its own */
	bool frame_buffers; /* a container has its part of the memory, and never pages */
	bool traps;	    /* sim_process_stats.traps are counted */
	bool has_pressure;  /* applications can listen for pressure events */
	/*
	 * Does it honour this control file ("gmem.limit.high"), as @config configures it? NULL:
	 * it honours none.
	 */
	bool (*honours)(const struct config *config, const char *control_file);
	/*
	 * At the start a container's compute.priority says whose work comes first, though the
	 * file is not honoured.
	 */
	bool by_priority;
	/*
	 * The text that the system writes to this file when @container starts, in place of the
	 * scenario's text. The text is static; NULL leaves the file alone. Without this call
	 * the scenario's texts are written.
	 */
	const char *(*setting)(const struct config *config,
			       const struct cfg_container *container, const char *control_file);
	/* The manager of the GPU's memory. NULL: the core. */
	struct sim_memory_policy (*memory)(const struct config *config);
	/*
	 * Of a system whose containers have a common server (keys.common_server): are they, as
	 * @config has it, without it? NULL: never.
	 */
	bool (*apart)(const struct config *config);
	/* The fixed turns of the containers on GPU number @gpu. NULL: none. */
	struct fifo_turns (*turns)(const struct config *config, size_t gpu);
	/* The scheduler of its time. NULL: the hardware. */
	struct gvm_scheduler_config (*scheduling)(const struct config *config);
	/* The library between applications and CUDA. NULL: none. */
	const struct cuda_library *library;
};

#define SIM_SYSTEM(name_) extern const struct sim_system system_##name_;
#include "systems/list.h"
#undef SIM_SYSTEM

/* The keys of all systems, NULL at the end: the values of system.name. */
extern const struct cfg_keys *const sim_systems[];

/* The system with these keys. */
static inline const struct sim_system *sim_system_of(const struct cfg_keys *keys)
{
	return container_of(keys, struct sim_system, keys);
}

/* Does a system honour this control file, as @cfg configures it? */
static inline bool sim_system_honours(const struct sim_system *system, const struct config *cfg,
				      const char *control_file)
{
	return system->honours && system->honours(cfg, control_file);
}

/* Memory as NVIDIA's driver manages it: for systems that change nothing about it. */
struct sim_memory_policy sim_system_nvidia_memory(const struct config *config);

/* The system @name, or NULL. */
const struct sim_system *sim_system_find(const char *name);

#endif
