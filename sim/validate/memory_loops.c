// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The loops of plots/reference/hardware/uvmbench.cu, over a simulated GPU with NVIDIA's driver.
 *
 * Each loop has a GPU of its own that has been idle for a while: its first fault is a cold one. As
 * there, a time includes one kernel launch. A kernel's threads are all on the SMs at once and fault
 * side by side; a thread that reads one page after the other is a burst for each.
 */
#include <stdlib.h>

#include "gpu/process.h"
#include "validate/loops.h"

#define BLOCK_BYTES    GVM_CHUNK_BYTES
#define SPREAD_BYTES   (1ull << 30)
#define THREADS_4K     262144ull
#define CHASE_LENGTH   256u
#define IDLE_NS	       1000000000ull
#define HIT_NS	       200ull  /* an access that hits, from fault_walk: 128 to 352 ns */
#define KERNEL_NS      2000ull /* a kernel that has nothing to do but to touch */
#define FAULTS_PER_64K 16u     /* threads with a 4 KB page each */

/* A GPU with one process. */
struct rig {
	const struct config *config;
	struct sim_gpu gpu;
	struct sim_process process;
	struct gvm_range *range;
	int status;
};

/* All of the pages that a loop touches, as touches of a kernel. */
struct pattern {
	struct gmmu_touch *touches;
	u32 *masks;
	u64 *groups; /* see struct gmmu_touch */
	u32 count;
	u32 kernels;	     /* launches after each other, for more pages than threads */
	u32 faults_per_page; /* see struct fifo_burst */
};

static void *must_alloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		hw_out_of_memory();
	return memory;
}

/* Launch a kernel and wait for it. Returns how long that took, in ns. */
static u64 rig_run(struct rig *rig, struct fifo_burst *burst)
{
	u64 start = eng_now();

	fifo_submit(&rig->process.tsg, burst);
	if (fifo_wait(burst))
		rig->status = -SIM_EXIT_RUNTIME;
	return eng_now() - start;
}

/* The context is loaded, and the driver has gone to sleep. */
static void rig_start(struct rig *rig, u64 bytes, bool on_host)
{
	static const struct sim_memory_policy nvidia = { .manager = &sim_manager_nvuvm };
	struct fifo_burst first = { .kernels = 1, .kernel_ns = KERNEL_NS };

	if (!sim_gpu_init(&rig->gpu, "gpu", &rig->config->gpu, &nvidia) &&
	    !sim_gpu_start(&rig->gpu) && !sim_process_start(&rig->process, &rig->gpu, 1))
		rig->range = sim_process_map(&rig->process, bytes, on_host);
	if (!rig->range)
		hw_out_of_memory();
	rig_run(rig, &first);
	eng_sleep_until(eng_now() + IDLE_NS);
}

static void rig_stop(struct rig *rig)
{
	sim_process_exit(&rig->process);
	sim_gpu_stop(&rig->gpu);
	sim_gpu_destroy(&rig->gpu);
	rig->range = NULL;
}

static u64 rig_run_pattern(struct rig *rig, const struct pattern *pattern)
{
	struct fifo_burst burst = {
		.kernels = pattern->kernels,
		.kernel_ns = KERNEL_NS,
		.launch_ns = rig->config->host.kernel_launch,
		.touches = pattern->touches,
		.touch_count = pattern->count,
		.pages_at_once = GVM_PAGES_PER_BLOCK,
		.faults_per_page = pattern->faults_per_page,
	};

	return rig_run(rig, &burst);
}

static void pattern_destroy(struct pattern *pattern)
{
	free(pattern->touches);
	free(pattern->masks);
	free(pattern->groups);
}

/* A touch for each page, in the order of @pages; @at(i) is page number i. */
static struct pattern pattern_of_pages(struct gvm_range *range, const u32 *pages, u32 count)
{
	struct pattern pattern = { .count = count, .kernels = 1 };
	u32 i;

