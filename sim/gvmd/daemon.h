/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The daemon without its world: it samples containers, lets a policy decide, and applies the
 * writes. The simulator (sim/machine/policy.c) and the program gvmd (sim/gvmd/host) give it a
 * world of control files.
 */
#ifndef SIM_GVMD_DAEMON_H
#define SIM_GVMD_DAEMON_H

#include "gvmd/policy.h"

/* What becomes of the daemon's reads and writes. All calls get @data; calls return -errno. */
struct gvmd_world {
	/*
	 * Read @file (a control file, or GVMD_REPORT) of container @index into @text, as a
	 * string. Returns its length. -ENOENT: there is no such file now. -EAGAIN: it would
	 * take a wait, without @wait.
	 */
	int (*read)(void *data, u32 index, const char *file, char *text, size_t size,
		    bool wait);
	/* Write a control file. May wait for reclaim, unless @no_wait. */
	int (*write)(void *data, u32 index, const char *file, const char *text, bool no_wait);
	/* Run one step of the policy. An error has its reason in step->why. */
	int (*decide)(void *data, struct gvmd_step *step);
	/* A write was done with @status. @restored: gvmd put back an older text. */
	void (*wrote)(void *data, const struct gvmd_write *write, int status, bool restored);
};

/* A file that the policy has written. */
struct gvmd_kept {
	u32 container;
	char file[GVMD_NAME_MAX];
	char before[GVMD_TEXT_MAX]; /* its text before the first write */
	char after[GVMD_TEXT_MAX];  /* its text after the last write */
	bool put_back;		    /* gvmd_restore() has to write it */
};

/* The daemon. The caller owns it: gvmd_init(), gvmd_destroy(). */
struct gvmd {
	const struct gvmd_world *world;
	void *data;
	struct gvmd_step *step; /* borrowed; zero but for container_count and names */
	struct gvmd_kept *kept; /* in the order of first writes */
	size_t kept_count;
	size_t kept_room;
	u64 steps;
	u64 writes;   /* that were applied */
	u64 refused;  /* that the driver or the system refused */
	bool stopped; /* the policy failed; step->why has the reason */
};

void gvmd_init(struct gvmd *gvmd, const struct gvmd_world *world, void *data,
	       struct gvmd_step *step);
void gvmd_destroy(struct gvmd *gvmd);

/*
 * Sample all containers, run a step at @now_ns, and apply its writes. A policy that fails is
 * stopped: its writes of this step are dropped, and gvmd_restore() is called. Returns 0, the
 * policy's error, or -ENOMEM.
 */
int gvmd_tick(struct gvmd *gvmd, u64 now_ns);

/*
 * Put back the texts from before the policy, last file first. A file that has changed since the
 * policy's last write belongs to another writer and stays as it is.
 */
void gvmd_restore(struct gvmd *gvmd);

#endif
