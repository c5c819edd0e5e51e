// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The loops of plots/reference/hardware/uvmbench.cu, over a simulated GPU with NVIDIA's driver.
 *
 * Each loop has a GPU of its own that has been idle for a while: its first fault is a cold one.
 * As there, a time includes one kernel launch. A kernel's threads are all on the SMs at once
 * and fault side by side. A thread that reads one page after the other is a burst for each
 * page.
 */
#include <stdlib.h>

#include "validate/loops.h"
#include "validate/rig.h"

#define SPREAD_BYTES   (1ull << 30)
#define THREADS_4K     262144ull
#define CHASE_LENGTH   256u
#define IDLE_NS	       1000000000ull
#define HIT_NS	       200ull  /* an access that hits, from fault_walk: 128 to 352 ns */
#define KERNEL_NS      2000ull /* a kernel that has nothing to do but to touch */
#define FAULTS_PER_64K 16u     /* threads with a 4 KB page each */

/* A process with one allocation, which its kernels access. */
struct loop {
	const struct config *config;
	struct hw_rig rig;
	struct cuda_context *cuda; /* of its process */
	struct cuda_memory memory;
};

/*
 * The pages that a kernel touches. Owned by the caller: pattern_of_...(), then
 * pattern_destroy().
 */
struct pattern {
	struct cuda_access *accesses;
	u32 *masks;
	u64 *groups; /* see struct cuda_access */
	u32 count;
};

/* The context is loaded, and the driver has gone to sleep. */
static int loop_start(struct loop *loop, u64 bytes, bool on_host)
{
	const struct cuda_burst_config first = { .kernels = 1, .kernel_ns = KERNEL_NS };
	int status = hw_rig_start(&loop->rig, loop->config, 1);

	loop->cuda = &loop->rig.contexts[0];
	if (!status)
		status = cuda_malloc_managed(loop->cuda, bytes, on_host, &loop->memory);
	if (!status)
		status = cuda_run(loop->cuda, &first);
	return status ? status : eng_sleep_until(eng_now() + IDLE_NS);
}

static void pattern_destroy(struct pattern *pattern)
{
	free(pattern->accesses);
	free(pattern->masks);
	free(pattern->groups);
}

/* Room for accesses, masks and groups. Returns 0 or -ENOMEM. */
static int pattern_init(struct pattern *pattern, u32 accesses, u32 masks)
{
	*pattern = (struct pattern){
		.accesses = calloc(accesses, sizeof(*pattern->accesses)),
		.masks = calloc(masks, sizeof(*pattern->masks)),
		.groups = calloc(CUDA_GROUP_WORDS(masks), sizeof(*pattern->groups)),
		.count = accesses,
	};
	if (pattern->accesses && pattern->masks && pattern->groups)
		return 0;
	pattern_destroy(pattern);
	return -ENOMEM;
}

/* An access for each page, in the order of @pages. Returns 0 or -ENOMEM. */
static int pattern_of_pages(const struct cuda_memory *memory, const u32 *pages, u32 count,
			    enum cuda_mode mode, struct pattern *ret_pattern)
{
	int status = pattern_init(ret_pattern, count, count);

	if (status)
		return status;
	/* Each access has one group. */
	ret_pattern->groups[0] = 1;
	for (u32 i = 0; i < count; i++) {
		ret_pattern->masks[i] = 1u << pages[i] % GVM_PAGES_PER_BLOCK;
		ret_pattern->accesses[i] = (struct cuda_access){
			.memory = memory,
			.first = pages[i] / GVM_PAGES_PER_BLOCK,
			.chunks = 1,
			.mode = mode,
			.masks = &ret_pattern->masks[i],
			.groups = ret_pattern->groups,
			.chunks_per_mask = 1,
		};
	}
	return 0;
}

/* One access to all blocks: @count pages, every @step-th from the first on. 0 or -ENOMEM. */
static int pattern_of_blocks(const struct cuda_memory *memory, u32 count, u32 step,
			     struct pattern *ret_pattern)
{
	int status = pattern_init(ret_pattern, 1, memory->chunks);

	if (status)
		return status;
	for (u32 i = 0; i < count; i++)
		ret_pattern->masks[i * step / GVM_PAGES_PER_BLOCK] |=
			1u << i * step % GVM_PAGES_PER_BLOCK;
	cuda_index_masks(ret_pattern->masks, memory->chunks, ret_pattern->groups);
	ret_pattern->accesses[0] = cuda_access_all(memory, CUDA_WRITE);
	ret_pattern->accesses[0].masks = ret_pattern->masks;
	ret_pattern->accesses[0].groups = ret_pattern->groups;
	ret_pattern->accesses[0].chunks_per_mask = 1;
	return 0;
}

