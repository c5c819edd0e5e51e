/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One simulated GPU put together: host engine (fifo), GMMU, link, memory, and the driver core over
 * them. Implements the core's gvm_gpu_ops and gvm_mmu_ops.
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

/* What the service thread is doing, as far as fault episodes are concerned: enum fifo_stall_part. */
enum sim_service_wait {
	SIM_SERVICE_COMPUTES,
	SIM_SERVICE_WAITS,   /* for copies and clears: what the link does now decides */
	SIM_SERVICE_REPLAYS, /* for PTEs and the replay behind copies; part of the way in */
};

/* The last copies of a chunk, each way: what later ones on it come behind. */
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
	struct gvm_scheduler_config
		scheduling; /* set before sim_gpu_start(); zero: the hardware's turns */
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
	u64 clear_end_ns;	       /* until when the clearing engine is busy */
	u64 push_end_ns;	       /* the same of the channel for PTEs and TLBs */
	struct eng_waitq drain;	       /* who waits for that date; never woken before it */
	struct sim_process *servicing; /* whose faults that batch is about */
	struct eng_actor *servicer;    /* who services them */
	enum sim_service_wait waits;   /* what that is doing now */
	struct pcie_use booked_use;    /* of the link, when servicing's stall was last booked */
	struct sim_process *in_service; /* whose are in service just now */
	struct eng_waitq serviced;	/* for that to change */
	bool batch_maps;		/* it writes PTEs */
	u32 check_interval; /* check page tables every so many replays; 0: never; check.h */
	u64 replays;	    /* counted for that */
};

/*
 * The service thread goes on to wait for the device on behalf of the process that it services, or
 * has waited: what the process's fault episode took so far is booked. The process is looked up
 * anew, since it may have exited meanwhile.
 */
void sim_gpu_service_waits(struct sim_gpu *gpu, enum sim_service_wait waits);

/* Returns 0 or -ENOMEM. start: from an actor, or before eng_run(). */
int sim_gpu_init(struct sim_gpu *gpu, const char *name, const struct cfg_gpu *profile,
		 const struct sim_memory_policy *policy);
int sim_gpu_start(struct sim_gpu *gpu);
/* Blocking: stop the driver's threads. No process may be left. */
void sim_gpu_stop(struct sim_gpu *gpu);
void sim_gpu_destroy(struct sim_gpu *gpu);

/*
 * Blocking, also for who is interrupted: wait until the engines are through with all that was
 * started on them so far, so that memory under a copy or a clear can be freed.
 */
void sim_gpu_drain(struct sim_gpu *gpu);

/*
 * Blocking, also for who is interrupted: a process that does not run any more has no faults, and
 * from here on nobody services any of it.
 */
void sim_gpu_forget(struct sim_gpu *gpu, struct sim_process *process);

/* The memory of a simulated GPU, for whatever manages it. */
extern const struct gvm_mmu_ops sim_gpu_mmu_ops;

/* The costs of the driver's CPU work from the profile, for gvm_cost(). Once per simulation. */
void sim_gpu_set_costs(const struct cfg_gpu *profile);

/*
 * The same from this GPU's own profile, where a machine has several GPUs: for the driver's work in the running actor and in those that it
 * starts from now on, sim_gpu_start() included.
 */
void sim_gpu_use_costs(struct sim_gpu *gpu);

#endif
