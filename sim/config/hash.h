/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Hashes of the inputs of a run: 128 bits of XXH3, as hexadecimal digits. */
#ifndef SIM_CONFIG_HASH_H
#define SIM_CONFIG_HASH_H

#include <stddef.h>
#include <xxhash.h>

struct sim_error;

#define CFG_HASH_MAX 33 /* the digits and a zero byte */

/*
 * Add a file: its bytes and then their number, which marks where the next file begins. Returns
 * 0 or a negative enum sim_exit.
 */
int cfg_hash_file(XXH3_state_t *state, const char *file, struct sim_error *err);

/* Write the digits of everything added so far. */
void cfg_hash_finish(const XXH3_state_t *state, char *ret_hex, size_t size);

#endif
