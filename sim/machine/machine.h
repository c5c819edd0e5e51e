/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulated machine: GPUs, containers and their applications, as a configuration describes
 * them and a system (sim/systems) arranges them; run from start to end; with a timeline.
 *
 * build.c lays it out, machine.c runs it, container.c is the life of one container, events.c
 * applies the scenario's events, policy.c runs a policy of gvmd, timeline.c and record.c note
 * what happens.
 */
#ifndef SIM_MACHINE_MACHINE_H
#define SIM_MACHINE_MACHINE_H

#include "machine/types.h"

/* All application types and systems of gvmsim, for config_load(). */
extern const struct cfg_registry machine_registry;

/*
 * Build and run. Long traces, and records of requests that have ended, go to files without a
 * name in the folder @scratch, which is borrowed until machine_destroy(); NULL: they stay in
 * memory. @advise (may be NULL) gets the lines of advice.h before the run begins. @progress
 * (may be NULL) is called every few thousand events with the machine, from inside the
 * simulation: it must not block. @interrupted is polled; when it becomes non-zero the run ends
 * early. One call for each process. Returns 0 or a negative enum sim_exit with *err; a deadlock
 * is such an error, an interrupted run or a failed container is not. Call machine_destroy()
 * after an error, too, but not after a deadlock.
 */
int machine_run(struct machine *machine, const struct config *config, const char *scratch,
		void (*advise)(const char *line),
		void (*progress)(const struct machine *machine),
		const volatile int *interrupted, struct sim_error *err);
void machine_destroy(struct machine *machine);

#endif
