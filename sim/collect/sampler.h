/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Samples of the control files of a real host. Containers come and go, files may be missing or
 * hold nonsense: what is not known at a date stays unknown, is told once, and stops nobody.
 */
#ifndef SIM_COLLECT_SAMPLER_H
#define SIM_COLLECT_SAMPLER_H

#include "collect/host_file.h"
#include "config/config.h"

struct sim_error;

#define SAMPLER_ROOTS_MAX   2
#define SAMPLER_COMMAND_MAX 16 /* as in /proc/PID/comm */

#define SAMPLER_ANY_GPU	    U64_MAX

/* One file of one container. */
struct sampler_file {
	bool seen;  /* at least once */
	bool told;  /* that it cannot be read or holds nonsense */
	u32 missed; /* samples in a row in which it was not there */
	u64 number; /* the last value known */
	char text[GVM_CONTROL_TEXT_MAX];
};

struct sampler_container {
	char name[CFG_NAME_MAX];
	char command[SAMPLER_COMMAND_MAX]; /* empty: not known */
	u64 tgid;
	u64 gpu;      /* SAMPLER_ANY_GPU: the first that it uses, which is then put here */
	bool present; /* at the last sample */
	bool seen;
	u64 first_ns; /* its first and last sample, since the beginning */
	u64 last_ns;
	u64 resident_max_bytes; /* in any sample */
	struct sampler_file files[HOST_FILES];
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

/* A file that has another text than in the sample before. */
struct sampler_change {
	u64 time_ns;
	u32 container;
	enum host_file_id file;
	char *text;
};

/* Owned by the caller: sampler_init(), sampler_destroy(). */
struct sampler {
	const char *roots[SAMPLER_ROOTS_MAX]; /* borrowed; looked into in this order */
	size_t root_count;
	bool told;  /* containers were named: no others are looked for */
	bool quiet; /* no news on standard output */
	bool began; /* there was a sample */
	bool too_many_told;
	unsigned int missing_told; /* files, by their bit */
	struct sampler_container *containers;
	u32 container_count; /* at most CFG_CONTAINERS_MAX */
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
 * what was sampled before is kept.
 */
int sampler_take(struct sampler *sampler, u64 time_ns, struct sim_error *err);

/* Have there been containers, and have all of them gone (all named ones, if any are)? */
bool sampler_is_over(const struct sampler *sampler);

#endif