	pattern.touches = must_alloc(count, sizeof(*pattern.touches));
	pattern.masks = must_alloc(count, sizeof(*pattern.masks));
	/* Each touch has one group. */
	pattern.groups = must_alloc(1, sizeof(*pattern.groups));
	pattern.groups[0] = 1;
	for (i = 0; i < count; i++) {
		pattern.masks[i] = 1u << pages[i] % GVM_PAGES_PER_BLOCK;
		pattern.touches[i] = sim_touch_blocks(range, pages[i] / GVM_PAGES_PER_BLOCK, 1,
						      GVM_ACCESS_WRITE);
		pattern.touches[i].masks = &pattern.masks[i];
		pattern.touches[i].groups = pattern.groups;
		pattern.touches[i].blocks_per_mask = 1;
	}
	return pattern;
}

/* One touch of all blocks: @count pages, from the first on, every @step-th. */
static struct pattern pattern_of_blocks(struct gvm_range *range, u32 count, u32 step)
{
	struct pattern pattern = { .count = 1, .kernels = 1 };
	u32 i;

	pattern.touches = must_alloc(1, sizeof(*pattern.touches));
	pattern.masks = must_alloc(range->block_count, sizeof(*pattern.masks));
	for (i = 0; i < count; i++)
		pattern.masks[i * step / GVM_PAGES_PER_BLOCK] |=
			1u << i * step % GVM_PAGES_PER_BLOCK;
	pattern.groups =
		must_alloc(GMMU_GROUP_WORDS(range->block_count), sizeof(*pattern.groups));
	gmmu_index_masks(pattern.masks, range->block_count, pattern.groups);
	pattern.touches[0] =
		sim_touch_masked(range, pattern.masks, pattern.groups, 1, GVM_ACCESS_WRITE);
	return pattern;
}

static u64 loop_blocks(struct rig *rig, u64 bytes, u32 count, u32 step)
{
	struct pattern pattern;
	u64 ns;

	rig_start(rig, bytes, true);
	pattern = pattern_of_blocks(rig->range, count, step);
	ns = rig_run_pattern(rig, &pattern);
	rig_stop(rig);
	pattern_destroy(&pattern);
	return ns;
}

/* More threads than pages: they all run at once. Fewer: they come back for the rest. */
static u64 loop_4k(struct rig *rig, u64 bytes, bool on_host)
{
	struct pattern pattern;
	u64 ns;

	rig_start(rig, bytes, on_host);
	pattern = pattern_of_blocks(rig->range, (u32)(bytes >> GVM_PAGE_SHIFT), 1);
	pattern.faults_per_page = FAULTS_PER_64K;
	pattern.kernels = (u32)((bytes + THREADS_4K * 4096 - 1) / (THREADS_4K * 4096));
	ns = rig_run_pattern(rig, &pattern);
	rig_stop(rig);
	pattern_destroy(&pattern);
	return ns;
}

/* The same permutation as there. */
static void shuffle(u32 *pages, u32 count)
{
	u32 state = 7;
	u32 i;

	for (i = count; i > 1; i--) {
		state = state * 1664525u + 1013904223u;
		swap(pages[i - 1], pages[((u64)state * i) >> 32]);
	}
}

static u64 loop_random(struct rig *rig, u64 bytes)
{
	u32 count = (u32)(bytes >> GVM_PAGE_SHIFT);
	u32 *pages = must_alloc(count, sizeof(*pages));
	struct pattern pattern;
	u64 ns;
	u32 i;

	for (i = 0; i < count; i++)
		pages[i] = i;
	shuffle(pages, count);
	rig_start(rig, bytes, true);
	pattern = pattern_of_pages(rig->range, pages, count);
	ns = rig_run_pattern(rig, &pattern);
	rig_stop(rig);
	pattern_destroy(&pattern);
	free(pages);
	return ns;
}

static u64 loop_prefetch(struct rig *rig, u64 bytes, enum gvm_processor to)
{
	u64 start, ns;

	rig_start(rig, bytes, true);
	if (to == GVM_PROCESSOR_CPU &&
	    sim_process_prefetch(&rig->process, rig->range, GVM_PROCESSOR_GPU))
		rig->status = -SIM_EXIT_RUNTIME;
	start = eng_now();
	if (sim_process_prefetch(&rig->process, rig->range, to))
		rig->status = -SIM_EXIT_RUNTIME;
	ns = eng_now() - start;
	rig_stop(rig);
	return ns;
}

