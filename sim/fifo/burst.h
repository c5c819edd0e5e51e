/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arithmetic of a burst, for the host engine and its tests: pure functions of dates.
 *
 * Kernel i (from 0) is launched at L(i) = launch_start + (i + 1) * launch_ns and takes
 * kernel_ns of GPU time; W(i) = i * kernel_ns of work comes before it. While the burst's
 * context is loaded it executes without a break as long as launched kernels are left, and runs
 * dry when it catches up with the host; from then on each kernel starts when it is launched.
 *
 * The last kernels of a burst may be withheld: they are not launched until they may be. Kernels
 * that have begun are not withheld.
 *
 * A burst may be held: its next kernel executes, but cannot end, and no other begins.
 *
 * All of it is at the burst's speed, which is taken to stay what it is. At less than full speed
 * a date is the first whole ns at which something is done. A date that 64 bits do not reach is
 * ENG_NEVER.
 */
#ifndef SIM_FIFO_BURST_H
#define SIM_FIFO_BURST_H

#include "fifo/types.h"

/* Note how much of it is executed. */
void burst_set_done(struct fifo_burst *burst, u64 done_ns, u32 done_ppm);

/* From now on it is held, or not. A kernel that waited for its end ends. */
void burst_hold(struct fifo_burst *burst, bool held);

/* Has it executed all of a kernel that cannot end because it is held? */
bool burst_is_at_end(const struct fifo_burst *burst);

/* All of a burst's GPU time. */
u64 burst_work_ns(const struct fifo_burst *burst);

/*
 * When the host thread has launched all of its kernels, and may launch those after them. Bursts
 * that wait for years of launches before them all begin at FIFO_BURST_MAX_NS: no run gets there.
 */
u64 burst_launch_end_ns(const struct fifo_burst *burst);

/* How many of its kernels are launched at @now. */
u64 burst_launched(const struct fifo_burst *burst, u64 now);

/*
 * Since when, or from when on, it has something to execute; 0 if all is done; ENG_NEVER: it
 * waits, or the rest is withheld or held.
 */
u64 burst_ready_since(const struct fifo_burst *burst);

/*
 * From when on the burst has something to execute, given what is done: @now or later;
 * ENG_NEVER: it waits, or the rest is withheld or held.
 */
u64 burst_ready_date(const struct fifo_burst *burst, u64 now);

/*
 * Executing without a break from @now, when does it run dry (or end)? @now if it is dry.
 * burst_step_date(): or have @work_ns done (what is done <= work_ns <= all of it)?
 */
u64 burst_dry_date(const struct fifo_burst *burst, u64 now);
u64 burst_step_date(const struct fifo_burst *burst, u64 now, u64 work_ns);

/*
 * Being loaded from @now on, when will @work ns be done (0 < work <= all of it)? ENG_NEVER: it
 * is withheld or held.
 */
u64 burst_date_of_work(const struct fifo_burst *burst, u64 now, u64 work);

/*
 * Being loaded from @from until @now, how much is done at @now? In ns; *ret_ppm: and so many
 * millionths of the next one.
 */
u64 burst_work_at(const struct fifo_burst *burst, u64 from, u64 now, u32 *ret_ppm);

/*
 * How long the burst executes, at its speed, until @done_ns and @done_ppm of its work are done.
 * Rounded down.
 */
u64 burst_time_to(const struct fifo_burst *burst, u64 done_ns, u32 done_ppm);

#endif
