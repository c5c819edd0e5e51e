/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Memory pressure events: an application is told how much memory to give back before the core
 * evicts it (Ghost 4.2). policy/pressure.c explains the idea. The calls that block are in
 * service/listen.c.
 */
#ifndef GVM_PRESSURE_H
#define GVM_PRESSURE_H

#include "gvm/container.h"

/* Listeners that a container can have. */
#define GVM_LISTENERS_MAX GVM_WATCHERS_MAX

/* The event that a listener reads. */
struct gvm_pressure_event {
	u64 target_bytes; /* bytes that are about to be evicted */
	u64 sequence;	  /* 1 for a listener's first event; a gap counts overwritten events */
};

/*
 * One listener: an open usermemfd. Its memory is the opener's, zeroed before the first time.
 * Guarded by the device's lock.
 */
struct gvm_listener {
	struct gvm_container *container;  /* a reference; NULL: not open */
	struct gvm_watcher watcher;	  /* readers wait for an event or the end */
	struct gvm_pressure_event newest; /* sequence 0: no event yet */
	u64 read_sequence;		  /* of the newest event that was read */
	u32 readers;			  /* threads in gvm_listener_read() */
	bool closing;
};

/*
 * Listen to @container. Returns 0, -EBUSY (@listener is open already), -ENOSPC (the container
 * has GVM_LISTENERS_MAX), -ENODEV (it has no process any more) or -EIO (the device is dead).
 * CONTEXT: process.
 */
int gvm_listener_open(struct gvm_listener *listener, struct gvm_container *container);

/*
 * Stop listening: wake the readers, which read the end, and wait until they have left. The
 * caller makes sure that no new reader comes. Does nothing to a listener that is not open.
 * CONTEXT: process.
 */
void gvm_listener_close(struct gvm_listener *listener);

/* Would a read return at once: is there an event, or the end? CONTEXT: atomic. */
bool gvm_listener_poll(struct gvm_listener *listener);

/*
 * Has the last process of the container gone? There may still be an event to read. CONTEXT:
 * atomic.
 */
bool gvm_listener_is_at_end(struct gvm_listener *listener);

/*
 * Take the newest event, with @wait after a wait for it. Returns the size of struct
 * gvm_pressure_event; 0: the end, since the last process of the container has gone or the
 * listener is being closed; -EINVAL: @size is too small, and the event stays; -EAGAIN: there is
 * no event, and @wait is false; -EINTR. CONTEXT: process; without @wait: atomic.
 */
int gvm_listener_read(struct gvm_listener *listener, void *buf, size_t size, bool wait);

/*
 * The reader of @event did not get it, as its buffer is no memory: it is read again, unless
 * there is a newer one by now. The caller wakes other readers, which may have found nothing
 * meanwhile. CONTEXT: atomic.
 */
void gvm_listener_give_back(struct gvm_listener *listener,
			    const struct gvm_pressure_event *event);

/*
 * Tell listeners that @target_bytes are about to be evicted. post: those of @container.
 * post_device: those of the containers of @device that are not shielded, in turn and in bounded
 * number. Never waits for listeners. 0 bytes are no event. CONTEXT: process.
 */
void gvm_pressure_post(struct gvm_container *container, u64 target_bytes);
void gvm_pressure_post_device(struct gvm_device *device, u64 target_bytes);

/*
 * For listen.c, lock held. is_pending: is an event or the end there? take: as gvm_listener_read()
 * without @wait. give_back: undo it. join: enter the container's list, as gvm_listener_open() does
 * and with its errors. leave: the reverse.
 */
bool gvm_pressure_is_pending_locked(const struct gvm_listener *listener);
int gvm_pressure_take_locked(struct gvm_listener *listener, struct gvm_pressure_event *ret);
void gvm_pressure_give_back_locked(struct gvm_listener *listener,
				   const struct gvm_pressure_event *event);
int gvm_pressure_join_locked(struct gvm_listener *listener, struct gvm_container *container);
void gvm_pressure_leave_locked(struct gvm_listener *listener);

#endif
