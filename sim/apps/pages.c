// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A page player: synthetic or recorded accesses of one region
 * ===========================================================
 *
 * It has one managed region, and runs round after round of kernels on it. Each kernel reads or
 * writes app.kernel_blocks blocks. A round is one burst, submitted when the last one has ended.
 * The host needs no time, except for app.kernel_launch and for app.pause between two rounds.
 * Kernels that touch no block only compute. The times of such a player's rounds show how long
 * it waited for the GPU.
 *
 *     sequential   through the region and again from its start; a round goes on where the last
 *                  one has stopped
 *     random       each block is as likely as any other
 *     zipf         the i-th block is touched in proportion to i^-alpha: the first one most
 *                  often
 *     events       the scenario's events name blocks and dates; each block is a round. A round
 *                  of a frozen context comes later. When the context dies the process stays,
 *                  and its rounds fail, until an event ends it
 *     trace        a recorded trace says which pages of 64 KB each kernel accesses, and may say
 *                  how long it takes and when it was launched (trace/page_trace.h). A trace
 *                  with dates, from the container's start on, is played once: each round waits
 *                  for the date of its first kernel. It is late if the round before it is late,
 *                  and its wait counts. A trace without dates begins again at its end
 *
 * Draws depend on the scenario's seed and the container's name alone. Powers are products of
 * square roots, which every machine rounds alike. It does not round pow() alike.
 */
#include "apps/pages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app.h"
#include "apps/app_cost.h"
#include "config/check.h"
#include "engine/error.h"
#include "trace/page_trace.h"

struct pages {
	const struct app_env *env;
	const struct cfg_pages *cfg;
	struct cuda_memory region;
	struct cuda_access *accesses; /* of a round, at most one a block */
	u32 access_count;
	u64 random_state;
	u32 next_block; /* of the sequential walk */
	double *cdf;	/* zipf: share of all touches that the blocks up to this one get */
};

/* What a recorded trace says, and masks of pages for the accesses of its runs. */
struct pages_recorded {
	struct page_trace trace;
	u32 (*masks)[2]; /* of each run: of its first block, and of its last one */
};

/* A random number below @bound. */
static u64 pages_draw(struct pages *pages, u64 bound)
{
	return (u64)((unsigned __int128)gvm_port_draw(&pages->random_state) * bound >> 64);
}

/* @base to the power of @exponent in ppm: whole powers, then the binary digits of the rest. */
static double power_ppm(double base, u64 exponent)
{
	u64 rest = exponent % CFG_PPM;
	double result = 1, root = base;

	for (exponent /= CFG_PPM; exponent; exponent--)
		result *= base;
	while (rest) {
		root = sqrt(root);
		rest *= 2;
		if (rest >= CFG_PPM)
			result *= root;
		rest %= CFG_PPM;
		if (root == 1)
			break;
	}
	return result;
}

static int zipf_init(struct pages *pages)
{
	u32 count = pages->region.chunks, i;
	double total = 0;

	pages->cdf = calloc(count, sizeof(*pages->cdf));
	if (!pages->cdf)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		total += 1 / power_ppm(i + 1, pages->cfg->zipf_alpha);
		pages->cdf[i] = total;
	}
	for (i = 0; i < count; i++)
		pages->cdf[i] /= total;
	return 0;
}

