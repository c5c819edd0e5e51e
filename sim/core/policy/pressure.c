// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Pressure events: telling an application before taking its memory.
 *
 * Layer: policy. Never waits, never calls back, takes only the device's leaf lock.
 *
 *
 * A slot, and not a queue
 *
 * A driver can only move memory. The application knows which data it does not need: KV blocks
 * that no request uses, activations that can be computed again, caches. If it learns in time
 * how much is wanted, it drops such data, which costs no copy in either direction. But the
 * application may also be slow, dead, broken or malicious, and no other application may suffer
 * for that. So the driver tells it and does not wait:
 *
 *     evictor ---- post ----> | target, sequence | <---- read, poll ---- application
 *        |                       one slot each                               |
 *        '--> evicts on, at once                  discards what it can <-----'
 *                |                                           |
 *                '-------------> usage falls <---------------'
 *
 * A post overwrites the slot: only the amount that is wanted now counts. Memory does not grow
 * when no application reads, and a post costs the same after any number of missed events. The
 * sequence number counts the missed events. Between two victims the evictor looks only at the
 * books. Memory that the application freed ends the evictor's work earlier, and an application
 * that frees nothing harms only itself.
 *
 * A post is recorded under the leaf lock, and readers are woken outside of it: any number of a
 * tenant's threads may wait on a listener, and 64,000 wake-ups take 45 ms.
 *
 * There are two posts. When a background evictor starts a round, it posts the bytes that it
 * lacks to its high watermark. When gmem.limit.high is lowered below the usage, the write posts
 * the excess. Pressure on the device as a whole goes to containers that have listeners and are
 * not shielded.
 *
 *
 * How it differs from the paper (Ghost 4.2)
 *
 *   1. The paper has a "registered usermemfd" and does not say how many there may be, what
 *      happens between two reads, or what a read returns. Here a container has up to
 *      GVM_LISTENERS_MAX, the newest event wins, and a read returns 16 bytes.
 *   2. The paper's evictor belongs to a container. Here the device has one, too, and its target
 *      is the same for all listeners: the clock chooses the victims, and together the listeners
 *      may give more than was wanted. Each post reaches at most PRESSURE_TOLD_MAX containers,
 *      in turn.
 *   3. The published driver has no such events. A signal with a recommended limit was added to
 *      it and removed again.
 */
#include "gvm/pressure.h"

/*
 * Containers that one post for the device reaches, so that the post ends for any number of
 * containers.
 */
#define PRESSURE_TOLD_MAX 64u

/* CONTEXT: atomic, device's lock held. */
int gvm_pressure_join_locked(struct gvm_listener *listener, struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	gvm_spin_assert_held(&device->lock);
	if (gvm_device_is_dead(device))
		return -EIO;
	if (!container->attached)
		return -ENODEV;
	if (container->listener_count == GVM_LISTENERS_MAX)
		return -ENOSPC;
	if (container->listener_count++ == 0)
		list_add_tail(&container->listening, &device->listening);
	list_add_tail(&listener->watcher.node, &container->listeners);
	return 0;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_pressure_leave_locked(struct gvm_listener *listener)
{
	struct gvm_container *container = listener->container;

	gvm_spin_assert_held(&container->device->lock);
	list_del_init(&listener->watcher.node);
	if (--container->listener_count == 0)
		list_del_init(&container->listening);
}

static bool pressure_has_event(const struct gvm_listener *listener)
{
	return listener->newest.sequence != listener->read_sequence;
}

/* CONTEXT: atomic, device's lock held. */
bool gvm_pressure_is_pending_locked(const struct gvm_listener *listener)
{
	return pressure_has_event(listener) || listener->closing ||
	       !listener->container->attached;
}

/*
 * An event that came before the end is read before the end. CONTEXT: atomic, device's lock
 * held.
 */
int gvm_pressure_take_locked(struct gvm_listener *listener, struct gvm_pressure_event *ret)
{
	if (pressure_has_event(listener) && !listener->closing) {
		*ret = listener->newest;
		listener->read_sequence = ret->sequence;
		return (int)sizeof(*ret);
	}
	return gvm_pressure_is_pending_locked(listener) ? 0 : -EAGAIN;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_pressure_give_back_locked(struct gvm_listener *listener,
				   const struct gvm_pressure_event *event)
{
	gvm_spin_assert_held(&listener->container->device->lock);
	if (listener->newest.sequence == event->sequence)
		listener->read_sequence = event->sequence - 1;
}

/*
 * Record an event with each listener of the container, and count in as a waker of its watchers.
 */
static void pressure_record_locked(struct gvm_container *container, u64 target_bytes,
				   struct gvm_wakers *wakers)
{
	struct gvm_listener *listener;

	gvm_trace_pressure(container, target_bytes);
	list_for_each_entry(listener, &container->listeners, watcher.node) {
		listener->newest.target_bytes = target_bytes;
		listener->newest.sequence++;
	}
	gvm_watchers_wake_begin_locked(container, wakers);
}

/* CONTEXT: process. */
void gvm_pressure_post(struct gvm_container *container, u64 target_bytes)
{
	struct gvm_device *device = container->device;
	struct gvm_wakers wakers;

	if (!target_bytes)
		return;
	gvm_spin_lock(&device->lock);
	pressure_record_locked(container, target_bytes, &wakers);
	gvm_spin_unlock(&device->lock);
	gvm_watchers_wake_end(device, &wakers);
}

/*
 * Tell the first container of the list and move it to the list's end. *first is the container
 * that was told first; when its turn comes again, the round is over. It may go while the lock
 * is released, so the pointer is compared and never followed. Returns false: the round is over.
 */
static bool pressure_tell_next(struct gvm_device *device, u64 target_bytes,
			       const struct gvm_container **first)
{
	struct gvm_wakers wakers = { .count = 0 };
	struct gvm_container *container = NULL;

	gvm_spin_lock(&device->lock);
	if (!list_empty(&device->listening))
		container =
			list_first_entry(&device->listening, struct gvm_container, listening);
	if (container == *first)
		container = NULL;
	if (container) {
		*first = *first ? *first : container;
		list_move_tail(&container->listening, &device->listening);
		if (!gvm_container_is_shielded(container))
			pressure_record_locked(container, target_bytes, &wakers);
	}
	gvm_spin_unlock(&device->lock);
	gvm_watchers_wake_end(device, &wakers);
	return container;
}

/* CONTEXT: process. */
void gvm_pressure_post_device(struct gvm_device *device, u64 target_bytes)
{
	const struct gvm_container *first = NULL;
	u32 most = PRESSURE_TOLD_MAX;

	while (target_bytes && most-- && pressure_tell_next(device, target_bytes, &first))
		;
}
