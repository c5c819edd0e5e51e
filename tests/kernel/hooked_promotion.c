// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Promotion to 2 MB in NVIDIA's driver: a fault brings in its whole block. And the chunk of a
 * victim, which the block gets that needs room. Patterns under a limit, for the judge.
 */
#include "hooked_guest.h"
#include "softgpu_judge.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK (2 * SOFTGPU_MB)

static const long long mb = SOFTGPU_MB;

/* What the driver did on the GPU. */
struct work {
	size_t faults, replays, invalidates;
	size_t copies_in, bytes_in, copies_out;
	/* Copies and fills of less than a page, and copies from a push buffer: page tables. */
	size_t entries;
	size_t reuses; /* a copy in goes where the last copy out came from */
};

static struct softgpu_stats work_stats;

static void work_begin(void)
{
	size_t ignored;

	softgpu_wait_idle();
	softgpu_events(&ignored);
	work_stats = softgpu_stats();
}

static struct work work_end(void)
{
	struct work work = { 0 };
	const struct softgpu_event *event;
	uint64_t left = UINT64_MAX;
	size_t count;

	softgpu_wait_idle();
	event = softgpu_events(&count);
	work.entries = softgpu_stats().copies - work_stats.copies + softgpu_stats().memsets -
		       work_stats.memsets;
	for (; count--; event++) {
		work.faults += event->kind == SOFTGPU_EVENT_FAULT;
		work.replays += event->kind == SOFTGPU_EVENT_REPLAY;
		work.invalidates += event->kind == SOFTGPU_EVENT_INVALIDATE;
		work.entries -= event->kind == SOFTGPU_EVENT_MEMSET;
		if (event->kind != SOFTGPU_EVENT_COPY || event->how & SOFTGPU_VIRTUAL_SOURCE)
			continue;
		work.entries--;
		if (event->how == SOFTGPU_FROM_VIDMEM) {
			work.copies_out++;
			left = event->a;
		}
		if (event->how != SOFTGPU_TO_VIDMEM)
			continue;
		work.copies_in++;
		work.bytes_in += event->bytes;
		work.reuses += event->b == left;
	}
	guest_log("# %zu faults, %zu replays; in %zu copies of %zu KB, out %zu copies; %zu "
		  "writes of entries, %zu invalidates",
		  work.faults, work.replays, work.copies_in, work.bytes_in >> 10,
		  work.copies_out, work.entries, work.invalidates);
	return work;
}

/* All that the process has on the GPU leaves it. */
static bool evict_all(void)
{
	return hooked_set(getpid(), "gmem.limit.high", "1M") == 0 &&
	       hooked_get(getpid(), "gmem.current") == 0 &&
	       hooked_set(getpid(), "gmem.limit.high", "max") == 0;
}

/* The GPU reads a block that was evicted, one page of 4 KB after the other. */
static struct work read_evicted(struct softgpu_tenant *tenant, uint64_t *p, uint64_t value)
{
	struct softgpu_access access;

	guest_check(hooked_write(tenant, p, BLOCK, value) && evict_all(),
		    "the GPU writes a block, which is evicted");
	work_begin();
	access = softgpu_touch(tenant, p, BLOCK / SOFTGPU_PAGE, SOFTGPU_PAGE, SOFTGPU_READ, 0,
			       1);
	guest_check(access.errors == 0 && access.sum == value * 512 + 512 * 511 / 2,
		    "and reads the right words");
	return work_end();
}

/* One access to a page of a block. */
static struct work touch_page(struct softgpu_tenant *tenant, uint64_t *p, size_t page)
{
	work_begin();
	guest_check(softgpu_touch(tenant, p + page * JUDGE_WORDS, 1, 8, SOFTGPU_READ, 0, 1)
				    .errors == 0,
		    "the GPU reads page %zu", page);
	return work_end();
}

static size_t pages_on_gpu(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes)
{
	size_t pages = 0;

	for (size_t i = 0; i < bytes / SOFTGPU_PAGE; i++)
		pages += softgpu_resident(tenant, p + i * JUDGE_WORDS) == SOFTGPU_ON_GPU;
	return pages;
}

