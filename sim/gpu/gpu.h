/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One simulated GPU put together: host engine (fifo), GMMU, link, memory, and the driver core
 * over them. Implements the core's gvm_gpu_ops and gvm_mmu_ops.
 */
#ifndef SIM_GPU_GPU_H
#define SIM_GPU_GPU_H

#include "config/config.h"
#include "gpu/manager.h"
#include "gsp/rpc.h"
#include "gvm/block.h"
#include "gvm/evict.h"
#include "gvm/fault.h"
#include "gvm/sched.h"
#include "pcie/link.h"

struct sim_process;

/*
 * The state of the service thread. It decides which enum fifo_stall_part a fault episode books.
 */
enum sim_service_wait {
	SIM_SERVICE_COMPUTES,
	SIM_SERVICE_WAITS,   /* for copies and clears: the use of the link decides */
	SIM_SERVICE_REPLAYS, /* for PTEs and the replay after the copies: counted as copy-in */
};

/* The last copies and the last clear of a chunk. Later ones on it start after them. */
struct sim_frame {
	u64 in_sequence;
	u64 out_sequence;
	u64 clear_end_ns;
};

struct sim_gpu {
	u64 cost_ns[GVM_COST_KINDS]; /* of the driver's CPU work; sim_gpu_use_costs() */
	char name[CFG_NAME_MAX];
	const struct cfg_gpu *profile; /* borrowed */
	struct gvm_device device;
	struct gvm_fault_handler handler;
	struct fifo fifo;
	struct gsp_rpc rpc;
	/* Set before sim_gpu_start(). Zero: the hardware's time slices. */
	struct gvm_scheduler_config scheduling;
	struct gvm_scheduler scheduler;
	struct gmmu gmmu;
	struct pcie_link link;
	struct sim_memory_policy policy;
	const struct sim_memory_manager *manager; /* the policy's */
	struct gvm_evictor evictor;		  /* of the device, if the policy has any */
	struct sim_frame *frames;		  /* one for each chunk */
	u32 *free_chunks;			  /* ring, longest free first */
	u32 free_first;
	u32 free_count;
	u64 clear_end_ns;		/* when the clearing engine is done */
	u64 push_end_ns;		/* when the channel for PTEs and TLBs is done */
	struct eng_waitq drain;		/* waiters for clear_end_ns; never woken earlier */
	struct sim_process *servicing;	/* the process of the current batch, or NULL */
	struct eng_actor *servicer;	/* the actor that services it */
	enum sim_service_wait waits;	/* the state of that actor */
	struct pcie_use booked_use;	/* of the link, when that stall was last booked */
	struct sim_process *in_service; /* its faults are in service now, or NULL */
	struct eng_waitq serviced;	/* waiters for in_service to change */
	bool batch_maps;		/* the current batch writes PTEs */
	u32 check_interval; /* replays from one check of page tables to the next; 0: never; check.h */
	u64 replays;	    /* counted only if check_interval is not 0 */
};

/*
 * The service thread changes its state: book the stall of the process in gpu->servicing up to
 * now, then enter @waits. Does not book if that process has exited (gpu->servicing is NULL).
 */
void sim_gpu_service_waits(struct sim_gpu *gpu, enum sim_service_wait waits);

/* Both return 0 or -ENOMEM. Call sim_gpu_start() from an actor, or before eng_run(). */
int sim_gpu_init(struct sim_gpu *gpu, const char *name, const struct cfg_gpu *profile,
		 const struct sim_memory_policy *policy);
int sim_gpu_start(struct sim_gpu *gpu);
/* Blocking: stop the driver's threads. No process may be left. */
void sim_gpu_stop(struct sim_gpu *gpu);
void sim_gpu_destroy(struct sim_gpu *gpu);

/*
 * Blocking and not interruptible: wait until all copies and clears that are started so far are
 * done. Their memory can be freed afterwards.
 */
void sim_gpu_drain(struct sim_gpu *gpu);

/*
 * Blocking and not interruptible: drop all faults of a process that no longer runs, and wait
 * until none is in service. No fault of it is serviced afterwards.
 */
void sim_gpu_forget(struct sim_gpu *gpu, struct sim_process *process);

/* The calls that a memory manager makes to a simulated GPU. */
extern const struct gvm_mmu_ops sim_gpu_mmu_ops;

/*
 * Take the costs of the driver's CPU work from @profile, for gvm_cost(). Call it once per
 * simulation.
 */
void sim_gpu_set_costs(const struct cfg_gpu *profile);

/*
 * Take the costs from this GPU's own profile, for a machine with several GPUs. They apply to the
 * running actor and to the actors that it starts from now on, also in sim_gpu_start().
 */
void sim_gpu_use_costs(struct sim_gpu *gpu);

#endif
