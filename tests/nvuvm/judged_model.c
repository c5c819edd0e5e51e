// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The patterns of tests/kernel/softgpu_patterns.h on the model of NVIDIA's driver: writes the
 * transcript that the real driver is judged by, or judges, in tests/kernel/judge.sh. The SM is
 * that of the software GPU (kernel-port/softgpu/sm.c): a window of accesses, which fault, wait
 * for a replay and are tried again.
 *
 *     judged_model SET [stock|gvm|ghost-uvm]
 *
 * The sets are those of softgpu_patterns.h. gvm is the published GVM's driver, and ghost-uvm
 * the driver with our hooks and gvm.ko. Both have limits.
 */
#include "gvm/control.h"
#include "nvuvm_world.h"

#include "softgpu_patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_PAGE	4096ull
#define SMALL_PAGES	16u /* 4 KB pages in one of the model's */
#define TRIES_MAX	10000u

#define INVALIDATES_MAX 4u /* ranges in a batch of the driver's TLB invalidates */

static struct sim_process *const model_processes[PATTERN_PROCESSES] = {
	&world_process, &world_other, &world_more[0], &world_more[1]
};
static struct gvm_range *model_ranges[PATTERN_RANGES_MAX];
static const struct gvm_mmu_ops *model_mmu; /* of the simulated GPU */
static const struct pattern *model_pattern;
static struct gvm_unevictable model_rm; /* what RM has taken */
static bool model_cpu_takes;		/* the CPU faults */

/* The faults of the batch in service, in the order of their pages. */
static struct {
	unsigned int range;
	const size_t *pages;
	size_t count;
} model_faults;

struct model_set {
	const char *name;
	const struct pattern *patterns;
	const size_t *count;
	size_t chunks;
	size_t limit; /* of process 0, in chunks, or 0 */
};

static const struct model_set model_sets[] = {
	{ "reference", reference_patterns, &reference_pattern_count, REFERENCE_CHUNKS, 0 },
	{ "judge", judge_patterns, &judge_pattern_count, JUDGE_CHUNKS, 0 },
	{ "crowd", crowd_patterns, &crowd_pattern_count, JUDGE_CHUNKS, 0 },
	{ "thrash", thrash_patterns, &thrash_pattern_count, JUDGE_CHUNKS, 0 },
	{ "discard", discard_patterns, &discard_pattern_count, JUDGE_CHUNKS, 0 },
	{ "limits", limit_patterns, &limit_pattern_count, LIMITS_CHUNKS, LIMITS_LIMIT },
	{ "fulllimits", full_limit_patterns, &full_limit_pattern_count, JUDGE_CHUNKS,
	  FULL_LIMIT },
};

static const struct model_set *model_set;
static const struct sim_memory_policy *model_policy = &world_stock;

static void model_line(const char *text)
{
	puts(text);
}

static bool model_has_faulted(unsigned int range, size_t page)
{
	for (size_t i = 0; i < model_faults.count; i++)
		if (model_faults.range == range && model_faults.pages[i] == page)
			return true;
	return false;
}

/*
 * How many copies the driver makes of a run that the host has in one piece: it copies the pages
 * of 4 KB that faulted and those that it prefetched apart. A block that it promotes is one copy.
 */
static unsigned int model_copies_in(unsigned int range, size_t first, size_t pages)
{
	unsigned int copies = 1;

	if (model_policy != &world_stock && pages == PATTERN_BLOCK_PAGES)
		return 1;
	for (size_t i = 1; i < pages; i++)
		copies += model_has_faulted(range, first + i) !=
			  model_has_faulted(range, first + i - 1);
	return copies;
}

/* A copy of the model's, with the block that the chunk belongs to. */
static void model_copied(const struct gvm_page_run *run, bool in)
{
	size_t first = (size_t)run->index * PATTERN_BLOCK_PAGES +
		       (size_t)run->first_page * SMALL_PAGES;
	size_t pages = (size_t)run->page_count * SMALL_PAGES;
	unsigned int copies = run->pieces;
	unsigned int range = 0;

	while (model_ranges[range] != run->range)
		ck_assert_uint_lt(++range, PATTERN_RANGES_MAX);
	if (in && copies == 1)
		copies = model_copies_in(range, first, pages);
	transcript_copy(in, true, range, first, pages, model_cpu_takes ? 0 : copies);
}

