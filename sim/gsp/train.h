/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arithmetic of a launch train, for gsp.c and its tests: pure functions of dates.
 *
 * Kernel i (from 0) is launched at L(i) = launch_start + (i + 1) * launch_ns and takes kernel_ns
 * of GPU time; W(i) = i * kernel_ns of work comes before it. While the train's context is loaded
 * it executes without a break as long as launched kernels are left, and runs dry when it catches
 * up with the host; from then on each kernel starts when it is launched.
 */
#ifndef SIM_GSP_TRAIN_H
#define SIM_GSP_TRAIN_H

#include "gsp/gsp.h"

/* All of a train's GPU time. */
u64 train_work_ns(const struct gsp_train *train);

/* How many of its kernels are launched at @now. */
u64 train_launched(const struct gsp_train *train, u64 now);

/* From when on the train has something to execute, given what is done: @now or later. */
u64 train_ready_date(const struct gsp_train *train, u64 now);

/* Executing without a break from @now, when does it run dry (or end)? @now if it is dry. */
u64 train_dry_date(const struct gsp_train *train, u64 now);

/* Being loaded from @now on, when will @work ns be done (0 < work <= all of it)? */
u64 train_date_of_work(const struct gsp_train *train, u64 now, u64 work);

/* Being loaded from @from until @now, how much is done at @now? */
u64 train_work_at(const struct gsp_train *train, u64 from, u64 now);

#endif
