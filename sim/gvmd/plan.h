/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A policy with its settings, as a JSON file describes it:
 *
 *     { "policy": "dyn", "high": "vllm", "low": "diffusion", "upper": 200 }
 *     { "plugin": "./mine.so", "period": "50ms", ... }
 *
 * The same file serves the simulator and a host.
 */
#ifndef SIM_GVMD_PLAN_H
#define SIM_GVMD_PLAN_H

#include <limits.h>

#include "gvmd/policy.h"

struct json_t;
struct sim_error;

#define GVMD_DEADLINE_DEFAULT "1s"

/* A policy that is ready to step. The caller owns it: gvmd_plan_load(), gvmd_plan_destroy(). */
struct gvmd_plan {
	char file[PATH_MAX]; /* as messages name it */
	const struct gvmd_policy *policy;
	u64 period_ns;	 /* between two steps */
	u64 deadline_ns; /* a step that takes longer hangs; in the simulator: computing time */
	void *state;
	bool opened;
	void *plugin;	     /* of dlopen(), or NULL */
	struct json_t *root; /* the file */
};

/*
 * Read @file, find its policy, check and bind all its settings, and open the policy. A mistake
 * is one line that names the file and the key; missing settings are named all at once. On
 * failure *plan is empty. Returns 0 or a negative enum sim_exit.
 */
int gvmd_plan_load(struct gvmd_plan *plan, const char *file, struct sim_error *err);
void gvmd_plan_destroy(struct gvmd_plan *plan);

/* Settings of every policy, bound to its plan. */
extern const struct gvmd_setting gvmd_common_settings[];
extern const size_t gvmd_common_setting_count;

/* What a setting may be, for messages and documents. */
void gvmd_setting_allowed(const struct gvmd_setting *setting, char *text, size_t size);

/*
 * Check that each container that the file names is one of @names. Returns 0 or
 * -SIM_EXIT_USER.
 */
int gvmd_plan_check_containers(const struct gvmd_plan *plan, const char *const *names,
			       size_t count, struct sim_error *err);

#endif
