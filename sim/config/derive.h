/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * For an application whose keys follow from a file that one of its keys names: a model's
 * config.json. Its derive() reads the file with these functions and sets the keys that follow.
 * What the scenario or --set says of a key wins; what a profile says does not. See struct
 * cfg_keys.
 */
#ifndef SIM_CONFIG_DERIVE_H
#define SIM_CONFIG_DERIVE_H

#include <jansson.h>

#include "engine/types.h"

struct cfg_container;
struct cfg_load;
struct sim_error;

/*
 * Read the JSON object in the file that the key "app.LEAF" of @container names. Writes NULL if
 * the key is not set. The caller owns *ret_root. *ret_file, the name of the file, lives as long
 * as @load. Returns 0 or a negative enum sim_exit.
 */
int cfg_derive_read(struct cfg_load *load, const struct cfg_container *container,
		    const char *leaf, json_t **ret_root, const char **ret_file);

/*
 * The word that the scenario or --set gives to the ENUM "app.LEAF" of @container, as its index.
 * -1: they do not set it. Returns 0 or -SIM_EXIT_USER.
 */
int cfg_derive_word(struct cfg_load *load, const struct cfg_container *container,
		    const char *leaf, int *ret_index);

/*
 * The number that any layer gives to the INTEGER "app.LEAF" of @container. 0: none does.
 * Returns 0 or -SIM_EXIT_USER.
 */
int cfg_derive_number(struct cfg_load *load, const struct cfg_container *container,
		      const char *leaf, u64 *ret_number);

/*
 * Set the key "app.LEAF" of @container to a number, or to @word if it is not NULL, as said by
 * @file, a name that cfg_derive_read() gave. Returns 0 or a negative enum sim_exit.
 */
int cfg_derive_set(struct cfg_load *load, const struct cfg_container *container,
		   const char *file, const char *leaf, u64 number, const char *word);

/* Where to report a mistake in the file, with cfg_error(). */
struct sim_error *cfg_derive_error(struct cfg_load *load);

#endif
