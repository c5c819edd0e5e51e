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
 * What a kernel leaves to others
 * ------------------------------
 *
 * Clients of an MPS server run side by side. So a burst also says what it takes of the GPU
 * (struct fifo_burst): the SMs that its thread blocks hold, the SMs that it needs for full
 * speed, and the part of its time in which it keeps the memory busy. All three follow from its
 * shapes, and a burst has their means over its time.
 *
 *     kernel            a thread block computes                     so its blocks are
 *     matrix product    a tile of 128 rows and 128 columns, over    FLOP / (2 x 128 x 128 x 512)
 *                       512 of the inner dimension or more
 *     attention,        a tile of 128 keys and values of a head     bytes of KV / 64 KiB
 *       decoding        of 128
 *     attention,        a tile of 128 queries of a head             heads x tokens / 128
 *       prefill
 *     element by        16 bytes for each of 128 threads, read      bytes / 4 KiB
 *       element         and written
 *
 * Tiles of 128 x 128 are those of CUTLASS's and cuBLAS's kernels for large shapes. Where they
 * are fewer than the SMs, the library splits the inner dimension (split-K, FlashDecoding): 512
 * is an assumption, 8 to 16 steps of a kernel's main loop. A block needs an SM, and so n blocks
 * fill n SMs, at most all.
 *
 * The small kernels of an LLM step (norms, activations, position embeddings) have a block
 * for each token. Their blocks find a place beside those of another kernel, or wait for its
 * end. Which of the two depends on the other kernel. A tile of a product, a convolution or
 * attention takes much shared memory, so an SM has few of them, and room for others. Blocks
 * that go element by element take all places of an SM. On an H200 a kernel of 8 blocks waits
 * for 0.05 of a kernel with tiles in the mean, a norm of 32 blocks for 0.2, one of 128 for 0.4,
 * one of 512 for 0.6. Norms wait for 0.9 of a kernel that goes element by element. So a burst
 * says how many turns its kernels take beside tiles (sm_turns_ppm), and in which part of its
 * time it leaves such room itself (sm_open_ppm). A kernel with fewer blocks than SMs does, too.
 *
 * The overhead of a kernel has two parts. From the end of the kernel before it to its own start
 * no block runs: gpu.kernel_gap, or gpu.graph_gap in a CUDA graph. For the rest its blocks
 * start and end, and wait for latencies: they are on the SMs, and have fixed times.
 *
 * A block holds its SM until it ends, also while it waits for memory. A kernel that arithmetic
 * bounds needs all SMs that it holds. One that memory bounds keeps the memory busy from fewer:
 * gpu.memory_sms of them.
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

/*
 * Most kernels of a burst. With a second of launch or overhead each on the slowest host they
 * take less than FIFO_BURST_MAX_NS.
 */
#define APP_KERNELS_MAX 1000000ull

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
 * @cycles of an SM, spread over all SMs: what neither the peak of the tensor cores nor the
 * memory bounds. Kernels with few thread blocks, and those whose tensors stay in the L2, which
 * has the clock of the SMs. The GPU has gpu.sms and gpu.clock.
 */
u64 app_cycles_ns(const struct cfg_gpu *gpu, unsigned __int128 cycles);

/*
 * An all-reduce of @bytes among @ranks GPUs, as a ring: each GPU sends a part to the next one
 * in 2 (ranks - 1) steps, and all of it 2 (ranks - 1) / ranks times:
 *
 *     setup + 2 (N - 1) step + bytes 2 (N - 1) / N / bandwidth          of gpu.peer
 */
u64 app_reduce_ns(const struct cfg_gpu *gpu, u64 ranks, unsigned __int128 bytes);

