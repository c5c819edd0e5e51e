/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The keys of the page player. */
#ifndef SIM_APPS_PAGES_H
#define SIM_APPS_PAGES_H

#include <stdbool.h>

#include "config/config.h"
#include "engine/types.h"

/* In which order a page player touches the blocks of its region. */
enum cfg_pattern {
	CFG_PATTERN_SEQUENTIAL,
	CFG_PATTERN_RANDOM,
	CFG_PATTERN_ZIPF,
	CFG_PATTERN_EVENTS, /* as the scenario's events say */
	CFG_PATTERN_TRACE,  /* as a recorded trace says */
};

/* A page player: an access pattern in a closed loop. Keys under "containers.<name>.app.". */
struct cfg_pages {
	u64 bytes;    /* of its region */
	bool on_host; /* filled by the CPU: first touches copy it in */
	u64 pattern;  /* enum cfg_pattern */
	/* Of pages, resolved against the scenario's folder; trace/page_trace.h. */
	char page_trace[CFG_TEXT_MAX];
	u64 zipf_alpha;	    /* ppm: the i-th block is touched in proportion to i^-alpha */
	u64 write_share;    /* ppm of its kernels that write what they touch */
	u64 kernels;	    /* a round */
	u64 kernel_blocks;  /* 2 MB blocks that each touches; 0: it computes only */
	u64 kernel_time;    /* ns of GPU time that each takes */
	u64 kernel_launch;  /* ns of host time of a launch, reference host */
	u64 pages_at_once;  /* of a block, touched side by side; 0: gpu.fault.per_block */
	u64 pause;	    /* ns that the host does nothing between two rounds */
	bool prefetch_back; /* after a round the region goes back to the host */
};

#endif
