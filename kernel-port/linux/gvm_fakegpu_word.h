/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What kernels of tests store in memory, on the GPU made of RAM and on the software GPU. */
#ifndef GVM_FAKEGPU_WORD_H
#define GVM_FAKEGPU_WORD_H

#include <linux/types.h>

/*
 * The pattern: the word at an address, by Steele, Lea and Flood's SplitMix64. Words at two
 * addresses, or at one address under two seeds, differ.
 */
static inline __u64 gvm_fakegpu_word(__u64 seed, __u64 va)
{
	__u64 z = seed * 0xd1342543de82ef95ull + (va >> 3) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
