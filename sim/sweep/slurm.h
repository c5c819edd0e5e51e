/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A sweep as an array of Slurm jobs over a shared folder. */
#ifndef SIM_SWEEP_SLURM_H
#define SIM_SWEEP_SLURM_H

#include <stddef.h>
#include <stdio.h>

struct sim_error;

/*
 * Print a batch script for sbatch: an array of @tasks jobs, each of which makes its part of the
 * runs of the sweep @file into @out with the user's @sets. Paths in it are absolute: this
 * program, the file and the folder have to be the same on all nodes. Returns 0 or a negative
 * enum sim_exit.
 */
int slurm_print(FILE *stream, const char *file, const char *out, size_t tasks,
		const char *const *sets, size_t set_count, struct sim_error *err);

#endif
