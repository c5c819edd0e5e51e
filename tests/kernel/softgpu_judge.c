// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See softgpu_judge.h. The second word of each page says which page it is. So copies, which
 * have physical addresses, are known by range and page.
 */
#include "softgpu_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JUDGE_PATH_MAX	128
#define JUDGE_SETTLE_US 5000
#define JUDGE_THREAD	"UVM global queu" /* its name, of which older kernels keep 15 letters */

static struct judge_process judge_processes[PATTERN_PROCESSES];
static struct {
	uint64_t *p; /* NULL: not mapped */
	size_t blocks;
	unsigned int process;
} judge_ranges[PATTERN_RANGES_MAX];
static const struct judge_observer *judge_observer;
static const struct judge_limits *judge_limits; /* NULL: there are no limits */
static uint64_t judge_errors;
static bool judge_skips_all; /* invalidates of all translations are left out */
static bool judge_cpu_takes; /* the CPU faults */

static void judge_line(const char *text)
{
	guest_log("judge: %s", text);
}

/* Let the process of a range do something with it. */
static int judge_ask(unsigned int range, struct judge_call call)
{
	call.range = range;
	call.address = (uintptr_t)judge_ranges[range].p;
	call.blocks = judge_ranges[range].blocks;
	return judge_process_ask(&judge_processes[judge_ranges[range].process], &call);
}

static int judge_pid(unsigned int process)
{
	return judge_processes[process].pid ? judge_processes[process].pid : getpid();
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
	bool known = (event->word & JUDGE_MARK_MASK) == JUDGE_MARK;
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
			event->bytes / SOFTGPU_PAGE, judge_cpu_takes ? 0 : 1);
}

/* What is not of managed memory is left out. */
static void judge_invalidate(const struct softgpu_event *event)
{
	/*
	 * A new page table above those of a block is there once in a range. The model has none.
	 */
	if (event->how == SOFTGPU_LEVEL_ALL || event->how > SOFTGPU_LEVEL_BLOCK)
		return;
	/*
	 * The CPU faults on one page of 4 KB after the other. The model takes pages together,
	 * so how many are invalidated at once is not compared. A limit write frees page tables,
	 * which the model has not.
	 */
	if (!event->bytes && judge_skips_all)
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
	judge_errors += judge_ask(range, (struct judge_call){ .what = JUDGE_UNMAP }) != 0;
	judge_drain();
	judge_ranges[range].p = NULL;
}

static void judge_cpu(const struct pattern_walk *walk)
{
	judge_errors += judge_ask(walk->range, (struct judge_call){ .what = JUDGE_WRITE,
								    .walk = *walk }) != 0;
	judge_skips_all = true;
	judge_cpu_takes = true;
	judge_drain();
	judge_skips_all = false;
	judge_cpu_takes = false;
}

static void judge_map(unsigned int range, unsigned int process, size_t blocks, bool on_host)
{
	static uintptr_t next = SOFTGPU_FIRST_ADDRESS;
	struct pattern_walk all = { range, 0, blocks * PATTERN_BLOCK_PAGES, 1 };

	judge_ranges[range].process = process;
	judge_ranges[range].blocks = blocks;
	judge_ranges[range].p = (uint64_t *)next;
	next += SOFTGPU_ADDRESS_STEP;
	if (judge_ask(range, (struct judge_call){ .what = JUDGE_MAP })) {
		judge_ranges[range].p = NULL;
		judge_errors++;
	} else if (on_host) {
		judge_cpu(&all);
	}
}

static void judge_gpu(const struct pattern_walk *walk, bool write, unsigned int window)
{
	struct softgpu_access access = {
		.value = judge_mark(walk->range, walk->first),
		.step = walk->step,
		.va = (uintptr_t)(judge_ranges[walk->range].p + walk->first * JUDGE_WORDS + 1),
		.count = walk->count,
		.stride = walk->step * SOFTGPU_PAGE,
		.op = write ? SOFTGPU_WRITE : SOFTGPU_READ,
		.window = window,
	};

	softgpu_touch_with(&judge_processes[judge_ranges[walk->range].process].tenant, &access);
	judge_errors += access.errors;
	judge_drain();
}

