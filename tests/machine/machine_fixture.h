/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A machine whose containers run an application of the test, in place of sim/apps. */
#ifndef MACHINE_FIXTURE_H
#define MACHINE_FIXTURE_H

#include "engine/error.h"
#include "machine/machine.h"
#include "runner.h"

#define MS 1000000ull

/* "one" starts at once, "late" at 7 s, and "off" is disabled. */
extern const struct cfg_container toy_containers[3];

/* Ten seconds of these containers on a GPU of 16 chunks. All that @system can switch is off. */
struct config toy_config(const char *system);

/* The key of @system at @path; NULL: it has none. */
const struct cfg_key *find_key(const char *system, const char *path);

/* machine_run() with @body as the application of each container. */
int run_toy(struct machine *machine, struct config *config,
	    int (*body)(const struct app_env *env), struct sim_error *err);

/* Applications: one that ends at once, and two that write chunks and wait for the end. */
int return_at_once(const struct app_env *env);
int touch_four_chunks(const struct app_env *env);
int touch_ten_chunks(const struct app_env *env);

/*
 * Rows of the timeline of container @index add up to its totals, and the parts of a stall to no
 * more than the stall.
 */
void check_usage(const struct machine *machine, u32 index);

#endif
