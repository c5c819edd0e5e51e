/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The configuration of one simulation, in plain structs of integers. config_load() (load.h)
 * fills them.
 *
 * Units: bytes, nanoseconds, and parts per million for ratios and other decimal numbers, so
 * that nothing here is a floating-point number and results do not depend on a compiler.
 */
#ifndef SIM_CONFIG_CONFIG_H
#define SIM_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

struct cfg_keys;

#define CFG_PPM 1000000u /* a ratio of one */

/*
 * How real numbers of a configuration are written: a decimal of 15 digits survives in a double.
 */
#define CFG_JSON_PRECISION JSON_REAL_PRECISION(15)
#define CFG_NAME_MAX	   64
#define CFG_TEXT_MAX	   512
#define CFG_CONTAINERS_MAX 64
#define CFG_GPUS_MAX	   15 /* further ones, beside that of "gpu." */
#define CFG_EVENTS_MAX	   1024
#define CFG_MIG_ANYWHERE   8u

/* "gpu.product": whose tables of MIG profiles and of vGPU types a GPU has. */
enum cfg_product {
	CFG_PRODUCT_OTHER, /* none are known */
	CFG_PRODUCT_A100_40GB,
	CFG_PRODUCT_A100_80GB,
	CFG_PRODUCT_H100_80GB,
	CFG_PRODUCT_H200_141GB,
};

/* "app.memory": who allocates what an application uses. */
enum cfg_memory {
	CFG_MEMORY_MANAGED,   /* cudaMallocManaged: drivers page it */
	CFG_MEMORY_UNMANAGED, /* cudaMalloc */
};

/* "output.compress": the form of CSV files. */
enum cfg_compress {
	CFG_COMPRESS_NONE,
	CFG_COMPRESS_ZSTD,
};

/* "output.timeline": the form of the timeline beside timeline.csv. */
enum cfg_trace {
	CFG_TRACE_NONE,
	CFG_TRACE_PLAIN,
	CFG_TRACE_ZSTD,
};

/* A GPU, as its profile describes it. A field is a key under "gpu." of the same name. */
struct cfg_gpu {
	char profile[CFG_NAME_MAX]; /* "a100-40g": file scenarios/gpus/a100-40g.json */
	u64 memory; /* bytes that containers can use, contexts included, after RM's reserve */
	u64 memory_total; /* bytes that CUDA reports as total */
	u64 context; /* bytes of a context beside its page tables; 0: neither is modelled */
	u64 memory_bandwidth; /* bytes/s */
	u64 flops_bf16;	      /* dense bf16 peak, FLOP/s */
	u64 flops_fp8;	      /* dense fp8 peak, FLOP/s; 0: it has none */
	u64 flops_bf16_mma;   /* FLOP/s of mma.sync in bf16; 0: flops_bf16 */
	bool wgmma;	      /* has Hopper's wgmma */
	u64 kernel_overhead;  /* ns of a kernel beside its traffic and arithmetic */
	u64 kernel_gap;	      /* ns of these in which none of its thread blocks runs */
	u64 graph_gap;	      /* likewise, of a kernel in a CUDA graph */
	u64 sms;	      /* streaming multiprocessors; 0: any kernel fills them */
	u64 clock;	      /* Hz of the SMs; 0: not known */
	u64 l2;		      /* bytes of the L2 cache; 0: nothing is read twice */
	u64 memory_sms;	      /* ppm of the SMs whose accesses saturate the memory; 0: all */
	u64 limited_speed;    /* ppm, of a kernel under an MPS limit beside others; 0: all */
	u64 product;	      /* enum cfg_product */
	/* Cycles of the SMs x CFG_PPM, for fences in software. */
	struct {
		u64 l1; /* a load that hits L1 */
		u64 l2;
		u64 dram;	  /* a load that goes to memory */
		u64 fence;	  /* what a fence adds to it, by mode (gvm/address_fence.h) */
		u64 fence_offset; /* likewise, if an offset is added to a register */
		u64 once;	  /* with and without an offset */
		u64 upper;	  /* "gpu.cycles.4g" */
		u64 upper_offset;
		u64 check;
		u64 check_offset;
		u64 modulo;
		u64 modulo_offset;
		u64 count;
		u64 count_offset;
	} cycles;
	struct {
		u64 bandwidth;	    /* bytes/s and direction, for large copies */
		u64 bandwidth_both; /* bytes/s of both directions together */
		u64 setup;	    /* ns per copy before its first byte */
		u64 piece_in;	    /* ns per further copy of one push: scattered host memory */
		u64 piece_out;	    /* likewise, to the host */
	} link;
	struct {
		u64 bandwidth; /* bytes/s to another GPU; 0: link.bandwidth */
		u64 setup;     /* ns of an all-reduce beside its steps and its bytes */
		u64 step;      /* ns of each step of its ring */
	} peer;
	struct {
		u64 timeslice;	     /* ns, what RM programs by default */
		u64 timeslice_scale; /* ppm: real over programmed */
		u64 context_switch;  /* ns in which no context runs, and more to */
		u64 context_state;   /* save or restore what all SMs can hold: ns */
		u64 rpc;	     /* ns that a control RPC to the GSP takes */
	} sched;
	struct {
		u64 buffer_entries; /* replayable fault buffer */
		u64 outstanding;    /* faulting 64 KB pages that one context has in flight */
		u64 per_block;	    /* of these, most in one 2 MB block */
		u64 front;	    /* blocks that a kernel faults on together, bit by bit */
		u64 per_page;	    /* records of one page: addresses that miss at once */
		u64 per_sm;	/* new records of an SM in a batch of a product; 0: no law */
		u64 again;	/* ppm: of such a batch, records of the batch before */
		u64 host_speed; /* ppm: the times below are divided by it; 0 is 1 */
		u64 interrupt;	/* ns from fault to the service thread running */
		u64 linger;	/* ns after a replay in which a fault needs no interrupt */
		u64 cold_wake;	/* ns more, if the service thread has slept for cold_after */
		u64 cold_after; /* ns */
		u64 batch;	/* ns of CPU time per fault batch */
		u64 entry;	/* ns of CPU time per fault record */
		u64 block;	/* ns of CPU time per VA block serviced */
		u64 page;	/* ns of CPU time per page of it that comes from the host */
		u64 replay;	/* ns of CPU time per flush and replay */
		u64 evict;	/* ns of CPU time per chunk evicted */
		u64 walk;	/* ns of CPU time per chunk that a search for a victim passes */
		u64 push; /* ns of GPU time per push of PTEs, TLB invalidations or a replay */
		u64 zero_bandwidth; /* bytes/s at which fresh memory is cleared */
	} fault;
	char name[CFG_NAME_MAX]; /* "gpu0", or its name below "gpus." */
};

