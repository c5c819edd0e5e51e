/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A results folder of real hardware beside one that was simulated, number by number. */
#ifndef SIM_CLI_VALIDATE_RESULTS_H
#define SIM_CLI_VALIDATE_RESULTS_H

struct sim_error;

/*
 * Print, for every statistic that the folders @measured and @predicted both know of a container of
 * the same name and application, and that is 0 in neither: measured, predicted, and the error
 * max(p/m, m/p) - 1, by which too high and too low count the same. The last line has the median
 * and the worst of them.
 *
 * Memory is compared by its mean and peak. The mean is over the samples in which the container
 * had any, since one side may have been watched before it began. Throughput is completed work
 * over the time from its first arrival to its last end.
 *
 * Returns 0 or a negative enum sim_exit; nothing to compare is the user's mistake.
 */
int validate_results(const char *measured, const char *predicted, struct sim_error *err);

#endif