static void judge_advise(unsigned int range, enum pattern_advice advice)
{
	judge_errors += judge_ask(range, (struct judge_call){ .what = JUDGE_ADVISE,
							      .advice = advice }) != 0;
	judge_drain();
}

static void judge_migrate(unsigned int range, bool to_gpu)
{
	judge_errors += judge_ask(range, (struct judge_call){ .what = JUDGE_MIGRATE,
							      .to_gpu = to_gpu }) != 0;
	judge_drain();
}

/* Wait for the thread of the driver that maps evicted blocks; its work is in the transcript then. */
static void judge_wait_for_thread(void)
{
	judge_errors += !guest_wait_for_threads(JUDGE_THREAD);
	judge_drain();
	transcript_settled();
}

static void judge_discard(unsigned int range, size_t first, size_t blocks)
{
	judge_errors +=
		judge_ask(range, (struct judge_call){ .what = JUDGE_DISCARD,
						      .walk = { range, first, blocks, 0 } }) !=
		0;
	judge_drain();
}

/* The process has used this much, once the driver has done all its work. */
static void judge_usage(unsigned int process)
{
	uint64_t bytes = 0;

	judge_errors += judge_limits->usage(judge_pid(process), &bytes) != 0;
	transcript_usage(process, bytes);
}

static void judge_set_limit(unsigned int process, size_t chunks)
{
	judge_errors += judge_limits->set(judge_pid(process), chunks) != 0;
}

/*
 * Copies of victims to the host may end later, and then a thread of the driver gives the
 * chunks back. Wait for both.
 */
static void judge_settle(void)
{
	judge_errors += softgpu_wait_idle() != 0;
	usleep(JUDGE_SETTLE_US);
	judge_drain();
}

static void judge_limit(unsigned int process, size_t chunks)
{
	judge_set_limit(process, chunks);
	judge_skips_all = true;
	judge_settle();
	judge_skips_all = false;
	transcript_limit(process, chunks);
	judge_usage(process);
}

static void judge_limited_gpu(const struct pattern_walk *walk, bool write, unsigned int window)
{
	unsigned int process = judge_ranges[walk->range].process;

	judge_gpu(walk, write, window);
	judge_settle();
	judge_usage(process);
}

/*
 * The driver keeps free chunks of earlier patterns, and looks at a limit when it has none: RM
 * takes all there are, and gives them back.
 */
static void judge_empty_free_list(void)
{
	while (softgpu_rm_take(2 * SOFTGPU_MB) == 0)
		;
	softgpu_rm_give();
}

static void judge_rm_take(size_t chunks)
{
	judge_errors += softgpu_rm_take(chunks * 2 * SOFTGPU_MB) != 0;
	judge_drain();
}

static void judge_run_one(const struct pattern *pattern, size_t chunks, size_t limit)
{
	const struct pattern_world world = {
		.chunks = limit ? limit : chunks,
		.map = judge_map,
		.unmap = judge_unmap,
		.cpu = judge_cpu,
		.gpu = limit ? judge_limited_gpu : judge_gpu,
		.advise = judge_advise,
		.migrate = judge_migrate,
		.settle = judge_wait_for_thread,
		.discard = judge_discard,
		.rm_take = judge_rm_take,
		.rm_give = softgpu_rm_give,
		.limit = judge_limit,
	};
	size_t ignored;

	if (limit)
		judge_empty_free_list();
	softgpu_events(&ignored);
	judge_errors = 0;
	if (judge_observer)
		judge_observer->begin(pattern);
	transcript_begin(pattern, judge_line);
	if (limit)
		judge_limit(0, limit);
	pattern->run(&world, pattern);
	transcript_end();
	if (judge_observer)
		judge_observer->end(pattern, judge_errors);
	for (unsigned int range = 0; range < PATTERN_RANGES_MAX; range++)
		if (judge_ranges[range].p)
			judge_unmap(range);
	for (unsigned int process = 0; limit && process < 2; process++)
		judge_set_limit(process, PATTERN_NO_LIMIT);
	guest_check(judge_errors == 0, "all accesses succeed: %s", pattern->name);
}

