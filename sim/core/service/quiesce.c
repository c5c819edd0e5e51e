// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Blocks.
 *
 * Quiesce and resume
 * ==================
 *
 * Before a GPU is suspended or reset, no thread of the core may call its driver. Work that
 * causes other work stops first:
 *
 *     evictors -> scheduler -> writers -> faults          quiesce
 *     evictors <- scheduler <- writers <- faults          resume
 *
 * Evictors only work ahead. The scheduler makes RPCs of its own. Writers reclaim memory and
 * make RPCs. Fault service comes last: a context that waits for a fault keeps the GPU busy, and
 * a writer may wait for that context. Each activity has a count of the threads inside and a
 * flag that stops it. Long work looks at its flag between two steps.
 *
 * Every wait here is bounded or ends with a signal. A thread that finds its activity stopped
 * sleeps until the resume or a signal (a write to a control file, the fault handler) or skips
 * the round (evictors, the scheduler). If an activity does not end in time, quiesce starts all
 * of them again and returns an error. The driver may then declare the GPU lost with
 * gvm_device_set_lost() and reset it.
 *
 * A system that suspends does not ask: the GPU sleeps whether the core is ready or not. Then an
 * activity that does not end in time stays stopped, and no signal to the suspending thread ends
 * its wait. To start everything again would let the core work on a GPU that sleeps.
 *
 * A reset makes the GPU forget timeslices and runlists; a suspend need not. So at resume each TSG
 * may have its old settings or the defaults of a new one, and gets its container's settings by RPCs
 * that are right for both. A TSG that is attached while writers are stopped gets no RPC. It gets
 * its settings when writers run again: after a resume, and after a quiesce that gave up. Else it
 * would run although its container is frozen.
 */
#include "gvm/quiesce.h"
#include "gvm/activity.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"

static void quiesce_set_stopped(struct gvm_device *device, enum gvm_activity activity,
				bool stopped)
{
	gvm_spin_lock(&device->lock);
	WRITE_ONCE(device->stopped[activity], stopped);
	gvm_spin_unlock(&device->lock);
	gvm_wake_up_all(&device->activity);
}

static bool quiesce_is_idle(struct gvm_device *device, enum gvm_activity activity)
{
	bool idle;

	gvm_spin_lock(&device->lock);
	idle = device->active[activity] == 0;
	gvm_spin_unlock(&device->lock);
	return idle;
}

/*
 * Let the first @count activities run again, the last one first. Then apply the settings of TSGs
 * that were attached while writers were stopped. Returns 0 or the first RPC's error.
 */
static int quiesce_undo(struct gvm_device *device, u32 count)
{
	int status;

	while (count--)
		quiesce_set_stopped(device, (enum gvm_activity)count, false);
	status = gvm_tsgs_apply(device);
	gvm_spin_lock(&device->lock);
	device->quiesce = GVM_RUNS;
	gvm_spin_unlock(&device->lock);
	gvm_scheduler_kick(device);
	return status;
}

/*
 * From one state to the next. False: the device is not in the first, so
 * another thread is at it.
 */
static bool quiesce_go_on(struct gvm_device *device, enum gvm_quiesce from, enum gvm_quiesce to)
{
	bool is_there;

	gvm_spin_lock(&device->lock);
	is_there = device->quiesce == from;
	if (is_there)
		device->quiesce = to;
	gvm_spin_unlock(&device->lock);
	return is_there;
}

/*
 * Begin a quiesce. Returns 0; -EBUSY: another thread has done so, or resumes the device; or
 * gvm_device_error().
 */
static int quiesce_begin(struct gvm_device *device)
{
	if (gvm_device_is_lost(device))
		return gvm_device_error(device);
	return quiesce_go_on(device, GVM_RUNS, GVM_IS_QUIESCING) ? 0 : -EBUSY;
}

/* The time from now to @end_ns. */
static u64 quiesce_rest_ns(u64 end_ns)
{
	return end_ns - min(gvm_ktime_ns(), end_ns);
}

/* CONTEXT: process. */
int gvm_device_quiesce(struct gvm_device *device, u64 timeout_ns)
{
	u64 end_ns = gvm_ktime_ns() + timeout_ns;
	int status = quiesce_begin(device);

	if (status)
		return status;
	for (u32 i = 0; i < GVM_ACTIVITIES; i++) {
		enum gvm_activity activity = (enum gvm_activity)i;

		quiesce_set_stopped(device, activity, true);
		status = gvm_wait_event_timeout_ns(&device->idle,
						   quiesce_is_idle(device, activity),
						   quiesce_rest_ns(end_ns));
		if (status) {
			(void)quiesce_undo(device, i + 1);
			return status;
		}
	}
	(void)quiesce_go_on(device, GVM_IS_QUIESCING, GVM_IS_QUIESCED);
	return 0;
}

/* CONTEXT: process. */
int gvm_device_quiesce_to_sleep(struct gvm_device *device, u64 timeout_ns)
{
	u64 end_ns = gvm_ktime_ns() + timeout_ns;
	int first = quiesce_begin(device);

	if (first)
		return first;
	for (u32 i = 0; i < GVM_ACTIVITIES; i++) {
		enum gvm_activity activity = (enum gvm_activity)i;
		int status;

		quiesce_set_stopped(device, activity, true);
		status = gvm_wait_event_uninterruptible_timeout_ns(
			&device->idle, quiesce_is_idle(device, activity),
			quiesce_rest_ns(end_ns));
		first = first ? first : status;
	}
	(void)quiesce_go_on(device, GVM_IS_QUIESCING, GVM_IS_QUIESCED);
	return first;
}

/* CONTEXT: process. */
int gvm_device_resume(struct gvm_device *device)
{
	int status, late;

	if (gvm_device_is_lost(device)) {
		/* Writers wait for this resume. Nothing has woken them when the books broke. */
		gvm_wake_up_all(&device->activity);
		return gvm_device_error(device);
	}
	if (!quiesce_go_on(device, GVM_IS_QUIESCED, GVM_IS_RESUMING))
		return -EINVAL;
	/* While nothing else runs: frozen TSGs leave first, and no writer waits for these RPCs. */
	gvm_tsgs_forget(device);
	status = gvm_tsgs_apply(device);
	late = quiesce_undo(device, GVM_ACTIVITIES);
	return status ? status : late;
}
