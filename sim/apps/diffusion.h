/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The keys of the diffusion pipeline. */
#ifndef SIM_APPS_DIFFUSION_H
#define SIM_APPS_DIFFUSION_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
