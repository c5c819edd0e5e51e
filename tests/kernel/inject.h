/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Allocations that fail, in a kernel that can do that (debug_kernel.sh): of objects (failslab) and of
 * pages (fail_page_alloc), those that may sleep and those that may not.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>
#include <sys/types.h>

/* Something that user space asks of the kernel. */
struct inject_entry {
	const char *name;
	bool (*prepare)(void); /* what has to be there before; or NULL */
	int (*run)(void);      /* the system calls themselves: 0 or an errno */
	void (*undo)(void);    /* all that the two did, as far as they got; or NULL */
	int also;   /* what a run may return beside ENOMEM when an allocation failed */
	pid_t task; /* whose allocations fail; 0: the caller's own */
};

/*
 * Prepare for it, once, before anything else here. Returns false, after a test point that says it was
 * skipped, if the kernel has no fault injection.
 */
bool inject_begin(void);

/* Nothing fails any more. */
void inject_end(void);

/*
 * Run an entry again and again, while its first, its second, ... allocation fails, until there is no
 * further one. A test point: each time it was refused for want of memory or did without, and went well
 * right after; no object of the modules is left that was not there before.
 */
void inject_entry(const struct inject_entry *entry);

/* A kernel thread of this name, to be an entry's task; or 0. */
pid_t inject_find_thread(const char *name);

/*
 * Let one in @one_in allocations fail, until inject_nothing(), of those who have been chosen: the calling
 * process, with all that it forks from then on; the kernel threads that the modules have now.
 */
void inject_at_random(unsigned int one_in);
void inject_into_me(void);
void inject_into_threads(void);
void inject_nothing(void);

/* How many have failed since inject_at_random(). */
unsigned long inject_random_count(void);

#endif
