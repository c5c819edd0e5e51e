/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The parts of the clock's benchmark; clock.c tells what they are about. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "clock_world.h"

#define BENCH_CHUNKS_PER_GB 512u

/* How often everything is measured; what counts is the best. */
extern u32 bench_rounds;

/* A result that does not hold: said at once, and remembered for the exit status. */
void bench_expect(bool holds, const char *what);

/* Requests of the oracle through the core and through CLOCK on an array. */
void bench_zipf(u32 request_count);

/* What one operation costs on bigger devices and with more containers. */
void bench_growth(void);

/* The atomic pick, nearly all of whose looks meet chunks of protected containers. */
void bench_pick(void);

#endif