static void judge_run_all(struct softgpu_tenant *tenant, const struct pattern *patterns,
			  size_t count, size_t chunks, size_t limit)
{
	unsigned int processes = patterns == crowd_patterns ? PATTERN_PROCESSES : 2;

	judge_processes[0] = (struct judge_process){ .tenant = *tenant };
	for (unsigned int i = 1; i < processes; i++) {
		int status = judge_process_start(&judge_processes[i], 1000 + i,
						 limit ? judge_limits->enter : NULL);

		guest_check(status == 0, "process %u: %d", i, status);
	}
	for (size_t i = 0; i < count; i++)
		judge_run_one(&patterns[i], chunks, limit);
	/* The last one first: it has our ends of the others' pipes, too. */
	for (unsigned int i = processes; --i > 0;)
		judge_process_end(&judge_processes[i]);
}

void judge_run(struct softgpu_tenant *tenant, const struct pattern *patterns, size_t count,
	       size_t chunks, const struct judge_observer *observer)
{
	judge_observer = observer;
	judge_run_all(tenant, patterns, count, chunks, 0);
	judge_observer = NULL;
}

void judge_run_limited(struct softgpu_tenant *tenant, const struct pattern *patterns,
		       size_t count, size_t chunks, size_t limit,
		       const struct judge_limits *limits)
{
	judge_limits = limits;
	judge_run_all(tenant, patterns, count, chunks, limit);
}

void test_judge(struct softgpu_tenant *tenant)
{
	judge_run(tenant, judge_patterns, judge_pattern_count, JUDGE_CHUNKS, NULL);
}

void test_crowd(struct softgpu_tenant *tenant)
{
	judge_run(tenant, crowd_patterns, crowd_pattern_count, JUDGE_CHUNKS, NULL);
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

/* A file of the published GVM driver for a process; its number of the GPU is 0. */
static void published_file(int pid, const char *name, char path[JUDGE_PATH_MAX])
{
	snprintf(path, JUDGE_PATH_MAX, "nvidia-uvm/processes/%d/0/%s", pid, name);
}

static int published_usage(int pid, uint64_t *ret_bytes)
{
	char path[JUDGE_PATH_MAX], text[32] = "";
	int status;

	published_file(pid, "memory.current", path);
	status = guest_read(path, text, sizeof(text));
	*ret_bytes = strtoull(text, NULL, 10);
	return status;
}

static int published_set(int pid, size_t chunks)
{
	char path[JUDGE_PATH_MAX], text[32];

	published_file(pid, "memory.limit", path);
	snprintf(text, sizeof(text), "%zu",
		 chunks == PATTERN_NO_LIMIT ? SIZE_MAX : chunks * 2 * SOFTGPU_MB);
	return guest_write(path, text);
}

static const struct judge_limits published_limits = {
	.set = published_set,
	.usage = published_usage,
};

/* Only the published GVM's driver has the file. */
static bool published_is_here(void)
{
	uint64_t bytes;

	return published_usage(getpid(), &bytes) == 0;
}

static void judge_run_limits(struct softgpu_tenant *tenant, const struct pattern *patterns,
			     size_t count, size_t chunks, size_t limit)
{
	if (published_is_here())
		judge_run_limited(tenant, patterns, count, chunks, limit, &published_limits);
	else
		guest_log("# this driver knows no limits");
}

void test_limit_patterns(struct softgpu_tenant *tenant)
{
	judge_run_limits(tenant, limit_patterns, limit_pattern_count, LIMITS_CHUNKS,
			 LIMITS_LIMIT);
}

void test_full_limit_patterns(struct softgpu_tenant *tenant)
{
	judge_run_limits(tenant, full_limit_patterns, full_limit_pattern_count, JUDGE_CHUNKS,
			 FULL_LIMIT);
}
