/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The compute scheduler of one GPU (GVM 4.4, Ghost A.2): which containers are on the runlist, and with
 * which timeslice.
 *
 * Policy (policy/sched.c) decides from what was seen of each container; service
 * (service/scheduler.c) is the thread that looks, and makes the RPCs. Without one the hardware
 * shares the GPU by the timeslices that control files set, and nothing else.
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

/* Weighted: the longest timeslice that a weight gives, */
#define GVM_SCHED_SLICE_MAX_US 32768ull
/* how far behind a debtor may be: four of the longest, which no ordinary round adds up to, */
#define GVM_SCHED_OVERDRAFT_NS (4 * 1000 * (s64)GVM_SCHED_SLICE_MAX_US)
/* and the largest credit or debt that is remembered: what several debtors may owe to one. */
#define GVM_SCHED_CREDIT_MAX_NS (8 * GVM_SCHED_OVERDRAFT_NS)

/* TSGs that one RPC takes off the runlist or puts back: RM's list of channels has 64 entries. */
#define GVM_SCHED_BATCH 64u

/* Which containers run when several have work. */
enum gvm_sched_policy {
	GVM_SCHED_TIMESLICES, /* the hardware's turns, as the published driver has it */
	GVM_SCHED_PRIORITY,   /* only the smallest compute.priority that has work runs */
	GVM_SCHED_WEIGHTED,   /* GPU time in proportion to compute.weight */
};

/* How the scheduler learns which containers have work. */
enum gvm_tracking {
	GVM_TRACK_EVENTS,    /* launches less ends, as the user-space shim counted them */
	GVM_TRACK_BUSY_BITS, /* what the device says of each TSG's channels */
};

/* Chosen once, for a scheduler's life. */
struct gvm_scheduler_config {
	enum gvm_sched_policy policy;
	enum gvm_tracking tracking;
	u64 interval_ns; /* between two looks; at least 1 */
};

/* The scheduler of one device. Owner's memory; guarded by tsg_mutex unless a field says otherwise. */
struct gvm_scheduler {
	struct gvm_device *device; /* NULL: not started */
	struct gvm_scheduler_config config;
	struct gvm_worker worker;
	struct gvm_waitqueue wait;
	bool kicked; /* guarded by the device's leaf lock */

	u64 rounds;   /* looks, ever */
	u64 rpcs;     /* RPCs tried, ever */
	u64 failures; /* of these, failed; each is tried again in the next round */
	bool failing; /* the last round had a failure, and it has been logged */

	struct gvm_tsg *batch[GVM_SCHED_BATCH]; /* of the RPC in the making */
	u32 batch_ids[GVM_SCHED_BATCH];
	u32 batch_count;
};

/*
 * Decide from each container's share.work and share.ran_ns, which are about the time since the
 * last call: sets share.held, share.slice_us and the books behind them. @now_ns: monotonic.
 * CONTEXT: process, tsg_mutex held; does not sleep.
 */
void gvm_sched_decide_locked(struct gvm_device *device, enum gvm_sched_policy policy,
			     u64 now_ns);

/*
 * Start or stop the scheduler of a device, which has none yet. start: 0; -EINVAL (the policy needs
 * no thread, or the interval is 0), -EBUSY (there is one), -ENOMEM. stop: every TSG gets back what
 * its control files say, as far as RPCs succeed; nothing for a scheduler that was not started.
 * CONTEXT: process.
 */
int gvm_scheduler_start(struct gvm_scheduler *scheduler, struct gvm_device *device,
			const struct gvm_scheduler_config *config);
void gvm_scheduler_stop(struct gvm_scheduler *scheduler);

/*
 * One look and the RPCs that follow from it: what the thread does every interval and when it is
 * kicked. Returns 0, or the first RPC's error: what failed is not recorded as done, and the next
 * round tries it again. A TSG that is gone is no error. A quiesced device gets no round; -ENODEV: the
 * GPU is lost. CONTEXT: process.
 */
int gvm_scheduler_round(struct gvm_scheduler *scheduler);

/*
 * Something has changed that should not wait for the next look: a first launch, a setting, a new
 * TSG. Without a scheduler it is nothing. CONTEXT: atomic.
 */
void gvm_scheduler_kick(struct gvm_device *device);

/*
 * A launch of @container was counted. It kicks the scheduler if the container's last such kick is
 * GVM_SCHED_QUIET_NS ago: until then a container is taken to have work anyhow. So a tenant's launches
 * cause no more rounds, however many they are. CONTEXT: atomic.
 */
void gvm_scheduler_kick_launch(struct gvm_container *container);

#endif
