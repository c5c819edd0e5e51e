// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/schema.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"

#define KIB	      UINT64_C(1024)
#define MIB	      (1024 * KIB)
#define GIB	      (1024 * MIB)
#define TIB	      (1024 * GIB)

#define USEC	      UINT64_C(1000)
#define MSEC	      (1000 * USEC)
#define SEC	      (1000 * MSEC)
#define HOUR	      (3600 * SEC)

#define COUNT_MAX     UINT64_C(1000000000)
#define BANDWIDTH_MIN UINT64_C(1000000)
#define BANDWIDTH_MAX UINT64_C(1000000000000000)
#define FLOPS_MAX     UINT64_C(1000000000000000000)

#define MEMBER(type_, member_) \
	.offset = offsetof(type_, member_), .size = sizeof(((type_ *)NULL)->member_)
#define RANGE(min_, max_) .min = (min_), .max = (max_)
#define TYPE(type_)	  .type = CFG_TYPE_##type_
#define DEFAULT(text_)	  .fallback = (text_)

/* A key of the scenario itself. */
#define ROOT(path_, type_, member_, ...)                                                     \
	{                                                                                    \
		.path = (path_), TYPE(type_), .scope = CFG_SCOPE_CONFIG, .app = CFG_APP_ANY, \
		MEMBER(struct config, member_), __VA_ARGS__                                  \
	}

/* A key whose path is that of its member: "gpu.link.bandwidth". All of them are required. */
#define MACHINE(type_, member_, min_, max_) ROOT(#member_, type_, member_, RANGE(min_, max_))

