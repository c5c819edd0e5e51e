// SPDX-License-Identifier: MIT OR GPL-2.0
/* The checker of lock order; see gvm_lock_order.h. */
#include "gvm/port.h"

#include "engine/port/gvm_lock_order.h"

/*
 * The places that stated an order of two classes first: where one was held and the other taken.
 */
struct order {
	const char *held_at;
	const char *taken_at;
};

/* Written under book_lock(), and also read without it. */
u32 gvm_locks_stated[GVM_LOCK_CLASSES_MAX];

/* The other data of the checker, guarded by book_lock(). */
static struct {
	bool locked;
	u32 class_count;
	const char *names[GVM_LOCK_CLASSES_MAX];
	u32 after[GVM_LOCK_CLASSES_MAX]; /* transitive closure of gvm_locks_stated */
	struct order orders[GVM_LOCK_CLASSES_MAX][GVM_LOCK_CLASSES_MAX];
} book;

/*
 * A lock of its own, because the world's locks call the checker. Taken for new classes and new
 * orders, which are few.
 */
static void book_lock(void)
{
	while (__atomic_test_and_set(&book.locked, __ATOMIC_ACQUIRE))
		;
}

static void book_unlock(void)
{
	__atomic_clear(&book.locked, __ATOMIC_RELEASE);
}

u32 gvm_lock_class(const char *name)
{
	u32 class;

	book_lock();
	for (class = 0; class < book.class_count; class ++) {
		if (strcmp(book.names[class], name) == 0)
			break;
	}
	GVM_ASSERT(class < GVM_LOCK_CLASSES_MAX);
	if (class == book.class_count)
		book.names[book.class_count++] = name;
	book_unlock();
	return class;
}

/* Print the locks that the thread holds, oldest first, and the lock that it wants. */
static void say_chain(const struct gvm_locks *locks, u32 wanted, const char *place)
{
	u32 i;

	gvm_warn("  this thread, oldest first:");
	for (i = 0; i < locks->count; i++)
		gvm_warn("    has   \"%s\" from %s", book.names[locks->held[i].class],
			 locks->held[i].place);
	gvm_warn("    wants \"%s\" at %s", book.names[wanted], place);
}

/*
 * Print why @from comes before @to. Each step goes to @to, or to a class that comes before @to.
 */
static void say_orders(u32 from, u32 to)
{
	gvm_warn("  what was stated before:");
	while (from != to) {
		u32 next = 0;

		while (!(gvm_locks_stated[from] & 1u << next) ||
		       (next != to && !(book.after[next] & 1u << to)))
			next++;
		gvm_warn("    had   \"%s\" from %s", book.names[from],
			 book.orders[from][next].held_at);
		gvm_warn("    took  \"%s\" at %s", book.names[next],
			 book.orders[from][next].taken_at);
		from = next;
	}
}

/*
 * State that @held comes before @class. So the class of @held, and all classes before it, now
 * come before @class and all classes after @class.
 */
static void state_order(const struct gvm_lock_held *held, u32 class, const char *place)
{
	u32 i;

	book.orders[held->class][class] = (struct order){ held->place, place };
	for (i = 0; i < book.class_count; i++) {
		if (i == held->class || book.after[i] & 1u << held->class)
			book.after[i] |= 1u << class | book.after[class];
	}
	WRITE_ONCE(gvm_locks_stated[held->class], gvm_locks_stated[held->class] | 1u << class);
}

/* State an order that is not known yet. Aborts if it contradicts the known orders. */
static void check_order(const struct gvm_locks *locks, const struct gvm_lock_held *held,
			u32 class, const char *place)
{
	book_lock();
	if (held->class == class) {
		gvm_warn("two locks of one class at once:");
		say_chain(locks, class, place);
		gvm_port_assert_failed("one lock of a class at a time", __FILE__, __LINE__);
	}
	if (book.after[class] & 1u << held->class) {
		gvm_warn("locks are taken in two orders:");
		say_chain(locks, class, place);
		say_orders(class, held->class);
		gvm_port_assert_failed("locks have one order", __FILE__, __LINE__);
	}
	state_order(held, class, place);
	book_unlock();
}

void gvm_locks_look(const struct gvm_locks *locks, const void *lock, u32 class,
		    const char *place)
{
	u32 i;

	GVM_ASSERT(locks->count < GVM_LOCKS_HELD_MAX);
	for (i = 0; i < locks->count; i++) {
		const struct gvm_lock_held *held = &locks->held[i];

		if (held->lock == lock) {
			gvm_warn("a lock is taken twice:");
			say_chain(locks, class, place);
			gvm_port_assert_failed("a lock is taken once", __FILE__, __LINE__);
		}
		if (!(READ_ONCE(gvm_locks_stated[held->class]) & 1u << class))
			check_order(locks, held, class, place);
	}
}

void gvm_locks_remove_older(struct gvm_locks *locks, const void *lock)
{
	u32 i = locks->count;

	while (i && locks->held[i - 1].lock != lock)
		i--;
	GVM_ASSERT(i > 0);
	locks->count--;
	for (; i <= locks->count; i++)
		locks->held[i - 1] = locks->held[i];
}
