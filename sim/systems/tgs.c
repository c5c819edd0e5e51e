// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * tgs: Transparent GPU Sharing (Wu et al., NSDI 2023), a baseline of the GVM paper. A library
 * in each container, below the application and above CUDA, counts launches. The library of the
 * low-priority container delays its launches while the high-priority one is slower than its
 * highest rate. There are no control files. Memory is unified memory, paged by the stock driver
 * with advice: what the low-priority container has lost is read over the link.
 *
 * The constants are the public code's (github.com/pkusys/TGS, e1c6a31; H is
 * hijack/src/high_priority_hijack_call.c and L is low_priority_hijack_call.c):
 *
 *     high-priority   Its rate is the number of thread blocks that it has launched in 5 s
 *                     (H:138). It looks for the low-priority process's socket ten times a
 *                     second (H:191). On connection it sends its highest rate so far (H:227),
 *                     then every 5 s the rate of the last period (H:255).
 *     low-priority    It counts the blocks that it launches, from 0 again every 50 ms (L:587).
 *                     While they are more than the limit, its host thread sleeps 10 ms at a
 *                     time before each launch (L:564 to 581, TIME_TICK of hijack.h). So the
 *                     first kernel of a window is always launched.
 *     the limit       Adaptive, like a congestion window: tgs_rate.c. At first the limit is 0,
 *                     for at least 25 s and until the highest rate is known (L:418). While the
 *                     high-priority process is idle that never happens. From the 15th message
 *                     of control on, if more than two of the last five rates are below 1000
 *                     blocks, the limit is 2^32 blocks. If exactly two are, it starts anew at
 *                     20,000.
 *
 * The high-priority container is the one with the most important compute.priority. As in the
 * public code a GPU has one pair. Of several important containers the first that launches is
 * counted, and of the others the first that launches is withheld; the rest have no limit.
 *
 *     memory          Each allocation (cuMemAlloc) becomes managed memory with advice, before it has
 *                     contents (cuMemAdvise). The high-priority process's prefers the GPU
 *                     (H:387, 402), so its faults migrate. The low-priority one's is "accessed
 *                     by" the GPU (L:681, 705): an evicted chunk is mapped where it is then,
 *                     and its kernels read and write it over the link, without a fault, for
 *                     good (nvuvm/advice.c, fifo/remote.c).
 *
 * Kernels of both run in turns of the hardware: the public code runs its containers without
 * MPS. The GVM paper says that TGS builds on MPS; containers with one mps.server do
 * (sim/systems/mps.c).
 *
 *
 * Which calls does it catch?
 *
 * The library is preloaded, and copies of it have the sonames libcuda.so and libcuda.so.1
 * (hijack/build.sh:20 to 31). It hooks neither dlsym() nor dlopen(). PyTorch's CUDA runtime is
 * linked statically and opens libcuda.so.1: the dynamic linker gives it the library. Until
 * CUDA 11.2 the runtime looks up each function there by its name, so launches and
 * allocations are both caught.
 *
 * Since 11.3 it asks for cuGetProcAddress (github.com/tkestack/vcuda-controller, issue
 * 20, a library of the same descent), and TGS has none. Seen with the runtime of CUDA
 * 13.0 and the public code, without a GPU: the look-up of cuGetProcAddress_v2 fails,
 * and the runtime falls back to names, again in TGS's library. Its first call is then
 * cuGetExportTable, by a pointer that TGS sets in cuInit and in cuDriverGetVersion only
 * (L:647 to 662), and the process dies of SIGSEGV. With that pointer set it goes on by
 * names. The runtime of CUDA 12 was not at hand.
 *
 * So a newer runtime does not part the two halves: both are caught by name, or the process does
 * not start. Launches that TGS has no name for (cuLaunchKernelEx) fail then and do not pass it
 * by. The published run, of vLLM on CUDA 12, was of a library that had been changed. How is not
 * known. By default both halves are at work, as the code has it. system.rate_limit and
 * system.advice switch one of them off, for the question which of them does what.
 *
 *
 * How it differs from TGS
 *
 *   1. Kernels here have no grid: each counts as system.blocks_per_kernel thread blocks. The
 *      default is assumed, two waves on the 108 SMs of an A100 and a rest. It is the unit of
 *      the limit's first value and of its smallest step, not of its relative steps.
 *   2. When the high-priority process exits, TGS prefetches the other's memory (L:511). Here it
 *      stays where it is.
 *   3. The accesses of a copy that faults count as kernels. The public code neither counts nor
 *      holds copies.
 *   4. A CUDA graph counts as its kernels, and is held. The public code passes cuGraphLaunch on
 *      (cuda_originals.c:1619).
 */
#include "systems/tgs_rate.h"

#include <stdlib.h>

#include "fifo/fifo.h"
#include "systems/core.h"
#include "systems/system.h"

