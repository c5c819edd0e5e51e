/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The configuration of one simulation: what a scenario file, the profiles that it names and
 * --set options say, checked completely and resolved into plain structs of integers.
 *
 * Layers, later ones win:  schema defaults < profile files < scenario file < --set.
 * A profile ("gpu.profile", "containers.<name>.app.profile") is a JSON file under
 * scenarios/gpus or scenarios/apps whose leaves are {"value": ..., "source": "..."}: every
 * constant says where it comes from. Folders gpus and apps beside the scenario come before those
 * of gvmsim. The same keys can be overridden in a scenario.
 *
 * Units: bytes, nanoseconds, and parts per million for ratios and other decimal numbers, so
 * that nothing here is a floating-point number and results do not depend on a compiler.
 */
#ifndef SIM_CONFIG_CONFIG_H
#define SIM_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

struct sim_error;

#define CFG_NAME_MAX	   64
#define CFG_TEXT_MAX	   512
#define CFG_CONTAINERS_MAX 64
#define CFG_EVENTS_MAX	   1024
#define CFG_PPM		   1000000u

/* A GPU, as its profile describes it. Every field is a key under "gpu." of the same name. */
struct cfg_gpu {
	char profile[CFG_NAME_MAX]; /* "a100-40g": file scenarios/gpus/a100-40g.json */
	uint64_t memory; /* bytes that tenants can use, contexts included, after RM's reserve */
	uint64_t memory_total; /* bytes that CUDA reports as total */
	uint64_t
		context; /* bytes of a context beside its page tables; 0: neither is modelled */
	uint64_t memory_bandwidth; /* bytes/s */
	uint64_t flops_bf16;	   /* dense bf16 peak, FLOP/s */
	struct {
		uint64_t bandwidth;	 /* bytes/s and direction, for large copies */
		uint64_t bandwidth_both; /* bytes/s of both directions together */
		uint64_t setup;		 /* ns per copy before its first byte */
		uint64_t piece; /* ns per further copy of one push: scattered host memory */
	} link;
	struct {
		uint64_t timeslice;	  /* ns, what RM programs by default */
		uint64_t timeslice_scale; /* ppm: real over programmed */
		uint64_t context_switch;  /* ns in which no context runs, and more to */
		uint64_t context_state;	  /* save or restore what all SMs can hold: ns */
		uint64_t rpc;		  /* ns that a control RPC to the GSP takes */
	} sched;
	struct {
		uint64_t buffer_entries; /* replayable fault buffer */
		uint64_t outstanding; /* faulting 64 KB pages that one context has in flight */
		uint64_t per_block;   /* of these, most in one 2 MB block */
		uint64_t interrupt;   /* ns from fault to the service thread running */
		uint64_t linger;     /* ns after a replay in which a fault needs no interrupt */
		uint64_t cold_wake;  /* ns more, if the service thread has slept for */
		uint64_t cold_after; /* ns */
		uint64_t batch;	     /* ns of CPU time per fault batch */
		uint64_t entry;	     /* ns of CPU time per fault record */
		uint64_t block;	     /* ns of CPU time per VA block serviced, */
		uint64_t page;	     /* and per page of it that comes from the host */
		uint64_t replay;     /* ns of CPU time per flush and replay */
		uint64_t evict;	     /* ns of CPU time per chunk evicted */
		uint64_t
			push; /* ns of GPU time per push of PTEs, TLB invalidations or a replay */
		uint64_t zero_bandwidth; /* bytes/s at which fresh memory is cleared */
	} fault;
};

/* The machine around the GPU. Keys under "host."; a GPU profile file carries them too. */
struct cfg_host {
	uint64_t memory; /* bytes */
	uint64_t cores;
	uint64_t kernel_launch; /* ns to launch one kernel from an eager framework */
	uint64_t speed;		/* ppm: CPU speed relative to the reference host of the apps */
	bool fragmented;	/* has no 2 MB of memory in one piece for who does not insist */
};

enum cfg_app_type {
	CFG_APP_LLM_SERVER,
	CFG_APP_DIFFUSION,
	CFG_APP_PAGES,
	CFG_APP_UNKNOWN, /* of a container that was watched on real hardware; in no scenario */
};

/* The request source of an LLM server and the habits of its benchmark client. */
struct cfg_client {
	char file[CFG_TEXT_MAX]; /* "app.trace.file", resolved against the scenario's folder */
	uint64_t divide;	 /* "app.trace.divide", ppm: arrival times are divided by it */
	uint64_t response;	 /* "app.trace.response", enum trace_response */
	uint64_t first_request;	 /* "app.client.start", ns after the container's start */
	uint64_t stop;		 /* "app.client.stop", ns after the first request; 0: never */
	uint64_t max_open;	 /* "app.client.max_open"; 0: no limit */
	bool drop_in_flight;	 /* "app.client.drop_in_flight": at stop, else wait for them */
	uint64_t slo_ttft;	 /* "app.slo_ttft", ns */
};

