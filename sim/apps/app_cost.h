/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How long work takes on the configured machine: bytes over a bandwidth, FLOP over a rate, host
 * work over a speed. Everything is rounded down to whole ns; products are formed in 128 bits. Work
 * that would take longer than any run takes APP_COST_MAX_NS, so that dates stay in 64 bits.
 */
#ifndef SIM_APPS_APP_COST_H
#define SIM_APPS_APP_COST_H

#include "config/config.h"
#include "gvm/port.h"

/* A year: longer than any run, and sums of many fit into 64 bits. */
#define APP_COST_MAX_NS 31536000000000000ull

/* @flops at @efficiency (ppm) of the GPU's peak. */
u64 app_flops_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops);

/* @bytes of device memory traffic. */
u64 app_bytes_ns(const struct cfg_gpu *gpu, unsigned __int128 bytes);

/* Host work of @ns on the reference host. */
u64 app_host_ns(const struct cfg_host *host, unsigned __int128 ns);

#endif
