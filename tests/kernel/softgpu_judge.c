// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See softgpu_judge.h. The second word of each page says which page it is. So copies, which
 * have physical addresses, are known by range and page.
 */
#include "softgpu_judge.h"

#include <sys/mman.h>

#define MARK	  0x5ca1000000000000ull
#define MARK_MASK 0xffff000000000000ull
#define WORDS	  (SOFTGPU_PAGE / sizeof(uint64_t))

static struct softgpu_tenant judge_tenants[PATTERN_PROCESSES];
static struct {
	uint64_t *p; /* NULL: not mapped */
	size_t blocks;
	unsigned int process;
} judge_ranges[PATTERN_RANGES_MAX];
static const struct judge_observer *judge_observer;
static uint64_t judge_errors;
static bool judge_of_cpu; /* the events are those of accesses of the CPU */

static void judge_line(const char *text)
{
	guest_log("judge: %s", text);
}

static uint64_t judge_mark(unsigned int range, size_t page)
{
	return MARK | (uint64_t)range << 32 | page;
}

static void judge_fault(const struct softgpu_event *event)
{
	for (unsigned int i = 0; i < PATTERN_RANGES_MAX; i++) {
		uint64_t offset = event->a - (uintptr_t)judge_ranges[i].p;

		if (judge_ranges[i].p && offset < judge_ranges[i].blocks * 2 * SOFTGPU_MB)
			transcript_fault(i, offset / SOFTGPU_PAGE);
	}
}

/*
 * A page without a mark was never written. It is of the same block as the marked one before, if
 * of its chunk.
 */
static void judge_copy(const struct softgpu_event *event)
{
	static struct {
		uint64_t chunk;
		unsigned int range;
		size_t block;
	} last[2];
	bool in = event->how & SOFTGPU_TO_VIDMEM;
	bool known = (event->word & MARK_MASK) == MARK;
	uint64_t vidmem = in ? event->b : event->a;
	size_t page = vidmem / SOFTGPU_PAGE % PATTERN_BLOCK_PAGES;

	if (known) {
		last[in].chunk = vidmem / PATTERN_BLOCK_PAGES / SOFTGPU_PAGE;
		last[in].range = event->word >> 32 & 0xffff;
		last[in].block = (uint32_t)event->word / PATTERN_BLOCK_PAGES;
	}
	known = last[in].chunk == vidmem / PATTERN_BLOCK_PAGES / SOFTGPU_PAGE;
	transcript_copy(in, known, known ? last[in].range : 0,
			(known ? last[in].block : 0) * PATTERN_BLOCK_PAGES + page,
			event->bytes / SOFTGPU_PAGE, 1);
}

/* What is not of managed memory is left out. */
static void judge_invalidate(const struct softgpu_event *event)
{
	/* A new page table above those of a block is there once in a range. The model has none. */
	if (event->how == SOFTGPU_LEVEL_ALL || event->how > SOFTGPU_LEVEL_BLOCK)
		return;
	/*
	 * The CPU faults on one page of 4 KB after the other. The model takes pages together, so how many
	 * are invalidated at once is not compared.
	 */
	if (!event->bytes && judge_of_cpu)
		return;
	if (!event->bytes) {
		transcript_invalidate_all();
		return;
	}
	for (unsigned int i = 0; i < PATTERN_RANGES_MAX; i++) {
		uint64_t offset = event->a - (uintptr_t)judge_ranges[i].p;

		if (judge_ranges[i].p && offset < judge_ranges[i].blocks * 2 * SOFTGPU_MB)
			transcript_invalidate(i, offset / SOFTGPU_PAGE);
	}
}

/* Write down what happened since the last call. */
static void judge_drain(void)
{
	size_t count;
	const struct softgpu_event *event = softgpu_events(&count);

	for (; count--; event++) {
		if (event->kind == SOFTGPU_EVENT_REPLAY)
			transcript_replay();
		else if (event->kind == SOFTGPU_EVENT_FAULT)
			judge_fault(event);
		else if (event->kind == SOFTGPU_EVENT_INVALIDATE)
			judge_invalidate(event);
		/* A copy from a virtual address writes page-table entries. */
		else if (event->kind == SOFTGPU_EVENT_COPY &&
			 !(event->how & SOFTGPU_VIRTUAL_SOURCE))
			judge_copy(event);
		if (judge_observer)
			judge_observer->event(event);
	}
}

static void judge_unmap(unsigned int range)
{
	munmap(judge_ranges[range].p, judge_ranges[range].blocks * 2 * SOFTGPU_MB);
	judge_drain();
	judge_ranges[range].p = NULL;
}

static void judge_cpu(const struct pattern_walk *walk)
{
	uint64_t *p = judge_ranges[walk->range].p;

	for (size_t i = 0; i < walk->count; i++) {
		size_t page = walk->first + i * walk->step;

		*(volatile uint64_t *)(p + page * WORDS + 1) = judge_mark(walk->range, page);
	}
	judge_of_cpu = true;
	judge_drain();
	judge_of_cpu = false;
}

static void judge_map(unsigned int range, unsigned int process, size_t blocks, bool on_host)
{
	struct pattern_walk all = { range, 0, blocks * PATTERN_BLOCK_PAGES, 1 };

	judge_ranges[range].process = process;
	judge_ranges[range].blocks = blocks;
	judge_ranges[range].p =
		softgpu_managed(&judge_tenants[process], blocks * 2 * SOFTGPU_MB);
	if (!judge_ranges[range].p)
		judge_errors++;
	else if (on_host)
		judge_cpu(&all);
}

