/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The runs of a sweep: a point under a seed each.
 *
 * A run is an entry of OUT/runs. The entry's name is a hash of the resolved configuration, of
 * the traces and of this program, as in the cache of figures (figures/run_cache.h). It appears
 * by one rename, so a killed sweep loses no finished run, and the next one makes only what is
 * missing. Points of one configuration share a run.
 */
#ifndef SIM_SWEEP_SWEEP_RUNS_H
#define SIM_SWEEP_SWEEP_RUNS_H

#include "figures/cached_run.h"
#include "sweep/sweep.h"

#define SWEEP_NAME_MAX	160 /* of a metric */
#define SWEEP_ASKED_MAX 64  /* more than a file and a command line can name */

struct app_report;
struct signals;

struct sweep_run {
	size_t point;
	u64 seed;	/* unless the sweep has no seeds */
	size_t same_as; /* first run of the same configuration; its own index if there is none */
	char label[64]; /* "point 3, seed 2" */
	char *scenario;
	char *own[SWEEP_AXES_MAX + 2]; /* PATH=VALUE of the point and the seed */
	/*
	 * Path and key; its config is not kept. run.why says why it cannot be made. Without a key
	 * it has no configuration, and nothing is tried.
	 */
	struct cached_run run;
	char config_hash[CFG_HASH_MAX];
	bool made; /* its entry is complete */
};

/* A container of the runs, and what results say of it. */
struct sweep_container {
	char name[CFG_NAME_MAX];
	const struct app_report *report; /* NULL: the metrics of the machine alone */
};

/* Owned by the caller: sweep_runs_prepare(), sweep_runs_destroy(). */
struct sweep_runs {
	const struct sweep *sweep;
	struct sweep_run *runs; /* point by point, seed by seed */
	size_t count;
	size_t different; /* runs that are not the same as another one */
	size_t per_point; /* number of seeds, or 1 */
	char folder[PATH_MAX];
	struct sweep_container *containers; /* that a run has; each name and report once */
	size_t container_count;
	/* Names of results/asked.h that the sweep asks for; borrowed. */
	const char *asked[SWEEP_ASKED_MAX];
	size_t asked_count;
};

/*
 * Resolve the configuration of each run and look into @out/runs for it. @sets of the user apply
 * after the file's and cannot change the keys of the points. A run whose configuration is a
 * mistake of the user says so in run.why, and ends the others only if all are mistakes. Returns 0
 * or a negative enum sim_exit; the caller destroys *runs in any case.
 */
int sweep_runs_prepare(struct sweep_runs *runs, const struct sweep *sweep, const char *out,
		       const char *const *sets, size_t set_count, struct sim_error *err);
void sweep_runs_destroy(struct sweep_runs *runs);

/*
 * Is @name a metric that a run has or will have, or a key of the points? @where: who names it.
 * A mistake lists names that are near. One of results/asked.h is remembered, with its
 * @name, which is borrowed. Returns 0 and the unit, METRIC_UNITS for a key; or -SIM_EXIT_USER.
 */
int sweep_check_name(struct sweep_runs *runs, const char *where, const char *name,
		     enum metric_unit *ret_unit, struct sim_error *err);

/* The rest of "CONTAINER.KEY"; NULL: @name is of another container. */
const char *sweep_metric_key(const char *name, const char *container);

/* A part of the runs: every @count-th one from @index on. 0 of 1 is all. */
struct sweep_part {
	size_t index, count;
};

extern const struct sweep_part sweep_whole;

/* Is it the run of a part? */
bool sweep_part_has(const struct sweep_part *part, size_t run);

/*
 * The first run of a point that is in @part and cannot be made; SIZE_MAX: there is none. A point
 * without one of its runs has no results.
 */
size_t sweep_point_mistake(const struct sweep_runs *runs, size_t point,
			   const struct sweep_part *part);

/* The number of points that have such a run. */
size_t sweep_count_mistakes(const struct sweep_runs *runs, const struct sweep_part *part);

/* Write "point 3 (a.key=1): why" of a run that cannot be made. */
void sweep_describe_mistake(const struct sweep_runs *runs, size_t run, char *text, size_t size);

/* Has a signal ended a run of @part? Then it is no mistake, and another try may succeed. */
bool sweep_any_killed(const struct sweep_runs *runs, const struct sweep_part *part);

/*
 * Can any run be made? If not, that is one mistake: the first one stands for all. Returns 0,
 * -SIM_EXIT_USER, or -SIM_EXIT_RUNTIME if a signal has ended a run.
 */
int sweep_runs_check_any(const struct sweep_runs *runs, struct sim_error *err);

/* The number of runs of a part that are to be made. */
size_t sweep_runs_missing(const struct sweep_runs *runs, const struct sweep_part *part);

/*
 * Make the missing runs of a part, as many at a time as there are cores. @shared: other hosts
 * may work in the folder. A mistake of the user in a run, or a signal that ends it, is kept in
 * run.why, and the others go on. Any other failure ends them, and so does one of @signals.
 * Returns 0 and the wall time, or a negative enum sim_exit; finished runs stay.
 */
int sweep_runs_make(struct sweep_runs *runs, const struct sweep_part *part, bool shared,
		    const struct signals *signals, double *ret_seconds, struct sim_error *err);

#endif
