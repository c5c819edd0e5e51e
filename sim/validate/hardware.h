/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Measurements of loops on a real GPU, and the times of the same loops on the simulated one.
 *
 * A file has a row for each measurement, "name parameters... values...", and comments that
 * begin with '#'. A measurement that stands there several times counts once, by the geometric
 * mean.
 */
#ifndef SIM_VALIDATE_HARDWARE_H
#define SIM_VALIDATE_HARDWARE_H

#include "config/config.h"
#include "engine/error.h"
#include "gvm/address_fence.h"

/* The loops that were measured (plots/reference/hardware/uvmbench.cu). */
enum hw_loop {
	HW_COPY_IN,	 /* one copy of size bytes, of many back to back */
	HW_COPY_OUT,	 /* the same from the GPU */
	HW_COPY_BOTH,	 /* one each way, both at once */
	HW_SEQ_4K,	 /* a kernel of 262144 threads writes size bytes, a 4 KB page each */
	HW_SEQ_64K,	 /* 65536 threads, a 64 KB page each */
	HW_RANDOM_64K,	 /* the same, pages in random order */
	HW_ONE_TOUCH,	 /* 4096 threads, one page of each block */
	HW_POPULATE,	 /* as HW_SEQ_4K, of memory that has no pages yet */
	HW_PREFETCH_IN,	 /* size bytes by cudaMemPrefetchAsync to the GPU */
	HW_PREFETCH_OUT, /* size bytes by cudaMemPrefetchAsync to the host */
	HW_FAULT,	 /* one thread, one page in each block: median latency */
	HW_WALK,	 /* one thread, page after page: access number size of a block */
	HW_WIDTH_CONTIGUOUS, /* size threads, a page each, one after the other */
	HW_WIDTH_SPREAD,     /* size threads, a page each, spread over 1 GiB */
	/* two processes, an endless kernel of size threads each: time that one runs */
	HW_SLICE_ON,
	HW_SLICE_OFF, /* likewise: time that it stands still */
	HW_SLICE_GAP, /* likewise: part of that in which no context runs */
	HW_GAP_ALONE, /* gapbench.cu, row number size: HP's step alone */
	HW_GAP_STEP,  /* likewise: HP's step beside LP */
	HW_GAP_SPEED, /* likewise: LP's speed beside HP, as a share of its speed alone */
	HW_LOOPS,
};

/* One measurement and its prediction: times in ns, speeds as shares. */
struct hw_row {
	enum hw_loop loop;
	u64 size;	 /* its parameter, see enum hw_loop */
	double measured; /* geometric mean of samples */
	u32 samples;
	double predicted;
};

/* Parameters of a row of gapbench.cu: steps of so many kernels, one launched every so often. */
struct hw_gap {
	u32 kernels;
	u64 kernel_ns;
	u64 launch_ns;
};

#define HW_GAPS_MAX 16

/*
 * By how much fences in software lengthen a chain of loads, a kernel or a program
 * (plots/reference/hardware/fence). Growths are shares of the time without a fence.
 */
struct hw_fence {
	char group[CFG_NAME_MAX]; /* "chain", "kernel", "program" */
	char name[CFG_NAME_MAX];
	u64 l1, l2, offsets; /* ppm: hit rates, and accesses with an offset */
	bool known[GVM_FENCE_MODES];
	double measured[GVM_FENCE_MODES]; /* of the modes that are known */
	double predicted[GVM_FENCE_MODES];
};

/* The measurements of a file. Owned by the caller: hw_load(), then hw_destroy(). */
struct hw_rows {
	struct hw_row *rows;
	size_t count;
	u64 walk_missed; /* HW_WALK: which of the first 64 accesses missed */
	u64 walk_predicted;
	u32 walk_length; /* 0: it was not measured */
	struct hw_gap gaps[HW_GAPS_MAX];
	u32 gap_count;
	struct hw_fence *fences;
	size_t fence_count;
	size_t others; /* rows of other kinds, left alone */
};

/* An access that took longer than this missed: a hit takes 0.2 us, a fault 20 and more. */
#define HW_MISS_NS 10000.0

/*
 * Read @file. A mistake is "file:line: what". Returns 0 or a negative enum sim_exit, and *rows
 * is empty then.
 */
int hw_load(const char *file, struct hw_rows *rows, struct sim_error *err);
void hw_destroy(struct hw_rows *rows);

/*
 * Run the loops of all rows on a GPU of this profile with NVIDIA's driver, and fill in the
 * times that they take. The one simulation of this process. Returns 0 or a negative enum
 * sim_exit.
 */
int hw_predict(const struct config *config, struct hw_rows *rows, struct sim_error *err);

/* What the formula of system guardian says of fences on a GPU, if no other warp hides any. */
void hw_predict_fences(const struct cfg_gpu *gpu, struct hw_rows *rows);

/* max(p/m, m/p) - 1; of a fence, p and m are times of what has one. */
double hw_error(const struct hw_row *row);
double hw_fence_error(const struct hw_fence *fence, enum gvm_fence_mode mode);

/* "random 64 KB pages, 512 MiB" */
void hw_label(const struct hw_rows *rows, const struct hw_row *row, char *text, size_t size);

/* Is it a share, and no time? */
bool hw_is_share(const struct hw_row *row);

#endif