#define NS_PER_MS      1000000ull
#define PERIOD_NS      (5000 * NS_PER_MS) /* H:138, H:184 */
#define SOCKET_LOOK_NS (100 * NS_PER_MS)  /* H:191 */
#define LOOKS_PER_RATE 21		  /* H:209 */
#define WINDOW_NS      (50 * NS_PER_MS)	  /* L:587 */
#define SLEEP_NS       (10 * NS_PER_MS)	  /* L:53 */

struct tgs_keys {
	u64 blocks_per_kernel;
	bool rate_limit;
	bool advice;
};

static const struct cfg_key tgs_rows[] = {
	CFG_SYSTEM_KEY("blocks_per_kernel", INTEGER, struct tgs_keys, blocks_per_kernel, "256",
		       "thread blocks that a kernel counts as", CFG_RANGE(1, 1000000)),
	CFG_SYSTEM_KEY("rate_limit", BOOL, struct tgs_keys, rate_limit, "true",
		       "launches of low priority are held up by rate"),
	CFG_SYSTEM_KEY(
		"advice", BOOL, struct tgs_keys, advice, "true",
		"memory of high priority prefers the GPU, other memory is accessed by it"),
};

/* The library in a container. */
struct tgs_process {
	struct tgs *tgs;
	struct cuda_context *context; /* NULL: it has none, or not any more */
	bool high;
	bool launched;		/* its first launch has started its threads */
	struct eng_timer timer; /* high: of its rate; low: of its windows */
	struct eng_timer wake;	/* high: of messages; low: its host thread wakes up */
	u64 counted;		/* kernels launched up to the last rate or window */
	u64 rate;		/* blocks, in the last period or window */
	/* high-priority */
	u64 rates[TGS_WINDOW];
	u64 max_rate;
	u32 looks; /* for the socket, since the last rate */
};

/* TGS on one GPU. */
struct tgs {
	u64 blocks_per_kernel;
	bool rate_limit;
	bool advice;
	struct tgs_process *high; /* of the pair; NULL: none that has launched */
	struct tgs_process *low;
	bool connected;
	struct tgs_rate rate;
	const struct config *config;
	struct tgs_process *processes; /* by number of their container in the configuration */
};

static struct fifo_tsg *process_tsg(const struct tgs_process *process)
{
	return &process->context->process->tsg;
}

/* Kernels that it has launched, ever. */
static u64 process_launched(const struct tgs_process *process)
{
	struct fifo_tsg *tsg = process_tsg(process);

	fifo_update(tsg->fifo);
	return fifo_ended_kernels(tsg) + fifo_pending_kernels(tsg);
}

/* A period or window is over: what did it launch? */
static void process_count(struct tgs_process *process)
{
	u64 launched = process_launched(process);

	process->rate = (launched - process->counted) * process->tgs->blocks_per_kernel;
	process->counted = launched;
}

/* What the low-priority process may launch in this window, by the limit. */
static void low_allow(struct tgs_process *low)
{
	const struct tgs *tgs = low->tgs;
	u64 kernels = tgs->rate.limit / tgs->blocks_per_kernel + 1;

	fifo_allow(process_tsg(low), max(low->counted + kernels, process_launched(low)), true);
}

/* The limit or the count has changed: a thread that sleeps sees it when it wakes up. */
static void low_notice(struct tgs_process *low)
{
	u64 since, sleeps;

	if (!low->tgs->connected)
		return;
	since = fifo_withheld_since(process_tsg(low));
	if (since == ENG_NEVER) {
		low_allow(low);
		return;
	}
	sleeps = (eng_now() - since + SLEEP_NS - 1) / SLEEP_NS;
	eng_timer_set(&low->wake, since + sleeps * SLEEP_NS);
}

static void low_wake(struct eng_timer *timer)
{
	low_allow(container_of(timer, struct tgs_process, wake));
}

static void low_window(struct eng_timer *timer)
{
	struct tgs_process *low = container_of(timer, struct tgs_process, timer);

	process_count(low);
	low_notice(low);
	eng_timer_set(timer, eng_now() + WINDOW_NS);
}

static void high_period(struct eng_timer *timer)
{
	process_count(container_of(timer, struct tgs_process, timer));
	eng_timer_set(timer, eng_now() + PERIOD_NS);
}

/* H:216 to 224, and 246 to 253: the highest rate so far follows the window. */
static void high_observe(struct tgs_process *high)
{
	u64 most = tgs_shift_window(high->rates, high->rate);
	bool near = most >= high->max_rate * 8 / 10 && most <= high->max_rate * 12 / 10;

	high->max_rate = near ? max(high->max_rate, most) : most;
}

static void high_connect(struct tgs *tgs)
{
	tgs->connected = true;
	tgs_rate_connect(&tgs->rate, tgs->high->max_rate);
	low_notice(tgs->low);
	eng_timer_set(&tgs->high->wake, eng_now() + PERIOD_NS);
}