/* The machine around the GPU. Keys under "host."; a GPU profile file carries them too. */
struct cfg_host {
	u64 memory; /* bytes */
	u64 cores;
	u64 speed;	 /* ppm: CPU speed relative to the reference host of the apps */
	bool fragmented; /* the host has no free 2 MB of memory in one piece */
};

/* One container: an application and its control files. */
struct cfg_container {
	char name[CFG_NAME_MAX]; /* no dots */
	bool enabled;
	char gpu[CFG_NAME_MAX];	       /* of config.gpus; empty: config.gpu */
	u64 start;		       /* ns */
	char mps_server[CFG_NAME_MAX]; /* "mps.server": whose client it is; empty: none */
	u64 mps_limit;		       /* "mps.limit": of the GPU's SMs, percent */
	u64 mps_priority;	       /* 0: normal, 1: below normal */
	u64 mps_memory_hard;	       /* bytes of unmanaged memory; 0: no limit */
	u64 mps_memory_soft;	       /* likewise: what is guaranteed */
	struct {
		char profile[CFG_NAME_MAX]; /* "3g.20gb"; empty: an equal part */
		/* shared by containers of this name; empty: its own */
		char instance[CFG_NAME_MAX];
		u64 start; /* first memory slice; CFG_MIG_ANYWHERE: the first that fits */
	} mig;
	struct {
		u64 partition; /* bytes that it declares; 0: an equal part */
		u64 l1;	       /* ppm of its accesses that hit L1 */
		u64 l2;	       /* ppm of the others that hit L2 */
		u64 offsets;   /* ppm of its accesses that have an offset */
		u64 wild;      /* ppm of its launches that have wild accesses */
	} guardian;
	char vgpu_type[CFG_NAME_MAX];	 /* "vgpu.type": "40C"; empty: an equal part */
	u64 vgpu_weight;		 /* "vgpu.weight"; 0: its type's */
	u64 vgpu_partition;		 /* "vgpu.partition": bytes; 0: its type's */
	const struct cfg_keys *app_type; /* "app.type" */
	char app_profile[CFG_NAME_MAX];
	u64 memory;	  /* "app.memory": enum cfg_memory */
	bool read_mostly; /* "app.read_mostly": advice on what the host fills */
	/* "app.pressure": listens for pressure events, where the system has them */
	bool pressure;
	void *app; /* the struct of app_type's keys; owned by the config */
	/*
	 * Writes to control files at start, in schema order. An empty text leaves the file
	 * alone. Here and in events a text is checked and in the spelling of the driver's
	 * parser: plain bytes or "max", "<n>us", or a number.
	 */
	struct cfg_control {
		const char *file;	 /* "gmem.limit.high": its name in the core's table */
		char text[CFG_NAME_MAX]; /* written to the file at start */
	} * controls;
	size_t control_count;
};

