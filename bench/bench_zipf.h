/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef BENCH_BENCH_ZIPF_H
#define BENCH_BENCH_ZIPF_H

#include "engine/types.h"

/*
 * Replay requests like the oracle's through the core and through CLOCK on an array. Prints a
 * table.
 */
void bench_zipf(u32 request_count);

#endif
