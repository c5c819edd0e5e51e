/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structs of a simulated GPU and of its processes, below all parts of this room. See gpu.h.
 */
#ifndef SIM_GPU_TYPES_H
#define SIM_GPU_TYPES_H

#include "config/config.h"
#include "gpu/manager.h"
#include "gsp/rpc.h"
#include "gvm/block.h"
#include "gvm/evictor.h"
#include "gvm/fault.h"
#include "gvm/predictor.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"
#include "pcie/link.h"

struct sim_process;

/*
 * The state of the service thread. It decides which enum fifo_stall_part a fault episode books.
 */
enum sim_service_wait {
	SIM_SERVICE_COMPUTES,
	SIM_SERVICE_WAITS, /* for copies and clears; the part depends on the use of the link */
	SIM_SERVICE_REPLAYS, /* for PTEs and the replay after the copies; booked as copy-in */
};

/* The last copies and the last clear of a chunk. Later ones on it start after them. */
struct sim_frame {
	u64 in_sequence;
	u64 out_sequence;
	u64 clear_end_ns;
};

struct sim_gpu {
	u64 cost_ns[GVM_COST_KINDS]; /* of the driver's CPU work; sim_gpu_use_costs() */
	u64 interrupt_ns;	     /* from a fault to the service thread running */
	char name[CFG_NAME_MAX];
	const struct cfg_gpu *profile; /* borrowed */
	struct gvm_device device;
	struct gvm_fault_handler handler;
	struct fifo fifo;
	struct gsp_rpc rpc;
	/* Set before sim_gpu_start(). Zero: the hardware's time slices. */
	struct gvm_scheduler_config scheduling;
	struct gvm_scheduler scheduler;
	struct gvm_prefetcher prefetcher;
	struct gmmu gmmu;
	struct pcie_link link;
	struct sim_memory_policy policy;
	const struct sim_memory_manager *manager; /* the policy's */
	struct gvm_evictor evictor;		  /* of the device, if the policy has any */
	struct gvm_container *family; /* whose children all containers are, or NULL */
	struct sim_frame *frames;     /* one for each chunk */
	u32 *free_chunks;	      /* ring, longest free first */
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
	/* replays from one check of page tables to the next; 0: never; check.h */
	u32 check_interval;
	u64 replays; /* counted only if check_interval is not 0 */
};

/*
 * An MPS server on a GPU: its clients share turns on the runlist. To the driver the server's
 * TSG belongs to all of them, so no client has compute.* files of its own.
 */
struct sim_mps {
	struct fifo_entry entry;
	struct gvm_mutex lock;	  /* over joining and leaving; outside of tsg_mutex */
	struct list_head clients; /* sim_process.mps_node: processes that run */
};

#define SIM_PROCESS_RANGES_MAX 16

/*
 * What the host of a virtual machine traps and does for it: accesses while the GPU works, writes
 * of submissions, and entries of page tables.
 */
enum sim_trap { SIM_TRAP_ACCESS, SIM_TRAP_SUBMISSION, SIM_TRAP_ENTRY, SIM_TRAPS };

/* Work for a process since its start. */
struct sim_process_stats {
	u64 faults;	   /* fault records serviced, without duplicates */
	u64 fault_batches; /* batches with a fault of this process in them */
	u64 bytes_h2d;
	u64 bytes_d2h;
	struct gvm_range_stats block; /* of its ranges */
	u64 traps[SIM_TRAPS];	      /* under a system with traps */
};

/* Why a context died, where its status does not tell. */
enum sim_death {
	SIM_DEATH_BY_STATUS,  /* a fault, a context's memory, a frame buffer: killed_status */
	SIM_DEATH_NO_ROOM,    /* an allocation of unmanaged memory found none */
	SIM_DEATH_GMEM_LIMIT, /* such an allocation would have exceeded gmem.limit.high */
	SIM_DEATH_HARD_LIMIT, /* such an allocation would have exceeded memory_hard */
	SIM_DEATH_BORROWER, /* above memory_soft when another client of its server needed memory */
};

struct sim_process {
	struct sim_gpu *gpu;
	struct gvm_container *container;
	bool evicts;			/* it uses its container's evictor */
	struct gvm_unevictable context; /* context memory: buffers and page tables */
	struct gvm_tsg core_tsg;
	struct fifo_tsg tsg;
	struct sim_mps *mps;	   /* the server whose client it is; borrowed, or NULL */
	struct list_head mps_node; /* in mps->clients */
	/* of the first client's core_tsg, unless it is the first */
	struct gvm_tsg_share mps_share;
	struct page_table page_table;
	struct gvm_range ranges[SIM_PROCESS_RANGES_MAX]; /* block_count 0: not in use */
	u64 table_bytes[SIM_PROCESS_RANGES_MAX]; /* that page tables of each range took */
	u32 range_count;			 /* in use */
	u64 next_va;
	u64 frame_buffer; /* bytes that it may allocate, with its context; 0: it pages */
	/*
	 * Limits of a client of an MPS server to its context and its unmanaged memory,
	 * bytes; 0: none. unmanaged.h.
	 */
	u64 memory_hard;
	u64 memory_soft;
	struct gvm_unevictable unmanaged; /* memory of cudaMalloc */
	struct sim_process_stats stats;
	bool running;
	u64 exited_ns; /* when it exited */
	/* a fault was cancelled, or the driver had no memory: the context is dead */
	bool killed;
	u64 killed_ns; /* when that happened */
	/* -EFAULT: by a fault of another client of its MPS server; else no memory */
	int killed_status;
	enum sim_death death;
};

#endif
