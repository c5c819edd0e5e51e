/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The kernel's integer types, for all code outside the core and for its user-space port.
 *
 * u64 is unsigned long long, as in the kernel, so that "%llu" is right in both worlds. u64 and
 * uint64_t have the same size, but are different types for a pointer.
 */
#ifndef SIM_ENGINE_TYPES_H
#define SIM_ENGINE_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;

#define U64_MAX (~0ull)
#define U32_MAX (~0u)

#endif
