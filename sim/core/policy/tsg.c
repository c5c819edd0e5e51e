// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * TSGs: their wished settings, compared with the settings that RPCs confirmed.
 *
 * Layer: policy. Never waits, never calls back; the caller holds tsg_mutex.
 *
 *
 * Wish and knowledge
 *
 * The GPU's scheduler belongs to firmware. The driver can ask it, by RPCs, to change a
 * timeslice or to take TSGs off the runlist, and each RPC can fail. So the container holds the
 * wished settings, the TSG holds the settings that RPCs confirmed, and the plan is the
 * difference. A second write of the same value repeats exactly the RPCs that failed the first
 * time. A new TSG has the firmware's defaults and gets its container's settings by the same
 * comparison.
 *
 * A freeze takes two RPCs: disable takes the TSG off the runlist, then preempt asks it to leave
 * the GPU. In the other order the runlist could put the TSG right back. Each RPC can fail
 * alone, so each has a record of its own. A TSG that was disabled but not preempted is not
 * frozen yet, and still has to be enabled when the container thaws.
 *
 * A TSG leaves the GPU when the faults of its stalled accesses are serviced, and that depends
 * on its tenant. So no RPC waits for it and no lock is held meanwhile. The core asks the device
 * whether the TSG has left. It does not come back, since it is off the runlist.
 *
 *
 * How it differs from the papers (GVM 4.4) and the published driver
 *
 *   1. The published driver applies a priority or a freeze to the TSGs that exist at that
 *      moment. Here later TSGs inherit it.
 *   2. The published driver logs an RPC's failure and records the setting as done, so the
 *      freeze file can say 1 while kernels run. Here the file reports the confirmed state of
 *      the TSGs.
 *   3. As in the published driver, a container needs no RPC until one of its files is written:
 *      its wished timeslice is the default of its TSGs. A scheduler may need RPCs earlier.
 *   4. The scheduler (policy/sched.c) has wishes, too: a TSG that it holds is off the runlist,
 *      against the container's files. Such a TSG does not count as frozen.
 *   5. A TSG that several containers share obeys none of them: see gvm_tsg_share().
 */
#include "gvm/tsg.h"

/* CONTEXT: atomic. */
u64 gvm_priority_to_timeslice_us(u32 priority)
{
	GVM_ASSERT(priority <= GVM_PRIORITY_MAX);
	return GVM_PRIORITY_BASE_US >> priority;
}

/* CONTEXT: atomic. */
u32 gvm_timeslice_us_to_priority(u64 timeslice_us)
{
	u32 priority = 0;

	/*
	 * Each timeslice is half the one before. Below the middle of two, the shorter one is
	 * nearer.
	 */
	while (priority < GVM_PRIORITY_MAX &&
	       gvm_priority_to_timeslice_us(priority) * 3 / 4 > timeslice_us)
		priority++;
	return priority;
}

/* CONTEXT: process, tsg_mutex held. */
struct gvm_tsg_plan gvm_tsg_plan_locked(const struct gvm_tsg *tsg)
{
	const struct gvm_container *container = tsg->container;
	const struct gvm_share *share = &container->share;
	u64 timeslice_us = share->slice_us ? share->slice_us : container->timeslice_us;
	bool off = container->frozen || share->held;

	gvm_mutex_assert_held(&container->device->tsg_mutex);
	if (gvm_tsg_is_shared(tsg)) {
		timeslice_us = container->device->default_timeslice_us;
		off = false;
	}
	return (struct gvm_tsg_plan){
		.set_timeslice = tsg->timeslice_us != timeslice_us,
		.timeslice_us = timeslice_us,
		.disable = off && !tsg->disabled,
		.preempt = off && container->frozen && !tsg->preempted,
		.enable = !off && tsg->disabled,
	};
}
