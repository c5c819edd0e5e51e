/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How busy a container is, by its gcgroup.stat: what GVM-DYN decides by. Used by dyn and ac. */
#ifndef SIM_GVMD_LOAD_H
#define SIM_GVMD_LOAD_H

#include "gvmd/policy.h"

#define LOAD_WINDOW_MAX 1000

/* From less to more. */
enum load_level {
	LOAD_UNKNOWN, /* its kernels are not known now */
	LOAD_IDLE,    /* no new kernel between the last samples, or it does not run */
	LOAD_LOW,     /* pending kernels below the lower bound */
	LOAD_MIDDLE,
	LOAD_HIGH, /* pending kernels above the upper bound */
};

/* Settings and samples. A member of a policy's state. */
struct load {
	u64 upper;	  /* pending kernels, mean over the window */
	u64 lower;	  /* likewise */
	u64 window;	  /* samples */
	u64 idle_samples; /* samples with the same number of kernels */

	u64 pending[LOAD_WINDOW_MAX]; /* a ring */
	u64 count;		      /* samples in it */
	u64 next;
	u64 submitted; /* of the last sample */
	u64 quiet;     /* samples since a new kernel */
};

/* Rows of the settings for a struct @struct_ with the member @member_. */
#define LOAD_SETTINGS(struct_, member_)                                                        \
	GVMD_SETTING(                                                                          \
		"upper", NUMBER, struct_, member_.upper, 0, 1000000000, "160",                 \
		"above so many pending kernels the load is high; the published daemon's"),     \
		GVMD_SETTING("lower", NUMBER, struct_, member_.lower, 0, 1000000000, "32",     \
			     "below so many it is low; the published daemon's"),               \
		GVMD_SETTING("window", NUMBER, struct_, member_.window, 1, LOAD_WINDOW_MAX,    \
			     "15", "samples of that mean; the published daemon's"),            \
		GVMD_SETTING("idle_samples", NUMBER, struct_, member_.idle_samples, 1,         \
			     1000000, "4",                                                     \
			     "samples without a new kernel between them: idle; the published " \
			     "daemon's")

/* Check the settings: as struct gvmd_policy.open. */
int load_check(const struct load *load, char why[GVMD_WHY_MAX]);

/* Take a sample of @container (NULL: it does not run). Returns its load now. */
enum load_level load_sample(struct load *load, const struct gvmd_container *container);

#endif
