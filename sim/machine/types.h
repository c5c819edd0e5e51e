/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structs of a machine, of its containers and of its records, below all parts. See
 * machine.h.
 */
#ifndef SIM_MACHINE_TYPES_H
#define SIM_MACHINE_TYPES_H

#include "apps/app.h"
#include "apps/launches.h"
#include "cuda/device.h"
#include "gvm/control.h"
#include "gvmd/policy.h"
#include "systems/system.h"

/* The tgid of the first container's process; the next one's is one more. */
#define MACHINE_FIRST_TGID 1000u

/* A container's time on the GPU and its paging, in total or in an interval. */
struct sim_usage {
	u64 busy_ns;	  /* its kernels ran, in GPU time at full speed */
	u64 slow_ns;	  /* that took so much longer, with a part of the GPU */
	u64 stall_ns;	  /* in fault episodes: its kernels waited for its faults */
	u64 stall_h2d_ns; /* of that, for copies from host memory: fifo_stall_in_ns() */
	u64 stall_d2h_ns; /* of that, for copies to host memory: fifo_stall_out_ns() */
	u64 blocked_ns;	  /* waited for faults of others */
	u64 switching_ns; /* its context was being loaded */
	u64 waited_ns;	  /* waited for its turn */
	u64 evictions;	  /* chunks taken from it */
	u64 bytes_h2d;
	u64 bytes_d2h;
};

/* The rest of stall_ns: fault handling on the CPU, clears included. FIFO_STALL_CPU. */
static inline u64 sim_usage_cpu_ns(const struct sim_usage *usage)
{
	return usage->stall_ns - usage->stall_h2d_ns - usage->stall_d2h_ns;
}

/* What the processes of a container counted that events have stopped. */
struct sim_past {
	struct sim_usage usage;
	struct sim_process_stats stats;
	u64 launched_kernels;
	u64 ended_kernels;
	u64 gmem_peak;
	u64 events[GVM_EVENTS];
};

/* One container at run time. */
struct sim_container {
	const struct cfg_container *cfg;
	const struct sim_app *app;
	struct machine *machine;
	u32 index;		     /* in machine.containers, and in order of the scenario */
	const struct config *config; /* its view of the configuration: in machine.views */
	struct sim_gpu *gpu;
	struct cuda_device *device; /* that GPU, as its CUDA runtime sees it */
	struct sim_mps mps;	    /* its MPS server, if it is the first to name it */
	struct sim_mps *server;	    /* the MPS server of its process, or NULL */
	struct sim_process process;
	struct cuda_context cuda; /* of the process, once it has started */
	struct app_log log;
	struct app_env env;	   /* the environment of its application */
	struct eng_actor *actor;   /* of its present or last process; NULL: it was stopped */
	bool begun;		   /* its start has come, or an event has restarted it */
	u32 restarts;		   /* by events */
	bool stopped;		   /* an event stopped it, and none has restarted it */
	u64 stopped_ns;		   /* then */
	struct sim_past past;	   /* of its processes before the present one */
	bool started;		   /* its process has started */
	struct gvm_container *gvm; /* the driver's container; a reference, once started */
	int status;		   /* 0; -EIO: its context died; or another errno */
	u64 failed_ns;		   /* when its start failed or its context died */
	/* At the end of the run, before its memory went back. */
	u64 gmem_current;
	u64 gmem_peak;
	u64 gmem_swap;
	u64 events[GVM_EVENTS]; /* gmem.events */
	u64 launched_kernels;	/* as gcgroup.stat counts them */
	u64 ended_kernels;
	struct launches launches; /* by the samples of the timeline */
	struct sim_process_stats stats;
	struct sim_usage usage; /* up to the last sample of the timeline */
};

/* One sample of one container. */
struct timeline_row {
	u64 time_ns; /* end of the interval */
	u32 container;
	u64 resident_bytes;
	u64 swapped_bytes;
	u64 pending_kernels;
	struct sim_usage usage; /* in the interval */
};

/* The text of a control file that has changed since the sample before. */
struct record_control {
	u64 time_ns;
	u32 container;
	const char *file;		 /* its name */
	char text[GVM_CONTROL_TEXT_MAX]; /* lines joined by blanks */
};

/* A block that left the GPU. */
struct record_eviction {
	u64 time_ns;
	u32 container;
	u64 va;
	u32 chunk; /* that it left */
	u32 pages; /* of 64 KB, that were resident */
};

