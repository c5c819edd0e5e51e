/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How many kernels a container launches a second, from samples of its count. The simulator and
 * gvmcollect take the samples and call the same function, so the rates of both can be compared.
 *
 *     count    0  0  0  40  90  130  130  130
 *     sample   1  2  3   4   5    6    7    8
 *                    |-- 130 in 3 --|
 *
 * The time runs from the last sample before the first launch to the last sample that saw new
 * ones. So it does not matter how long a collector watched before and after.
 */
#ifndef SIM_APPS_LAUNCHES_H
#define SIM_APPS_LAUNCHES_H

#include "gvm/port.h"

/* All zero: no sample yet. */
struct launches {
	bool sampled;  /* the two below are known */
	u64 newest;    /* the count of the last sample */
	u64 newest_ns; /* its date */
	u64 launched;  /* between the dates below; 0: the dates mean nothing */
	u64 from_ns;   /* date of the last sample before the first launch that was seen */
	u64 to_ns;     /* date of the last sample with a higher count than the one before */
};

/*
 * Take a sample: @count kernels were launched until @time_ns. Dates do not fall. A count that
 * is lower than the last one is of a new beginning, such as a reloaded driver.
 */
static inline void launches_sample(struct launches *launches, u64 time_ns, u64 count)
{
	if (launches->sampled && count > launches->newest) {
		if (!launches->launched)
			launches->from_ns = launches->newest_ns;
		launches->launched += count - launches->newest;
		launches->to_ns = time_ns;
	}
	launches->sampled = true;
	launches->newest = count;
	launches->newest_ns = time_ns;
}

/* Kernels a second, or 0: fewer than two samples differ, so there is no rate. */
static inline double launches_per_s(const struct launches *launches)
{
	u64 ns = launches->to_ns - launches->from_ns;

	return launches->launched && ns ? (double)launches->launched * 1e9 / (double)ns : 0;
}

#endif