static int model_copy_in(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	model_copied(run, true);
	return model_mmu->copy_in(gpu, run, fence);
}

static int model_copy_out(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	model_copied(run, false);
	return model_mmu->copy_out(gpu, run, fence);
}

static void model_mmu_unmap(void *gpu, void *space, u64 va, u32 page_mask)
{
	for (unsigned int i = 0; i < PATTERN_RANGES_MAX; i++)
		if (model_ranges[i] && model_ranges[i]->space == space &&
		    va - model_ranges[i]->va < model_ranges[i]->block_count * CHUNK)
			transcript_invalidate(i, (va - model_ranges[i]->va) / SMALL_PAGE);
	model_mmu->unmap(gpu, space, va, page_mask);
}

/*
 * The driver invalidates what it maps, too. A block without mappings has one entry of 2
 * MB, and so has one that is mapped whole: a change from or to it is one invalidate.
 * Else each PTE is one (block_gpu_pte_write_big), and more than four are an invalidate
 * of all (uvm_tlb_batch_end).
 */
static void model_mmu_map(void *gpu, void *space, u64 va, u32 chunk, u32 offset_pages,
			  u32 page_mask, enum gvm_access access)
{
	for (unsigned int i = 0; i < PATTERN_RANGES_MAX; i++) {
		const struct gvm_range *range = model_ranges[i];
		u64 offset;
		u32 resident;

		if (!range || range->space != space)
			continue;
		offset = va - range->va;
		if (offset >= range->block_count * CHUNK)
			continue;
		resident = range->blocks[offset / CHUNK].resident;
		if (hweight32(page_mask) > INVALIDATES_MAX && resident & ~page_mask &&
		    resident != GVM_BLOCK_FULL)
			transcript_invalidate_all();
		else
			transcript_invalidate(i, offset / SMALL_PAGE);
	}
	model_mmu->map(gpu, space, va, chunk, offset_pages, page_mask, access);
}

static int model_mmu_map_remote(void *gpu, struct gvm_range *range, u32 index, u32 page_mask,
				u32 empty_mask)
{
	for (unsigned int i = 0; i < PATTERN_RANGES_MAX; i++)
		if (model_ranges[i] == range)
			transcript_invalidate(i, (size_t)index * PATTERN_BLOCK_PAGES);
	return model_mmu->map_remote(gpu, range, index, page_mask, empty_mask);
}

static void model_map(unsigned int range, unsigned int process, size_t blocks, bool on_host)
{
	model_ranges[range] = world_map(model_processes[process], (u32)blocks, on_host);
}

static void model_unmap(unsigned int range)
{
	struct gvm_range *mapped = model_ranges[range];

	for (size_t i = 0; i < PATTERN_PROCESSES; i++)
		if (model_processes[i]->running &&
		    sim_process_find_range(model_processes[i], mapped->va) == mapped)
			sim_process_unmap(model_processes[i], mapped);
	model_ranges[range] = NULL;
}

static void model_cpu(const struct pattern_walk *walk)
{
	struct gvm_range *range = model_ranges[walk->range];
	u32 masks[512] = { 0 };

	ck_assert_uint_le(range->block_count, ARRAY_SIZE(masks));
	for (size_t i = 0; i < walk->count; i++) {
		size_t page = walk->first + i * walk->step;

		masks[page / PATTERN_BLOCK_PAGES] |=
			1u << page % PATTERN_BLOCK_PAGES / SMALL_PAGES;
	}
	model_cpu_takes = true;
	for (u32 i = 0; i < range->block_count; i++)
		if (masks[i])
			ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, i, masks[i]), 0);
	model_cpu_takes = false;
}