static void cpu_writes(uint64_t *p, size_t bytes, uint64_t value)
{
	for (size_t i = 0; i < bytes / SOFTGPU_PAGE; i++)
		((volatile uint64_t *)p)[i * JUDGE_WORDS] = value + i;
}

/* Memory that nobody has written comes as a whole, too, and is zero. */
static void promotes_first_touch(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BLOCK);
	struct work work = touch_page(tenant, p, 100);
	struct softgpu_access access;

	guest_check(work.faults == 1 && work.copies_in == 0, "a new block takes one fault");
	guest_check(pages_on_gpu(tenant, p, BLOCK) == 512, "all its pages are there");
	work_begin();
	access = softgpu_touch(tenant, p, 512, SOFTGPU_PAGE, SOFTGPU_READ, 0, 1);
	guest_check(access.errors == 0 && access.sum == 0 && work_end().faults == 0,
		    "they are zero, and none faults");
	munmap(p, BLOCK);
}

/* What the CPU has written, which may lie apart on the host. */
static void promotes_host_memory(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BLOCK);
	struct work work;

	cpu_writes(p, BLOCK, 40);
	work = touch_page(tenant, p, 511);
	guest_check(work.faults == 1 && work.replays == 1 && work.bytes_in == BLOCK,
		    "a block that the CPU has written comes with one fault");
	guest_check(hooked_read(tenant, p, BLOCK, 40), "the GPU reads its words");
	guest_check(hooked_cpu_reads(p, BLOCK, 40), "and the CPU again");
	munmap(p, BLOCK);
}

/* Less than a block would be charged for what it does not use; a part of it may be in use. */
static void promotes_no_other(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, SOFTGPU_MB), *q = softgpu_managed(tenant, BLOCK);
	struct work work;

	cpu_writes(p, SOFTGPU_MB, 50);
	cpu_writes(q, BLOCK, 60);
	work = touch_page(tenant, p, 100);
	guest_check(work.bytes_in == 64 << 10 &&
			    hooked_get(getpid(), "gmem.current") == 64 << 10,
		    "of a block of 1 MB come 64 KB, which are charged: %lld",
		    hooked_get(getpid(), "gmem.current"));
	guest_check(softgpu_migrate(tenant, q, 64 << 10, true) == 0,
		    "the application prefetches 64 KB of 2 MB");
	work = touch_page(tenant, q, 256);
	guest_check(work.bytes_in == 64 << 10, "then a fault brings 64 KB more");
	guest_check(hooked_cpu_reads(p, SOFTGPU_MB, 50) && hooked_cpu_reads(q, BLOCK, 60),
		    "the CPU reads all of both");
	munmap(p, SOFTGPU_MB);
	munmap(q, BLOCK);
}

/*
 * 48 MB under a limit of 16. The chunk of a victim goes to the chunks that the driver keeps,
 * and the block gets another one of these. RM gets none back: that would wait for the copy out.
 */
static struct work pages_within_limit(struct softgpu_tenant *tenant)
{
	size_t bytes = 48 * SOFTGPU_MB, blocks = bytes / BLOCK;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();
	struct softgpu_stats stats;
	struct work work;