/* One thread reads CHASE_LENGTH pages, one after the other, @step pages apart. */
static void loop_chase(struct rig *rig, u32 step, u64 *ret_ns)
{
	struct pattern pattern;
	u32 page, i;

	rig_start(rig, (u64)CHASE_LENGTH * step << GVM_PAGE_SHIFT, true);
	for (i = 0; i < CHASE_LENGTH; i++) {
		struct fifo_burst burst = { .kernels = 1,
					    .kernel_ns = HIT_NS,
					    .touch_count = 1 };

		page = i * step;
		pattern = pattern_of_pages(rig->range, &page, 1);
		pattern.touches[0].access = GVM_ACCESS_READ;
		burst.touches = pattern.touches;
		ret_ns[i] = rig_run(rig, &burst);
		pattern_destroy(&pattern);
	}
	rig_stop(rig);
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 loop_fault(struct rig *rig)
{
	u64 ns[CHASE_LENGTH];

	loop_chase(rig, GVM_PAGES_PER_BLOCK, ns);
	qsort(ns, CHASE_LENGTH, sizeof(ns[0]), compare_u64);
	return ns[CHASE_LENGTH / 2];
}

/* Copies back to back, @in and @out of them side by side: time of one (pair). */
static u64 loop_copies(struct rig *rig, u64 bytes, bool in, bool out)
{
	u64 total = (1ull << 30) / bytes / 4;
	u64 count = total < 4 ? 4 : min(total, 2000ull);
	struct pcie_link *link = &rig->gpu.link;
	const struct pcie_copy copy = { .bytes = bytes };
	u64 start, ns;

	rig_start(rig, BLOCK_BYTES, true);
	start = eng_now();
	for (u64 i = 0; i < count; i++) {
		if ((in && pcie_copy(link, PCIE_H2D, &copy, NULL)) ||
		    (out && pcie_copy(link, PCIE_D2H, &copy, NULL)))
			rig->status = -SIM_EXIT_RUNTIME;
	}
	pcie_drain(link, PCIE_H2D);
	pcie_drain(link, PCIE_D2H);
	ns = (eng_now() - start) / count;
	rig_stop(rig);
	return ns;
}

static u64 loop_run(struct rig *rig, enum hw_loop loop, u64 size)
{
	u32 pages = (u32)(size >> GVM_PAGE_SHIFT);

	switch (loop) {
	case HW_COPY_IN:
		return loop_copies(rig, size, true, false);
	case HW_COPY_OUT:
		return loop_copies(rig, size, false, true);
	case HW_COPY_BOTH:
		return loop_copies(rig, size, true, true);
	case HW_SEQ_4K:
		return loop_4k(rig, size, true);
	case HW_POPULATE:
		return loop_4k(rig, size, false);
	case HW_SEQ_64K:
		return loop_blocks(rig, size, pages, 1);
	case HW_RANDOM_64K:
		return loop_random(rig, size);
	case HW_ONE_TOUCH:
		return loop_blocks(rig, size, pages / GVM_PAGES_PER_BLOCK, GVM_PAGES_PER_BLOCK);
	case HW_PREFETCH_IN:
		return loop_prefetch(rig, size, GVM_PROCESSOR_GPU);
	case HW_PREFETCH_OUT:
		return loop_prefetch(rig, size, GVM_PROCESSOR_CPU);
	case HW_FAULT:
		return loop_fault(rig);
	case HW_WIDTH_CONTIGUOUS:
		return loop_blocks(rig, SPREAD_BYTES, (u32)size, 1);
	case HW_WIDTH_SPREAD:
		return loop_blocks(rig, SPREAD_BYTES, (u32)size,
				   (u32)((SPREAD_BYTES >> GVM_PAGE_SHIFT) / size));
	default:
		return 0;
	}
}

int hw_run_memory_loop(const struct config *config, enum hw_loop loop, u64 size, double *ret_ns)
{
	struct rig rig = { .config = config };

	*ret_ns = (double)loop_run(&rig, loop, size);
	return rig.status;
}

int hw_run_walk(const struct config *config, u64 *ret_ns, u32 count)
{
	struct rig rig = { .config = config };
	u64 ns[CHASE_LENGTH];
	u32 i;

	loop_chase(&rig, 1, ns);
	for (i = 0; i < count && i < CHASE_LENGTH; i++)
		ret_ns[i] = ns[i];
	return rig.status;
}
