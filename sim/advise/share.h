/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shares of the memory that LLM servers take (app.gpu_memory_utilization), for candidates of
 * advice.
 *
 * What a share holds beyond weights and workspace is room for KV blocks. A server allocates and
 * clears all of it, so a large share leaves others too little, even if the load fills few of
 * the blocks. A share lies between the scenario's and the least one with room for a sequence of
 * app.max_model_len: vLLM starts with no less. All are whole percents.
 */
#ifndef SIM_ADVISE_SHARE_H
#define SIM_ADVISE_SHARE_H

#include "advise/types.h"

/* Take the share of a server with a promise. Other containers keep theirs, if they have one. */
void share_read(struct advise_container *container, const struct config *config,
		const struct cfg_container *cfg);

/*
 * Does what a server leaves go to others under the system of a candidate? Not where each
 * container has a GPU or a part of one.
 */
bool share_matters(const struct advise *advise, const struct advise_candidate *candidate);

/*
 * Add candidates with 2/3 and with 1/3 of the room of each server: those of @best as they are,
 * and as the scenario configures their systems. Limits and priorities that were found beside a
 * server that takes more may only cost progress now. Returns 0 or -ENOMEM.
 */
int share_add_smaller(struct advise *advise, struct advise_candidate *const *best,
		      size_t best_count);

/*
 * Add each system that ran, as the scenario configures it, with the shares of @from. Memory
 * that is no longer short changes their order. Returns 0 or -ENOMEM.
 */
int share_add_systems(struct advise *advise, const struct advise_candidate *from);

/* Has a candidate a share that is not the scenario's? */
bool share_is_set(const struct advise *advise, const struct advise_candidate *candidate);

/* Give the servers of a candidate the shares of the scenario again. */
void share_forget(const struct advise *advise, struct advise_candidate *candidate);

/* The share of a container's server that a candidate sets; NULL: none. */
const char *share_of_container(const struct advise_container *container,
			       const struct advise_candidate *candidate);

/*
 * The share with a quarter less room than @value of the key @key, or with a third more. False:
 * there is none below the scenario's, or @key is not of a share.
 */
bool share_nearer(const struct advise *advise, const char *key, const char *value, bool more,
		  char *text, size_t size);

#endif
