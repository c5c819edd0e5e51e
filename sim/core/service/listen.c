// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Blocks.
 *
 * Listening to pressure events: the operations of a file
 * ======================================================
 *
 * Open, read, poll and close of a listener, for the file operations of a usermemfd.
 * policy/pressure.c makes the events.
 *
 * A reader sleeps in the listener, and a waker uses it without a lock. So close() takes the
 * listener off its container, wakes all readers and waits until the last reader and the last
 * waker have left. The listener has a reference to the container, so the container outlives it,
 * even after its last process.
 */
#include "gvm/pressure.h"

/* CONTEXT: process. */
int gvm_listener_open(struct gvm_listener *listener, struct gvm_container *container)
{
	int status;

	if (listener->container)
		return -EBUSY;
	memset(listener, 0, sizeof(*listener));
	gvm_waitqueue_init(&listener->watcher.wait);
	gvm_waitqueue_init(&listener->watcher.left);
	gvm_spin_lock(&container->device->lock);
	status = gvm_pressure_join_locked(listener, container);
	if (!status)
		listener->container = container;
	gvm_spin_unlock(&container->device->lock);
	if (!status)
		gvm_container_get(container);
	return status;
}

static bool listener_is_left(struct gvm_listener *listener)
{
	struct gvm_device *device = listener->container->device;
	bool left;

	gvm_spin_lock(&device->lock);
	left = listener->readers == 0 && listener->watcher.wakers == 0;
	gvm_spin_unlock(&device->lock);
	return left;
}

/* CONTEXT: process. */
void gvm_listener_close(struct gvm_listener *listener)
{
	struct gvm_container *container = listener->container;

	if (!container)
		return;
	gvm_spin_lock(&container->device->lock);
	gvm_pressure_leave_locked(listener);
	listener->closing = true;
	gvm_spin_unlock(&container->device->lock);
	gvm_wake_up_all(&listener->watcher.wait);
	gvm_wait_event(&listener->watcher.left, listener_is_left(listener));
	listener->container = NULL;
	gvm_container_put(container);
}

/* CONTEXT: atomic. */
bool gvm_listener_poll(struct gvm_listener *listener)
{
	struct gvm_device *device = listener->container->device;
	bool pending;

	gvm_spin_lock(&device->lock);
	pending = gvm_pressure_is_pending_locked(listener);
	gvm_spin_unlock(&device->lock);
	return pending;
}

/* CONTEXT: atomic. */
bool gvm_listener_is_at_end(struct gvm_listener *listener)
{
	struct gvm_device *device = listener->container->device;
	bool ended;

	gvm_spin_lock(&device->lock);
	ended = !listener->container->attached;
	gvm_spin_unlock(&device->lock);
	return ended;
}

/*
 * Take the newest event, if no other reader has taken it. Returns as
 * gvm_pressure_take_locked().
 */
static int listener_try_take(struct gvm_listener *listener, struct gvm_pressure_event *event)
{
	struct gvm_device *device = listener->container->device;
	int taken;

	gvm_spin_lock(&device->lock);
	taken = gvm_pressure_take_locked(listener, event);
	gvm_spin_unlock(&device->lock);
	return taken;
}

/* CONTEXT: process; without @wait: atomic. */
int gvm_listener_read(struct gvm_listener *listener, void *buf, size_t size, bool wait)
{
	struct gvm_device *device = listener->container->device;
	struct gvm_pressure_event event;
	int taken;

	if (size < sizeof(event))
		return -EINVAL;
	gvm_spin_lock(&device->lock);
	listener->readers++;
	gvm_spin_unlock(&device->lock);

	taken = listener_try_take(listener, &event);
	while (taken == -EAGAIN && wait) {
		if (gvm_wait_event_interruptible(&listener->watcher.wait,
						 gvm_listener_poll(listener)))
			taken = -EINTR;
		else
			taken = listener_try_take(listener, &event);
	}
	if (taken > 0)
		memcpy(buf, &event, sizeof(event));

	/* After the unlock the listener may be freed. */
	gvm_spin_lock(&device->lock);
	if (!gvm_is_broken(device, listener->readers > 0) && --listener->readers == 0 &&
	    listener->closing)
		gvm_wake_up_one(&listener->watcher.left);
	gvm_spin_unlock(&device->lock);
	return taken;
}

/* CONTEXT: atomic. */
void gvm_listener_give_back(struct gvm_listener *listener,
			    const struct gvm_pressure_event *event)
{
	struct gvm_device *device = listener->container->device;

	gvm_spin_lock(&device->lock);
	gvm_pressure_give_back_locked(listener, event);
	gvm_spin_unlock(&device->lock);
}
