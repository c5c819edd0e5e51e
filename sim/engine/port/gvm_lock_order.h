/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The order of locks, watched: what lockdep is to a kernel, for the user-space worlds of the port.
 *
 * Locks of one name are one class. A thread that takes a lock while holding others states an order of
 * classes, "held before taken", and every order that was ever stated is kept. Two of them that
 * contradict each other, at however many removes, are a deadlock that only waits for the right
 * moment; so the second one aborts at once, whatever the moment, and says where both were stated.
 * So does taking a lock twice, or two locks of one class together: nothing says which comes first.
 *
 * Always on. An order that is known costs a load for each lock held.
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

/* The locks that one thread holds, oldest first. All-zero is none. Only that thread reads it. */
struct gvm_locks {
	struct gvm_lock_held {
		const void *lock;
		const char *place;
		u32 class;
	} held[GVM_LOCKS_HELD_MAX];
	u32 count;
};

/* The class of that name, which is borrowed for ever; made on first use. CONTEXT: atomic. */
u32 gvm_lock_class(const char *name);

/* Of each class, those that were ever taken while it was held: masks. */
extern u32 gvm_locks_stated[GVM_LOCK_CLASSES_MAX];

/* The rare cases: the same lock again, a new order, a wrong order, or one lock too many. */
void gvm_locks_look(const struct gvm_locks *locks, const void *lock, u32 class,
		    const char *place);

/*
 * The thread is about to take a lock: called before it may have to wait for it, so that a
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

/* One that was not taken last, or not at all, which is asserted. */
void gvm_locks_remove_older(struct gvm_locks *locks, const void *lock);

/* The thread gives a lock up. CONTEXT: atomic. */
static inline void gvm_locks_remove(struct gvm_locks *locks, const void *lock)
{
	if (locks->count && locks->held[locks->count - 1].lock == lock)
		locks->count--;
	else
		gvm_locks_remove_older(locks, lock);
}

#endif