	guest_check(hooked_set(me, "gmem.limit.high", "16M") == 0, "the limit becomes 16 MB");
	guest_check(hooked_write(tenant, p, bytes, 70), "the GPU writes 48 MB");
	work_begin();
	guest_check(hooked_read(tenant, p, bytes, 70), "and reads them");
	work = work_end();
	stats = softgpu_stats();
	guest_check(work.copies_out == blocks && work.bytes_in == bytes,
		    "each block comes, and its victim is one copy out");
	guest_check(work.reuses == 0, "to another chunk than its victim's");
	guest_check(stats.pma_frees == work_stats.pma_frees &&
			    stats.pma_allocs == work_stats.pma_allocs,
		    "RM gets no chunk, and gives none: %llu, %llu",
		    stats.pma_frees - work_stats.pma_frees,
		    stats.pma_allocs - work_stats.pma_allocs);
	guest_check(hooked_get(me, "gmem.current") == 16 * mb &&
			    hooked_get(me, "gmem.swap.current") == 32 * mb &&
			    hooked_event(me, "oom") == 0,
		    "16 MB are charged, 32 are in swap");
	guest_check(hooked_get(me, "gmem.peak") == 16 * mb, "never more than 16 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	guest_check(hooked_cpu_reads(p, bytes, 70), "the CPU reads all");
	munmap(p, bytes);
	return work;
}

/* RM takes all but the last chunk. Then a block can only get the chunk of its victim. */
static void pages_on_full_gpu(struct softgpu_tenant *tenant)
{
	size_t bytes = 8 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();
	struct work work;

	guest_check(hooked_write(tenant, p, bytes, 80), "the GPU writes 8 MB");
	while (hooked_get(me, "gmem.current") > 2 * mb && softgpu_rm_take(BLOCK) == 0)
		;
	guest_check(hooked_set(me, "gmem.limit.high", "2M") == 0 &&
			    hooked_get(me, "gmem.current") == 2 * mb,
		    "RM leaves a chunk of these, and no other: %lld",
		    hooked_get(me, "gmem.current"));
	work_begin();
	guest_check(hooked_read(tenant, p, bytes, 80), "the GPU reads all");
	work = work_end();
	softgpu_rm_give();
	guest_check(work.copies_out == 4 && work.reuses == 4,
		    "each block in its victim's chunk");
	guest_check(hooked_event(me, "oom") == 0, "none is refused");
	guest_check(hooked_cpu_reads(p, bytes, 80), "the CPU reads all");
	munmap(p, bytes);
}

void test_promotion(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BLOCK);
	struct work work = read_evicted(tenant, p, 20);

	guest_check(work.faults == 1 && work.replays == 1, "it takes one fault, one batch");
	guest_check(work.copies_in == 1 && work.bytes_in == BLOCK, "one copy of 2 MB");
	guest_check(work.entries == 1 && work.invalidates == 1,
		    "one entry of the page tables, and one invalidate");
	munmap(p, BLOCK);
	promotes_first_touch(tenant);
	promotes_host_memory(tenant);
	promotes_no_other(tenant);
	work = pages_within_limit(tenant);
	guest_check(work.copies_in == work.copies_out && work.replays == work.copies_in,
		    "each block is one copy in and one batch");
	pages_on_full_gpu(tenant);
}

/* Without it the driver does what it does for a stock block: more of everything. */
void test_no_promotion(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BLOCK);
	struct work work = read_evicted(tenant, p, 20);

	guest_check(work.faults > 1 && work.replays == work.faults, "it takes %zu faults",
		    work.faults);
	guest_check(work.copies_in > work.faults && work.bytes_in == BLOCK,
		    "pages with faults and prefetched pages are copied apart");
	guest_check(work.entries > 1 && work.invalidates > 1,
		    "there are more entries of the page tables, and more invalidates");
	munmap(p, BLOCK);
	work = pages_within_limit(tenant);
	guest_check(work.copies_in > work.copies_out && work.replays > work.copies_out,
		    "each block is several copies in, and several batches");
}

/* A child is in its parent's container otherwise. */
static int limit_enter(void)
{
	return hooked_contain(getpid()) ? 0 : EPERM;
}

static int limit_set(int pid, size_t chunks)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", chunks * BLOCK);
	return hooked_set(pid, "gmem.limit.high", chunks == PATTERN_NO_LIMIT ? "max" : text);
}

static int limit_usage(int pid, uint64_t *ret_bytes)
{
	long long bytes = hooked_get(pid, "gmem.current");

	*ret_bytes = (uint64_t)bytes;
	return bytes < 0;
}

static const struct judge_limits hooked_limits = {
	.enter = limit_enter,
	.set = limit_set,
	.usage = limit_usage,
};

void test_hooked_limit_patterns(struct softgpu_tenant *tenant)
{
	judge_run_limited(tenant, limit_patterns, limit_pattern_count, LIMITS_CHUNKS,
			  LIMITS_LIMIT, &hooked_limits);
}

void test_hooked_full_limit_patterns(struct softgpu_tenant *tenant)
{
	judge_run_limited(tenant, full_limit_patterns, full_limit_pattern_count, JUDGE_CHUNKS,
			  FULL_LIMIT, &hooked_limits);
}
