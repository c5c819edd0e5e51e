/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Allocations that fail, in a kernel with fault injection (debug_kernel.sh): of objects
 * (failslab) and of pages (fail_page_alloc), whether they may sleep or not.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>
#include <sys/types.h>

/* An entry: one request of user space to the kernel. */
struct inject_entry {
	const char *name;
	bool (*prepare)(void); /* sets up what @run needs; or NULL */
	int (*run)(void);      /* the system calls to test: 0 or an errno */
	void (*undo)(void);    /* undoes both, also half done; or NULL */
	int also;	       /* an error allowed beside ENOMEM when an allocation failed */
	pid_t task;	       /* thread whose allocations fail; 0: the caller's */
};

/*
 * Prepare fault injection, once, before the other calls. Returns false if the kernel has none,
 * after a test point that says it was skipped.
 */
bool inject_begin(void);

/* End fault injection: no allocation fails any more. */
void inject_end(void);

/*
 * Run an entry again and again. In run n its n-th allocation fails. It ends with the run that
 * makes fewer allocations. A test point: each run returned ENOMEM or did without the memory,
 * the entry worked right after it, and no object of the modules leaked.
 */
void inject_entry(const struct inject_entry *entry);

/* Find a kernel thread by its name, to be an entry's task. 0: there is none. */
pid_t inject_find_thread(const char *name);

/*
 * Let one in @one_in allocations fail until inject_nothing(), in chosen tasks: inject_into_me()
 * chooses the caller and all that it forks from then on, inject_into_threads() the modules'
 * present threads.
 */
void inject_at_random(unsigned int one_in);
void inject_into_me(void);
void inject_into_threads(void);
void inject_nothing(void);

/* How many allocations have failed since inject_at_random(). */
unsigned long inject_random_count(void);

#endif
