/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The part of the port that both user-space worlds share: the kernel's small helpers, memory,
 * messages, assertions. The world that includes this file defines locks, waits and threads.
 */
#ifndef GVM_COMMON_H
#define GVM_COMMON_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "engine/port/gvm_list.h"
#include "engine/port/gvm_rbtree.h"
#include "engine/types.h"

#define BIT(n)		  (1ul << (n))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define min(a, b)                              \
	({                                     \
		__typeof__(a) min_a = (a);     \
		__typeof__(b) min_b = (b);     \
		min_a < min_b ? min_a : min_b; \
	})
#define max(a, b)                              \
	({                                     \
		__typeof__(a) max_a = (a);     \
		__typeof__(b) max_b = (b);     \
		max_a > max_b ? max_a : max_b; \
	})
#define swap(a, b)                          \
	do {                                \
		__typeof__(a) swap_t = (a); \
		(a) = (b);                  \
		(b) = swap_t;               \
	} while (0)

/*
 * One access, not torn, invented or repeated: for the few fields that are read without a lock.
 */
#define READ_ONCE(x)	     __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline unsigned int hweight32(u32 word)
{
	return (unsigned int)__builtin_popcount(word);
}

static inline unsigned long __ffs(unsigned long word)
{
	return (unsigned long)__builtin_ctzl(word);
}

/* Like snprintf(), but returns the number of characters written, not of those wanted. */
int scnprintf(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Allocation: one hook, so that tests can count, cap and fail it. NULL: calloc() and free(). */
struct gvm_port_alloc_hook {
	void *(*alloc)(size_t bytes); /* zeroed memory or NULL */
	void (*release)(void *memory);
};
extern const struct gvm_port_alloc_hook *gvm_port_alloc_hook;
void *gvm_alloc(size_t bytes);
void gvm_free(void *memory);

/* Each world has its own: the time, and abort unless the running thread may sleep now. */
u64 gvm_ktime_ns(void);
void gvm_port_assert_may_sleep(void);

/*
 * Waits. A wait queue counts its wake-ups. A waiter reads the count, evaluates its condition,
 * and sleeps only while the count stays the same. So the condition is evaluated without a lock
 * of the queue: it may take locks under which others wake, and may even give way. A true
 * condition counts first: the wait then returns 0 even if the time is up or the thread is
 * interrupted.
 */
struct gvm_waitqueue;
u64 gvm_port_wakes(struct gvm_waitqueue *wq);

/*
 * Sleep until the count is not @wakes (0), until @date (-ETIMEDOUT), or until an interrupt
 * (-EINTR).
 */
int gvm_port_wait(struct gvm_waitqueue *wq, u64 wakes, u64 date, bool interruptible);

/* The date in @ns from now; the end of time at most. */
static inline u64 gvm_port_date_in(u64 ns)
{
	u64 now = gvm_ktime_ns();

	return ns > U64_MAX - now ? U64_MAX : now + ns;
}

#define gvm_port_wait_until(wq, condition, date, interruptible)                           \
	({                                                                                \
		int wait_status = 0;                                                      \
		for (;;) {                                                                \
			u64 wait_wakes = gvm_port_wakes(wq);                              \
			if (condition) {                                                  \
				wait_status = 0;                                          \
				break;                                                    \
			}                                                                 \
			if (wait_status)                                                  \
				break;                                                    \
			wait_status =                                                     \
				gvm_port_wait((wq), wait_wakes, (date), (interruptible)); \
		}                                                                         \
		wait_status;                                                              \
	})
#define gvm_wait_event(wq, condition) gvm_port_wait_until((wq), (condition), U64_MAX, false)
#define gvm_wait_event_interruptible(wq, condition) \
	gvm_port_wait_until((wq), (condition), U64_MAX, true)
#define gvm_wait_event_timeout_ns(wq, condition, ns)                     \
	({                                                               \
		u64 wait_date = gvm_port_date_in(ns);                    \
		gvm_port_wait_until((wq), (condition), wait_date, true); \
	})
#define gvm_wait_event_uninterruptible_timeout_ns(wq, condition, ns)      \
	({                                                                \
		u64 wait_date = gvm_port_date_in(ns);                     \
		gvm_port_wait_until((wq), (condition), wait_date, false); \
	})

/* Threads of these worlds get no signals. Only a request to stop interrupts them. */
#define gvm_wait_event_killable		   gvm_wait_event_interruptible
#define gvm_wait_event_killable_timeout_ns gvm_wait_event_timeout_ns

/*
 * Seed of random yields, for tests: where a kernel could preempt, the running thread sometimes
 * lets others run. Set before any thread runs. 0, the default: threads never yield there.
 */
extern u64 gvm_port_yield_seed;

/* The next of a sequence of random numbers (splitmix64). */
u64 gvm_port_draw(u64 *state);

/* Messages of the driver go to stderr, each after "gvm: ". */
void gvm_port_log(const char *level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define gvm_info(...) gvm_port_log("", __VA_ARGS__)
#define gvm_warn(...) gvm_port_log("warning: ", __VA_ARGS__)
#define GVM_WARN_ONCE(condition, ...)                           \
	({                                                      \
		static bool warn_done;                          \
		bool warn_now = (condition);                    \
		if (warn_now && !warn_done) {                   \
			warn_done = true;                       \
			gvm_port_log("warning: ", __VA_ARGS__); \
		}                                               \
		warn_now;                                       \
	})

/* A broken invariant: print where it is and abort, in release builds too. */
__attribute__((noreturn)) void gvm_port_assert_failed(const char *what, const char *file,
						      int line);
#define GVM_HOLDS(condition)           \
	({                             \
		GVM_ASSERT(condition); \
		true;                  \
	})
#define GVM_ASSERT(condition) \
	((condition) ? (void)0 : gvm_port_assert_failed(#condition, __FILE__, __LINE__))

#endif