/* A time in which a container did one thing on its GPU. */
struct record_activity {
	u64 from_ns, to_ns;
	u64 busy_ns; /* of FIFO_RUNS: GPU time at full speed */
	u64 slow_ns; /* of FIFO_RUNS: how much longer it took with a part of the GPU */
	u32 container;
	u32 by; /* of FIFO_BLOCKED and FIFO_WAITS: the container that holds the GPU, or NO_ONE */
	enum fifo_activity activity;
};

#define RECORD_NO_ONE 0xffffffffu

/* A copy over the link of a GPU. */
struct record_copy {
	u64 from_ns, to_ns;
	u64 bytes;
	u32 gpu; /* index in machine.gpus */
	enum pcie_direction direction;
};

/* A batch of the fault handler of a GPU. */
struct record_batch {
	u64 from_ns, to_ns; /* to_ns 0: under way at the end of the run */
	u32 gpu;	    /* index in machine.gpus */
	u32 faults;	    /* records fetched */
	u32 distinct;	    /* of these, without duplicates */
};

/* Listeners of a container were told of pressure. */
struct record_pressure {
	u64 time_ns;
	u64 bytes; /* about to be evicted */
	u32 container;
	u32 listeners; /* that it had */
};

struct record {
	struct record_batch *batches;
	size_t batch_count;
	size_t batch_room;
	struct record_pressure *pressures;
	size_t pressure_count;
	size_t pressure_room;
	struct record_copy *copies;
	size_t copy_count;
	size_t copy_room;
	struct record_activity *activities; /* of each container in the order of time */
	size_t activity_count;
	size_t activity_room;
	size_t *last_activity;		 /* by container: 1 + index of its last; 0: none */
	struct record_control *controls; /* in the order of time */
	size_t control_count;
	size_t control_room;
	size_t *newest; /* by container and file: 1 + index of the last in controls; 0: none */
	struct record_eviction *evictions;
	size_t eviction_count;
	size_t eviction_room;
};

/* A write that the policy of gvmd asked for. */
struct policy_write {
	u64 time_ns; /* of its step */
	u32 container;
	char file[GVMD_NAME_MAX];
	char text[GVMD_TEXT_MAX];
	int status;    /* 0 or -errno */
	bool restored; /* the policy was stopped, and gvmd put back the text from before */
};

/* What became of the policy. */
struct policy_report {
	const char *name; /* NULL: none ran */
	u64 steps;
	u64 applied;		     /* writes */
	u64 refused;		     /* writes */
	u64 stopped_ns;		     /* when it failed; 0: it did not */
	const char *why;	     /* it failed */
	struct policy_write *writes; /* all of them, in order */
	size_t write_count;
};

struct machine_policy;

struct machine {
	const struct config *config;
	const struct sim_system *system;
	/*
	 * Views of the configuration: one for each GPU, then one for each enabled container
	 * whose GPU is cut up. In a view, config.gpu is that GPU, or the container's part of
	 * it. A container uses its own view, or that of its GPU.
	 */
	struct config *views;
	struct sim_gpu *gpus;
	struct cuda_device *devices;  /* one for each GPU */
	struct fifo_usage *gpu_usage; /* one for each GPU, up to the end of the run */
	u32 gpu_count;
	struct sim_container *containers; /* enabled ones only */
	struct list_head apps;		  /* app_env.node of all of them */
	u32 container_count;
	struct timeline_row *timeline;
	size_t row_count;
	size_t row_room;
	u64 sampled_ns; /* date of the last sample */
	bool *missed;	/* by event of the configuration: its container did not run */
	struct record record;
	struct machine_policy *policy; /* of gvmd; NULL: none runs */
	struct policy_report policy_report;
	struct eng_timer sample_timer;
	struct eng_timer end_timer;

	/* While it runs. */
	void (*progress)(const struct machine *machine); /* or NULL */
	const volatile int *interrupt_flag;
	const char *scratch;	   /* see machine_run(); borrowed, may be NULL */
	struct eng_waitq finished; /* the supervisor waits here for the end of the run */
	u32 running;		   /* applications that have not returned */
	u32 restarts_due;	   /* events to come that restart a container */
	bool time_is_up;
	int status; /* 0, or -ENOMEM: the run stops */

	u64 end_ns;	   /* simulated time at which the run ended */
	bool interrupted;  /* SIGINT: results are incomplete */
	u64 wall_start_ns; /* wall clock when the simulation began */
	u64 wall_ns;	   /* of the simulation alone */
};

#endif
