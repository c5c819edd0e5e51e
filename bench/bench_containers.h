/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Single operations of the clock on full devices. Each prints a table. */
#ifndef BENCH_BENCH_CONTAINERS_H
#define BENCH_BENCH_CONTAINERS_H

/* The cost of one operation on bigger devices and with more containers. */
void bench_growth(void);

/* The atomic pick, where nearly all chunks that it looks at belong to protected containers. */
void bench_pick(void);

#endif
