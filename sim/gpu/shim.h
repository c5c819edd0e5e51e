/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The user-space shims of a GPU's processes, as far as the scheduler sees them (GVM 4.4): they
 * count launches, put an event behind them every so often, and report both counts to the driver.
 * So the driver knows what was pending at the last event, and nothing since.
 *
 * The paper says every 2 ms; the published code, 8 ms. An event costs no time here.
 */
#ifndef SIM_GPU_SHIM_H
#define SIM_GPU_SHIM_H

#include "engine/engine.h"
#include "gvm/port.h"

struct sim_gpu;
struct sim_process;

struct sim_shim {
	struct sim_gpu *gpu; /* NULL: not started */
	struct eng_timer timer;
	u64 interval_ns;
};

/* Report every @interval_ns, from now on, until stopped. */
void sim_shim_start(struct sim_shim *shim, struct sim_gpu *gpu, u64 interval_ns);
void sim_shim_stop(struct sim_shim *shim);

/* A process exits: what it had pending will never end. */
void sim_shim_forget(struct sim_process *process);

#endif
