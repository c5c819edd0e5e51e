/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The keys of the diffusion pipeline. */
#ifndef SIM_APPS_DIFFUSION_H
#define SIM_APPS_DIFFUSION_H

#include <stdbool.h>

#include "engine/types.h"

/* Most layers of a denoiser. */
#define DIFFUSION_LAYERS_MAX 64u

/* Networks whose weights go to the host after each image. */
enum cfg_offload {
	CFG_OFFLOAD_NONE,
	CFG_OFFLOAD_ENCODERS,
	CFG_OFFLOAD_ALL,
};

/* A diffusion pipeline in a closed loop. Keys under "containers.<name>.app.". */
struct cfg_diffusion {
	u64 text_weights;	     /* bytes: large text encoder (T5) */
	u64 clip_weights;	     /* bytes: small text encoders */
	u64 denoiser_weights;	     /* bytes: MMDiT */
	u64 decoder_weights;	     /* bytes: VAE */
	u64 denoiser_activation;     /* bytes touched by each layer of a denoising pass */
	u64 denoiser_layers;	     /* at most DIFFUSION_LAYERS_MAX */
	u64 decoder_activation;	     /* bytes touched by the decoder */
	u64 pool;		     /* bytes of all activations that the first image leaves */
	u64 text_embeddings;	     /* bytes of text_weights that a prompt hardly touches */
	u64 clip_embeddings;	     /* likewise, of clip_weights */
	u64 steps;		     /* denoising steps an image */
	u64 passes_per_step;	     /* through the denoiser */
	u64 text_passes;	     /* through all text encoders an image: one a prompt */
	u64 text_flops;		     /* FLOP of one pass */
	u64 denoiser_flops;	     /* FLOP of one pass */
	u64 denoiser_traffic;	     /* bytes of device memory moved by one pass */
	u64 denoiser_cycles;	     /* of SMs, for what neither bounds */
	u64 denoiser_traffic_beside; /* bytes that arithmetic and cycles hide */
	u64 decoder_flops;	     /* FLOP of decoding an image */
	u64 decoder_traffic;	     /* bytes of device memory moved by decoding */
	u64 decoder_cycles;
	u64 decoder_traffic_beside;
	u64 decoder_blocks;    /* thread blocks of a kernel with these cycles; 0: all SMs' */
	u64 efficiency;	       /* ppm of gpu.flops_bf16 that its kernels reach */
	u64 memory_efficiency; /* ppm of gpu.memory_bandwidth that its kernels reach */
	u64 kernel_launch;     /* ns of host time of a launch, reference host */
	bool graph;	       /* all kernels of a pass are one launch */
	u64 kernels_per_pass;
	u64 kernels_text;
	u64 kernels_decoder;
	/*
	 * Weight matrices: each is read by one kernel, as a whole. 0: bit by bit, by all
	 * kernels.
	 */
	u64 text_matrices;
	u64 clip_matrices;
	u64 host_per_image; /* ns of host work an image, reference host */
	u64 warmup;	    /* ns of host work before the first image only, reference host */
	u64 boot;	    /* ns that its process starts ahead of the container's start */
	u64 warm_images;    /* that it makes before its first image of the results */
	u64 load_bandwidth; /* bytes/s at which weights are loaded; 0: faulted in by use */
	u64 offload;	    /* enum cfg_offload */
};

#endif
