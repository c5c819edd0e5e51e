/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The samples: containers, rows, changes and notes, in arrays that grow. See sampler.h. */
#ifndef SIM_COLLECT_SAMPLES_H
#define SIM_COLLECT_SAMPLES_H

#include <jansson.h>
#include <limits.h>

#include "apps/launches.h"
#include "collect/host_file.h"
#include "config/config.h"

#define SAMPLER_PATH_MAX    (PATH_MAX + 64)
#define SAMPLER_ROOTS_MAX   4
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
	u64 gpu;      /* number of its GPU; SAMPLER_ANY_GPU: it has used none yet */
	bool present; /* at the last sample */
	bool seen;
	u64 first_ns; /* its first and last sample, since the beginning */
	u64 last_ns;
	u64 resident_max_bytes; /* in any sample */
	u64 resident_sum_bytes; /* sum over the samples in which it had memory */
	u64 resident_samples;	/* the number of these samples */
	struct launches launches;
	json_t *served;		    /* served.h; NULL: nothing is known; owned */
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
	char own_root[40]; /* the shim's folder of a user who is not root */
	bool named;	   /* containers were named: others are ignored */
	/*
	 * For the user; NULL: not wanted. @container appeared, went, or has a setting that is
	 * new.
	 */
	void (*news)(u64 time_ns, const char *container, const char *text);
	void (*note)(const char *text); /* a file that cannot be sampled */
	bool began;			/* there was a sample */
	bool too_many_told;
	u64 missing_told; /* files, a bit for each row of the core's table */
	struct sampler_container *containers; /* owned, as all arrays here */
	u32 container_count;		      /* at most CFG_CONTAINERS_MAX */
	struct sampler_row *rows;
	size_t row_count;
	struct sampler_change *changes;
	size_t change_count;
	char **notes; /* files that could not be sampled, in words */
	size_t note_count;
};

/* Room for one more in an array that grows by doubling; NULL: no memory. */
void *samples_room(void *array, size_t count, size_t element);

/*
 * Tell the user about a file that cannot be sampled, and keep the text for the results. Returns
 * 0 or -ENOMEM.
 */
int sampler_note(struct sampler *sampler, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Append a container that has no name yet. NULL: no memory. Earlier pointers become invalid. */
struct sampler_container *sampler_new_container(struct sampler *sampler, u64 tgid, u64 gpu);

#endif
