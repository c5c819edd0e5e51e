/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The parts of the machine; see machine.h. */
#ifndef SIM_MACHINE_MACHINE_INTERNAL_H
#define SIM_MACHINE_MACHINE_INTERNAL_H

#include "machine/machine.h"

#define NS_PER_S 1000000000ull

/* Lay out containers and GPUs. Nothing runs yet. Returns 0 or a negative enum sim_exit. */
int machine_build(struct machine *machine, struct sim_error *err);

/* End the run at once: the simulator itself is out of memory. CONTEXT: atomic. */
void machine_fail(struct machine *machine, int status);

/* The actor of a container (@data): starts its process, runs its application, waits for the end. */
void sim_container_main(void *data);

/* Copy the counters for the results, at the end of the run. A dead process has no memory left. */
void sim_container_close_books(struct sim_container *container);

/* An actor: applies the scenario's events in order until it is interrupted. @data: the machine. */
void machine_events_main(void *data);

/* Sample all containers now; and from now on every output.timeline_interval. CONTEXT: atomic. */
void timeline_sample(struct machine *machine);
void timeline_start(struct machine *machine);

#endif