static int model_page_order(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Post and service the faults of the window, sorted as the fault handler sorts them. */
static void model_batch(struct gvm_range *range, unsigned int number, const size_t *unsorted,
			u32 count, bool write)
{
	struct gvm_fault faults[GVM_FAULT_BATCH_MAX];
	struct gvm_fence fence = { 0 };
	size_t pages[PATTERN_WINDOW_MAX];

	memcpy(pages, unsorted, count * sizeof(*pages));
	qsort(pages, count, sizeof(*pages), model_page_order);

	for (u32 i = 0; i < count; i++) {
		faults[i] = (struct gvm_fault){
			.space = range->space,
			.va = range->va + pages[i] * SMALL_PAGE,
			.access = write ? GVM_ACCESS_WRITE : GVM_ACCESS_READ,
		};
		transcript_fault(number, unsorted[i]);
	}
	model_faults.range = number;
	model_faults.pages = pages;
	model_faults.count = count;
	nvuvm_service(world_nvuvm(), range, faults, count, &fence);
	model_faults.count = 0;
	nvuvm_batch_end(world_nvuvm());
	ck_assert_int_eq(world_gpu.device.ops->flush_and_replay(&world_gpu, &fence), 0);
	transcript_replay();
	/* It counts what RM has as free. */
	if (!model_rm.chunks)
		world_check();
}

static bool model_mapped(const struct gvm_range *range, size_t page, bool write)
{
	const struct gvm_block *block = &range->blocks[page / PATTERN_BLOCK_PAGES];
	u32 mapped = gvm_block_accessible(block, write ? GVM_ACCESS_WRITE : GVM_ACCESS_READ);

	return (mapped | block->remote) >> (page % PATTERN_BLOCK_PAGES / SMALL_PAGES) & 1;
}

static void model_gpu(const struct pattern_walk *walk, bool write, unsigned int window)
{
	struct gvm_range *range = model_ranges[walk->range];
	size_t pages[PATTERN_WINDOW_MAX];
	size_t next = 0;
	u32 tries = 0, kept;

	ck_assert_uint_le(window, PATTERN_WINDOW_MAX);
	for (u32 waiting = 0; waiting || next < walk->count; waiting = kept) {
		for (; waiting < window && next < walk->count; next++)
			pages[waiting++] = walk->first + next * walk->step;
		kept = 0;
		for (u32 i = 0; i < waiting; i++)
			if (!model_mapped(range, pages[i], write))
				pages[kept++] = pages[i];
		/* A batch of throttled faults takes no time here. */
		if (kept && pattern_throttles(model_pattern))
			eng_sleep_until(eng_now() + 10 * US);
		if (kept)
			model_batch(range, walk->range, pages, kept, write);
		ck_assert_uint_lt(++tries, TRIES_MAX);
	}
}

static void model_advise(unsigned int range, enum pattern_advice advice)
{
	static const enum gvm_advice kinds[] = {
		[PATTERN_PREFER_GPU] = GVM_ADVICE_PREFER_GPU,
		[PATTERN_PREFER_CPU] = GVM_ADVICE_PREFER_CPU,
		[PATTERN_ACCESSED_BY_GPU] = GVM_ADVICE_ACCESSED_BY_GPU,
		[PATTERN_READ_DUPLICATION] = GVM_ADVICE_READ_MOSTLY,
	};

	ck_assert_int_eq(nvuvm_advise(world_nvuvm(), model_ranges[range], kinds[advice]), 0);
}

static void model_migrate(unsigned int range, bool to_gpu)
{
	ck_assert_int_eq(nvuvm_migrate(world_nvuvm(), model_ranges[range],
				       to_gpu ? NVUVM_GPU : NVUVM_CPU),
			 0);
}

static void model_settle(void)
{
	eng_sleep_until(eng_now() + 10 * MS);
	transcript_settled();
}

static void model_discard(unsigned int range, size_t first, size_t blocks)
{
	gvm_range_discard(model_ranges[range], first * CHUNK, blocks * CHUNK);
}

static void model_rm_take(size_t chunks)
{
	ck_assert_int_eq(nvuvm_rm_take(world_nvuvm(), &model_rm, chunks * CHUNK), 0);
}

static void model_rm_give(void)
{
	nvuvm_rm_return(world_nvuvm(), &model_rm, model_rm.bytes);
}

static void model_usage(unsigned int process)
{
	transcript_usage(process, gvm_charged_bytes(model_processes[process]->container));
}

/* By the control file, as an operator: it evicts before the limit holds. */
static void model_limit(unsigned int process, size_t chunks)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%llu", (unsigned long long)chunks * CHUNK);

	if (chunks == PATTERN_NO_LIMIT)
		length = snprintf(text, sizeof(text), "max");
	ck_assert_int_eq(gvm_control_write(model_processes[process]->container,
					   "gmem.limit.high", text, (size_t)length),
			 0);
	transcript_limit(process, chunks);
	model_usage(process);
}