/*
 * An event of a container at a time, of one of eight kinds: a control file is written; a page
 * player with the pattern "events" touches blocks, one after the other; or it exits; or the
 * load of an LLM server changes; or the server goes to sleep; or it wakes; or the container is
 * stopped; or it is started again.
 */
struct cfg_event {
	size_t number; /* in the scenario's list, for messages; events are sorted by date */
	u64 at;	       /* ns */
	char container[CFG_NAME_MAX];
	char file[CFG_NAME_MAX]; /* empty: it writes no control file */
	char value[CFG_NAME_MAX];
	char touch[CFG_NAME_MAX]; /* "3", "0-7" or "7-0"; empty: it touches nothing */
	u32 first_block;	  /* of the touch */
	u32 last_block;
	bool exit;
	u64 load; /* ppm: an LLM server's requests come so many times as fast; 0: it says nothing */
	u64 sleep;    /* 1 or 2: an LLM server sleeps at this level; 0: it says nothing */
	bool wake;    /* the server wakes */
	bool stop;    /* the container's process ends */
	bool restart; /* a new process of the container starts, after a stop if one runs */
};

/* The whole configuration. The caller owns it: config_load(), then config_destroy(). */
struct config {
	char file[CFG_TEXT_MAX]; /* the scenario, as messages name it */
	char name[CFG_NAME_MAX];
	char description[CFG_TEXT_MAX];
	u64 duration; /* ns */
	u64 seed;
	/* What a run could have been: draws that depend on the seed. */
	struct {
		u64 arrivals; /* enum trace_draw: what of a trace is resampled */
		u64 block;    /* length of the resampled blocks, ns of the replay */
		u64 start;    /* a closed loop begins up to this much later, ns */
	} jitter;
	const struct cfg_keys *system; /* "system.name" */
	void *system_keys;    /* the struct of the system's keys; owned by the config */
	struct cfg_gpu gpu;   /* "gpu0" */
	struct cfg_gpu *gpus; /* further ones of the machine, in the order of the file */
	size_t gpu_count;     /* of these */
	struct cfg_host host;
	struct cfg_container *containers; /* in the order of the file */
	size_t container_count;
	struct cfg_event *events; /* in time order */
	size_t event_count;
	/* "policy.file": the policy of gvmd that runs; empty: none */
	char policy[CFG_TEXT_MAX];
	u64 timeline_interval; /* "output.timeline_interval", ns */
	bool record_controls;  /* "output.controls": sample control files, too */
	bool record_evictions; /* "output.evictions": record each eviction */
	/* The timeline as a trace. */
	struct {
		u64 form;     /* "output.timeline": enum cfg_trace */
		u64 from, to; /* the window, ns; 0 as the end: that of the run */
		bool worst;   /* the window is around the worst request */
	} trace;
	u64 compress;	      /* "output.compress": enum cfg_compress */
	bool record_activity; /* "output.activity": record what TSGs spend their time on */
	/*
	 * Keys of the scenario or --set that are checked but that no code reads yet: full paths
	 * in schema order. Keys of profiles do not count.
	 */
	char **unused_keys;
	size_t unused_count;
	/* Likewise, keys that other systems read, and this one does not. */
	char **foreign_keys;
	size_t foreign_count;
	char hash[33];	/* of everything above and of trace contents, hexadecimal */
	void *resolved; /* json_t: every key with its value, for config.json */
};

/* Free what @config owns and empty it. */
void config_destroy(struct config *config);

/* The GPU of @container, and its index: 0 is config.gpu, i is config.gpus[i - 1]. */
const struct cfg_gpu *config_gpu(const struct config *config,
				 const struct cfg_container *container);
size_t config_gpu_index(const struct config *config, const struct cfg_container *container);

/* Is @container enabled, and on the GPU of index @gpu? */
bool config_is_on(const struct config *config, const struct cfg_container *container,
		  size_t gpu);

#endif