/* vLLM V1 serving one model. Keys under "containers.<name>.app.". */
struct cfg_llm {
	uint64_t weights;		 /* bytes */
	uint64_t kv_bytes_per_token;	 /* bytes */
	uint64_t workspace;		 /* bytes of activations that the server reserves */
	uint64_t gpu_memory_utilization; /* ppm of gpu.memory_total */
	uint64_t block_tokens;		 /* KV block size */
	uint64_t max_batched_tokens;	 /* token budget of a step */
	uint64_t max_sequences;
	uint64_t max_model_len;	   /* tokens */
	uint64_t flops_per_token;  /* FLOP of one forward pass per token, without attention */
	uint64_t attention_flops;  /* FLOP of one query token per earlier token, all layers */
	uint64_t efficiency;	   /* ppm of gpu.flops_bf16 that its matrix products reach */
	uint64_t kernels_per_step; /* kernels launched by one eager step */
	uint64_t kv_bandwidth;	   /* ppm of gpu.memory_bandwidth that attention reads KV at */
	uint64_t
		boot; /* ns that its process starts ahead of the container's start, to be ready */
	struct cfg_client client;
};

/* A diffusion pipeline in a closed loop. Keys under "containers.<name>.app.". */
struct cfg_diffusion {
	uint64_t text_weights;	      /* bytes: large text encoder (T5) */
	uint64_t clip_weights;	      /* bytes: small text encoders */
	uint64_t denoiser_weights;    /* bytes: MMDiT */
	uint64_t decoder_weights;     /* bytes: VAE */
	uint64_t denoiser_activation; /* bytes touched by one denoising pass */
	uint64_t decoder_activation;  /* bytes touched by the decoder */
	uint64_t steps;		      /* denoising steps an image */
	uint64_t passes_per_step;     /* through the denoiser */
	uint64_t text_passes;	      /* through all text encoders an image: one a prompt */
	uint64_t text_flops;	      /* FLOP of one pass */
	uint64_t denoiser_flops;      /* FLOP of one pass */
	uint64_t denoiser_traffic;    /* bytes of device memory moved by one pass */
	uint64_t decoder_flops;	      /* FLOP of decoding an image */
	uint64_t decoder_traffic;     /* bytes of device memory moved by decoding */
	uint64_t efficiency;	      /* ppm of gpu.flops_bf16 that its kernels reach */
	uint64_t kernels_per_pass;
	uint64_t kernels_text;
	uint64_t kernels_decoder;
	uint64_t host_per_image; /* ns of host work an image, reference host */
	uint64_t warmup; /* ns of host work before the first image only, reference host */
	uint64_t load_bandwidth; /* bytes/s at which weights are loaded; 0: faulted in by use */
};

/* In which order a page player touches the blocks of its region. */
enum cfg_pattern {
	CFG_PATTERN_SEQUENTIAL,
	CFG_PATTERN_RANDOM,
	CFG_PATTERN_ZIPF,
	CFG_PATTERN_EVENTS, /* as the scenario's events say */
};

/* A page player: an access pattern in a closed loop. Keys under "containers.<name>.app.". */
struct cfg_pages {
	uint64_t bytes;		/* of its region */
	bool on_host;		/* filled by the CPU: first touches copy it in */
	uint64_t pattern;	/* enum cfg_pattern */
	uint64_t zipf_alpha;	/* ppm: the i-th block is touched in proportion to i^-alpha */
	uint64_t write_share;	/* ppm of its kernels that write what they touch */
	uint64_t kernels;	/* a round */
	uint64_t kernel_blocks; /* 2 MB blocks that each touches; 0: it computes only */
	uint64_t kernel_time;	/* ns of GPU time that each takes */
	uint64_t pages_at_once; /* of a block, touched side by side; 0: gpu.fault.per_block */
	uint64_t pause;		/* ns that the host does nothing between two rounds */
	bool prefetch_back;	/* after a round the region goes back to the host */
};

