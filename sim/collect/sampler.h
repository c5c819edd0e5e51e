/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Samples of the control files of a real host. Containers come and go, files may be missing or hold
 * nonsense. A value that is not known at a date stays unknown. The user is told once, and sampling
 * goes on.
 */
#ifndef SIM_COLLECT_SAMPLER_H
#define SIM_COLLECT_SAMPLER_H

#include <limits.h>

#include "collect/host_file.h"
#include "config/config.h"

struct sim_error;

#define SAMPLER_ROOTS_MAX   2
#define SAMPLER_COMMAND_MAX 16 /* as in /proc/PID/comm */

#define SAMPLER_ANY_GPU	    U64_MAX

/* One file of one container. */
struct sampler_file {
	bool seen;  /* at least once */
	bool told;  /* a note says that it cannot be read or holds nonsense */
	u32 missed; /* samples in a row without it */
	u64 number; /* the last value known */
	char text[GVM_CONTROL_TEXT_MAX];
};

struct sampler_container {
	char name[CFG_NAME_MAX];
	char command[SAMPLER_COMMAND_MAX]; /* empty: not known */
	u64 tgid;
	u64 gpu;      /* SAMPLER_ANY_GPU: the first that it uses; then that one's number */
	bool present; /* at the last sample */
	bool seen;
	u64 first_ns; /* its first and last sample, since the beginning */
	u64 last_ns;
	u64 resident_max_bytes;	    /* in any sample */
	struct sampler_file *files; /* by index in the core's table; owned */
};

/* A container at a date: a row of the timeline. */
struct sampler_row {
	u64 time_ns;
	u32 container;
	unsigned int known; /* RESULTS_RESIDENT, ... */
	u64 resident_bytes;
	u64 swapped_bytes;
	u64 pending_kernels;
};

/* A file whose text differs from the sample before. */
struct sampler_change {
	u64 time_ns;
	u32 container;
	const struct gvm_control_file *file;
	char *text; /* owned */
};

/* Owned by the caller: sampler_init(), sampler_destroy(). */
struct sampler {
	const char *roots[SAMPLER_ROOTS_MAX]; /* borrowed; searched in this order */
	size_t root_count;
	bool named; /* containers were named: others are ignored */
	bool quiet; /* no news on standard output */
	bool began; /* there was a sample */
	bool too_many_told;
	u64 missing_told; /* files, a bit for each row of the core's table */
	struct sampler_container *containers; /* owned, as all arrays here */
	u32 container_count;		      /* at most CFG_CONTAINERS_MAX */
	struct sampler_row *rows;
	size_t row_count;
	struct sampler_change *changes;
	size_t change_count;
	char **notes; /* what could not be sampled, in words */
	size_t note_count;
};

/* Look below @root only; NULL: where gvm.ko and the public GVM driver have their files. */
void sampler_init(struct sampler *sampler, const char *root);
void sampler_destroy(struct sampler *sampler);

/*
 * Name a container: process group @tgid on @gpu or SAMPLER_ANY_GPU. @name is copied. Without any
 * call, all that appear are sampled, as "<tgid>-<gpu>". Returns 0 or a negative enum sim_exit.
 */
int sampler_add(struct sampler *sampler, const char *name, u64 tgid, u64 gpu,
		struct sim_error *err);

/*
 * Take a sample of every container, dated @time_ns since the beginning, and look for new ones.
 * News go to standard output, notes to standard error. Returns 0 or -SIM_EXIT_RUNTIME (memory);
 * earlier samples are kept.
 */
int sampler_take(struct sampler *sampler, u64 time_ns, struct sim_error *err);

/* Whether containers (all named ones, if any are) have appeared and all have gone. */
bool sampler_is_over(const struct sampler *sampler);

/* A file of a container by its name in the core; NULL: it was never seen. Borrowed. */
const struct sampler_file *sampler_last(const struct sampler_container *container,
					const char *name);

/*
 * Between the files of the sampler: sampler.c, directories.c.
 */

#define SAMPLER_PATH_MAX (PATH_MAX + 64)

/* Tell what cannot be sampled, and keep it for the results. Returns 0 or -ENOMEM. */
int sampler_note(struct sampler *sampler, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Append a container that has no name yet. NULL: no memory. Earlier pointers become invalid. */
struct sampler_container *sampler_new_container(struct sampler *sampler, u64 tgid, u64 gpu);

/* Take in every container that has a directory below a root. Returns 0 or -ENOMEM. */
int directories_discover(struct sampler *sampler);

/* Open a container's directory and write its path. Returns a descriptor, or -1. */
int directories_open(const struct sampler *sampler, struct sampler_container *container,
		     char path[SAMPLER_PATH_MAX]);

/* Say once which control files are missing when no root exists, as on a stock driver. */
int directories_note_no_roots(struct sampler *sampler);

#endif
