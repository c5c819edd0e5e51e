/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The user-space half of the port header (sim/core/include/gvm/port.h): kernel semantics over
 * the simulation engine. Unit tests use the same file over tests/engine_null.c.
 *
 * An actor runs until it blocks, so an uncontended lock is one field and costs no simcall. The
 * checks of a debug kernel are always on: sleeping, allocating or taking a mutex under a spinlock
 * asserts, unlocking somebody else's lock asserts.
 */
#ifndef GVM_WORLD_H
#define GVM_WORLD_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/port/gvm_list.h"

/* The kernel's own types: u64 is unsigned long long there, so that "%llu" is right in both. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;

#define U64_MAX		  (~0ull)
#define U32_MAX		  (~0u)

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

/* One access, not torn, invented or repeated: for the few fields that are read without a lock. */
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

/* A broken invariant: says where and aborts, in release builds too. */
__attribute__((noreturn, cold)) void gvm_port_assert_failed(const char *what, const char *file,
							    int line);
#define GVM_ASSERT(condition) \
	((condition) ? (void)0 : gvm_port_assert_failed(#condition, __FILE__, __LINE__))

/* Like snprintf(), but returns what was written and not what would have been. */
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

/*
 * Spinlocks. Never contended here: nobody runs while a holder does. All are leaves, so there is
 * at most one that is held, in all of the program; to remember which, instead of counting, takes
 * no read that a write waits for, and so next to no time.
 */
struct gvm_spinlock {
	const char *name;
};
extern const struct gvm_spinlock *gvm_port_spin_held;
#define gvm_spin_assert_held(lock) GVM_ASSERT(gvm_port_spin_held == (lock))

static inline void gvm_spin_init(struct gvm_spinlock *lock, const char *name)
{
	*lock = (struct gvm_spinlock){ .name = name };
}

static inline void gvm_spin_lock(const struct gvm_spinlock *lock)
{
	GVM_ASSERT(!gvm_port_spin_held);
	gvm_port_spin_held = lock;
}

static inline void gvm_spin_unlock(const struct gvm_spinlock *lock)
{
	GVM_ASSERT(gvm_port_spin_held == lock);
	gvm_port_spin_held = NULL;
}

/* Mutexes, handed over in the order of arrival. */
struct gvm_mutex {
	const char *name;
	bool held;
	struct eng_actor *owner; /* NULL also outside of any actor */
	struct eng_waitq waitq;
};
void gvm_mutex_init(struct gvm_mutex *lock, const char *name);
void gvm_mutex_lock(struct gvm_mutex *lock);
void gvm_mutex_unlock(struct gvm_mutex *lock);
#define gvm_mutex_assert_held(lock) GVM_ASSERT((lock)->held && (lock)->owner == eng_self())

/* Wait queues. */
struct gvm_waitqueue {
	struct eng_waitq waitq;
};
void gvm_waitqueue_init(struct gvm_waitqueue *wq);
void gvm_wake_up_all(struct gvm_waitqueue *wq);
int gvm_port_wait(struct gvm_waitqueue *wq, u64 date, bool interruptible);
u64 gvm_port_date_in(u64 ns);

#define gvm_wait_event(wq, condition)                          \
	({                                                     \
		while (!(condition))                           \
			gvm_port_wait((wq), ENG_NEVER, false); \
		0;                                             \
	})
#define gvm_wait_event_interruptible(wq, condition)                         \
	({                                                                  \
		int wait_status = 0;                                        \
		while (!(condition) && !wait_status)                        \
			wait_status = gvm_port_wait((wq), ENG_NEVER, true); \
		wait_status;                                                \
	})
#define gvm_wait_event_timeout_ns(wq, condition, ns)                        \
	({                                                                  \
		u64 wait_date = gvm_port_date_in(ns);                       \
		int wait_status = 0;                                        \
		while (!(condition) && !wait_status)                        \
			wait_status = gvm_port_wait((wq), wait_date, true); \
		(condition) ? 0 : wait_status;                              \
	})

struct gvm_completion {
	bool done;
	struct eng_waitq waitq;
};
void gvm_completion_init(struct gvm_completion *completion);
void gvm_complete_all(struct gvm_completion *completion);
int gvm_completion_wait(struct gvm_completion *completion);

/* Threads of the driver. */
struct gvm_worker {
	struct eng_actor *actor;
};
int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data);
bool gvm_worker_should_stop(void);
void gvm_worker_stop(struct gvm_worker *worker);

/* Whoever has work sleeps for it, which lets others run; so this only asks. */
bool gvm_give_way(void);

u64 gvm_ktime_ns(void);

/* Messages of the driver go to stderr, each behind "gvm: ". */
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

/* Tracepoints have no listener in the simulator yet; the arguments are still checked. */
#define gvm_trace(event, a, b) ((void)(event), (void)(a), (void)(b))

/* What one of each kind costs in ns: set from the GPU profile before the simulation starts. */
extern u64 gvm_port_cost_ns[GVM_COST_KINDS];
void gvm_cost(enum gvm_cost kind, u32 n);

#endif