/* Work of a burst on a GPU without neighbours, by what it takes. All-zero: none. */
struct app_work {
	u64 ns;			     /* all of it */
	u64 memory_ns;		     /* for which it keeps the memory busy */
	unsigned __int128 held_ns;   /* x ppm of the SMs that its thread blocks hold */
	unsigned __int128 needed_ns; /* x ppm of the SMs that it needs for full speed */
	u64 open_ns;		     /* of ns, in which blocks leave room for small kernels */
	u64 saved;	 /* turns that small kernels save, in ppm: app_work_count() */
	u64 overhead_ns; /* of a kernel; 0: gpu.kernel_overhead */
};

/*
 * How often a matrix product of @flops reads its @weights, bytes of 16-bit numbers,
 * from the next memory that caches nothing: once for each 256 rows of the other matrix.
 * Measured on an H200 (plots/reference/hardware/h200-580-remote.txt): 4, 8, 16 and 31
 * times for 1,024 to 8,192 rows.
 */
u32 app_product_reads(unsigned __int128 flops, u64 weights);

/* Thread blocks of a matrix product of @flops, and of a kernel that moves @bytes. */
u64 app_product_blocks(unsigned __int128 flops);
u64 app_element_blocks(unsigned __int128 bytes);

/*
 * Add work of @flops_ns of arithmetic and @bytes_ns of memory traffic side by side, by kernels
 * of @blocks thread blocks each.
 */
void app_work_add(struct app_work *work, const struct cfg_gpu *gpu, u64 flops_ns, u64 bytes_ns,
		  u64 blocks);

/*
 * Likewise of kernels that take @cycles_ns of all SMs, app_cycles_ns(), by @blocks blocks each.
 */
void app_work_add_cycles(struct app_work *work, const struct cfg_gpu *gpu, u64 cycles_ns,
			 u64 blocks);

/*
 * Likewise of matrix products. One whose arithmetic and traffic would take equally long takes
 * @ridge, in ppm, longer than either: a tile's first loads and its last stores overlap with
 * nothing. With the ratio of the shorter time to the longer one that falls by the third power.
 * Measured on an H200 (plots/reference/hardware/h200-corun/alone/products.csv): 0.24 fits best,
 * with gpu.kernel_overhead and the shares of peak and bandwidth as they are. Products of 64 to
 * 256 tokens are then off by 6.0 % in the mean, without it by 7.8 %. On an H100, measured
 * afterwards (h100-corun/alone/products.csv), they are off by 5.3 %, without it by 11.5 %.
 */
void app_work_add_product(struct app_work *work, const struct cfg_gpu *gpu, u64 ridge,
			  u64 flops_ns, u64 bytes_ns, u64 blocks);

/*
 * Say that the work's kernels keep the memory busy for @bytes_ns more. It takes no time: they are
 * bound by arithmetic or cycles. It counts where others want the memory, too.
 */
void app_work_move(struct app_work *work, u64 bytes_ns);

/*
 * Turns that a kernel of @blocks small thread blocks takes beside kernels that leave room, in ppm.
 * One with more than four for each SM takes a whole one.
 */
u32 app_small_turns(const struct cfg_gpu *gpu, u64 blocks);

/*
 * Say that @kernels of the work's kernels take @turns each, in ppm. Kernels that are never
 * mentioned take a whole one.
 */
void app_work_save(struct app_work *work, u64 kernels, u32 turns);

/* Likewise of kernels of @blocks small thread blocks each. */
void app_work_count(struct app_work *work, const struct cfg_gpu *gpu, u64 kernels, u64 blocks);

struct cuda_burst_config;

/*
 * Set times and shares of @burst, whose kernels are there: they do @work, an equal part each. They
 * are a library's: what they do not touch at once they go through in fronts.
 */
void app_work_burst(const struct app_work *work, const struct cfg_gpu *gpu,
		    struct cuda_burst_config *burst);

/* Host work of @ns on the reference host. */
u64 app_host_ns(const struct cfg_host *host, unsigned __int128 ns);

/*
 * Host time for each kernel of a launch that takes @launch_ns on the reference host: of one
 * kernel, or of a CUDA graph with @kernels of them.
 */
u64 app_launch_ns(const struct cfg_host *host, u64 launch_ns, u64 kernels);

#endif
