/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * An application on a simulated GPU of 16 chunks, checked to the nanosecond.
 *
 * The machine makes sums easy: 1 byte/ns and 1 FLOP/ns, faults that cost next to nothing,
 * context switches that cost nothing, and a host of twice the reference speed. One simulation a
 * test.
 */
#ifndef APPS_FIXTURE_H
#define APPS_FIXTURE_H

#include "apps/app.h"
#include "cuda/device.h"
#include "runner.h"

#define CHUNK GVM_CHUNK_BYTES
#define US    1000ull
#define MS    1000000ull

extern struct config config;
extern struct cfg_container container;
extern struct sim_memory_policy policy;
extern u64 limit_bytes;	     /* of its container; GVM_NO_LIMIT at first */
extern const void *prepared; /* app_env.prepared */
extern bool listens;	     /* for pressure */
extern u64 reopen_ns;	     /* of app_env; 0 at first */

extern struct sim_gpu gpu;
extern struct sim_process process;
extern struct app_log app_log;

/* What became of the application. */
extern int app_status;
extern u64 app_end_ns;
extern u64 resident_at_end;
extern u32 blocks_at_end; /* of its first allocation, that are resident: a bit each, up to 32 */

/*
 * Dates at which the context is killed, the run is stopped, and the container is told that
 * @post_bytes of its memory are wanted; ENG_NEVER.
 */
extern u64 kill_ns;
extern u64 interrupt_ns;
extern bool event_stops; /* at interrupt_ns, and the run goes on; false at first */
extern u64 post_ns;
extern u64 post_bytes;

/* Bytes that its container is charged at up to WATCHES dates; 0: not such a date. */
#define WATCHES 4
extern u64 watch_ns[WATCHES];
extern u64 charged_at[WATCHES];

/* The machine, and an application with these keys. */
void init_machine(const struct sim_app *app, void *keys);

/* Start everything, wait for the application, check that it leaves nothing, and tear down. */
void simulate(void);

/* Record @index of the log: dates from its arrival on; 0: it did not happen. */
void expect_record(size_t index, enum app_outcome outcome, u64 arrival, u64 ttft, u64 latency);

#endif
