/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Random numbers of the tests, the same in user space and in a kernel: splitmix64. */
#ifndef TESTS_DRAW_H
#define TESTS_DRAW_H

#include "gvm/port.h"

/* The next 64 bits; *state may begin with any value. */
static inline u64 draw_bits(u64 *state)
{
	u64 z = *state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/* A random number from 0 to @below - 1. */
static inline u32 draw_below(u64 *state, u32 below)
{
	return (u32)(draw_bits(state) % below);
}

#endif
