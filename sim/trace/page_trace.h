/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A recorded trace of pages: which pages each kernel of a program accessed, kernel after kernel.
 *
 * It is a CSV file, or such a file in one frame of zstd with a checksum ("zstd FILE"). Columns are
 * found by name, and others are passed over:
 *
 *     kernel    number of the kernel. Rows of one kernel follow each other, and numbers rise.
 *     page      the first page of 64 KB, from the beginning of the memory
 *     pages     so many pages from there on, at least 1
 *     write     1: the kernel writes them, 0: it only reads them
 *     time_ns   may be missing: GPU time of the kernel, up to an hour, the same in all of its rows
 *     start_ns  may be missing: when the kernel was launched, likewise; dates do not fall
 */
#ifndef SIM_TRACE_PAGE_TRACE_H
#define SIM_TRACE_PAGE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

struct sim_error;

/* The most rows of a trace: 1.4 GiB of memory, if each one is a kernel of its own. */
#define PAGE_TRACE_RUNS_MAX ((size_t)1 << 25)

/* The most rows of one kernel. */
#define PAGE_TRACE_KERNEL_RUNS_MAX ((size_t)1 << 16)

/* The longest time of a kernel, an hour; that of app.kernel_time is the same. */
#define PAGE_TRACE_TIME_MAX_NS 3600000000000ull

/* Neighbouring pages that a kernel accesses. */
struct page_run {
	u32 page;
	u32 pages; /* at least 1 */
	bool write;
};

struct page_kernel {
	size_t first_run; /* its runs end where those of the next kernel begin */
	u64 time_ns;	  /* 0: the file has no such column */
	u64 start_ns;
};

/* All-zero is an empty one. page_trace_destroy() frees what page_trace_read() made. */
struct page_trace {
	struct page_run *runs;
	size_t run_count;
	struct page_kernel *kernels;
	size_t kernel_count;
	size_t most_runs; /* of a kernel */
	bool timed;	  /* it has time_ns */
	bool dated;	  /* it has start_ns */
};

/*
 * Read @path, whose pages are all below @pages, into *@ret_trace. Returns 0, -SIM_EXIT_USER for
 * a file that is wrong, with its line, or -SIM_EXIT_RUNTIME; then *@ret_trace is empty.
 */
int page_trace_read(const char *path, u64 pages, struct page_trace *ret_trace,
		    struct sim_error *err);

void page_trace_destroy(struct page_trace *trace);

/* The runs of kernel @index: from its first_run up to here. */
static inline size_t page_trace_runs_end(const struct page_trace *trace, size_t index)
{
	return index + 1 < trace->kernel_count ? trace->kernels[index + 1].first_run :
						 trace->run_count;
}

#endif
