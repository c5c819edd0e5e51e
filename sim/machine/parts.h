/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The parts of the machine; see machine.h. */
#ifndef SIM_MACHINE_PARTS_H
#define SIM_MACHINE_PARTS_H

#include "machine/types.h"

#define NS_PER_S 1000000000ull

/* Lay out containers and GPUs. Nothing runs yet. Returns 0 or a negative enum sim_exit. */
int machine_build(struct machine *machine, struct sim_error *err);

/* End the run at once: the simulator itself is out of memory. CONTEXT: atomic. */
static inline void machine_fail(struct machine *machine, int status)
{
	machine->status = status;
	eng_wake_all(&machine->finished);
}

/*
 * The actor of a container (@data): starts its process, runs its application, waits for the
 * end.
 */
void sim_container_main(void *data);

/*
 * Blocking: end the container's process now, as an operator would. Its work fails, its memory
 * is free when this returns. Its actor has ended.
 */
void sim_container_stop(struct sim_container *container);

/*
 * Start a new process of a container that does not run. It boots as the first one did, and is
 * open to users once the time is over that the first one started ahead. Its control files get
 * the texts of the scenario. Returns 0 or -ENOMEM.
 */
int sim_container_restart(struct sim_container *container);

/*
 * Copy the counters for the results, at the end of the run and before processes exit. A process
 * that died earlier has no memory left. Returns 0 or -ENOMEM.
 */
int sim_container_close_books(struct sim_container *container);

/* The counters of a process as of now; the caller has updated the host engine. */
struct sim_usage sim_process_usage(const struct sim_process *process);

/* The same of all of the processes of a container. */
struct sim_usage sim_container_usage(const struct sim_container *container);

/*
 * How many kernels the container's processes have launched so far, as the shim of a real host
 * counts them; *ret_ended: and how many have ended. Call fifo_update() first.
 */
u64 sim_container_launched(const struct sim_container *container, u64 *ret_ended);

/*
 * An actor; @data is the machine. It applies the scenario's events in order until it is
 * interrupted. An event of a container that does not run has no effect: it is marked as missed.
 */
void machine_events_main(void *data);

/*
 * Blocking: read or write a control file of a running container. Without @wait a lowered limit
 * holds at once, and its reclaim is left to the container's next faults. read returns the
 * length of the text, write 0; or -errno.
 */
int sim_container_read(struct sim_container *container, const char *file, char *text,
		       size_t size);
int sim_container_write(struct sim_container *container, const char *file, const char *text,
			bool wait);

/*
 * The policy of gvmd, if the scenario has one. policy_init() reads it, after the containers are
 * made, and returns 0 or a negative enum sim_exit. policy_main() is an actor; @machine has
 * started. It ends when it is interrupted, or when the policy fails.
 */
int policy_init(struct machine *machine, struct sim_error *err);
void policy_destroy(struct machine *machine);
void policy_main(void *machine);
/*
 * struct gvmd_policy.writes of the machine's policy. NULL also without a
 * policy, or one that does not say.
 */
const char *policy_writes(const struct machine *machine, u32 index, char place[GVMD_NAME_MAX]);

/*
 * timeline_sample() samples all containers now. timeline_start() does so from now on, once in
 * every output.timeline_interval. CONTEXT: atomic.
 */
void timeline_sample(struct machine *machine);
void timeline_start(struct machine *machine);

/*
 * Records beside the timeline, on request: the texts of control files (output.controls) and
 * each eviction (output.evictions). Recording takes no simulated time: a run is the same with
 * it and without. record_init() comes before the simulation starts. It returns 0 or
 * -SIM_EXIT_RUNTIME.
 */
int record_init(struct machine *machine, struct sim_error *err);
/* Record what the TSGs of a GPU do, if output.activity asks for it; before it starts. */
void record_observe(struct machine *machine, struct sim_gpu *gpu);
/*
 * The books are closed: take a last sample of control files now, and record nothing more.
 * CONTEXT: atomic; in an actor.
 */
void record_end(struct machine *machine);
void record_destroy(struct machine *machine);

/*
 * An actor; @machine has started. It samples control files once in every
 * output.timeline_interval, until it is interrupted.
 */
void record_main(void *machine);

#endif
