/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arithmetic of a burst, for the host engine and its tests: pure functions of dates.
 *
 * Kernel i (from 0) is launched at L(i) = launch_start + (i + 1) * launch_ns and takes
 * kernel_ns of GPU time; W(i) = i * kernel_ns of work comes before it. While the burst's
 * context is loaded it executes without a break as long as launched kernels are left, and runs
 * dry when it catches up with the host; from then on each kernel starts when it is launched.
 *
 * The functions assume that the burst keeps its present speed. At less than full speed, a date
 * is the first whole ns at which the work is done.
 */
#ifndef SIM_FIFO_BURST_H
#define SIM_FIFO_BURST_H

#include "fifo/types.h"

/* All of a burst's GPU time. */
u64 burst_work_ns(const struct fifo_burst *burst);

/* The number of its kernels that are launched at @now. */
u64 burst_launched(const struct fifo_burst *burst, u64 now);

/* The date from which the burst has work to execute: @now or later. ENG_NEVER: it waits. */
u64 burst_ready_date(const struct fifo_burst *burst, u64 now);

/* The date at which a burst that executes from @now on runs dry or ends. @now: it is dry. */
u64 burst_dry_date(const struct fifo_burst *burst, u64 now);

/* The date at which @work ns are done (0 < work <= all of it), if it is loaded from @now on. */
u64 burst_date_of_work(const struct fifo_burst *burst, u64 now, u64 work);

/*
 * The work that is done at @now, if the burst is loaded from @from until @now: whole ns, and in
 * *ret_ppm millionths of the next ns.
 */
u64 burst_work_at(const struct fifo_burst *burst, u64 from, u64 now, u32 *ret_ppm);

#endif
