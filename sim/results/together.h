/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How much slower containers are together than alone
 * ==================================================
 *
 * Papers on sharing compare systems by what sharing costs all programs together. The slowdown of a
 * container is the median time of a piece of its work (a request from its arrival to its end, an
 * image, an iteration, a round) over the same in a run in which it has a GPU to itself. Of the
 * slowdowns s of n containers follow
 *
 *     mean slowdown        sum s / n                        ANTT
 *     weighted speed-up    sum 1/s; n: all as if alone      STP
 *     fairness             (sum 1/s)^2 / (n sum 1/s^2)      Jain's index: 1/n to 1
 *
 * Sources: S. Eyerman, L. Eeckhout, "System-Level Performance Metrics for Multiprogram
 * Workloads", IEEE Micro 28(3), 2008 (average normalized turnaround time, system throughput);
 * R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
 *
 * The median is over all work that arrived (docs/metrics.md). Where a run only bounds it, the
 * slowdown is a lower bound, so are mean and worst slowdown, the weighted speed-up is an upper
 * one, and fairness is not known. Where a container failed nothing of the run is.
 */
#ifndef SIM_RESULTS_TOGETHER_H
#define SIM_RESULTS_TOGETHER_H

#include "results/summary.h"

/* The slowdown of a container. */
struct together_slowdown {
	const struct summary_container *container; /* alone */
	const struct metric *metric;		   /* the median time */
	struct summary_value value;		   /* its real */
};

struct together {
	struct together_slowdown slowdowns[CFG_CONTAINERS_MAX];
	size_t count; /* of these, with a median that is known alone */
	struct summary_value antt;
	struct summary_value worst;
	struct summary_value stp; /* a bound is an upper one */
	struct summary_value jain;
};

/*
 * Compare a run with @alone, which has its containers alone. Containers of @alone that have no
 * such median there are left out. What is borrowed lives as long as @alone.
 */
void together_compute(const struct summary *run, const struct summary *alone,
		      struct together *ret_together);

#endif
