/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A scenario of the simulator, played on a GPU made of RAM, or on hooked nvidia-uvm over the
 * software GPU. It runs the lines that replay.jq made of the scenario, each step to its end,
 * and logs the effects in the words of the simulator's results.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "fakegpu_guest.h"

#define REPLAY_WORDS_MAX 5u
#define REPLAY_NAME_MAX	 64u
#define REPLAY_BYTES_MAX (128u << 20) /* of a mapping */

/*
 * Orders for a tenant. The tenant answers each order with an errno. Its first answer, before
 * any order, is the result of creating its context.
 */
enum replay_verb {
	REPLAY_MAP,
	REPLAY_TOUCH,
	REPLAY_EXIT,
};

struct replay_order {
	enum replay_verb verb;
	uint64_t bytes; /* map */
	bool on_host;	/* map */
	uint32_t first; /* touch: the first block */
	uint32_t last;	/* touch: the last block; below first: in descending order */
	bool writes;	/* touch: store, or verify */
};

/* A container: a process with one context and one mapping. */
struct replay_tenant {
	char name[REPLAY_NAME_MAX];
	bool writes; /* its kernels store, or verify */
	uint64_t
		seed; /* of the pattern in all of its memory, written by the CPU or by a kernel */
	uint64_t *va;  /* where its mapping is; shared with its process */
	pid_t pid;     /* 0: not running */
	int orders;    /* the pipe to its process */
	int answers;   /* the pipe from its process */
	uint32_t late; /* orders that are not answered: the container is frozen */
};

/* In the tenant's process: carry out the orders from @orders. Does not return. */
void replay_tenant_main(const struct replay_tenant *tenant, int orders, int answers)
	__attribute__((noreturn));

/* Start its process and wait for its context. Returns true if the context is there. */
bool replay_tenant_start(struct replay_tenant *tenant);

/*
 * Give an order and wait until it is done. A touch by a frozen tenant is not waited for:
 * replay_tenant_catch_up() does that. Returns true if nothing is wrong; the context may have
 * died.
 */
bool replay_tenant_tell(struct replay_tenant *tenant, const struct replay_order *order);
bool replay_tenant_catch_up(struct replay_tenant *tenant);

/* Play all of /scripts, one after the other, each on a GPU of its own. */
void replay_all(void);

/*
 * Wait until the fault handler and the evictors of gvm.ko sleep. Evictions ahead of need are
 * done then.
 */
void replay_settle(void);

#endif
