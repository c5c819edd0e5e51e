// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Blocks.
 *
 * Activities: which threads of the core are calling a device
 * ==========================================================
 *
 * Evictors, scheduler, writers and fault service each begin an activity before they call the
 * device and end it afterwards. A stopped activity cannot begin; service/quiesce.c stops them
 * and waits for their ends.
 *
 * Any number of threads may wait on gvm_device.activity for the end of a stop, so they are
 * woken outside of the leaf lock. On gvm_device.idle only the thread that quiesces waits.
 *
 * A lost GPU never comes back under the same device, and a device whose books are broken counts
 * as lost. All activities end, and no wait in the core depends on the GPU any more. So
 * processes can be detached and the device can be unregistered.
 */
#include "gvm/activity.h"

/* CONTEXT: atomic. */
bool gvm_activity_begin(struct gvm_device *device, enum gvm_activity activity)
{
	bool begun;

	gvm_spin_lock(&device->lock);
	begun = !gvm_activity_should_end(device, activity);
	device->active[activity] += begun;
	gvm_spin_unlock(&device->lock);
	return begun;
}

/* CONTEXT: atomic. */
void gvm_activity_end(struct gvm_device *device, enum gvm_activity activity)
{
	gvm_spin_lock(&device->lock);
	if (!gvm_is_broken(device, device->active[activity] > 0))
		device->active[activity]--;
	if (!device->active[activity] && device->stopped[activity])
		gvm_wake_up_one(&device->idle);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: process. */
int gvm_activity_begin_wait(struct gvm_device *device, enum gvm_activity activity)
{
	while (!gvm_activity_begin(device, activity)) {
		if (gvm_device_is_lost(device))
			return gvm_device_error(device);
		/*
		 * Nothing is done yet, so any signal may end the wait. Before a system sleeps
		 * it stops its processes by signals.
		 */
		if (gvm_wait_event_interruptible(&device->activity,
						 !READ_ONCE(device->stopped[activity]) ||
							 gvm_device_is_lost(device)))
			return -EINTR;
	}
	return 0;
}

/* Returns false: it was lost before. */
static bool device_end_activities(struct gvm_device *device)
{
	bool first;

	gvm_spin_lock(&device->lock);
	first = !device->lost;
	WRITE_ONCE(device->lost, true);
	gvm_spin_unlock(&device->lock);
	gvm_wake_up_all(&device->activity);
	return first;
}

/* CONTEXT: process. */
void gvm_device_set_lost(struct gvm_device *device)
{
	if (device_end_activities(device))
		gvm_warn("%s: the GPU is lost", device->name);
}

/* CONTEXT: process. */
void gvm_device_end(struct gvm_device *device)
{
	(void)device_end_activities(device);
}