/* One container: an application and its control files. */
struct cfg_container {
	char name[CFG_NAME_MAX]; /* no dots */
	bool enabled;
	uint64_t start;		    /* ns */
	enum cfg_app_type app_type; /* "app.type": "llm-server", "diffusion" or "pages" */
	char app_profile[CFG_NAME_MAX];
	bool pressure; /* "app.pressure": listens for pressure events, where the system has them */
	union {
		struct cfg_llm llm;
		struct cfg_diffusion diffusion;
		struct cfg_pages pages;
	};
	/*
	 * Control-file writes at start: the dotted keys of the container, in schema order, as
	 * the text that is written. An empty text: the file is left alone. Here and in events
	 * a text is checked and in one spelling that the driver's parser takes: plain bytes or
	 * "max", "<n>us", or a number.
	 */
	struct cfg_control {
		const char *file;	 /* "gmem.limit.high", ...: points into the schema */
		char text[CFG_NAME_MAX]; /* written to the file at start */
	} * controls;
	size_t control_count;
};

/* Who shares out GPU time, and how it learns who has work: gvm/sched.h. */
enum cfg_scheduler {
	CFG_SCHEDULER_TIMESLICES,
	CFG_SCHEDULER_PRIORITY,
	CFG_SCHEDULER_WEIGHTED,
};

enum cfg_tracking {
	CFG_TRACKING_EVENTS,
	CFG_TRACKING_BUSY_BITS,
};

/*
 * What happens to a container at a time, one of three: a control file is written; a page player
 * whose pattern is "events" touches blocks, one after the other; or it exits.
 */
struct cfg_event {
	uint64_t at; /* ns */
	char container[CFG_NAME_MAX];
	char file[CFG_NAME_MAX]; /* empty: none is written */
	char value[CFG_NAME_MAX];
	char touch[CFG_NAME_MAX]; /* "3", "0-7" or "7-0"; empty: nothing is touched */
	uint32_t first_block;	  /* of these */
	uint32_t last_block;
	bool exit;
};

/* The whole of it. Owned by the caller: config_load(), then config_destroy(). */
struct config {
	char file[CFG_TEXT_MAX]; /* the scenario, as messages name it */
	char name[CFG_NAME_MAX];
	char description[CFG_TEXT_MAX];
	uint64_t duration; /* ns */
	uint64_t seed;
	char system[CFG_NAME_MAX];
	/* Parts of a system that can be switched: "system.mechanisms". */
	struct {
		/* Of gvm, on unless switched off; the last one of gpreempt, too. */
		bool memory_isolation;	/* gmem.* control files */
		bool compute_isolation; /* compute.* control files */
		bool fast_paging;	/* swapping that overlaps copies */
		/* Of ghost, off unless switched on: enum gvm_feature. */
		bool clean_drop;
		bool priority_batches;
		bool hint_faults;
	} mechanisms;
	uint64_t scheduler;	    /* "system.scheduler": enum cfg_scheduler */
	uint64_t tracking;	    /* "system.tracking": enum cfg_tracking */
	uint64_t tracking_interval; /* ns: between two events, and two looks */
	struct cfg_gpu gpu;
	struct cfg_host host;
	struct cfg_container *containers; /* in the order of the file */
	size_t container_count;
	struct cfg_event *events; /* in time order */
	size_t event_count;
	uint64_t timeline_interval; /* "output.timeline_interval", ns */
	bool record_controls;	    /* "output.controls": control files, as often */
	bool record_evictions;	    /* "output.evictions": each of them */
	/*
	 * Keys that were checked but that nothing honours yet, whichever the system: full paths
	 * in schema order, of those only that the scenario or --set has. What a profile says is
	 * no wish of the user's.
	 */
	char **unused_keys;
	size_t unused_count;
	/* Keys of mechanisms, likewise. A system without the mechanism cannot honour them. */
	char **mechanism_keys;
	size_t mechanism_count;
	char hash[33];	/* of everything above and of trace contents, hexadecimal */
	void *resolved; /* json_t: every key with its value, for config.json */
};

/* One --set PATH=VALUE of the command line; the text is borrowed. */
struct cfg_override {
	const char *path_and_value;
};

/*
 * Load @path (a scenario file or pipe, or the name of one of ours), apply @count overrides in
 * order, check everything. A mistake is reported as "file:key.path: what is wrong, what is allowed"
 * ("--set" in place of the file).
 * On failure *config is empty. Returns 0 or a negative enum sim_exit.
 */
int config_load(const char *path, const struct cfg_override *overrides, size_t count,
		struct config *config, struct sim_error *err);
void config_destroy(struct config *config);

/*
 * Where this installation keeps its data. Looks, in this order, beside the running program
 * (build folder and source tree), in the installed data folder, in the source tree that it was
 * built from, and fails with a clear error.
 * @kind is "scenarios", "traces" or "plots". Writes an absolute path of @name in that folder.
 */
int config_find_data(const char *kind, const char *name, char *ret_path, size_t size,
		     struct sim_error *err);

/* The names of the scenarios that come with gvmsim, "a, b"; empty if there are none. */
void config_list_scenarios(char *text, size_t size);

#endif
