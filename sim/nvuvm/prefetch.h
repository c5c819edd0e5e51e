/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The density prefetcher of NVIDIA's driver; prefetch.c describes it. */
#ifndef SIM_NVUVM_PREFETCH_H
#define SIM_NVUVM_PREFETCH_H

#include "gvm/range.h"

#define NVUVM_PREFETCH_THRESHOLD 51u /* uvm_perf_prefetch_threshold, percent */

/*
 * Returns the pages to bring into a block: @faulted, and the pages that the density prefetcher
 * adds. @thrashing pages are not added and attract no others. CONTEXT: atomic.
 */
u32 nvuvm_prefetch(u32 valid, u32 resident, u32 faulted, u32 thrashing);

#endif