/* A key that is bound, but that nothing reads yet. */
#define UNREAD(type_, member_, min_, max_) \
	ROOT(#member_, type_, member_, RANGE(min_, max_), .unused = true)

/* A switch that the systems with this mechanism honour. */
#define MECHANISM(member_, default_)                                                     \
	ROOT("system.mechanisms." #member_, BOOL, mechanisms.member_, .mechanism = true, \
	     DEFAULT(default_))

/* A key of the design that no system honours yet. Never required. */
#define UNUSED(path_, type_, ...)                                                        \
	{                                                                                \
		.path = (path_), TYPE(type_), .scope = CFG_SCOPE_UNUSED, .unused = true, \
		.app = CFG_APP_ANY, DEFAULT(""), __VA_ARGS__                             \
	}

/* A key of a container, for one application type or for any. */
#define CONTAINER(leaf_, app_, type_, member_, ...)                                       \
	{                                                                                 \
		.path = "containers.*." leaf_, TYPE(type_), .scope = CFG_SCOPE_CONTAINER, \
		.app = (app_), MEMBER(struct cfg_container, member_), __VA_ARGS__         \
	}

/* Constants of real applications. All of them are required; a profile gives them. */
#define LLM(type_, member_, min_, max_) \
	CONTAINER("app." #member_, CFG_APP_LLM_SERVER, type_, llm.member_, RANGE(min_, max_))
#define DIFFUSION(type_, member_, min_, max_)                                   \
	CONTAINER("app." #member_, CFG_APP_DIFFUSION, type_, diffusion.member_, \
		  RANGE(min_, max_))

#define PAGES(leaf_, type_, member_, ...) \
	CONTAINER("app." leaf_, CFG_APP_PAGES, type_, pages.member_, __VA_ARGS__)

#define CLIENT(leaf_, type_, member_, ...) \
	CONTAINER("app." leaf_, CFG_APP_LLM_SERVER, type_, llm.client.member_, __VA_ARGS__)

/* A control file: never required, and bound by its name. */
#define CONTROL(file_, type_, min_, max_)                                               \
	{                                                                               \
		.path = "containers.*." file_, TYPE(type_), .scope = CFG_SCOPE_CONTROL, \
		.app = CFG_APP_ANY, RANGE(min_, max_), DEFAULT("")                      \
	}

#define EVENT(leaf_, type_, member_, ...)                                          \
	{                                                                          \
		.path = "events.#." leaf_, TYPE(type_), .scope = CFG_SCOPE_EVENT,  \
		.app = CFG_APP_ANY, MEMBER(struct cfg_event, member_), __VA_ARGS__ \
	}

static const char *const app_types[] = {
	[CFG_APP_LLM_SERVER] = "llm-server",
	[CFG_APP_DIFFUSION] = "diffusion",
	[CFG_APP_PAGES] = "pages",
	NULL,
};

static const char *const patterns[] = {
	[CFG_PATTERN_SEQUENTIAL] = "sequential",
	[CFG_PATTERN_RANDOM] = "random",
	[CFG_PATTERN_ZIPF] = "zipf",
	[CFG_PATTERN_EVENTS] = "events",
	NULL,
};

static const char *const responses[] = {
	[TRACE_RESPONSE_GENERATED] = "generated",
	[TRACE_RESPONSE_RECORDED] = "recorded",
	NULL,
};

static const char *const schedulers[] = {
	[CFG_SCHEDULER_TIMESLICES] = "timeslices",
	[CFG_SCHEDULER_PRIORITY] = "priority",
	[CFG_SCHEDULER_WEIGHTED] = "weighted",
	NULL,
};

static const char *const trackings[] = {
	[CFG_TRACKING_EVENTS] = "events",
	[CFG_TRACKING_BUSY_BITS] = "busy_bits",
	NULL,
};

static const char *const blocks[] = { "core", "nvidia", NULL };

const struct cfg_key cfg_schema[] = {
	ROOT("name", NAME, name),
	ROOT("description", STRING, description, DEFAULT("")),
	ROOT("duration", DURATION, duration, RANGE(1, 24 * HOUR)),
	ROOT("seed", INTEGER, seed, RANGE(0, INT64_MAX), DEFAULT("1")),
	ROOT("system.name", WORD, system, .words = config_known_systems, DEFAULT("stock")),
	ROOT("system.scheduler", ENUM, scheduler, .words = schedulers, .mechanism = true,
	     DEFAULT("timeslices")),
	ROOT("system.tracking", ENUM, tracking, .words = trackings, .mechanism = true,
	     DEFAULT("events")),
	ROOT("system.tracking_interval", DURATION, tracking_interval, RANGE(10 * USEC, SEC),
	     .mechanism = true, DEFAULT("2ms")),
	MECHANISM(memory_isolation, "true"),
	MECHANISM(compute_isolation, "true"),
	MECHANISM(fast_paging, "true"),
	MECHANISM(clean_drop, "false"),
	MECHANISM(priority_batches, "false"),
	MECHANISM(hint_faults, "false"),
	UNUSED("system.mechanisms.block", WORD, .words = blocks),

	ROOT("gpu.profile", NAME, gpu.profile, DEFAULT("")),
	MACHINE(SIZE, gpu.memory, 2 * MIB, 16 * TIB),
	MACHINE(SIZE, gpu.memory_total, 2 * MIB, 16 * TIB),
	MACHINE(SIZE, gpu.context, 0, 16 * TIB),
	MACHINE(SIZE, gpu.memory_bandwidth, BANDWIDTH_MIN, BANDWIDTH_MAX),
	MACHINE(INTEGER, gpu.flops_bf16, 1000000, FLOPS_MAX),
	MACHINE(SIZE, gpu.link.bandwidth, BANDWIDTH_MIN, BANDWIDTH_MAX),
	MACHINE(SIZE, gpu.link.bandwidth_both, BANDWIDTH_MIN, BANDWIDTH_MAX),
	MACHINE(DURATION, gpu.link.setup, 0, SEC),
	MACHINE(DURATION, gpu.link.piece, 0, SEC),
	MACHINE(DURATION, gpu.sched.timeslice, USEC, 16 * SEC),
	MACHINE(PPM, gpu.sched.timeslice_scale, CFG_PPM / 100, 100 * CFG_PPM),
	MACHINE(DURATION, gpu.sched.context_switch, 0, SEC),
	MACHINE(DURATION, gpu.sched.context_state, 0, SEC),
	MACHINE(DURATION, gpu.sched.rpc, 0, SEC),
	MACHINE(INTEGER, gpu.fault.buffer_entries, 1, 1 << 20),
	MACHINE(INTEGER, gpu.fault.outstanding, 1, 1 << 20),
	MACHINE(INTEGER, gpu.fault.per_block, 1, 32),
	MACHINE(DURATION, gpu.fault.interrupt, 0, SEC),
	MACHINE(DURATION, gpu.fault.linger, 0, SEC),
	MACHINE(DURATION, gpu.fault.cold_wake, 0, SEC),
	MACHINE(DURATION, gpu.fault.cold_after, 0, SEC),
	MACHINE(DURATION, gpu.fault.batch, 0, SEC),
	MACHINE(DURATION, gpu.fault.entry, 0, SEC),
	MACHINE(DURATION, gpu.fault.block, 0, SEC),
	MACHINE(DURATION, gpu.fault.page, 0, SEC),
	MACHINE(DURATION, gpu.fault.replay, 0, SEC),
	MACHINE(DURATION, gpu.fault.evict, 0, SEC),
	MACHINE(DURATION, gpu.fault.push, 0, SEC),
	MACHINE(SIZE, gpu.fault.zero_bandwidth, BANDWIDTH_MIN, BANDWIDTH_MAX),

	UNREAD(SIZE, host.memory, 2 * MIB, 64 * TIB),
	UNREAD(INTEGER, host.cores, 1, 4096),
	MACHINE(DURATION, host.kernel_launch, 0, SEC),
	MACHINE(PPM, host.speed, CFG_PPM / 100, 100 * CFG_PPM),

	ROOT("host.fragmented", BOOL, host.fragmented, DEFAULT("false")),

	CONTAINER("enabled", CFG_APP_ANY, BOOL, enabled, DEFAULT("true")),
	CONTAINER("start", CFG_APP_ANY, DURATION, start, RANGE(0, 24 * HOUR), DEFAULT("0s")),
	CONTAINER("app.type", CFG_APP_ANY, ENUM, app_type, .words = app_types),
	CONTAINER("app.profile", CFG_APP_ANY, NAME, app_profile, DEFAULT("")),
	CONTAINER("app.pressure", CFG_APP_ANY, BOOL, pressure, DEFAULT("false")),

	LLM(SIZE, weights, 1, 16 * TIB),
	LLM(SIZE, kv_bytes_per_token, 1, GIB),
	LLM(SIZE, workspace, 0, 16 * TIB),
	LLM(PPM, gpu_memory_utilization, 1, CFG_PPM),
	LLM(INTEGER, block_tokens, 1, 1024),
	LLM(INTEGER, max_batched_tokens, 1, 1 << 20),
	LLM(INTEGER, max_sequences, 1, 1 << 16),
	LLM(INTEGER, max_model_len, 2, 1 << 24),
	LLM(INTEGER, flops_per_token, 1, FLOPS_MAX),
	LLM(INTEGER, attention_flops, 0, FLOPS_MAX),
	LLM(PPM, efficiency, 1, CFG_PPM),
	LLM(INTEGER, kernels_per_step, 1, COUNT_MAX),
	LLM(PPM, kv_bandwidth, 1, CFG_PPM),
	CONTAINER("app.boot", CFG_APP_LLM_SERVER, DURATION, llm.boot, RANGE(0, HOUR),
		  DEFAULT("5s")),
	CLIENT("slo_ttft", DURATION, slo_ttft, RANGE(1, HOUR), DEFAULT("7.463s")),
	CLIENT("trace.file", STRING, file),
	CLIENT("trace.divide", PPM, divide, RANGE(1, 1000000 * UINT64_C(1000000)),
	       DEFAULT("1")),
	CLIENT("trace.response", ENUM, response, .words = responses, DEFAULT("generated")),
	CLIENT("client.start", DURATION, first_request, RANGE(0, 24 * HOUR), DEFAULT("0s")),
	CLIENT("client.stop", DURATION, stop, RANGE(0, 24 * HOUR), DEFAULT("0s")),
	CLIENT("client.max_open", INTEGER, max_open, RANGE(0, COUNT_MAX), DEFAULT("0")),
	CLIENT("client.drop_in_flight", BOOL, drop_in_flight, DEFAULT("false")),

	DIFFUSION(SIZE, text_weights, 0, 16 * TIB),
	DIFFUSION(SIZE, clip_weights, 0, 16 * TIB),
	DIFFUSION(SIZE, denoiser_weights, 1, 16 * TIB),
	DIFFUSION(SIZE, decoder_weights, 0, 16 * TIB),
	DIFFUSION(SIZE, denoiser_activation, 0, 16 * TIB),
	DIFFUSION(SIZE, decoder_activation, 0, 16 * TIB),
	DIFFUSION(INTEGER, steps, 1, 10000),
	DIFFUSION(INTEGER, passes_per_step, 1, 16),
	DIFFUSION(INTEGER, text_passes, 1, 16),
	DIFFUSION(INTEGER, text_flops, 0, FLOPS_MAX),
	DIFFUSION(INTEGER, denoiser_flops, 1, FLOPS_MAX),
	DIFFUSION(SIZE, denoiser_traffic, 0, BANDWIDTH_MAX),
	DIFFUSION(INTEGER, decoder_flops, 0, FLOPS_MAX),
	DIFFUSION(SIZE, decoder_traffic, 0, BANDWIDTH_MAX),
	DIFFUSION(PPM, efficiency, 1, CFG_PPM),
	DIFFUSION(INTEGER, kernels_per_pass, 1, COUNT_MAX),
	DIFFUSION(INTEGER, kernels_text, 1, COUNT_MAX),
	DIFFUSION(INTEGER, kernels_decoder, 1, COUNT_MAX),
	DIFFUSION(DURATION, host_per_image, 0, HOUR),
	DIFFUSION(DURATION, warmup, 0, HOUR),
	CONTAINER("app.load_bandwidth", CFG_APP_DIFFUSION, SIZE, diffusion.load_bandwidth,
		  RANGE(0, BANDWIDTH_MAX), DEFAULT("0")),

	PAGES("bytes", SIZE, bytes, RANGE(1, TIB)),
	PAGES("on_host", BOOL, on_host, DEFAULT("true")),
	PAGES("pattern", ENUM, pattern, .words = patterns, DEFAULT("sequential")),
	PAGES("zipf_alpha", PPM, zipf_alpha, RANGE(0, 4 * CFG_PPM), DEFAULT("0.8")),
	PAGES("write_share", PPM, write_share, RANGE(0, CFG_PPM), DEFAULT("1")),
	PAGES("kernels", INTEGER, kernels, RANGE(1, 1024), DEFAULT("1")),
	PAGES("kernel_blocks", INTEGER, kernel_blocks, RANGE(0, 4096), DEFAULT("256")),
	PAGES("kernel_time", DURATION, kernel_time, RANGE(1, HOUR), DEFAULT("10us")),
	PAGES("pages_at_once", INTEGER, pages_at_once, RANGE(0, 32), DEFAULT("0")),
	PAGES("pause", DURATION, pause, RANGE(0, HOUR), DEFAULT("0s")),
	PAGES("prefetch_back", BOOL, prefetch_back, DEFAULT("false")),

	CONTROL("gmem.limit.high", SIZE, 0, UINT64_MAX),
	CONTROL("gmem.limit.low", SIZE, 0, UINT64_MAX),
	CONTROL("hmem.limit", SIZE, 0, UINT64_MAX),
	CONTROL("compute.timeslice", TIMESLICE, 1, 16 * SEC / USEC),
	CONTROL("compute.priority", INTEGER, 0, 16),
	CONTROL("compute.weight", INTEGER, 1, 10000),
	CONTROL("compute.freeze", INTEGER, 0, 1),

	EVENT("at", DURATION, at, RANGE(0, 24 * HOUR)),
	EVENT("container", NAME, container),
	EVENT("file", NAME, file, DEFAULT("")),
	EVENT("value", WRITE, value, DEFAULT("")),
	EVENT("touch", WRITE, touch, DEFAULT("")),
	EVENT("exit", BOOL, exit, DEFAULT("false")),

	ROOT("output.timeline_interval", DURATION, timeline_interval, RANGE(MSEC, HOUR),
	     DEFAULT("100ms")),
	ROOT("output.controls", BOOL, record_controls, DEFAULT("false")),
	ROOT("output.evictions", BOOL, record_evictions, DEFAULT("false")),
};

const size_t cfg_schema_count = sizeof(cfg_schema) / sizeof(cfg_schema[0]);

/* Names that the public GVM driver gives to the same control files. */
static const struct {
	const char *alias;
	const char *file;
} aliases[] = {
	{ "memory.limit", "gmem.limit.high" },
};

/* An index as it is printed: digits without leading zeros, small enough for the event list. */
static bool component_is_index(const char *text, size_t length, size_t *ret_index)
{
	size_t value = 0;

	if (!length || length > 4 || (length > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (size_t)(text[i] - '0');
	}
	*ret_index = value;
	return value < CFG_EVENTS_MAX;
}

static bool component_match(const char *text, size_t length, const char *pattern,
			    size_t pattern_length)
{
	size_t index;

	if (pattern_length == 1 && *pattern == '*')
		return length > 0;
	if (pattern_length == 1 && *pattern == '#')
		return component_is_index(text, length, &index);
	return length == pattern_length && !memcmp(text, pattern, length);
}

const char *cfg_path_match(const char *path, const char *pattern)
{
	while (*path) {
		size_t length = strcspn(path, ".");
		size_t pattern_length = strcspn(pattern, ".");

		if (!component_match(path, length, pattern, pattern_length))
			return NULL;
		path += length;
		pattern += pattern_length;
		pattern += *pattern == '.';
		if (*path == '.' && !path[1])
			return NULL;
		path += *path == '.';
	}
	return pattern;
}

enum cfg_path_kind cfg_schema_classify(const char *path)
{
	cfg_schema_for_each(key)
	{
		const char *rest = cfg_path_match(path, key->path);

		if (rest)
			return *rest ? CFG_PATH_BRANCH : CFG_PATH_KEY;
	}
	return CFG_PATH_UNKNOWN;
}

bool cfg_key_has_app(const struct cfg_key *key, int app)
{
	return key->app == CFG_APP_ANY || key->app == app;
}

const struct cfg_key *cfg_schema_find(const char *path, int app)
{
	cfg_schema_for_each(key)
	{
		const char *rest = cfg_path_match(path, key->path);

		if (rest && !*rest && cfg_key_has_app(key, app))
			return key;
	}
	return NULL;
}

const struct cfg_key *cfg_schema_find_control(const char *file)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (!strcmp(file, aliases[i].alias))
			file = aliases[i].file;
	}
	cfg_schema_for_each(key)
	{
		if (key->scope == CFG_SCOPE_CONTROL && !strcmp(cfg_key_leaf(key), file))
			return key;
	}
	return NULL;
}

const char *cfg_key_leaf(const struct cfg_key *key)
{
	const char *wildcard = strpbrk(key->path, "*#");

	return wildcard ? wildcard + 2 : key->path;
}

void cfg_key_path(const struct cfg_key *key, const char *instance, char *ret_path, size_t size)
{
	const char *wildcard = strpbrk(key->path, "*#");

	if (wildcard)
		snprintf(ret_path, size, "%.*s%s%s", (int)(wildcard - key->path), key->path,
			 instance, wildcard + 1);
	else
		snprintf(ret_path, size, "%s", key->path);
}

/* The part of @path behind its container's name, or NULL. */
static const char *path_in_container(const char *path)
{
	static const char prefix[] = "containers.";

	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	path += sizeof(prefix) - 1;
	return path + strcspn(path, ".");
}

bool cfg_path_container(const char *path, char *ret_name, size_t size)
{
	const char *end = path_in_container(path);
	const char *name = path + strlen("containers.");

	if (!end)
		return false;
	snprintf(ret_name, size, "%.*s", (int)(end - name), name);
	return true;
}

bool cfg_path_event(const char *path, size_t *ret_index)
{
	static const char prefix[] = "events.";

	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return false;
	path += sizeof(prefix) - 1;
	return component_is_index(path, strcspn(path, "."), ret_index);
}

void cfg_path_canonical(const char *path, char *ret_path, size_t size)
{
	const char *leaf = path_in_container(path);

	snprintf(ret_path, size, "%s", path);
	for (size_t i = 0; leaf && i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (*leaf == '.' && !strcmp(leaf + 1, aliases[i].alias))
			snprintf(ret_path, size, "%.*s%s", (int)(leaf + 1 - path), path,
				 aliases[i].file);
	}
}