/* A message, or a look for the socket. */
static void high_wake(struct eng_timer *timer)
{
	struct tgs_process *high = container_of(timer, struct tgs_process, wake);
	struct tgs *tgs = high->tgs;

	if (tgs->connected) {
		high_observe(high);
		tgs_rate_message(&tgs->rate, high->rate, tgs->low->rate);
		low_notice(tgs->low);
		eng_timer_set(timer, eng_now() + PERIOD_NS);
		return;
	}
	if (tgs->low) {
		high_connect(tgs);
		return;
	}
	if (++high->looks == LOOKS_PER_RATE) {
		high->looks = 0;
		high_observe(high);
	}
	eng_timer_set(timer, eng_now() + SOCKET_LOOK_NS);
}

static int tgs_create(struct cuda_device *device, const struct config *config)
{
	const struct tgs_keys *keys = config->system_keys;
	struct tgs *tgs = calloc(1, sizeof(*tgs));

	if (!tgs)
		return -ENOMEM;
	tgs->blocks_per_kernel = keys->blocks_per_kernel;
	tgs->rate_limit = keys->rate_limit;
	tgs->advice = keys->advice;
	tgs->config = config;
	tgs->processes = calloc(config->container_count + 1, sizeof(*tgs->processes));
	if (!tgs->processes) {
		free(tgs);
		return -ENOMEM;
	}
	device->library_data = tgs;
	return 0;
}

static void tgs_destroy(struct cuda_device *device)
{
	struct tgs *tgs = device->library_data;

	free(tgs->processes);
	free(tgs);
}

static void process_stop(struct tgs_process *process)
{
	eng_timer_cancel(&process->timer);
	eng_timer_cancel(&process->wake);
}

static void tgs_stop(struct cuda_device *device)
{
	struct tgs *tgs = device->library_data;

	for (size_t i = 0; i < tgs->config->container_count; i++)
		process_stop(&tgs->processes[i]);
}

static void tgs_attach(struct cuda_context *context, const struct cfg_container *container)
{
	struct tgs *tgs = context->device->library_data;
	struct tgs_process *process = &tgs->processes[container - tgs->config->containers];

	*process = (struct tgs_process){
		.tgs = tgs,
		.context = context,
		.high = sim_system_is_first(tgs->config, container),
	};
	context->library_data = process;
}

/* The connection ends with either process. Without one there is no limit. */
static void tgs_detach(struct cuda_context *context)
{
	struct tgs_process *process = context->library_data;
	struct tgs *tgs = context->device->library_data;

	if (!process)
		return;
	context->library_data = NULL;
	process_stop(process);
	if (process == tgs->low) {
		tgs->low = NULL;
		if (tgs->connected) {
			tgs->high->max_rate = tgs->high->max_rate * 8 / 10; /* H:263 */
			eng_timer_set(&tgs->high->wake, eng_now());
		}
		tgs->connected = false;
	} else if (process == tgs->high) {
		tgs->high = NULL;
		if (tgs->connected) {
			eng_timer_cancel(&tgs->low->wake);
			fifo_allow(process_tsg(tgs->low), FIFO_ALLOW_ALL, true);
		}
		tgs->connected = false;
	}
	process->context = NULL;
}

/* Its first launch starts the library's threads. */
static void tgs_busy(struct cuda_context *context)
{
	struct tgs_process *process = context->library_data;
	struct tgs *tgs = context->device->library_data;

	if (!process || process->launched || !tgs->rate_limit)
		return;
	process->launched = true;
	if (process->high && !tgs->high) {
		tgs->high = process;
		process->timer.fire = high_period;
		process->wake.fire = high_wake;
		eng_timer_set(&process->timer, eng_now() + PERIOD_NS);
		eng_timer_set(&process->wake, eng_now());
	} else if (!process->high && !tgs->low) {
		tgs->low = process;
		process->timer.fire = low_window;
		process->wake.fire = low_wake;
		eng_timer_set(&process->timer, eng_now() + WINDOW_NS);
	}
}

static enum cuda_advice tgs_advice(struct cuda_context *context)
{
	const struct tgs_process *process = context->library_data;

	if (!process || !process->tgs->advice)
		return CUDA_NO_ADVICE;
	return process->high ? CUDA_PREFER_DEVICE : CUDA_ACCESSED_BY_DEVICE;
}

static const struct cuda_library tgs_library = {
	.create = tgs_create,
	.destroy = tgs_destroy,
	.stop = tgs_stop,
	.attach = tgs_attach,
	.detach = tgs_detach,
	.busy = tgs_busy,
	.advice = tgs_advice,
};

const struct sim_system system_tgs = {
	.keys = {
		.name = "tgs",
		.summary = "one GPU, launches of low priority held up by rate: TGS",
		CFG_KEYS(tgs_rows),
		.bytes = sizeof(struct tgs_keys),
	},
	.by_priority = true,
	.memory = sim_system_nvidia_memory,
	.library = &tgs_library,
};
