// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "gvm/control.h"

#define TYPE(type_) .type = CFG_TYPE_##type_

/* A key of the scenario itself. */
#define ROOT(path_, type_, member_, help_, ...)                                \
	{                                                                      \
		.path = (path_), TYPE(type_), .scope = CFG_SCOPE_CONFIG,       \
		CFG_MEMBER(struct config, member_), .help = help_, __VA_ARGS__ \
	}

/* A required key whose path is the path of its member: "gpu.link.bandwidth". */
#define MACHINE(type_, member_, min_, max_, help_) \
	ROOT(#member_, type_, member_, help_, CFG_RANGE(min_, max_))

/*
 * Cycles of the SMs. The defaults, for profiles without them, are those of an RTX A4000.
 * scenarios/gpus/rtx-a4000-16g.json has the source of each.
 */
#define CYCLES(leaf_, member_, min_, default_, help_)             \
	ROOT("gpu.cycles." leaf_, PPM, gpu.cycles.member_, help_, \
	     CFG_RANGE((min_)*CFG_PPM, 1000000ull * CFG_PPM), CFG_DEFAULT(default_))

/* A key that is bound, but that no code reads yet. */
#define UNREAD(type_, member_, min_, max_, help_) \
	ROOT(#member_, type_, member_, help_, CFG_RANGE(min_, max_), .unused = true)

/* A key that no system honours yet. Never required. */
#define UNUSED(path_, type_, help_, ...)                                                 \
	{                                                                                \
		.path = (path_), TYPE(type_), .scope = CFG_SCOPE_UNUSED, .unused = true, \
		CFG_DEFAULT(""), .help = help_, __VA_ARGS__                              \
	}

/* A key of any container. */
#define CONTAINER(leaf_, type_, member_, help_, ...)                                      \
	{                                                                                 \
		.path = "containers.*." leaf_, TYPE(type_), .scope = CFG_SCOPE_CONTAINER, \
		CFG_MEMBER(struct cfg_container, member_), .help = help_, __VA_ARGS__     \
	}

#define EVENT(leaf_, type_, member_, help_, ...)                                  \
	{                                                                         \
		.path = "events.#." leaf_, TYPE(type_), .scope = CFG_SCOPE_EVENT, \
		CFG_MEMBER(struct cfg_event, member_), .help = help_, __VA_ARGS__ \
	}

/* As enum trace_draw. */
static const char *const draws[] = { "recorded", "gaps", "requests", NULL };

/* As enum cfg_product. */
static const char *const products[] = { "other",     "a100-40gb",  "a100-80gb",
					"h100-80gb", "h200-141gb", NULL };

static const char *const blocks[] = { "core", "nvidia", NULL };

static const char *const memories[] = {
	[CFG_MEMORY_MANAGED] = "managed",
	[CFG_MEMORY_UNMANAGED] = "unmanaged",
	NULL,
};

/* The rows before those of the systems. */
static const struct cfg_key scenario_rows[] = {
	ROOT("name", NAME, name, "name of the scenario"),
	ROOT("description", STRING, description, "what it shows", CFG_DEFAULT("")),
	ROOT("duration", DURATION, duration, "simulated time that a run takes",
	     CFG_RANGE(1, CFG_RUN_MAX)),
	ROOT("seed", INTEGER, seed, "seed of all random numbers", CFG_RANGE(0, INT64_MAX),
	     CFG_DEFAULT("1")),
	ROOT("jitter.arrivals", ENUM, jitter.arrivals,
	     "what the seed redraws of a trace, in blocks from nearby: nothing, the times "
	     "between arrivals, or the requests",
	     .words = draws, CFG_DEFAULT("recorded")),
	ROOT("jitter.block", DURATION, jitter.block, "length of a block, as it is replayed",
	     CFG_RANGE(CFG_SEC, CFG_HOUR), CFG_DEFAULT("5s")),
	ROOT("jitter.start", DURATION, jitter.start,
	     "a closed loop begins up to this much later, by the seed", CFG_RANGE(0, CFG_HOUR),
	     CFG_DEFAULT("0s")),
	ROOT("system.name", SET, system, "the system that manages the GPU",
	     CFG_DEFAULT("stock")),
};

static const struct cfg_key machine_rows[] = {
	UNUSED("system.mechanisms.block", WORD, "the memory manager below the driver",
	       .words = blocks),

	ROOT("gpu.profile", NAME, gpu.profile, "file in gpus/ with the constants of a GPU",
	     CFG_DEFAULT("")),
	MACHINE(SIZE, gpu.memory, 2 * CFG_MIB, 16 * CFG_TIB,
		"device memory that containers can use, contexts included"),
	MACHINE(SIZE, gpu.memory_total, 2 * CFG_MIB, 16 * CFG_TIB,
		"device memory that CUDA reports"),
	MACHINE(SIZE, gpu.context, 0, 16 * CFG_TIB,
		"device memory of a context beside its page tables; 0: neither is modelled"),
	MACHINE(SIZE, gpu.memory_bandwidth, CFG_BANDWIDTH_MIN, CFG_BANDWIDTH_MAX,
		"of device memory, bytes/s"),
	MACHINE(INTEGER, gpu.flops_bf16, 1000000, CFG_FLOPS_MAX, "dense bf16 peak, FLOP/s"),
	ROOT("gpu.flops_fp8", INTEGER, gpu.flops_fp8,
	     "dense fp8 peak, FLOP/s; 0: it has none, and computes in bf16",
	     CFG_RANGE(0, CFG_FLOPS_MAX), CFG_DEFAULT("0")),
	ROOT("gpu.flops_bf16_mma", INTEGER, gpu.flops_bf16_mma,
	     "bf16 peak of mma.sync, FLOP/s: Ampere's instruction, which FlashAttention 2 "
	     "uses; 0: gpu.flops_bf16",
	     CFG_RANGE(0, CFG_FLOPS_MAX), CFG_DEFAULT("0")),
	ROOT("gpu.wgmma", BOOL, gpu.wgmma,
	     "has Hopper's wgmma, by which FlashAttention 3 computes", CFG_DEFAULT("false")),
	MACHINE(DURATION, gpu.kernel_overhead, 0, CFG_SEC,
		"GPU time of a kernel beside its memory traffic and arithmetic"),
	ROOT("gpu.kernel_gap", DURATION, gpu.kernel_gap,
	     "the part of gpu.kernel_overhead in which no thread block runs: from the end of a "
	     "kernel to the start of the next one in its stream",
	     CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	ROOT("gpu.graph_gap", DURATION, gpu.graph_gap,
	     "likewise, of two kernels in a CUDA graph", CFG_RANGE(0, CFG_SEC),
	     CFG_DEFAULT("0s")),
	ROOT("gpu.sms", INTEGER, gpu.sms,
	     "streaming multiprocessors; 0: any kernel fills them all",
	     CFG_RANGE(0, CFG_COUNT_MAX), CFG_DEFAULT("0")),
	ROOT("gpu.clock", INTEGER, gpu.clock,
	     "clock of the SMs, Hz, for phases with cycles; 0: not known",
	     CFG_RANGE(0, CFG_CLOCK_MAX), CFG_DEFAULT("0")),
	ROOT("gpu.l2", SIZE, gpu.l2,
	     "bytes of the L2 cache; 0: nothing is read from memory twice",
	     CFG_RANGE(0, CFG_TIB), CFG_DEFAULT("0")),
	ROOT("gpu.memory_sms", PPM, gpu.memory_sms,
	     "share of the SMs that reads and writes memory at full speed; 0: all of them",
	     CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0")),
	ROOT("gpu.limited_speed", PPM, gpu.limited_speed,
	     "part of its speed that a kernel under an MPS limit has while others run beside "
	     "it: their SMs are not quite apart; 0: all of it",
	     CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0")),
	ROOT("gpu.product", ENUM, gpu.product,
	     "whose MIG profiles and vGPU types it has: NVIDIA's name", .words = products,
	     CFG_DEFAULT("other")),
	CYCLES("l1", l1, 1, "28",
	       "cycles of a load that hits L1, for fences of guardian; by default it and those "
	       "below are an RTX A4000's"),
	CYCLES("l2", l2, 1, "180", "cycles of a load that hits L2"),
	CYCLES("dram", dram, 1, "285", "cycles of a load from memory"),
	CYCLES("fence", fence, 0, "8", "cycles that a fence of system.mode \"fence\" adds"),
	CYCLES("fence_offset", fence_offset, 0, "16",
	       "likewise, of an access that adds an offset to a register"),
	CYCLES("once", once, 0, "8", "likewise, of mode \"once\", with and without an offset"),
	CYCLES("4g", upper, 0, "4", "likewise, of mode \"4g\""),
	CYCLES("4g_offset", upper_offset, 0, "12", "likewise, with an offset"),
	CYCLES("check", check, 0, "160", "likewise, of mode \"check\""),
	CYCLES("check_offset", check_offset, 0, "160", "likewise, with an offset"),
	CYCLES("modulo", modulo, 0, "28", "likewise, of mode \"modulo\""),
	CYCLES("modulo_offset", modulo_offset, 0, "28", "likewise, with an offset"),
	CYCLES("count", count, 0, "20", "likewise, of mode \"count\""),
	CYCLES("count_offset", count_offset, 0, "28", "likewise, with an offset"),
	MACHINE(SIZE, gpu.link.bandwidth, CFG_BANDWIDTH_MIN, CFG_BANDWIDTH_MAX,
		"of each direction of the link, large copies, bytes/s"),
	MACHINE(SIZE, gpu.link.bandwidth_both, CFG_BANDWIDTH_MIN, CFG_BANDWIDTH_MAX,
		"of both directions of the link together, bytes/s"),
	MACHINE(DURATION, gpu.link.setup, 0, CFG_SEC, "of a copy before its first byte"),
	MACHINE(DURATION, gpu.link.piece_in, 0, CFG_SEC,
		"of each further copy of one push to the GPU: scattered host memory"),
	MACHINE(DURATION, gpu.link.piece_out, 0, CFG_SEC,
		"of each further copy of one push to the host: likewise"),
	ROOT("gpu.peer.bandwidth", SIZE, gpu.peer.bandwidth,
	     "of the way to another GPU, each direction, bytes/s; 0: gpu.link.bandwidth",
	     CFG_RANGE(0, CFG_BANDWIDTH_MAX), CFG_DEFAULT("0")),
	ROOT("gpu.peer.setup", DURATION, gpu.peer.setup,
	     "of an all-reduce between GPUs beside its steps and its bytes",
	     CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("6600ns")),
	ROOT("gpu.peer.step", DURATION, gpu.peer.step, "of each step of its ring",
	     CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("1us")),
	MACHINE(DURATION, gpu.sched.timeslice, CFG_USEC, 16 * CFG_SEC,
		"timeslice that RM programs by default"),
	MACHINE(PPM, gpu.sched.timeslice_scale, CFG_PPM / 100, 100 * CFG_PPM,
		"real timeslice over programmed timeslice"),
	MACHINE(DURATION, gpu.sched.context_switch, 0, CFG_SEC,
		"time of a context switch in which no context runs"),
	MACHINE(DURATION, gpu.sched.context_state, 0, CFG_SEC,
		"more to save or restore what all SMs can hold"),
	MACHINE(DURATION, gpu.sched.rpc, 0, CFG_SEC, "time of a control RPC to the GSP"),
	MACHINE(INTEGER, gpu.fault.buffer_entries, 1, 1 << 20,
		"entries of the replayable fault buffer"),
	MACHINE(INTEGER, gpu.fault.outstanding, 1, 1 << 20,
		"faulting 64 KB pages that one context has in flight"),
	MACHINE(INTEGER, gpu.fault.per_block, 1, 32, "of these, most in one 2 MB block"),
	MACHINE(INTEGER, gpu.fault.front, 1, 1 << 20,
		"2 MB blocks that a kernel faults on together which goes through its memory "
		"in order"),
	ROOT("gpu.fault.per_page", INTEGER, gpu.fault.per_page,
	     "records of one page: addresses in it that miss at once", CFG_RANGE(1, 16),
	     CFG_DEFAULT("1")),
	ROOT("gpu.fault.per_sm", INTEGER, gpu.fault.per_sm,
	     "new records of one SM in a batch of a matrix product of few tokens, whose SMs "
	     "miss in rows of their own; 0, or without gpu.sms: it misses as other kernels do",
	     CFG_RANGE(0, 1 << 20), CFG_DEFAULT("0")),
	ROOT("gpu.fault.again", PPM, gpu.fault.again,
	     "share of such a batch that are records of the batch before, which come again",
	     CFG_RANGE(0, CFG_PPM - 1), CFG_DEFAULT("0")),
	ROOT("gpu.fault.host_speed", PPM, gpu.fault.host_speed,
	     "speed of the CPU that services faults: interrupt and all CPU times below are "
	     "divided by it",
	     CFG_RANGE(CFG_PPM / 100, 100 * CFG_PPM), CFG_DEFAULT("1")),
	MACHINE(DURATION, gpu.fault.interrupt, 0, CFG_SEC,
		"from a fault to the service thread running"),
	MACHINE(DURATION, gpu.fault.linger, 0, CFG_SEC,
		"after a replay in which a fault needs no interrupt"),
	MACHINE(DURATION, gpu.fault.cold_wake, 0, CFG_SEC,
		"more for an interrupt if the service thread has slept for cold_after"),
	MACHINE(DURATION, gpu.fault.cold_after, 0, CFG_SEC, "see cold_wake"),
	MACHINE(DURATION, gpu.fault.batch, 0, CFG_SEC, "CPU time of a fault batch"),
	MACHINE(DURATION, gpu.fault.entry, 0, CFG_SEC, "CPU time of a fault record"),
	MACHINE(DURATION, gpu.fault.block, 0, CFG_SEC, "CPU time of a block with faults"),
	MACHINE(DURATION, gpu.fault.page, 0, CFG_SEC,
		"CPU time of a page of it that comes from the host"),
	MACHINE(DURATION, gpu.fault.replay, 0, CFG_SEC, "CPU time of a flush and replay"),
	MACHINE(DURATION, gpu.fault.evict, 0, CFG_SEC, "CPU time of an eviction"),
	MACHINE(DURATION, gpu.fault.walk, 0, CFG_SEC,
		"CPU time of each chunk that a search for a victim passes (gvm without "
		"fast_paging)"),
	MACHINE(DURATION, gpu.fault.push, 0, CFG_SEC,
		"GPU time of a push of PTEs, TLB invalidations or a replay"),
	MACHINE(SIZE, gpu.fault.zero_bandwidth, CFG_BANDWIDTH_MIN, CFG_BANDWIDTH_MAX,
		"at which fresh memory is cleared, bytes/s"),

	UNREAD(SIZE, host.memory, 2 * CFG_MIB, 64 * CFG_TIB, "of the host"),
	UNREAD(INTEGER, host.cores, 1, 4096, "CPU cores of the host"),
	MACHINE(PPM, host.speed, CFG_PPM / 100, 100 * CFG_PPM,
		"CPU speed relative to the reference host of the applications"),
	ROOT("host.fragmented", BOOL, host.fragmented,
	     "the host has no free 2 MB of memory in one piece", CFG_DEFAULT("false")),
};

/* The rows before those of the applications. */
static const struct cfg_key container_rows[] = {
	CONTAINER("enabled", BOOL, enabled, "the container takes part", CFG_DEFAULT("true")),
	CONTAINER("start", DURATION, start, "when its application starts",
		  CFG_RANGE(0, CFG_RUN_MAX), CFG_DEFAULT("0s")),
	CONTAINER("gpu", NAME, gpu, "name of its GPU in gpus; default: the GPU of gpu",
		  CFG_DEFAULT("")),
	CONTAINER("mps.server", NAME, mps_server,
		  "name of the MPS server whose client it is; default: none", CFG_DEFAULT("")),
	CONTAINER("mps.limit", INTEGER, mps_limit,
		  "percent of the SMs that it gets at most as a client "
		  "(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)",
		  CFG_RANGE(1, 100), CFG_DEFAULT("100")),
	CONTAINER("mps.priority", INTEGER, mps_priority,
		  "0: normal, 1: below normal, its thread blocks get the SMs that others leave "
		  "(CUDA_MPS_CLIENT_PRIORITY)",
		  CFG_RANGE(0, 1), CFG_DEFAULT("0")),
	CONTAINER("mps.memory_hard", SIZE, mps_memory_hard,
		  "bytes of context and unmanaged memory above which an allocation of the "
		  "client fails; 0: no limit",
		  CFG_RANGE(0, 16 * CFG_TIB), CFG_DEFAULT("0")),
	CONTAINER("mps.memory_soft", SIZE, mps_memory_soft,
		  "bytes of them above which the client may be ended when another one within "
		  "its own finds no memory; 0: no limit",
		  CFG_RANGE(0, 16 * CFG_TIB), CFG_DEFAULT("0")),
	CONTAINER("mig.profile", NAME, mig.profile,
		  "under mig, its GPU instance: \"3g.20gb\"; default: an equal part",
		  CFG_DEFAULT(""), .systems = "mig"),
	CONTAINER("mig.instance", NAME, mig.instance,
		  "containers with the same name share a GPU instance; default: its own",
		  CFG_DEFAULT(""), .systems = "mig"),
	CONTAINER("mig.start", INTEGER, mig.start,
		  "first memory slice of its GPU instance; 8: the first that fits",
		  CFG_RANGE(0, CFG_MIG_ANYWHERE), CFG_DEFAULT("8"), .systems = "mig"),
	CONTAINER("vgpu.type", NAME, vgpu_type,
		  "the type of its vGPU: under vgpu \"40C\", under gvtg \"V5_4\" or \"host\"; "
		  "default: an "
		  "equal part",
		  CFG_DEFAULT(""), .systems = "vgpu gvtg"),
	CONTAINER("vgpu.weight", INTEGER, vgpu_weight,
		  "under gvtg, its weight among the GPU's vGPUs; 0: its type's, 16, 8, 4 or 2",
		  CFG_RANGE(0, 1000000), CFG_DEFAULT("0"), .systems = "gvtg"),
	CONTAINER("vgpu.partition", SIZE, vgpu_partition,
		  "under gvtg, its memory; 0: its type's part", CFG_RANGE(0, 16 * CFG_TIB),
		  CFG_DEFAULT("0"), .systems = "gvtg"),
	CONTAINER("guardian.partition", SIZE, guardian.partition,
		  "under guardian, the memory that it declares; 0: an equal part",
		  CFG_RANGE(0, 16 * CFG_TIB), CFG_DEFAULT("0"), .systems = "guardian"),
	CONTAINER("guardian.l1", PPM, guardian.l1,
		  "share of its loads and stores that hit L1; by default lenet's",
		  CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0.37"), .systems = "guardian"),
	CONTAINER("guardian.l2", PPM, guardian.l2,
		  "share of the others that hit L2; by default lenet's", CFG_RANGE(0, CFG_PPM),
		  CFG_DEFAULT("0.72"), .systems = "guardian"),
	CONTAINER("guardian.offsets", PPM, guardian.offsets,
		  "share of its loads and stores that add an offset to a register",
		  CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0"), .systems = "guardian"),
	CONTAINER("guardian.wild", PPM, guardian.wild,
		  "share of its launches with accesses outside of its memory, which counted "
		  "launches find",
		  CFG_RANGE(0, CFG_PPM), CFG_DEFAULT("0"), .systems = "guardian"),
	CONTAINER("app.type", SET, app_type, "what runs in it"),
	CONTAINER("app.profile", NAME, app_profile,
		  "file in apps/ with the constants of an application", CFG_DEFAULT("")),
	CONTAINER("app.memory", ENUM, memory,
		  "memory of cudaMallocManaged, which drivers page, or of cudaMalloc",
		  .words = memories, CFG_DEFAULT("managed")),
	CONTAINER("app.read_mostly", BOOL, read_mostly,
		  "its weights, all that the host fills, get the advice "
		  "cudaMemAdviseSetReadMostly: they leave the GPU without a copy",
		  CFG_DEFAULT("false")),
	CONTAINER("app.pressure", BOOL, pressure,
		  "it listens for pressure events and gives memory back", CFG_DEFAULT("false")),
};

static const struct cfg_key event_rows[] = {
	EVENT("at", DURATION, at, "when it happens", CFG_RANGE(0, CFG_RUN_MAX)),
	EVENT("container", NAME, container, "to which container"),
	EVENT("file", NAME, file, "control file that is written", CFG_DEFAULT("")),
	EVENT("value", WRITE, value, "what is written to it", CFG_DEFAULT("")),
	EVENT("touch", WRITE, touch, "blocks that a page player touches: \"3\" or \"0-7\"",
	      CFG_DEFAULT("")),
	EVENT("exit", BOOL, exit, "the page player's process ends", CFG_DEFAULT("false")),
	EVENT("load", PPM, load,
	      "an LLM server's requests come so many times as fast from now on; 0: no change",
	      CFG_RANGE(0, 1000 * CFG_PPM), CFG_DEFAULT("0")),
	EVENT("sleep", INTEGER, sleep,
	      "an LLM server sleeps: its KV cache is dropped, and its weights are copied to "
	      "the host (1) or dropped (2); 0: no change",
	      CFG_RANGE(0, 2), CFG_DEFAULT("0")),
	EVENT("wake", BOOL, wake, "an LLM server that sleeps gets its memory back and goes on",
	      CFG_DEFAULT("false")),
	EVENT("stop", BOOL, stop, "the container's process ends, and its memory is free",
	      CFG_DEFAULT("false")),
	EVENT("restart", BOOL, restart,
	      "the container boots again; a process that runs is stopped first",
	      CFG_DEFAULT("false")),
};

static const struct cfg_key policy_rows[] = {
	ROOT("policy.file", POLICY, policy,
	     "policy of gvmd that writes control files while the machine runs; default: none",
	     CFG_DEFAULT("")),
};

static const char *const compressions[] = { "none", "zstd", NULL };
static const char *const timelines[] = { "csv", "trace", "trace.zst", NULL };

static const struct cfg_key output_rows[] = {
	ROOT("output.timeline_interval", DURATION, timeline_interval,
	     "between two samples of the timeline; 0: 100ms, and more in a run above an hour, "
	     "which gets 36000 samples",
	     CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("0s")),
	ROOT("output.timeline", ENUM, trace.form,
	     "the timeline as timeline.csv alone, or also as a trace that Perfetto opens, "
	     "timeline.pftrace, or compressed by zstd",
	     .words = timelines, CFG_DEFAULT("csv")),
	ROOT("output.trace_from", DURATION, trace.from, "begin of the trace's window",
	     CFG_RANGE(0, 24 * CFG_HOUR), CFG_DEFAULT("0s")),
	ROOT("output.trace_to", DURATION, trace.to,
	     "end of the trace's window; 0: the end of the run", CFG_RANGE(0, 24 * CFG_HOUR),
	     CFG_DEFAULT("0s")),
	ROOT("output.trace_worst", BOOL, trace.worst,
	     "the window is around the request that waited longest, with a second before and "
	     "after it",
	     CFG_DEFAULT("false")),
	ROOT("output.controls", BOOL, record_controls,
	     "record the content of control files in controls.csv", CFG_DEFAULT("false")),
	ROOT("output.evictions", BOOL, record_evictions,
	     "record each eviction in evictions.csv", CFG_DEFAULT("false")),
	ROOT("output.activity", BOOL, record_activity,
	     "record what containers do on their GPUs in activity.csv, which gvmsim explain "
	     "reads",
	     CFG_DEFAULT("false")),
	ROOT("output.compress", ENUM, compress,
	     "CSV files of results: as they are, or compressed by zstd, with .zst after their "
	     "names",
	     .words = compressions, CFG_DEFAULT("none")),
};

/* Append rows that belong to @set (NULL: to no set). */
static void append_rows(struct cfg_schema *schema, const struct cfg_key *rows, size_t count,
			const struct cfg_keys *set)
{
	for (size_t i = 0; i < count; i++) {
		struct cfg_key *row = &schema->rows[schema->count++];

		*row = rows[i];
		row->set = set;
		if (row->type == CFG_TYPE_SET)
			row->sets = row->scope == CFG_SCOPE_CONTAINER ?
					    schema->registry->apps :
					    schema->registry->systems;
	}
}

/* The path @prefix@leaf, kept in the schema. */
static const char *make_path(struct cfg_schema *schema, const char *prefix, const char *leaf)
{
	char *path = schema->made_paths[schema->made_count++];

	snprintf(path, CFG_PATH_MAX, "%s%s", prefix, leaf);
	return path;
}

/* Append the keys of further GPUs: the keys of "gpu." again, below "gpus.<name>.". */
static void append_gpus(struct cfg_schema *schema)
{
	for (size_t i = 0; i < sizeof(machine_rows) / sizeof(machine_rows[0]); i++) {
		struct cfg_key row = machine_rows[i];

		if (strncmp(row.path, "gpu.", strlen("gpu.")) != 0)
			continue;
		row.path = make_path(schema, "gpus.*.", row.path + strlen("gpu."));
		row.scope = CFG_SCOPE_GPU;
		row.offset -= offsetof(struct config, gpu);
		schema->rows[schema->count++] = row;
	}
}

/* Append a key for each control file that can be written. It is never required. */
static void append_controls(struct cfg_schema *schema)
{
	for (u32 i = 0; i < gvm_control_count(); i++) {
		const struct gvm_control_file *file = gvm_control_at(i);
		enum cfg_type type = CFG_TYPE_INTEGER;

		if (!file->store)
			continue;
		if (file->kind == GVM_CONTROL_BYTES)
			type = CFG_TYPE_SIZE;
		else if (file->kind == GVM_CONTROL_TIMESLICE)
			type = CFG_TYPE_TIMESLICE;
		schema->rows[schema->count++] = (struct cfg_key){
			.path = make_path(schema, "containers.*.", file->name),
			.type = type,
			.scope = CFG_SCOPE_CONTROL,
			CFG_RANGE(file->min, file->max),
			CFG_DEFAULT(""),
			.help = file->summary,
			.control = file,
		};
	}
}

#define APPEND(schema_, rows_) \
	append_rows(schema_, rows_, sizeof(rows_) / sizeof((rows_)[0]), NULL)

int cfg_schema_init(struct cfg_schema *schema, const struct cfg_registry *registry)
{
	size_t own = sizeof(scenario_rows) + sizeof(machine_rows) + sizeof(container_rows) +
		     sizeof(event_rows) + sizeof(policy_rows) + sizeof(output_rows);
	size_t made = sizeof(machine_rows) / sizeof(machine_rows[0]) + gvm_control_count();
	size_t count = own / sizeof(struct cfg_key) + made;

	for (size_t i = 0; registry->systems[i]; i++)
		count += registry->systems[i]->key_count;
	for (size_t i = 0; registry->apps[i]; i++)
		count += registry->apps[i]->key_count;
	*schema = (struct cfg_schema){ .registry = registry };
	schema->rows = calloc(count, sizeof(*schema->rows));
	schema->made_paths = calloc(made, sizeof(*schema->made_paths));
	if (!schema->rows || !schema->made_paths) {
		cfg_schema_destroy(schema);
		return -ENOMEM;
	}
	APPEND(schema, scenario_rows);
	for (size_t i = 0; registry->systems[i]; i++)
		append_rows(schema, registry->systems[i]->keys, registry->systems[i]->key_count,
			    registry->systems[i]);
	APPEND(schema, machine_rows);
	append_gpus(schema);
	APPEND(schema, container_rows);
	for (size_t i = 0; registry->apps[i]; i++)
		append_rows(schema, registry->apps[i]->keys, registry->apps[i]->key_count,
			    registry->apps[i]);
	append_controls(schema);
	APPEND(schema, event_rows);
	APPEND(schema, policy_rows);
	APPEND(schema, output_rows);
	assert(schema->count <= count);
	return 0;
}

void cfg_schema_destroy(struct cfg_schema *schema)
{
	free(schema->rows);
	free(schema->made_paths);
	*schema = (struct cfg_schema){ 0 };
}

enum cfg_path_kind cfg_schema_classify(const struct cfg_schema *schema, const char *path)
{
	cfg_schema_for_each(schema, key)
	{
		const char *rest = cfg_path_match(path, key->path);

		if (rest)
			return *rest ? CFG_PATH_BRANCH : CFG_PATH_KEY;
	}
	return CFG_PATH_UNKNOWN;
}

bool cfg_key_has_app(const struct cfg_key *key, const struct cfg_keys *app)
{
	return key->scope != CFG_SCOPE_APP || key->set == app;
}

const struct cfg_key *cfg_schema_find(const struct cfg_schema *schema, const char *path,
				      const struct cfg_keys *app)
{
	cfg_schema_for_each(schema, key)
	{
		const char *rest = cfg_path_match(path, key->path);

		if (rest && !*rest && cfg_key_has_app(key, app))
			return key;
	}
	return NULL;
}

bool cfg_keys_has(const struct cfg_keys *keys, const char *path)
{
	for (size_t i = 0; i < keys->key_count; i++) {
		if (!strcmp(keys->keys[i].path, path))
			return true;
	}
	return false;
}

const struct cfg_key *cfg_schema_find_control(const struct cfg_schema *schema, const char *file)
{
	const struct gvm_control_file *control = gvm_control_find(file);

	cfg_schema_for_each(schema, key)
	{
		if (control && key->control == control)
			return key;
	}
	return NULL;
}

const char *cfg_key_word(const struct cfg_key *key, size_t index)
{
	if (key->type != CFG_TYPE_SET)
		return key->words[index];
	return key->sets[index] ? key->sets[index]->name : NULL;
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
