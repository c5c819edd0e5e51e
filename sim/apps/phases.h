/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * An application that is declared by its tensors and phases: phases.c runs it, and
 * phases_program.c reads the declaration.
 */
#ifndef SIM_APPS_PHASES_H
#define SIM_APPS_PHASES_H

#include <stdbool.h>

#include "apps/app_trace.h"
#include "config/config.h"
#include "cuda/cuda.h"

#define PHASES_JSON_MAX	      65536
#define PHASES_HOST_TIMES_MAX 100u
#define PHASES_HOST_TIME_MAX  (1000 * CFG_PPM) /* ppm */
#define PHASES_TENSORS_MAX    64u
#define PHASES_NODES_MAX      256u
#define PHASES_ACCESSES_MAX   16u
#define PHASES_LAYERS_MAX     64u
#define PHASES_TOUCHES_MAX    256u /* of a phase: its accesses in all of its layers */
#define PHASES_DEPTH_MAX      4u
#define PHASES_WRONG_MAX      512

/* Keys under "containers.<name>.app.". */
struct cfg_phases {
	char tensors[PHASES_JSON_MAX]; /* the declaration, as JSON */
	char phases[PHASES_JSON_MAX];
	u64 efficiency;			  /* ppm of gpu.flops_bf16 */
	u64 memory_efficiency;		  /* ppm of gpu.memory_bandwidth */
	bool overlap;			  /* arithmetic and memory traffic of a phase overlap */
	u64 kernel_launch;		  /* ns of host time of a launch, reference host */
	char host_times[PHASES_JSON_MAX]; /* a list, as JSON: see struct phases_program */
	u64 boot; /* ns that its process starts ahead of the container's start */
	struct cfg_app_trace trace;
	bool open_loop; /* iterations begin at the dates of the trace */
};

/* How long the contents of a tensor are needed. */
enum phases_life {
	PHASES_LIFE_RUN,	/* for the whole run */
	PHASES_LIFE_ITERATION,	/* up to the end of an iteration: then its memory goes back */
	PHASES_LIFE_RECOMPUTED, /* likewise, if there was pressure */
};

struct phases_tensor {
	char name[CFG_NAME_MAX];
	u64 bytes;
	bool on_host; /* the host fills it: first accesses copy it in */
	u64 life;     /* enum phases_life */
};

struct phases_access {
	u32 tensor;	     /* index */
	u64 bytes;	     /* of its beginning; 0 and bytes_per_token 0: all of it */
	u64 bytes_per_token; /* more, for each token */
	u64 matrices;	     /* kernels that touch an equal part each, at once; 0: bit by bit */
	bool every_layer; /* each layer touches all of it; else a layer has a part of its own */
	bool writes;
};

/* Which tokens of the samples a phase counts. */
enum phases_tokens {
	PHASES_TOKENS_ALL,	/* prompt and response */
	PHASES_TOKENS_PROMPT,	/* of prompts */
	PHASES_TOKENS_RESPONSE, /* of responses */
	PHASES_TOKENS_PADDED,	/* samples times the longest of them */
};

/* What a phase does, or how often a group is repeated. */
struct phases_work {
	u64 repeat;
	bool repeat_response; /* once more for each token of the responses; repeat is 0 */
	u64 samples;	 /* of the trace that each repetition takes; 0: those of its group */
	u64 tokens;	 /* enum phases_tokens */
	u64 host_ns;	 /* host work before it, which begins when the GPU is done */
	u64 kernels;	 /* 0: it has none */
	u64 launch_ns;	 /* host time of a launch, reference host */
	u64 overhead_ns; /* of a kernel; 0: gpu.kernel_overhead */
	u64 blocks;	 /* thread blocks of a kernel; 0: they follow from its work */
	u64 turns;	 /* ppm of a turn that a kernel takes beside others; 0: a whole one */
	bool graph;	 /* one launch for all kernels */
	u64 layers;	 /* one after the other, up to PHASES_LAYERS_MAX */
	u64 flops;
	u64 flops_per_token;
	u64 traffic; /* bytes of device memory */
	u64 traffic_per_token;
	u64 cycles;	    /* of SMs, beside arithmetic and traffic */
	u64 traffic_beside; /* bytes that arithmetic and cycles hide */
	struct phases_access accesses[PHASES_ACCESSES_MAX];
	u32 access_count;
};

/* A phase, or a group of phases: then it is followed by them. */
struct phases_node {
	char name[CFG_NAME_MAX];
	bool group;
	bool once; /* in the first iteration only */
	u32 end;   /* index after its last child, or after itself */
	struct phases_work work;
	struct phases_work small; /* in an iteration after pressure */
};

struct phases_program {
	struct phases_tensor tensors[PHASES_TENSORS_MAX];
	u32 tensor_count;
	struct phases_node nodes[PHASES_NODES_MAX];
	u32 node_count;
	/* How long the host takes for an iteration: ppm of what the phases say, equally likely. */
	u32 host_times[PHASES_HOST_TIMES_MAX];
	u32 host_time_count; /* 0: as the phases say */
	bool uses_samples;   /* a phase or group takes some */
	bool counts_tokens;  /* a phase or group does more for more tokens */
	bool counts_cycles;  /* a phase has some */
};

/*
 * Read the declaration. Returns a new program, which the caller frees. NULL: *@ret_key is the
 * key that is wrong, "tensors", "phases" or "host_times", and @wrong says what and where; with a @ret_key of
 * NULL there is no memory.
 */
struct phases_program *phases_program_read(const struct cfg_phases *cfg, const char **ret_key,
					   char wrong[PHASES_WRONG_MAX]);

#endif
