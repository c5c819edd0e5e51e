/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How long work takes on the configured machine
 * =============================================
 *
 * A kernel takes a fixed time (gpu.kernel_overhead: it starts, fills the SMs and drains them),
 * and on top of it the longer of its memory traffic and its arithmetic, at the shares of the
 * GPU's peaks that its library reaches:
 *
 *     overhead + max(bytes / (bandwidth * share), FLOP / (peak * efficiency))
 *
 * That is all of the "rate of a matrix product by its number of tokens". On an H200 it gives
 * the times of 115 products of 1 to 8192 tokens within 6 % in the median and 20 % at worst,
 * with one overhead, one share and one efficiency
 * (plots/reference/hardware/h200-corun/alone/products.csv). Few tokens are bound by the reading
 * of weights, many by arithmetic, and a small layer by its overhead: a decode step of 370
 * kernels spends 1 ms of 2.5 on that.
 *
 * Everything is rounded down to whole ns; products are formed in 128 bits. Work that would take
 * longer than any run takes APP_COST_MAX_NS, so that dates stay in 64 bits.
 */
#ifndef SIM_APPS_APP_COST_H
#define SIM_APPS_APP_COST_H

#include "config/config.h"
#include "gvm/port.h"

/* A year: longer than any run, and sums of many fit into 64 bits. */
#define APP_COST_MAX_NS 31536000000000000ull

/* @flops at @efficiency (ppm) of the GPU's peak. */
u64 app_flops_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops);

/*
 * Likewise of products in fp8. A GPU without arithmetic in fp8 expands the weights, and
 * computes in bf16.
 */
u64 app_flops_fp8_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops);

/*
 * Likewise of a kernel whose products are mma.sync, @efficiency of that instruction's peak. A
 * Hopper GPU reaches the peak of its data sheet by wgmma only.
 */
u64 app_flops_mma_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops);

/* @bytes of device memory traffic, at @share (ppm) of its bandwidth. */
u64 app_bytes_ns(const struct cfg_gpu *gpu, u64 share, unsigned __int128 bytes);

/*
 * GPU time of each of @kernels equal kernels that have @work_ns of traffic and arithmetic
 * together.
 */
u64 app_kernel_ns(const struct cfg_gpu *gpu, u64 work_ns, u64 kernels);

/* Host work of @ns on the reference host. */
u64 app_host_ns(const struct cfg_host *host, unsigned __int128 ns);

/*
 * Host time for each kernel of a launch that takes @launch_ns on the reference host: of one
 * kernel, or of a CUDA graph with @kernels of them.
 */
u64 app_launch_ns(const struct cfg_host *host, u64 launch_ns, u64 kernels);

#endif
