/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A scenario of the simulator, played on a GPU made of RAM: what replay.jq made of it is done line by
 * line, each step to its end, and what came of it is told in the words of the simulator's results.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "fakegpu_guest.h"

#define REPLAY_WORDS_MAX 5u
#define REPLAY_NAME_MAX	 64u

/* What a tenant can be told. It answers each with an errno, 0 at first for its context. */
enum replay_verb {
	REPLAY_MAP,
	REPLAY_TOUCH,
	REPLAY_EXIT,
};

struct replay_order {
	enum replay_verb verb;
	uint64_t bytes; /* map */
	bool on_host;	/* likewise */
	uint32_t first; /* touch: blocks, */
	uint32_t last;	/* which may be before it */
	bool writes;	/* likewise */
};

/* A container: a process with one context and one mapping. */
struct replay_tenant {
	char name[REPLAY_NAME_MAX];
	bool writes;   /* its kernels do, or they verify */
	pid_t pid;     /* 0: not running */
	int orders;    /* where they are written to, */
	int answers;   /* and these read from */
	uint32_t late; /* orders that wait for a thaw */
};

/* In the tenant's process: do what comes out of @orders. Does not return. */
void replay_tenant_main(int orders, int answers) __attribute__((noreturn));

/* Start its process, and wait for its context. True: it is there. */
bool replay_tenant_start(struct replay_tenant *tenant);

/*
 * Tell it something and wait until it is done, but for what a frozen one is told: that is waited for
 * by replay_tenant_catch_up(). True: nothing is wrong, though its context may have died.
 */
bool replay_tenant_tell(struct replay_tenant *tenant, const struct replay_order *order);
bool replay_tenant_catch_up(struct replay_tenant *tenant);

/* Wait until the threads of gvm.ko sleep: who makes room ahead of need has done so. */
void replay_settle(void);

#endif
