/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Random numbers that depend on a seed and a name alone, so that a run with the same seed is
 * the same on every machine, and what one container draws does not depend on another.
 * SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
 */
#ifndef SIM_ENGINE_RANDOM_H
#define SIM_ENGINE_RANDOM_H

#include "engine/types.h"

/* A state for what @name draws under @seed. */
static inline u64 random_begin(u64 seed, const char *name)
{
	u64 state = seed;

	for (; *name; name++)
		state = state * 0x100000001b3ull + (u8)*name;
	return state;
}

/* The next 64 random bits. */
static inline u64 random_next(u64 *state)
{
	u64 bits = *state += 0x9e3779b97f4a7c15ull;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
	return bits ^ bits >> 31;
}

/* A number from 0 to @limit - 1, each as likely up to 2^-64 * @limit. @limit is not 0. */
static inline u64 random_below(u64 *state, u64 limit)
{
	return (u64)((unsigned __int128)random_next(state) * limit >> 64);
}

#endif