/* Launch @kernels kernels that access a pattern, and wait for them: how long did that take? */
static int loop_time_kernels(struct loop *loop, const struct pattern *pattern, u32 kernels,
			     u32 faults_per_page, u64 *ret_ns)
{
	const struct cuda_burst_config burst = {
		.kernels = kernels,
		.kernel_ns = KERNEL_NS,
		.launch_ns = hw_launch_ns(loop->config),
		.accesses = pattern->accesses,
		.access_count = pattern->count,
		.pages_at_once = GVM_PAGES_PER_BLOCK,
		.faults_per_page = faults_per_page,
	};
	u64 start = eng_now();
	int status = cuda_run(loop->cuda, &burst);

	*ret_ns = eng_now() - start;
	return status;
}

static int loop_blocks(struct loop *loop, u64 bytes, u32 count, u32 step, u64 *ret_ns)
{
	struct pattern pattern;
	int status = loop_start(loop, bytes, true);

	if (!status)
		status = pattern_of_blocks(&loop->memory, count, step, &pattern);
	if (status)
		return status;
	status = loop_time_kernels(loop, &pattern, 1, 0, ret_ns);
	pattern_destroy(&pattern);
	return status;
}

/* More threads than pages: they all run at once. Fewer: a kernel for each lot of them. */
static int loop_4k(struct loop *loop, u64 bytes, bool on_host, u64 *ret_ns)
{
	u32 kernels = (u32)((bytes + THREADS_4K * 4096 - 1) / (THREADS_4K * 4096));
	struct pattern pattern;
	int status = loop_start(loop, bytes, on_host);

	if (!status)
		status = pattern_of_blocks(&loop->memory, (u32)(bytes >> GVM_PAGE_SHIFT), 1,
					   &pattern);
	if (status)
		return status;
	status = loop_time_kernels(loop, &pattern, kernels, FAULTS_PER_64K, ret_ns);
	pattern_destroy(&pattern);
	return status;
}

/* The pages in the order of uvmbench.cu: the same permutation. */
static void shuffle(u32 *pages, u32 count)
{
	u32 state = 7;

	for (u32 i = 0; i < count; i++)
		pages[i] = i;
	for (u32 i = count; i > 1; i--) {
		state = state * 1664525u + 1013904223u;
		swap(pages[i - 1], pages[((u64)state * i) >> 32]);
	}
}

static int loop_random(struct loop *loop, u64 bytes, u64 *ret_ns)
{
	u32 count = (u32)(bytes >> GVM_PAGE_SHIFT);
	u32 *pages = calloc(count, sizeof(*pages));
	struct pattern pattern;
	int status = pages ? loop_start(loop, bytes, true) : -ENOMEM;

	if (!status) {
		shuffle(pages, count);
		status = pattern_of_pages(&loop->memory, pages, count, CUDA_WRITE, &pattern);
	}
	free(pages);
	if (status)
		return status;
	status = loop_time_kernels(loop, &pattern, 1, 0, ret_ns);
	pattern_destroy(&pattern);
	return status;
}

static int loop_prefetch(struct loop *loop, u64 bytes, enum cuda_location to, u64 *ret_ns)
{
	int status = loop_start(loop, bytes, true);
	u64 start;

	if (!status && to == CUDA_HOST)
		status = cuda_prefetch(&loop->memory, CUDA_DEVICE);
	if (status)
		return status;
	start = eng_now();
	status = cuda_prefetch(&loop->memory, to);
	*ret_ns = eng_now() - start;
	return status;
}

/* One thread reads CHASE_LENGTH pages, one after the other, @step pages apart. */
static int loop_chase(struct loop *loop, u32 step, u64 *ret_ns)
{
	int status = loop_start(loop, (u64)CHASE_LENGTH * step << GVM_PAGE_SHIFT, true);

	for (u32 i = 0; i < CHASE_LENGTH && !status; i++) {
		struct cuda_burst_config burst = { .kernels = 1,
						   .kernel_ns = HIT_NS,
						   .access_count = 1 };
		u32 page = i * step;
		struct pattern pattern;
		u64 start = eng_now();

		status = pattern_of_pages(&loop->memory, &page, 1, CUDA_READ, &pattern);
		if (status)
			break;
		burst.accesses = pattern.accesses;
		status = cuda_run(loop->cuda, &burst);
		ret_ns[i] = eng_now() - start;
		pattern_destroy(&pattern);
	}
	return status;
}

