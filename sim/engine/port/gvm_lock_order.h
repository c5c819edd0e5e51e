/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A checker of lock order for the user-space worlds of the port, as lockdep is for a kernel.
 *
 * Locks of one name are one class. A thread that takes a lock while it holds others states an
 * order of classes: held before taken. The checker keeps every stated order. Two orders that
 * contradict each other, directly or through other classes, can deadlock. So the second one
 * aborts at once, even if no deadlock is near, and the checker prints where both were stated.
 * Taking a lock twice aborts, too. So does holding two locks of one class, because the class
 * does not say which comes first.
 *
 * Always on. A known order costs one load for each lock held.
 */
#ifndef GVM_LOCK_ORDER_H
#define GVM_LOCK_ORDER_H

#include "engine/port/gvm_common.h"

/* Bounds of this program, asserted: classes that exist, locks that one thread holds at once. */
#define GVM_LOCK_CLASSES_MAX 32u
#define GVM_LOCKS_HELD_MAX   8u

/* Where a lock is taken, as text. */
#define GVM_PLACE_LINE(line) #line
#define GVM_PLACE_AT(line)   GVM_PLACE_LINE(line)
#define GVM_PLACE	     __FILE__ ":" GVM_PLACE_AT(__LINE__)

/* The locks that one thread holds, oldest first. All-zero is none. Only that thread uses it. */
struct gvm_locks {
	struct gvm_lock_held {
		const void *lock;
		const char *place;
		u32 class;
	} held[GVM_LOCKS_HELD_MAX];
	u32 count;
};

/* The class of @name, made on first use. @name is borrowed for ever. CONTEXT: atomic. */
u32 gvm_lock_class(const char *name);

/* For each class: a mask of the classes that were ever taken while it was held. */
extern u32 gvm_locks_stated[GVM_LOCK_CLASSES_MAX];

/*
 * Handle the rare cases: the same lock again, a new order, a wrong order, or one lock too many.
 */
void gvm_locks_look(const struct gvm_locks *locks, const void *lock, u32 class,
		    const char *place);

/*
 * Note that the thread takes a lock. Called before the thread may wait for the lock, so that a
 * deadlock is reported and does not happen. CONTEXT: atomic.
 */
static inline void gvm_locks_add(struct gvm_locks *locks, const void *lock, u32 class,
				 const char *place)
{
	bool known = locks->count < GVM_LOCKS_HELD_MAX;
	u32 i;

	for (i = 0; i < locks->count; i++)
		known &= locks->held[i].lock != lock &&
			 READ_ONCE(gvm_locks_stated[locks->held[i].class]) & 1u << class;
	if (!known)
		gvm_locks_look(locks, lock, class, place);
	locks->held[locks->count++] = (struct gvm_lock_held){ lock, place, class };
}

/* Remove a lock that is not the newest. Asserts that the thread holds it. */
void gvm_locks_remove_older(struct gvm_locks *locks, const void *lock);

/* Note that the thread releases a lock. CONTEXT: atomic. */
static inline void gvm_locks_remove(struct gvm_locks *locks, const void *lock)
{
	if (locks->count && locks->held[locks->count - 1].lock == lock)
		locks->count--;
	else
		gvm_locks_remove_older(locks, lock);
}

#endif
