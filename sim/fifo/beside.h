/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What kernels that run side by side get of a GPU
 * ===============================================
 *
 * Shares are in ppm of the whole GPU, and a kernel's time is its time on the whole GPU. A
 * kernel says how many SMs its thread blocks fill (sm_ppm), how many it needs for full speed
 * (sm_need_ppm), in which part of its time any block runs (sm_busy_ppm), in which part of that
 * blocks only start and end (sm_fixed_ppm), and in which part it keeps the memory busy
 * (bandwidth_ppm). The kernels of a burst count as equal; these are their means. A small kernel
 * takes only a part of a turn (sm_turns_ppm) beside blocks that leave room for it
 * (sm_open_ppm).
 *
 * SMs
 * ---
 *
 * The leftover rule: thread blocks get SMs in the order in which their kernels came. So a kernel
 * beside others waits for one kernel of each, and then overlaps with their next ones. Kernels
 * that want more SMs than there are thus share them by the lengths of their kernels: max-min,
 * weighted by the time for which their blocks hold all SMs in a turn. Each gets at most what it
 * can fill. Half of what it wants means all of it for half of the time: so a kernel that fewer
 * SMs would do, because memory bounds it, is as much slower as any other.
 *
 * A small kernel waits for only a part of a turn where the blocks of the other one leave room on
 * their SMs (app_cost.h has which do). Its blocks hold hardly any SM themselves.
 *
 * Kernels that want less than there is, as a mean, still meet. One that comes while another one
 * runs has only the SMs that are left until the end of that one, half of it as a mean. The
 * longer a kernel pauses before its blocks run, the more it comes at any time: in that part of
 * its time it waits so.
 *
 * A kernel that waits for its faults keeps its SMs: its blocks stay resident. SMs that wait for
 * memory are held, too. Clients of lower priority share what those of higher priority leave. On
 * a GPU their blocks that run already end first; here they give way at once.
 *
 * Limits
 * ------
 *
 * A TSG's limit bounds what its kernels can fill. It lengthens neither the time in which no block
 * runs nor that in which blocks only start and end. The SMs of clients with limits are not quite
 * apart on a GPU: such a kernel has fifo_config.limited_speed_ppm of its speed beside others.
 *
 * A client with a limit beside one without: while a kernel of the first one runs, the second one
 * has what the limit leaves. Then it has all SMs until its own kernel ends, and the next kernel of
 * the first one waits for that. So a kernel counts with the SMs that it may have, for as long as
 * it takes there: longer where memory bounds it and others want the memory, too. And what limits
 * leave belongs to the others at all times: a kernel has that speed at least.
 *
 * Memory
 * ------
 *
 * Kernels that are on SMs at the same time use it in turns, each all of it or nothing, and
 * independently: a kernel's time with memory grows by the part of the time in which another one
 * uses it, too. Kernels that take turns on the SMs do not meet there. With a limit below its
 * need a kernel draws less at a time, and two such kernels disturb each other only by what they
 * draw above the bandwidth. Max-min bounds all of them together.
 *
 * Blocks that start and end wait for latencies. These are twice as long while others use the
 * memory: 15 kinds of neighbours make a norm of 32 blocks on SMs of its own 1.06 + 0.97 m times
 * as long, if they use the memory for a part m of the time.
 *
 * Measured
 * --------
 *
 * All on an H200, in plots/reference/hardware. A decoding step waits 370 times for one of the
 * long kernels of a pipeline, which runs at 0.7 of its speed (h200-corun/mps). By equal shares
 * of SMs the pipeline ran at half of its speed, and the step twice as fast as measured. The
 * speeds of two kinds of kernels that fill the SMs add up to 1, also where memory bounds one of
 * them (h200-580-mps-pairs.txt). So do steps of applications (h200-580-mps-steps.txt): a
 * decoding step beside a denoising one has 0.28 of its speed and that one 0.79, both as these
 * rules say. Small kernels of a CUDA graph wait for those of a trainer that its launches bound:
 * a replay of 706 takes 5.2 ms instead of 2.0 (h200-programs).
 *
 * One limit of two: 256 speeds of eight kinds with 50 or 25 % of the SMs beside eight without a
 * limit (h200-580-mps-limits.txt). 70 % of the speeds are within 25 % of the rules; where both
 * limits together are 100 %, 81 %. Without the rules for one limit it was 59 %. Of two copies
 * the one with half of the SMs was 2.5 times as fast as the other then. On the GPU it is 0.98
 * times as fast. What is left is mostly the GPU's power, which products of both draw, and small
 * kernels, which find places on SMs that others hold.
 *
 * Speeds
 * ------
 *
 * They are in whole ppm, rounded down. They hold from one event of the partition to the next:
 * bursts are advanced at their old speed before a share changes, and planned again. Work is
 * counted in ns at full speed and a rest in ppm of a ns, so that nothing is lost between
 * events.
 */
#ifndef SIM_FIFO_BESIDE_H
#define SIM_FIFO_BESIDE_H

#include "fifo/types.h"

/* The part @ppm of @whole. */
static inline u32 beside_part(u32 whole, u32 ppm)
{
	return (u32)((u64)whole * ppm / FIFO_ALL_PPM);
}

/*
 * Give each kernel on the partition the speed that its shares permit. @alone: a burst without
 * neighbours is planned ahead through the gaps between its kernels.
 */
void beside_set_speeds(struct fifo_partition *partition, bool alone);

#endif