static int loop_fault(struct loop *loop, u64 *ret_ns)
{
	u64 ns[CHASE_LENGTH];
	int status = loop_chase(loop, GVM_PAGES_PER_BLOCK, ns);

	if (!status)
		*ret_ns = hw_median(ns, CHASE_LENGTH);
	return status;
}

/* Copies back to back, @in and @out of them side by side: time of one (pair). */
static int loop_copies(struct loop *loop, u64 bytes, bool in, bool out, u64 *ret_ns)
{
	u64 total = (1ull << 30) / bytes / 4;
	u64 count = total < 4 ? 4 : min(total, 2000ull);
	struct cuda_stream *ins, *outs;
	u64 start;
	/* The first copy faults the memory in. */
	int status = loop_start(loop, bytes, false);

	if (!status)
		status = cuda_memcpy(&loop->memory, 0, bytes, CUDA_DEVICE);
	if (!status)
		status = cuda_stream_create(loop->cuda, &ins);
	if (!status)
		status = cuda_stream_create(loop->cuda, &outs);
	start = eng_now();
	for (u64 i = 0; i < count && !status; i++) {
		if (in)
			status = cuda_memcpy_async(&loop->memory, 0, bytes, CUDA_DEVICE, ins);
		if (out && !status)
			status = cuda_memcpy_async(&loop->memory, 0, bytes, CUDA_HOST, outs);
	}
	if (!status)
		status = cuda_synchronize(loop->cuda);
	*ret_ns = (eng_now() - start) / count;
	return status;
}

static int loop_run(struct loop *loop, enum hw_loop kind, u64 size, u64 *ret_ns)
{
	u32 pages = (u32)(size >> GVM_PAGE_SHIFT);

	switch (kind) {
	case HW_COPY_IN:
		return loop_copies(loop, size, true, false, ret_ns);
	case HW_COPY_OUT:
		return loop_copies(loop, size, false, true, ret_ns);
	case HW_COPY_BOTH:
		return loop_copies(loop, size, true, true, ret_ns);
	case HW_SEQ_4K:
		return loop_4k(loop, size, true, ret_ns);
	case HW_POPULATE:
		return loop_4k(loop, size, false, ret_ns);
	case HW_SEQ_64K:
		return loop_blocks(loop, size, pages, 1, ret_ns);
	case HW_RANDOM_64K:
		return loop_random(loop, size, ret_ns);
	case HW_ONE_TOUCH:
		return loop_blocks(loop, size, pages / GVM_PAGES_PER_BLOCK, GVM_PAGES_PER_BLOCK,
				   ret_ns);
	case HW_PREFETCH_IN:
		return loop_prefetch(loop, size, CUDA_DEVICE, ret_ns);
	case HW_PREFETCH_OUT:
		return loop_prefetch(loop, size, CUDA_HOST, ret_ns);
	case HW_FAULT:
		return loop_fault(loop, ret_ns);
	case HW_WIDTH_CONTIGUOUS:
		return loop_blocks(loop, SPREAD_BYTES, (u32)size, 1, ret_ns);
	case HW_WIDTH_SPREAD:
		return loop_blocks(loop, SPREAD_BYTES, (u32)size,
				   (u32)((SPREAD_BYTES >> GVM_PAGE_SHIFT) / size), ret_ns);
	default:
		return -EINVAL;
	}
}

int hw_run_memory_loop(const struct config *config, enum hw_loop kind, u64 size, double *ret_ns)
{
	struct loop loop = { .config = config };
	u64 ns;
	int status = loop_run(&loop, kind, size, &ns);

	if (status)
		return status;
	hw_rig_stop(&loop.rig);
	*ret_ns = (double)ns;
	return 0;
}

int hw_run_walk(const struct config *config, u64 *ret_ns, u32 count)
{
	struct loop loop = { .config = config };
	u64 ns[CHASE_LENGTH];
	int status = loop_chase(&loop, 1, ns);

	if (status)
		return status;
	hw_rig_stop(&loop.rig);
	for (u32 i = 0; i < count && i < CHASE_LENGTH; i++)
		ret_ns[i] = ns[i];
	return 0;
}
