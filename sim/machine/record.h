/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Records of a run beside its timeline, on request: the texts of control files (output.controls)
 * and each eviction (output.evictions).
 */
#ifndef SIM_MACHINE_RECORD_H
#define SIM_MACHINE_RECORD_H

#include "gvm/control.h"

struct machine;
struct sim_error;

/* A control file that has another content than a sample before. */
struct record_control {
	u64 time_ns;
	u32 container;
	const char *file;		 /* its name */
	char text[GVM_CONTROL_TEXT_MAX]; /* lines joined by blanks */
};

/* A block that left the GPU. */
struct record_eviction {
	u64 time_ns;
	u32 container;
	u64 va;
	u32 chunk; /* that it left */
	u32 pages; /* of 64 KB, that were resident */
};

struct record {
	struct record_control *controls; /* in the order of time, as the others */
	size_t control_count;
	size_t control_room;
	size_t *newest; /* by container and file: 1 + its last one in controls; 0: none */
	struct record_eviction *evictions;
	size_t eviction_count;
	size_t eviction_room;
};

/* Before the simulation starts. Returns 0 or -SIM_EXIT_RUNTIME. */
int record_init(struct machine *machine, struct sim_error *err);
void record_destroy(struct machine *machine);

/* An actor: samples control files every output.timeline_interval until it is interrupted. */
void record_main(void *machine);

#endif
