/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Traces of a toy program on a toy GPU, written event by event, and the step that is read of one.
 * A file is in a fresh folder for each test.
 */
#ifndef TORCH_FIXTURE_H
#define TORCH_FIXTURE_H

#include <stdbool.h>

#include "config/config.h"
#include "engine/error.h"
#include "import/torch_step.h"
#include "import/torch_trace.h"

/* A byte and a FLOP take 1 ns; 4 SMs at 1 GHz. Its host has twice the speed of the reference. */
extern const struct cfg_gpu gpu;
extern const struct cfg_host host;

extern char trace_path[96], app_path[96]; /* of the trace, and of an application */
extern struct torch_trace trace;
extern struct torch_step step;
extern struct sim_error err;

/* Of each test. */
void make_folder(void);
void remove_folder(void);

/* Begin a trace, which has the properties of the GPU; its name is "Toy", or @device. */
void begin_trace(void);
void begin_trace_of(const char *device);

/* Add text, or an event, to it. Dates in us. */
void put(const char *more);
void put_event(const char *category, const char *name, double start, double end,
	       int correlation, int blocks);

/* End the trace with @more keys and write it, with or without compression. */
void end_trace(const char *more, bool packed);

/*
 * A product and a kernel of 8000 bytes in 10 us, each. The host waits, and launches 110.5 us after
 * the end of both a slow kernel on one SM. Calls without kernels do not count.
 */
void put_step(void);

/* The key of the recorder that says so. */
#define BYTES                                                         \
	"\"kernel_bytes\": [[\"add\", [2, 1, 1], [32, 1, 1], 8000], " \
	"[\"softmax\", [1, 1, 1], [32, 1, 1], 500]]"

/* Write a trace of that step, with @more keys, and read it into @trace and @step. */
void read_step(const char *more, bool packed);

/* Frees both. */
void destroy(void);

#endif
