/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the user-space halves of the port have in common: the kernel's small helpers, memory,
 * messages, assertions. The world that includes it says what a lock, a wait and a thread are.
 */
#ifndef GVM_COMMON_H
#define GVM_COMMON_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* The world's own: abort unless the running thread may sleep now. */
void gvm_port_assert_may_sleep(void);

/*
 * Seed of giving way: where a kernel could preempt, whoever runs lets others run now and then, at
 * random. For tests; to be set before anything runs. 0, as it is at first: nobody does.
 */
extern u64 gvm_port_yield_seed;

/* The next of a sequence of random numbers (splitmix64). */
u64 gvm_port_draw(u64 *state);

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

/* A broken invariant: says where and aborts, in release builds too. */
__attribute__((noreturn)) void gvm_port_assert_failed(const char *what, const char *file,
						      int line);
#define GVM_ASSERT(condition) \
	((condition) ? (void)0 : gvm_port_assert_failed(#condition, __FILE__, __LINE__))

/* Tracepoints have no listener in the simulator yet; the arguments are still checked. */
#define gvm_trace(event, a, b) ((void)(event), (void)(a), (void)(b))

#endif
