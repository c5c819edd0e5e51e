/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fibres: functions with stacks of their own, which one thread switches between.
 *
 * A switch saves the registers that a call preserves and loads another set: about 5 ns, and no
 * system call. The two functions that do it come from Boost.Context, which SimGrid uses for its
 * own actors; they have C linkage.
 *
 * A stack has a guard page below it. A fibre that runs into it ends the program with one line
 * and SIGSEGV. Stacks of fibres that have returned are used again and are never unmapped.
 * AddressSanitizer and ThreadSanitizer are told of each switch when they are compiled in.
 */
#ifndef SIM_ENGINE_FIBRE_H
#define SIM_ENGINE_FIBRE_H

#include <stdbool.h>
#include <stddef.h>

/* One fibre, or the thread that resumes fibres. The owner allocates it and zeroes it. */
struct fibre {
	void *context; /* where it goes on; valid while it does not run */
	void *stack;   /* lowest usable byte; NULL: the thread's own */
	size_t stack_bytes;
	void (*function)(void *data);
	void *data;
	const char *name;      /* for the message about a full stack; owned by the caller */
	bool returned;	       /* @function has returned; the stack is free again */
	struct fibre *resumer; /* the fibre that goes on when this one suspends */
	void *asan_fake_stack; /* handles of the sanitizers */
	void *tsan_fibre;
};

/*
 * Report a full stack as such, and not as another bad access. AddressSanitizer does this
 * itself. Call it before the first fibre runs. Returns 0, or -EINVAL if the system refuses.
 */
int fibre_watch_stacks(void);

/* Give @fibre a stack and a function to start in. Returns 0, or -ENOMEM. */
int fibre_init(struct fibre *fibre, const char *name, void (*function)(void *data), void *data);

/*
 * Run @fibre until it suspends or its function returns. A fibre that has returned gives its
 * stack back. @self is the caller: a zeroed struct for a thread.
 */
void fibre_resume(struct fibre *self, struct fibre *fibre);

/*
 * Called by @self: go on with the fibre that resumed @self. Returns when @self is resumed
 * again.
 */
void fibre_suspend(struct fibre *self);

#endif
