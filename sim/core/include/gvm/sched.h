/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The compute scheduler of one GPU (GVM 4.4, Ghost A.2): which containers are on the runlist,
 * and with which timeslice.
 *
 * Policy (policy/sched.c) decides from samples of each container. Service (service/scheduler.c)
 * is the thread that takes the samples and makes the RPCs. Without a scheduler only the
 * hardware shares the GPU, by the timeslices that control files set.
 */
#ifndef GVM_SCHED_H
#define GVM_SCHED_H

#include "gvm/container.h"
#include "gvm/tsg.h"

/* Limits of compute.weight, as of cgroup v2's cpu.weight. */
#define GVM_WEIGHT_MIN	   1u
#define GVM_WEIGHT_MAX	   10000u
#define GVM_WEIGHT_DEFAULT 100u

/* Priority: a container that has had no work for this long has gone quiet. */
#define GVM_SCHED_QUIET_NS 2000000ull

/* Weighted: the longest timeslice that a weight gives. */
#define GVM_SCHED_SLICE_MAX_US 32768ull
/*
 * Weighted: a debtor is held beyond this debt: four of the longest timeslices, more than an
 * ordinary round.
 */
#define GVM_SCHED_OVERDRAFT_NS (4 * 1000 * (s64)GVM_SCHED_SLICE_MAX_US)
/*
 * Weighted: the largest credit or debt that a container keeps. It is a multiple of the debt
 * that is tolerated, because one container may have credit from several debtors.
 */
#define GVM_SCHED_CREDIT_MAX_NS (8 * GVM_SCHED_OVERDRAFT_NS)

/*
 * TSGs that one RPC takes off the runlist or puts back: RM's list of channels has 64 entries.
 */
#define GVM_SCHED_BATCH 64u

/*
 * RPCs of a round in one hold of tsg_mutex: as many as the settings of one TSG need. The round
 * releases the mutex before it makes another one.
 */
#define GVM_SCHED_HOLD_RPCS 3u

/* Which containers run when several have work. */
enum gvm_sched_policy {
	GVM_SCHED_TIMESLICES, /* the hardware's turns, as in the published driver */
	GVM_SCHED_PRIORITY,   /* only the smallest compute.priority that has work runs */
	GVM_SCHED_WEIGHTED,   /* GPU time in proportion to compute.weight */
};

/* How the scheduler learns which containers have work. */
enum gvm_tracking {
	GVM_TRACK_EVENTS,    /* launches less ends, counted by the user-space shim */
	GVM_TRACK_BUSY_BITS, /* the device's busy bits of each TSG's channels */
};

/* Chosen once, for a scheduler's life. */
struct gvm_scheduler_config {
	enum gvm_sched_policy policy;
	enum gvm_tracking tracking;
	u64 interval_ns; /* between two looks; at least 1 */
};

/*
 * The scheduler of one device. Owner's memory; guarded by tsg_mutex unless a field says
 * otherwise.
 */
struct gvm_scheduler {
	struct gvm_device *device; /* NULL: not started */
	struct gvm_scheduler_config config;
	struct gvm_worker worker;
	struct gvm_waitqueue wait;
	bool kicked; /* guarded by the device's leaf lock */

	u64 rounds;   /* looks, ever */
	u64 failures; /* RPCs that failed, ever; each is tried again in the next round */
	bool failing; /* the last round had a failure, and it has been logged */

	u32 hold_rpcs;				/* RPCs tried in this hold of tsg_mutex */
	struct gvm_tsg *batch[GVM_SCHED_BATCH]; /* TSGs of the next RPC */
	u32 batch_ids[GVM_SCHED_BATCH];
	u32 batch_count;
};

/*
 * Decide from each container's share.work and share.ran_ns, which cover the time since the last
 * call. Sets share.held, share.slice_us and the other fields of struct gvm_share. @now_ns:
 * monotonic. CONTEXT: process, tsg_mutex held; does not sleep.
 */
void gvm_sched_decide_locked(struct gvm_device *device, enum gvm_sched_policy policy,
			     u64 now_ns);

/*
 * Start or stop the scheduler of a device. start: 0; -EINVAL (the policy needs no thread, or
 * the interval is 0), -EBUSY (the device has a scheduler) or -ENOMEM. stop: every TSG gets back
 * the settings of its control files, as far as RPCs succeed, or at the resume of a quiesced
 * device; does nothing to a scheduler that was not started. CONTEXT: process.
 */
int gvm_scheduler_start(struct gvm_scheduler *scheduler, struct gvm_device *device,
			const struct gvm_scheduler_config *config);
void gvm_scheduler_stop(struct gvm_scheduler *scheduler);

/*
 * One look and the RPCs that follow from it. The thread does this every interval and when it is
 * kicked. Returns 0, -ENODEV: the GPU is lost, or the first RPC's error. A failed RPC is not
 * recorded as done, and the next round tries it again. A TSG that is gone is no error. A
 * quiesced device gets no round. One thread at a time. CONTEXT: process.
 */
int gvm_scheduler_round(struct gvm_scheduler *scheduler);

/*
 * Wake the scheduler for a change that should not wait for the next look: a first launch, a
 * setting, a new TSG. Does nothing without a scheduler. CONTEXT: atomic.
 */
void gvm_scheduler_kick(struct gvm_device *device);

/*
 * A launch of @container was counted. Kicks the scheduler if the container's last kick for a
 * launch is GVM_SCHED_QUIET_NS ago. Until then the container counts as busy anyhow. So a tenant
 * cannot cause more rounds with more launches. CONTEXT: atomic.
 */
void gvm_scheduler_kick_launch(struct gvm_container *container);

#endif
