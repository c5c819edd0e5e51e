/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The keys of the page player. */
#ifndef SIM_APPS_PAGES_H
#define SIM_APPS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
