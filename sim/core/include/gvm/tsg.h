/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TSGs (time-slice groups: the channels of one GPU context, the unit that the hardware runlist
 * schedules) and the compute settings of their container.
 *
 * Policy (policy/tsg.c) compares the wished and the confirmed settings of each TSG. Service
 * (service/tsg_apply.c) closes the difference with RPCs. A failed RPC is reported to the
 * writer of the setting and is never recorded as done. New TSGs inherit the settings.
 */
#ifndef GVM_TSG_H
#define GVM_TSG_H

#include "gvm/container.h"

/* The published map of priorities: a timeslice of 524288 us >> p (the public GVM driver). */
#define GVM_PRIORITY_BASE_US 524288ull
#define GVM_PRIORITY_MAX     16u

/* Limits of compute.timeslice. */
#define GVM_TIMESLICE_MIN_US 1ull
#define GVM_TIMESLICE_MAX_US 16000000ull

/*
 * The longest time that a write to compute.freeze waits for the TSGs to leave the GPU: RM's
 * longest timeout of NVA06C_CTRL_CMD_PREEMPT. The pauses between two looks double, up to the
 * longest pause.
 */
#define GVM_PREEMPT_TIMEOUT_NS	 1000000000ull
#define GVM_PREEMPT_PAUSE_NS	 50000ull
#define GVM_PREEMPT_PAUSE_MAX_NS 10000000ull

/*
 * One TSG. Memory belongs to the caller of attach; fields are guarded by the device's
 * tsg_mutex.
 */
struct gvm_tsg {
	struct list_head node;		 /* in gvm_container.tsgs */
	struct gvm_container *container; /* a reference */
	struct list_head step_node;	 /* in the list of a step of the scheduler's round */
	struct list_head shares; /* gvm_tsg_share.node: further containers that use it */
	u32 id;			 /* the device's name for it */
	u64 timeslice_us;	 /* programmed, as the last RPC confirmed; 0: unknown */
	u64 runtime_ns;		 /* at the scheduler's last look */
	u64 apply_pass;	 /* gvm_device.apply_passes when its settings were applied last */
	int apply_error; /* of that pass, or 0 */
	bool disabled;	 /* off the runlist, as the last RPC confirmed */
	bool preempted;	 /* and asked to leave the GPU since then */
	bool left;	 /* and it was off the GPU at the last look at it */
};

/*
 * A further container that uses a TSG: a client of the MPS server that has the TSG. Memory
 * belongs to the caller of gvm_tsg_share(); fields are guarded by tsg_mutex.
 */
struct gvm_tsg_share {
	struct list_head node;		 /* in gvm_tsg.shares */
	struct gvm_tsg *tsg;		 /* NULL: it was detached */
	struct gvm_container *container; /* a reference */
};

/* The RPCs that one TSG needs. */
struct gvm_tsg_plan {
	bool set_timeslice;
	u64 timeslice_us;
	bool disable; /* take it off the runlist */
	bool preempt; /* ask it to leave the GPU, after it is off the runlist */
	bool enable;
};

/* The timeslice in us of a priority of 0 to GVM_PRIORITY_MAX. CONTEXT: atomic. */
u64 gvm_priority_to_timeslice_us(u32 priority);

/*
 * The priority whose timeslice is nearest to @timeslice_us. A container without a written
 * priority shows the one nearest to the device's default. CONTEXT: atomic.
 */
u32 gvm_timeslice_us_to_priority(u64 timeslice_us);

/* The RPCs that make @tsg match its container. tsg_mutex held. */
struct gvm_tsg_plan gvm_tsg_plan_locked(const struct gvm_tsg *tsg);

/*
 * Are all TSGs of the container off the runlist, asked to leave and seen off the GPU? True
 * without TSGs. False if only the scheduler holds them. While the device is quiesced, the last
 * look counts. tsg_mutex held.
 */
bool gvm_tsgs_frozen_locked(struct gvm_container *container);

/*
 * attach: a context made a TSG. Takes a reference to the container and applies its settings to
 * the TSG. Returns 0 or an RPC's error; the TSG is attached all the same. detach: a context is
 * about to destroy its TSG. CONTEXT: process.
 */
int gvm_tsg_attach(struct gvm_container *container, struct gvm_tsg *tsg, u32 id);
void gvm_tsg_detach(struct gvm_tsg *tsg);

/*
 * share: another container uses an attached TSG, too. Returns 0 or an RPC's error; the TSG is
 * shared all the same. A shared TSG obeys no container: it gets the device's defaults back and
 * is never held or frozen. Writes to compute.* of all its containers answer -EOPNOTSUPP.
 * unshare: the container does not use the TSG any more; called once for each share, before or
 * after the TSG's detach. CONTEXT: process.
 */
int gvm_tsg_share(struct gvm_tsg *tsg, struct gvm_container *container,
		  struct gvm_tsg_share *share);
void gvm_tsg_unshare(struct gvm_tsg_share *share, struct gvm_device *device);

/*
 * The GPU may have been reset: each setting of a TSG is what the last RPC confirmed, or the
 * default of a new TSG. gvm_tsgs_apply() then makes the RPCs that either needs. CONTEXT:
 * process.
 */
void gvm_tsgs_forget(struct gvm_device *device);

/*
 * Apply to every TSG of the device the settings that it lacks. Returns 0 or the first RPC's
 * error. CONTEXT: process.
 */
int gvm_tsgs_apply(struct gvm_device *device);

/* Does more than one container use the TSG? tsg_mutex held. */
static inline bool gvm_tsg_is_shared(const struct gvm_tsg *tsg)
{
	return !list_empty(&tsg->shares);
}

/*
 * Change a setting of the container and apply it to all its TSGs. The value is within the
 * bounds of the table of control files. Returns 0, -EINTR (the thread is being killed; nothing
 * changed), -EOPNOTSUPP (the container shares a TSG; nothing changed), -ENODEV (the GPU is
 * lost), -EIO (its books are broken), or the first RPC's error. After an error the other RPCs
 * are still tried, and the next write tries again. A TSG that is gone is no error. A weight is
 * for the scheduler and makes no RPC. freeze asks the TSGs to leave the GPU and does not wait
 * until they have left. CONTEXT: process.
 */
int gvm_compute_set_priority(struct gvm_container *container, u32 priority);
int gvm_compute_set_timeslice_us(struct gvm_container *container, u64 timeslice_us);
int gvm_compute_set_weight(struct gvm_container *container, u32 weight);
int gvm_compute_freeze(struct gvm_container *container);
int gvm_compute_thaw(struct gvm_container *container);

/*
 * Wait, without a lock, until a frozen container's TSGs have left the GPU. Returns 0 (also when
 * it was thawed meanwhile), -ETIMEDOUT (a TSG is still there after GVM_PREEMPT_TIMEOUT_NS; it
 * leaves as soon as its faults are serviced), -EAGAIN (the device is being quiesced),
 * -EOPNOTSUPP (a TSG is shared now), -ENODEV (the GPU is lost), -EIO (its books are broken) or
 * -EINTR (the thread is being killed). CONTEXT: process.
 */
int gvm_compute_await_frozen(struct gvm_container *container);

#endif