/* The first block whose share reaches a random number from 0 to 1. */
static u32 zipf_draw(struct pages *pages)
{
	double u = (double)(gvm_port_draw(&pages->random_state) >> 11) * 0x1p-53;
	u32 low = 0, high = pages->region.chunks - 1;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (pages->cdf[middle] >= u)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void pages_touch(struct pages *pages, u32 first_block, u32 block_count,
			enum cuda_mode mode)
{
	pages->accesses[pages->access_count++] = (struct cuda_access){
		.memory = &pages->region,
		.first = first_block,
		.chunks = block_count,
		.mode = mode,
	};
}

/* The next @left blocks of the walk, in one piece up to the region's end. */
static void pages_walk(struct pages *pages, u32 left, enum cuda_mode mode)
{
	while (left) {
		u32 run = min(left, pages->region.chunks - pages->next_block);

		pages_touch(pages, pages->next_block, run, mode);
		pages->next_block = (pages->next_block + run) % pages->region.chunks;
		left -= run;
	}
}

/* Add the accesses of a round's next kernel. */
static void pages_add_kernel(struct pages *pages)
{
	const struct cfg_pages *cfg = pages->cfg;
	bool writes = pages_draw(pages, CFG_PPM) < cfg->write_share;
	enum cuda_mode mode = writes ? CUDA_WRITE : CUDA_READ;

	if (cfg->pattern == CFG_PATTERN_EVENTS) {
		pages_touch(pages, pages->next_block, 1, mode);
		return;
	}
	if (cfg->pattern == CFG_PATTERN_SEQUENTIAL) {
		pages_walk(pages, (u32)cfg->kernel_blocks, mode);
		return;
	}
	for (u32 i = 0; i < cfg->kernel_blocks; i++)
		pages_touch(pages,
			    cfg->pattern == CFG_PATTERN_ZIPF ?
				    zipf_draw(pages) :
				    (u32)pages_draw(pages, pages->region.chunks),
			    1, mode);
}

/* Blocking: one round. Returns 0, -EIO, -EINTR or -ENOMEM. */
static int pages_play(struct pages *pages)
{
	const struct cfg_pages *cfg = pages->cfg;

	pages->access_count = 0;
	for (u64 i = 0; i < cfg->kernels; i++)
		pages_add_kernel(pages);
	return cuda_run(pages->env->cuda,
			&(struct cuda_burst_config){
				.kernels = (u32)cfg->kernels,
				.kernel_ns = cfg->kernel_time,
				.launch_ns = app_launch_ns(&pages->env->config->host,
							   cfg->kernel_launch, 1),
				.pages_at_once = (u32)cfg->pages_at_once,
				.accesses = pages->accesses,
				.access_count = pages->access_count,
			});
}

/* Blocking: one round, with its record. */
static int pages_log_round(struct pages *pages)
{
	struct app_record *record;
	int status = app_begin(pages->env, eng_now(), &record);

	if (status)
		return status;
	status = pages_play(pages);
	app_log_end(pages->env, record, status);
	return status;
}

/* Blocking: prefetch and pause between two rounds. 0, -EINTR, or the error of the prefetch. */
static int pages_pause(struct pages *pages)
{
	const struct cfg_pages *cfg = pages->cfg;
	int status = 0;

	if (cfg->prefetch_back)
		status = cuda_prefetch(&pages->region, CUDA_HOST);
	if (!status && cfg->pause)
		status = eng_sleep_until(eng_now() + cfg->pause);
	return status;
}

/* Blocking: touch the blocks that an event names, in its order. 0, -EIO or -EINTR. */
static int pages_follow(struct pages *pages, const struct cfg_event *event)
{
	bool backward = event->last_block < event->first_block;
	int status = eng_sleep_until(event->at);

	pages->next_block = event->first_block;
	while (!status) {
		u32 block = pages->next_block;

		status = pages_log_round(pages);
		if (!status)
			status = pages_pause(pages);
		if (block == event->last_block)
			break;
		pages->next_block = backward ? block - 1 : block + 1;
	}
	return status;
}

/*
 * Blocking: follow the events of this container from its start on, up to its exit or the end of
 * the run. Returns 0, or -EIO: its context has died.
 */
static int pages_follow_events(struct pages *pages)
{
	const struct config *config = pages->env->config;
	int status = 0, died = 0;

	for (size_t i = 0; i < config->event_count && status != -EINTR; i++) {
		const struct cfg_event *event = &config->events[i];

		if (strcmp(event->container, pages->env->container->name) != 0 ||
		    event->at < app_open_ns(pages->env))
			continue;
		if (event->touch[0])
			status = pages_follow(pages, event);
		if (status == -EIO)
			died = -EIO;
		if (event->exit && !eng_sleep_until(event->at)) {
			cuda_process_exit(pages->env->cuda);
			return died;
		}
	}
	eng_sleep_until(ENG_NEVER);
	return died;
}

/*
 * Add an access of pages [@from, @to) of one block. @mask is room for their mask, which stays as
 * it is while kernels run.
 */
static void pages_touch_part(struct pages *pages, u32 block, u32 from, u32 to,
			     enum cuda_mode mode, u32 *mask)
{
	static const u64 not_zero = 1;
	u32 all = ~0u;

	*mask = all << from & all >> (GVM_PAGES_PER_BLOCK - to);
	pages_touch(pages, block, 1, mode);
	pages->accesses[pages->access_count - 1].masks = mask;
	pages->accesses[pages->access_count - 1].groups = &not_zero;
	pages->accesses[pages->access_count - 1].chunks_per_mask = 1;
}

/* Add the accesses of a run of pages: a part of a block, whole blocks, a part of a block. */
static void pages_touch_run(struct pages *pages, const struct page_run *run, u32 masks[2])
{
	enum cuda_mode mode = run->write ? CUDA_WRITE : CUDA_READ;
	u32 block = run->page / GVM_PAGES_PER_BLOCK, from = run->page % GVM_PAGES_PER_BLOCK;
	u32 left = run->pages;

	if (from) {
		u32 here = min(left, (u32)(GVM_PAGES_PER_BLOCK - from));

		pages_touch_part(pages, block++, from, from + here, mode, &masks[0]);
		left -= here;
	}
	if (left / GVM_PAGES_PER_BLOCK)
		pages_touch(pages, block, left / GVM_PAGES_PER_BLOCK, mode);
	if (left % GVM_PAGES_PER_BLOCK)
		pages_touch_part(pages, block + left / GVM_PAGES_PER_BLOCK, 0,
				 left % GVM_PAGES_PER_BLOCK, mode, &masks[1]);
}

/* Launch kernel @index of the trace. Returns 0 or -ENOMEM. */
static int pages_launch_recorded(struct pages *pages, size_t index)
{
	struct pages_recorded *recorded = pages->env->prepared;
	const struct page_kernel *kernel = &recorded->trace.kernels[index];
	const struct cfg_pages *cfg = pages->cfg;

	pages->access_count = 0;
	for (size_t i = kernel->first_run; i < page_trace_runs_end(&recorded->trace, index);
	     i++)
		pages_touch_run(pages, &recorded->trace.runs[i], recorded->masks[i]);
	return cuda_launch(
		pages->env->cuda,
		&(struct cuda_burst_config){
			.kernels = 1,
			.kernel_ns = recorded->trace.timed ? kernel->time_ns : cfg->kernel_time,
			.launch_ns =
				app_launch_ns(&pages->env->config->host, cfg->kernel_launch, 1),
			.pages_at_once = (u32)cfg->pages_at_once,
			.accesses = pages->accesses,
			.access_count = pages->access_count,
		});
}

/* Blocking: one round of kernels from *@next on, with its record. 0, -EIO, -EINTR or -ENOMEM. */
static int pages_play_recorded(struct pages *pages, size_t *next)
{
	const struct pages_recorded *recorded = pages->env->prepared;
	const struct page_trace *trace = &recorded->trace;
	u64 date = eng_now();
	struct app_record *record;
	int status = 0;

	if (trace->dated) {
		date = app_open_ns(pages->env) + trace->kernels[*next].start_ns;
		status = eng_sleep_until(max(date, (u64)eng_now()));
	}
	if (!status)
		status = app_begin(pages->env, date, &record);
	if (status)
		return status;
	for (u64 i = 0; !status && i < pages->cfg->kernels && *next < trace->kernel_count; i++)
		status = pages_launch_recorded(pages, (*next)++);
	if (!status)
		status = cuda_synchronize(pages->env->cuda);
	app_log_end(pages->env, record, status);
	return status;
}

/* Blocking: play the trace, once or again and again. */
static int pages_follow_trace(struct pages *pages)
{
	const struct pages_recorded *recorded = pages->env->prepared;
	size_t next = 0;
	int status;

	do {
		status = pages_play_recorded(pages, &next);
		if (!status)
			status = pages_pause(pages);
		if (next == recorded->trace.kernel_count && !recorded->trace.dated)
			next = 0;
	} while (!status && next < recorded->trace.kernel_count);
	return status;
}

/* The most accesses of a burst: a run of a trace has three at most. */
static u64 pages_most_accesses(const struct pages *pages)
{
	const struct pages_recorded *recorded = pages->env->prepared;

	if (pages->cfg->pattern == CFG_PATTERN_TRACE)
		return 3 * recorded->trace.most_runs;
	/* At least one a kernel, for events; and then NULL means no memory. */
	return pages->cfg->kernels * max(pages->cfg->kernel_blocks, (u64)1);
}

static int pages_init(struct pages *pages)
{
	const struct cfg_pages *cfg = pages->cfg;
	int status;

	/* Containers of one scenario draw differently. */
	pages->random_state = pages->env->config->seed;
	for (const char *c = pages->env->container->name; *c; c++)
		pages->random_state = pages->random_state * 31 + (u8)*c;
	status = app_malloc(pages->env, cfg->bytes, cfg->on_host, &pages->region);
	if (status)
		return status;
	pages->accesses = calloc(pages_most_accesses(pages), sizeof(*pages->accesses));
	if (!pages->accesses)
		return -ENOMEM;
	return cfg->pattern == CFG_PATTERN_ZIPF ? zipf_init(pages) : 0;
}

static int pages_run(const struct app_env *env)
{
	struct pages pages = { .env = env, .cfg = env->container->app };
	int status = pages_init(&pages);

	if (!status && pages.cfg->pattern == CFG_PATTERN_EVENTS)
		status = pages_follow_events(&pages);
	else if (!status && pages.cfg->pattern == CFG_PATTERN_TRACE)
		status = pages_follow_trace(&pages);
	else
		while (!status) {
			status = pages_log_round(&pages);
			if (!status)
				status = pages_pause(&pages);
		}
	free(pages.cdf);
	free(pages.accesses);
	return status == -EINTR ? 0 : status;
}

#define PAGES(leaf_, type_, member_, help_, ...) \
	CFG_APP_KEY(leaf_, type_, struct cfg_pages, member_, help_, __VA_ARGS__)

static const char *const patterns[] = {
	[CFG_PATTERN_SEQUENTIAL] = "sequential",
	[CFG_PATTERN_RANDOM] = "random",
	[CFG_PATTERN_ZIPF] = "zipf",
	[CFG_PATTERN_EVENTS] = "events",
	[CFG_PATTERN_TRACE] = "trace",
	NULL,
};

static const struct cfg_key pages_keys[] = {
	PAGES("bytes", SIZE, bytes, "size of its region", CFG_RANGE(1, CFG_TIB)),
	PAGES("on_host", BOOL, on_host, "filled by the CPU: first touches copy it in",
	      CFG_DEFAULT("true")),
	PAGES("pattern", ENUM, pattern, "order in which it touches blocks", .words = patterns,
	      CFG_DEFAULT("sequential")),
	PAGES("page_trace", TRACE, page_trace,
	      "trace: a CSV file, plain or by zstd, of the pages that each kernel accesses",
	      CFG_DEFAULT("")),
	PAGES("zipf_alpha", PPM, zipf_alpha,
	      "zipf: the i-th block is touched in proportion to i^-alpha",
	      CFG_RANGE(0, 4 * CFG_PPM), CFG_DEFAULT("0.8")),
	PAGES("write_share", PPM, write_share, "share of its kernels that write",
	      CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("1")),
	PAGES("kernels", INTEGER, kernels, "kernels of a round", CFG_RANGE(1, 1024),
	      CFG_DEFAULT("1")),
	PAGES("kernel_blocks", INTEGER, kernel_blocks,
	      "2 MB blocks that each kernel touches; 0: it computes only", CFG_RANGE(0, 4096),
	      CFG_DEFAULT("256")),
	PAGES("kernel_time", DURATION, kernel_time, "GPU time of a kernel",
	      CFG_RANGE(1, CFG_HOUR), CFG_DEFAULT("10us")),
	PAGES("kernel_launch", DURATION, kernel_launch,
	      "host time of a launch, on the reference host: of a C program 2 to 5us",
	      CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	PAGES("pages_at_once", INTEGER, pages_at_once,
	      "pages of a block that are touched side by side; 0: gpu.fault.per_block",
	      CFG_RANGE(0, 32), CFG_DEFAULT("0")),
	PAGES("pause", DURATION, pause, "between two rounds", CFG_RANGE(0, CFG_HOUR),
	      CFG_DEFAULT("0s")),
	PAGES("prefetch_back", BOOL, prefetch_back,
	      "after a round the region is prefetched to the host", CFG_DEFAULT("false")),
};

#define LISTENERS "a container with app.type \"pages\" and app.pattern \"events\""

/* Only a player whose pattern is "events" listens; it can touch the blocks of its region. */
static int pages_check_event(struct cfg_load *load, const struct cfg_container *container,
			     const struct cfg_event *event, size_t index)
{
	const struct cfg_pages *cfg = container->app;
	u64 blocks = (cfg->bytes + GVM_CHUNK_BYTES - 1) / GVM_CHUNK_BYTES;
	char wrong[128], allowed[128];

	if (event->load || event->sleep || event->wake)
		return cfg_reject_event(load, index,
					event->load  ? "load" :
					event->sleep ? "sleep" :
						       "wake",
					"its container has no requests",
					"a container with app.type \"llm-server\"");
	if (cfg->pattern != CFG_PATTERN_EVENTS)
		return cfg_reject_event(load, index, event->touch[0] ? "touch" : "exit",
					"its container listens to no events", LISTENERS);
	if (!event->touch[0] || (event->first_block < blocks && event->last_block < blocks))
		return 0;
	snprintf(wrong, sizeof(wrong), "\"%s\" is no block of its region, nor a run of them",
		 event->touch);
	snprintf(allowed, sizeof(allowed), "\"0\" to \"%llu\", or such as \"0-%llu\"",
		 blocks - 1, blocks - 1);
	return cfg_reject_event(load, index, "touch", wrong, allowed);
}

static int pages_check(struct cfg_load *load, const struct cfg_container *container)
{
	const struct cfg_pages *cfg = container->app;

	if (cfg->pattern == CFG_PATTERN_TRACE && !*cfg->page_trace)
		return cfg_reject_app(
			load, container, "page_trace",
			"is missing, allowed: a trace of pages, as app.pattern is "
			"\"trace\"");
	if (cfg->pattern != CFG_PATTERN_TRACE && *cfg->page_trace)
		return cfg_reject_app(load, container, "page_trace",
				      "is given, allowed with app.pattern \"trace\" only");
	return 0;
}

static const struct metric round_metrics[] = {
	METRIC_OUTCOME_ROW("rounds", "rounds", COMPLETED),
	METRIC_TIME_ROWS("round_ms", "round", MS, TO_END, ARRIVED),
	METRIC_TIME_ROW("round_ms.max", "round max", MS, TO_END, ARRIVED, 100),
	METRIC_TIME_ROWS("client_round_ms", "client's round", MS, TO_END, CLIENT),
	METRIC_TIME_ROW("client_round_ms.max", "client's round max", MS, TO_END, CLIENT, 100),
};

static const struct app_report pages_report = {
	.type = "pages",
	.record = "round",
	.closed_loop = true,
	REPORT_METRICS(round_metrics),
};

static void pages_discard(struct app_env *env)
{
	struct pages_recorded *recorded = env->prepared;

	if (!recorded)
		return;
	page_trace_destroy(&recorded->trace);
	free(recorded->masks);
	free(recorded);
	env->prepared = NULL;
}

/* Read the trace, whose pages have to be within the region. */
static int pages_prepare_trace(struct app_env *env, struct sim_error *err)
{
	const struct cfg_pages *cfg = env->container->app;
	struct pages_recorded *recorded = calloc(1, sizeof(*recorded));
	int status;

	if (!recorded)
		return sim_runtime_error(err, "out of memory");
	env->prepared = recorded;
	status = page_trace_read(cfg->page_trace,
				 (cfg->bytes + GVM_PAGE_BYTES - 1) / GVM_PAGE_BYTES,
				 &recorded->trace, err);
	if (status)
		return status;
	recorded->masks = calloc(recorded->trace.run_count, sizeof(*recorded->masks));
	return recorded->masks ? 0 : sim_runtime_error(err, "out of memory");
}

static int pages_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_pages *cfg = env->container->app;
	int status = 0;

	if (cfg->prefetch_back)
		status = app_check_prefetch(env, "prefetch_back", "false", err);
	if (!status && cfg->pattern == CFG_PATTERN_TRACE)
		status = pages_prepare_trace(env, err);
	return status;
}

const struct sim_app pages_app = {
	.keys = {
		.name = "pages",
		.summary = "a page player: an access pattern over one region",
		CFG_KEYS(pages_keys),
		.bytes = sizeof(struct cfg_pages),
		.check = pages_check,
		.check_event = pages_check_event,
		.listeners = LISTENERS,
	},
	.report = &pages_report,
	.prepare = pages_prepare,
	.discard = pages_discard,
	.run = pages_run,
};