/* Victims of a limit are given back later, by a thread. */
static void model_limited_gpu(const struct pattern_walk *walk, bool write, unsigned int window)
{
	unsigned int process = 0;

	model_gpu(walk, write, window);
	while (model_processes[process]->container != model_ranges[walk->range]->container)
		process++;
	eng_sleep_until(eng_now() + MS * 1000);
	model_usage(process);
}

static void model_body(void)
{
	const struct pattern_world world = {
		.chunks = model_set->limit ? model_set->limit : model_set->chunks,
		.map = model_map,
		.unmap = model_unmap,
		.cpu = model_cpu,
		.gpu = model_set->limit ? model_limited_gpu : model_gpu,
		.advise = model_advise,
		.migrate = model_migrate,
		.settle = model_settle,
		.discard = model_discard,
		.rm_take = model_rm_take,
		.rm_give = model_rm_give,
		.limit = model_limit,
	};
	struct gvm_mmu_ops mmu;

	model_mmu = world_nvuvm()->config.mmu;
	mmu = *model_mmu;
	mmu.copy_in = model_copy_in;
	mmu.copy_out = model_copy_out;
	mmu.unmap = model_mmu_unmap;
	mmu.map = model_mmu_map;
	mmu.map_remote = model_mmu_map_remote;
	world_nvuvm()->config.mmu = &mmu;
	/* All have their page tables before the pattern begins. */
	for (size_t i = 0; i < PATTERN_PROCESSES; i++)
		ck_assert_int_eq(sim_process_start(model_processes[i], &world_gpu, (u32)i + 1),
				 0);
	gvm_unevictable_init(&model_rm, world_process.container);
	transcript_begin(model_pattern, model_line);
	if (model_set->limit)
		model_limit(0, model_set->limit);
	model_pattern->run(&world, model_pattern);
	transcript_end();
	for (unsigned int range = 0; range < PATTERN_RANGES_MAX; range++)
		if (model_ranges[range])
			model_unmap(range);
	world_nvuvm()->config.mmu = model_mmu;
}

START_TEST(all_patterns_run_on_the_model)
{
	for (size_t i = 0; i < *model_set->count; i++) {
		model_pattern = &model_set->patterns[i];
		world_run((u32)model_set->chunks, model_policy, model_body);
	}
}
END_TEST

/* Returns whether the arguments say what to run. */
static bool model_choose(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(model_sets); i++)
		if (strcmp(model_sets[i].name, argv[1]) == 0)
			model_set = &model_sets[i];
	if (argc == 3 && strcmp(argv[2], "gvm") == 0)
		model_policy = &world_gvm;
	else if (argc == 3 && strcmp(argv[2], "ghost-uvm") == 0)
		model_policy = &world_ghost_uvm;
	else if (argc == 3 && strcmp(argv[2], "stock") != 0)
		return false;
	return model_set && argc <= 3;
}

/* What libcheck has to say goes to standard error. */
int main(int argc, char **argv)
{
	Suite *suite = suite_create("judged model");
	TCase *tcase = tcase_create("judged model");
	SRunner *runner = srunner_create(suite);
	TestResult **results;
	int failed;

	if (!model_choose(argc, argv)) {
		fprintf(stderr, "usage: judged_model "
				"reference|judge|crowd|thrash|discard|limits|fulllimits "
				"[stock|gvm|ghost-uvm]\n");
		return 2;
	}
	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, all_patterns_run_on_the_model);
	suite_add_tcase(suite, tcase);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	results = srunner_failures(runner);
	for (int i = 0; i < failed; i++)
		fprintf(stderr, "%s:%d: %s\n", tr_lfile(results[i]), tr_lno(results[i]),
			tr_msg(results[i]));
	free(results);
	srunner_free(runner);
	return failed != 0;
}