static void judge_gpu(const struct pattern_walk *walk, bool write, unsigned int window)
{
	struct softgpu_access access = {
		.value = judge_mark(walk->range, walk->first),
		.step = walk->step,
		.va = (uintptr_t)(judge_ranges[walk->range].p + walk->first * WORDS + 1),
		.count = walk->count,
		.stride = walk->step * SOFTGPU_PAGE,
		.op = write ? SOFTGPU_WRITE : SOFTGPU_READ,
		.window = window,
	};

	softgpu_touch_with(&judge_tenants[judge_ranges[walk->range].process], &access);
	judge_errors += access.errors;
	judge_drain();
}

static void judge_advise(unsigned int range, enum pattern_advice advice)
{
	int fd = judge_tenants[judge_ranges[range].process].fd;
	uintptr_t base = (uintptr_t)judge_ranges[range].p;
	size_t bytes = judge_ranges[range].blocks * 2 * SOFTGPU_MB;
	UVM_SET_PREFERRED_LOCATION_PARAMS prefer = { .requestedBase = base, .length = bytes };
	UVM_SET_ACCESSED_BY_PARAMS accessed = { .requestedBase = base,
						.length = bytes,
						.accessedByUuid = softgpu_uuid };
	UVM_ENABLE_READ_DUPLICATION_PARAMS duplicate = { .requestedBase = base,
							 .length = bytes };
	int status = 0;

	switch (advice) {
	case PATTERN_NO_ADVICE:
		break;
	case PATTERN_PREFER_GPU:
	case PATTERN_PREFER_CPU:
		prefer.preferredLocation = advice == PATTERN_PREFER_GPU ?
						   softgpu_uuid :
						   NV_PROCESSOR_UUID_CPU_DEFAULT;
		status = softgpu_uvm(fd, UVM_SET_PREFERRED_LOCATION, &prefer);
		break;
	case PATTERN_ACCESSED_BY_GPU:
		status = softgpu_uvm(fd, UVM_SET_ACCESSED_BY, &accessed);
		break;
	case PATTERN_READ_DUPLICATION:
		status = softgpu_uvm(fd, UVM_ENABLE_READ_DUPLICATION, &duplicate);
		break;
	}
	judge_errors += status != 0;
	judge_drain();
}

static void judge_migrate(unsigned int range, bool to_gpu)
{
	judge_errors +=
		softgpu_migrate(&judge_tenants[judge_ranges[range].process],
				judge_ranges[range].p,
				judge_ranges[range].blocks * 2 * SOFTGPU_MB, to_gpu) != 0;
	judge_drain();
}

/* Writes bring a page back to life, so it is unmapped. */
static void judge_discard(unsigned int range, size_t first, size_t blocks)
{
#ifdef UVM_DISCARD
	UVM_DISCARD_PARAMS params = {
		.base = (uintptr_t)judge_ranges[range].p + first * 2 * SOFTGPU_MB,
		.length = blocks * 2 * SOFTGPU_MB,
		.flags = UVM_DISCARD_FLAGS_UNMAP,
	};

	judge_errors += softgpu_uvm(judge_tenants[judge_ranges[range].process].fd, UVM_DISCARD,
				    &params) != 0;
	judge_drain();
#else
	(void)range;
	(void)first;
	(void)blocks;
	judge_errors++;
#endif
}

static void judge_rm_take(size_t chunks)
{
	judge_errors += softgpu_rm_take(chunks * 2 * SOFTGPU_MB) != 0;
	judge_drain();
}

static void judge_run_one(const struct pattern *pattern, size_t chunks)
{
	const struct pattern_world world = {
		.chunks = chunks,
		.map = judge_map,
		.unmap = judge_unmap,
		.cpu = judge_cpu,
		.gpu = judge_gpu,
		.advise = judge_advise,
		.migrate = judge_migrate,
		.discard = judge_discard,
		.rm_take = judge_rm_take,
		.rm_give = softgpu_rm_give,
	};
	size_t ignored;

	softgpu_events(&ignored);
	judge_errors = 0;
	if (judge_observer)
		judge_observer->begin(pattern);
	transcript_begin(pattern, judge_line);
	pattern->run(&world, pattern);
	transcript_end();
	if (judge_observer)
		judge_observer->end(pattern, judge_errors);
	guest_check(judge_errors == 0, "all accesses succeed: %s", pattern->name);
	for (unsigned int range = 0; range < PATTERN_RANGES_MAX; range++)
		if (judge_ranges[range].p)
			judge_unmap(range);
}

void judge_run(struct softgpu_tenant *tenant, const struct pattern *patterns, size_t count,
	       size_t chunks, const struct judge_observer *observer)
{
	judge_tenants[0] = *tenant;
	guest_check(softgpu_attach(&judge_tenants[1], 1001) == 0, "a second process");
	judge_observer = observer;
	for (size_t i = 0; i < count; i++)
		judge_run_one(&patterns[i], chunks);
	softgpu_detach(&judge_tenants[1]);
}

void test_judge(struct softgpu_tenant *tenant)
{
	judge_run(tenant, judge_patterns, judge_pattern_count, JUDGE_CHUNKS, NULL);
}

void test_thrash(struct softgpu_tenant *tenant)
{
	judge_run(tenant, thrash_patterns, thrash_pattern_count, JUDGE_CHUNKS, NULL);
}

void test_discard(struct softgpu_tenant *tenant)
{
#ifdef UVM_DISCARD
	judge_run(tenant, discard_patterns, discard_pattern_count, JUDGE_CHUNKS, NULL);
#else
	(void)tenant;
	guest_log("# this driver knows no discard");
#endif
}
