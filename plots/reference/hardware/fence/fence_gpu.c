// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvmfence on a real GPU: does a fence hold, and what does it cost?
 *
 *   ./build.sh FOLDER           with gvmfence, nvcc and ptxas: FOLDER gets all it needs
 *   cd FOLDER && ./fence_gpu    with a GPU of sm_90 and driver 580 or newer; no CUDA toolkit
 *
 * Predictions, written down before the first run on a GPU (H200, sm_90; 2026-11-22):
 *   1. No access leaves the partition: no canary changes, no secret is read, in any mode.
 *      The native control changes canaries with every kind of store and reads
 *      secrets with every load.
 *   2. Cycles that a fence adds to a dependent load: fence 6 without an offset (the paper:
 *      8) and 15 with one (the paper: 16); once 6 in both; 4g 5; check 15 (the paper: over
 *      80), since it is a predicated trap and no divergent branch; modulo 80 (the paper:
 *      28). Loads take about 36 cycles in L1, 270 in L2, 800 in DRAM. So fence costs 17 %
 *      and 42 % in L1 (the paper: 28 % and 57 %), 2 % and 6 % in L2, 1 % and 2 % in DRAM
 *      (the paper: 2 % and 5 %).
 *   3. The kernels of bench.cu slow down by 2 % on average with fence (the paper: 4 %), 1 %
 *      with once, and by more than 10 % with modulo. Those that live in L1 or compute
 *      addresses slow down most.
 *   4. Registers with -O3: no more in 60 % of the kernels (the paper: 71 %).
 *   5. A launch costs the same with bounds in constants, and under 1 % more with parameters.
 *
 * Predictions for mode count, written down before its first run (2026-11-28):
 *   6. No access leaves the partition. Each hostile kernel whose addresses lie outside is
 *      counted, and no honest one (the kernels of bench.cu) is.
 *   7. It adds 30 cycles to a dependent load and 33 with an offset: check adds 28 and 32, by a
 *      comparison and one guarded instruction, and count has two of those. The kernels slow
 *      down by 40 % on average (check: 35 %).
 *
 * Predictions for the second form of check and modulo, which confine what the first one has only
 * tested (min() with a limit), written down before its first run (2026-11-29):
 *   8. check adds 45 cycles to a dependent load and 50 with an offset (28 and 32 before), modulo
 *      100 and 105 (84 and 89). The kernels slow down by 50 % and 130 % on average (35 % and
 *      116 %). All else is as before, since no kernel of bench.cu has a generic access.
 *
 * "./fence_gpu attack 80" attacks alone, with 80 accesses of each thread: 10,485,760 of each kind
 * and width. "./fence_gpu profile" launches each kernel of bench.cu once (README.md).
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "driver.h"

static int (*cuInit)(u32), (*cuDeviceGet)(int *, int), (*cuDeviceGetName)(char *, int, int);
static int (*cuDriverGetVersion)(int *), (*cuCtxDestroy)(handle);
static int (*cuCtxCreate)(handle *, u32, int);
static int (*cuMemAlloc)(address *, size_t), (*cuMemcpyHtoD)(address, const void *, size_t);
static int (*cuMemcpyDtoH)(void *, address, size_t);
static int (*cuMemsetD8)(address, unsigned char, size_t);
static int (*cuModuleLoad)(handle *, const char *), (*cuModuleUnload)(handle);
static int (*cuModuleGetFunction)(handle *, handle, const char *);
static int (*cuModuleGetGlobal)(address *, size_t *, handle, const char *);
static int (*cuLaunchKernel)(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **,
			     void **);
static int (*cuCtxSynchronize)(void), (*cuFuncGetAttribute)(int *, int, handle);
static int (*cuEventCreate)(handle *, u32), (*cuEventRecord)(handle, handle);
static int (*cuEventSynchronize)(handle), (*cuEventElapsedTime)(float *, handle, handle);

static const struct driver_function functions[] = {
	{ "cuInit", &cuInit },
	{ "cuDeviceGet", &cuDeviceGet },
	{ "cuDeviceGetName", &cuDeviceGetName },
	{ "cuDriverGetVersion", &cuDriverGetVersion },
	{ "cuCtxCreate_v2", &cuCtxCreate },
	{ "cuCtxDestroy_v2", &cuCtxDestroy },
	{ "cuMemAlloc_v2", &cuMemAlloc },
	{ "cuMemcpyHtoD_v2", &cuMemcpyHtoD },
	{ "cuMemcpyDtoH_v2", &cuMemcpyDtoH },
	{ "cuMemsetD8_v2", &cuMemsetD8 },
	{ "cuModuleLoad", &cuModuleLoad },
	{ "cuModuleUnload", &cuModuleUnload },
	{ "cuModuleGetFunction", &cuModuleGetFunction },
	{ "cuModuleGetGlobal_v2", &cuModuleGetGlobal },
	{ "cuLaunchKernel", &cuLaunchKernel },
	{ "cuCtxSynchronize", &cuCtxSynchronize },
	{ "cuFuncGetAttribute", &cuFuncGetAttribute },
	{ "cuEventCreate", &cuEventCreate },
	{ "cuEventRecord", &cuEventRecord },
	{ "cuEventSynchronize", &cuEventSynchronize },
	{ "cuEventElapsedTime", &cuEventElapsedTime },
};

/* As in attack.cu. */
struct target {
	u64 own, size, neighbour, bytes, seed;
	u32 rounds, wild;
	u64 align;
	address found;
};

#define MARGIN	   (8ull << 20)
#define BLOCKS	   512u
#define FOUND_AT   ((20ull << 20) + 8) /* in the attacker's partition */
#define PARTITIONS 4u

static const char *const modes[] = {
	"native", "fence", "once", "4g", "modulo", "count", "check"
};
enum { NATIVE, FENCE, ONCE, FOUR_G, MODULO, COUNT, CHECK, MODES };

static handle world; /* the module of world.cu */
static handle context;
static bool failed;
/* Accesses of a thread of each hostile kernel; 16: 2,097,152 of each kind and width. */
static u32 attack_rounds = 16;

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

static handle function_of(handle module, const char *name)
{
	handle function;

	MUST(cuModuleGetFunction(&function, module, name));
	return function;
}

static void open_context(void)
{
	int device;

	MUST(cuDeviceGet(&device, 0));
	MUST(cuCtxCreate(&context, 0, device));
	MUST(cuModuleLoad(&world, "world.native.cubin"));
}

/* Load NAME.MODE.cubin, with the bounds of a partition. */
static handle load(const char *name, const char *mode, const struct bounds *bounds)
{
	char path[256];
	handle module;
	address at;
	size_t size;

	snprintf(path, sizeof(path), "%s.%s.cubin", name, mode);
	MUST(cuModuleLoad(&module, path));
	if (!cuModuleGetGlobal(&at, &size, module, "gvmf_bounds"))
		MUST(cuMemcpyHtoD(at, bounds, sizeof(*bounds)));
	else if (strcmp(mode, "native") && !strstr(mode, "params"))
		MUST(-1);
	return module;
}

/* A kernel of world.cu over bytes. */
static void run_world(const char *kernel, address at, u64 bytes, address third)
{
	u64 count = bytes / 4;
	void *parameters[] = { &at, &count, &third };

	MUST(cuLaunchKernel(function_of(world, kernel), 1024, 1, 1, 256, 1, 1, 0, NULL,
			    parameters, NULL));
	MUST(cuCtxSynchronize());
}

static u64 read_u64(address at)
{
	u64 value;

	MUST(cuMemcpyDtoH(&value, at, sizeof(value)));
	return value;
}

/* What a module in mode count has found: its own two words. */
static u64 read_found(handle module)
{
	size_t bytes;
	address at;

	MUST(cuModuleGetGlobal(&at, &bytes, module, "gvmf_found"));
	return read_u64(at);
}

/* Four partitions side by side; the attacker has the second one. */
struct field {
	u64 base, size, margin;
	address counter;
};

static void field_open(struct field *field, u64 size, u64 margin)
{
	address memory;

	MUST(cuMemAlloc(&memory, (PARTITIONS + 1) * size));
	MUST(cuMemAlloc(&field->counter, 4096));
	MUST(cuMemsetD8(memory, 0, (PARTITIONS + 1) * size));
	field->base = (memory + size - 1) & ~(size - 1);
	field->size = size;
	field->margin = margin;
}

static void field_fill(const struct field *field, bool canaries)
{
	for (u64 i = 0; i < PARTITIONS; i++) {
		if (i == 1)
			run_world("fill_own", field->base + field->size, field->size, 0);
		else if (canaries)
			run_world("fill_secret", field->base + i * field->size + field->margin,
				  field->size - 2 * field->margin, 0);
	}
}

static u64 field_changed(const struct field *field)
{
	MUST(cuMemsetD8(field->counter, 0, 8));
	for (u64 i = 0; i < PARTITIONS; i++)
		if (i != 1)
			run_world("count_changed",
				  field->base + i * field->size + field->margin,
				  field->size - 2 * field->margin, field->counter);
	return read_u64(field->counter);
}

static char attack_names[128][32];
static int attack_count;

static bool is_load(const char *name)
{
	return !strncmp(name, "ld", 2) || !strncmp(name, "copy", 4);
}

static bool is_hint(const char *name)
{
	return !strcmp(name, "prefetch");
}

/*
 * One hostile kernel. Returns the number of secrets read; *ret_others: own values
 * that were not as expected.
 */
static u64 attack(handle module, const char *name, const struct field *field,
		  const struct bounds *bounds, bool wild, bool aligned, u32 rounds,
		  u64 *ret_others)
{
	struct target target = {
		.own = bounds->base,
		.size = bounds->size,
		.neighbour = bounds->base + bounds->size + field->margin,
		.bytes = field->size - 2 * field->margin,
		.seed = 0x12345 + strlen(name) * 977,
		.rounds = rounds,
		.wild = wild,
		.align = aligned ? 16 : 1,
		.found = bounds->base + FOUND_AT,
	};
	u64 base = bounds->base, mask = bounds->size - 1;
	void *parameters[] = { &target, &base, &mask };
	u64 secrets = ~0ull, others = ~0ull;

	/* Counts lie in five places: a hostile access may hit one of them by chance. */
	for (u64 copy = 0; copy < 5; copy++)
		MUST(cuMemsetD8(target.found + (copy << 22), 0, 8));
	MUST(cuLaunchKernel(function_of(module, name), BLOCKS, 1, 1, 256, 1, 1, 0, NULL,
			    parameters, NULL));
	MUST(cuCtxSynchronize());
	for (u64 copy = 0; copy < 5; copy++) {
		u64 both = read_u64(target.found + (copy << 22));

		secrets = (both & ~0u) < secrets ? (both & ~0u) : secrets;
		others = both >> 32 < others ? both >> 32 : others;
	}
	/* Stores read nothing; they may well have hit all five. */
	if (!strncmp(name, "st", 2) || !strncmp(name, "red", 3))
		secrets = others = 0;
	*ret_others = others;
	return secrets;
}

/* All hostile kernels in one mode. */
static void attack_all(int mode, const char *suffix)
{
	u64 size = mode == FOUR_G ? 4ull << 30 : 64ull << 20;
	struct field field;
	struct bounds bounds;
	u64 accesses = 0, changed = 0, secrets = 0, others = 0;
	int silent = 0, checked = 0, uncounted = 0;
	u64 found = 0;
	handle module;

	open_context();
	field_open(&field, size, mode == ONCE || mode == FOUR_G ? MARGIN : 0);
	bounds = bounds_of(field.base + size, size);
	module = load("attack", suffix, &bounds);
	field_fill(&field, true);
	for (int i = 0; i < attack_count; i++) {
		const char *name = attack_names[i];
		u64 other, was = changed, had = secrets;

		field_fill(&field, false);
		secrets += attack(module, name, &field, &bounds, mode != NATIVE,
				  mode != FENCE && mode != COUNT, attack_rounds, &other);
		if (mode == COUNT) {
			uncounted += read_found(module) == found;
			found = read_found(module);
		}
		others += mode == NATIVE ? 0 : other;
		accesses += (u64)BLOCKS * 256 * attack_rounds;
		changed += field_changed(&field);
		if (mode == NATIVE && !is_hint(name)) {
			checked++;
			if (is_load(name) ? secrets == had : changed == was) {
				silent++;
				printf("attack native: %s did no harm\n", name);
			}
			field_fill(&field, true);
		}
		if (mode != NATIVE && (changed != was || secrets != had || other))
			printf("attack %s: %s: canaries %llu, secrets %llu, others %llu\n",
			       suffix, name, changed - was, secrets - had, other);
	}
	printf("attack mode=%s partition_mib=%llu kernels=%d accesses=%llu "
	       "canaries_changed=%llu "
	       "secrets_read=%llu own_values_wrong=%llu\n",
	       suffix, size >> 20, attack_count, accesses, changed, secrets, others);
	if (mode == NATIVE) {
		printf("control: %d of %d kernels did harm without a fence\n", checked - silent,
		       checked);
		failed |= silent;
	} else {
		failed |= changed || secrets || others || uncounted;
	}
	if (mode == COUNT)
		printf("count: %llu hostile addresses counted; %d of %d kernels had none\n",
		       found, uncounted, attack_count);
	fflush(stdout);
	MUST(cuCtxDestroy(context));
}

/* With check a hostile access stops the context; an honest one does not. */
static void attack_check(void)
{
	struct field field;
	struct bounds bounds;
	struct target target;
	void *parameters[] = { &target };
	int honest, hostile;
	handle module;

	open_context();
	field_open(&field, 64ull << 20, 0);
	field_fill(&field, true);
	bounds = bounds_of(field.base + field.size, field.size);
	module = load("attack", "check", &bounds);
	target = (struct target){ .own = bounds.base,
				  .size = bounds.size,
				  .neighbour = bounds.base,
				  .bytes = field.size,
				  .rounds = attack_rounds,
				  .align = 16,
				  .found = bounds.base + FOUND_AT };
	honest = cuLaunchKernel(function_of(module, "st_64"), BLOCKS, 1, 1, 256, 1, 1, 0, NULL,
				parameters, NULL);
	honest = honest ? honest : cuCtxSynchronize();
	printf("attack mode=check honest_status=%d canaries_changed=%llu\n", honest,
	       field_changed(&field));
	target.neighbour = bounds.base + bounds.size;
	hostile = cuLaunchKernel(function_of(module, "st_64"), BLOCKS, 1, 1, 256, 1, 1, 0, NULL,
				 parameters, NULL);
	hostile = hostile ? hostile : cuCtxSynchronize();
	printf("attack mode=check hostile_status=%d (the context has stopped)\n", hostile);
	failed |= honest || !hostile;
	cuCtxDestroy(context);
}

/* Fill a buffer with a random cycle over lines of 128 bytes, of addresses less @offset. */
static void fill_chain(address at, u64 bytes, u64 offset)
{
	u64 lines = bytes / 128, state = 88172645463325252ull;
	u64 *memory = calloc(bytes / 8, 8);
	u32 *order = malloc(lines * sizeof(*order));

	for (u64 i = 0; i < lines; i++)
		order[i] = (u32)i;
	for (u64 i = lines - 1; i; i--) {
		u64 j;
		u32 was = order[i];

		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		j = 1 + state % i; /* line 0 stays first */
		order[i] = order[j];
		order[j] = was;
	}
	for (u64 i = 0; i < lines; i++)
		memory[order[i] * 16ull] = at + order[(i + 1) % lines] * 128ull - offset;
	/* With an offset the value stands where the load finds it: at the line's start. */
	MUST(cuMemcpyHtoD(at, memory, bytes));
	free(memory);
	free(order);
}

static void measure_chains(void)
{
	static const struct {
		const char *name;
		u64 bytes;
		u32 steps;
	} places[] = { { "L1", 32u << 10, 8192 },
		       { "L2", 8u << 20, 65536 },
		       { "DRAM", 256u << 20, 524288 } };
	const u64 size = 4ull << 30;
	address memory;
	struct bounds bounds;
	double base[3][2];

	open_context();
	MUST(cuMemAlloc(&memory, 2 * size));
	bounds = bounds_of((memory + size - 1) & ~(size - 1), size);
	printf("chain of dependent loads, one thread: cycles a load, and those that the fence "
	       "adds\n");
	for (int mode = 0; mode < MODES; mode++) {
		handle module = load("attack", modes[mode], &bounds);

		for (int place = 0; place < 3; place++)
			for (u64 offset = 0; offset < 2; offset++) {
				u64 start = bounds.base + 2 * MARGIN,
				    out = bounds.base + MARGIN + 4096;
				u64 first = start, cycles, best = ~0ull;
				u32 steps = places[place].steps;
				void *parameters[] = { &first, &steps, &out };

				fill_chain(start, places[place].bytes, offset * 64);
				for (int i = 0; i < 3; i++) {
					MUST(cuLaunchKernel(
						function_of(module,
							    offset ? "chain_offset" : "chain"),
						1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
					MUST(cuCtxSynchronize());
					cycles = read_u64(out);
					best = cycles < best ? cycles : best;
				}
				if (mode == NATIVE)
					base[place][offset] = (double)best / steps;
				printf("chain mode=%s place=%s offset=%d cycles=%.2f "
				       "added=%.2f percent=%.1f\n",
				       modes[mode], places[place].name, (int)offset * 64,
				       (double)best / steps,
				       (double)best / steps - base[place][offset],
				       100 * ((double)best / steps / base[place][offset] - 1));
			}
		fflush(stdout);
		MUST(cuModuleUnload(module));
	}
	MUST(cuCtxDestroy(context));
}

static char bench_names[128][32];
static int bench_count;

#define BENCH_N	    (1u << 24)
#define BENCH_BATCH 4
#define BENCH_RUNS  7

static void fill_bench(u64 base, u64 count)
{
	run_world("fill_floats", base, 4 * count, 0);
	run_world("fill_floats", base + 4 * count, 4 * count, 0);
	run_world("fill_floats", base + 8 * count, 4 * count, 0);
	run_world("fill_indices", base + 12 * count, 4 * count, 0);
}

/*
 * The fastest of some runs, in microseconds a launch, and a checksum of the memory behind it.
 */
static double bench_one(handle function, u64 base, u64 counter, u64 *ret_sum, handle *events)
{
	u64 count = BENCH_N, a = base, b = base + 4 * count, c = base + 8 * count,
	    p = base + 12 * count;
	int n = BENCH_N;
	void *parameters[] = { &a, &b, &c, &p, &n };
	float ms, best = 1e30f;

	fill_bench(base, count);
	for (int run = 0; run < BENCH_RUNS; run++) {
		MUST(cuEventRecord(events[0], NULL));
		for (int i = 0; i < BENCH_BATCH; i++)
			MUST(cuLaunchKernel(function, BENCH_N / 256, 1, 1, 256, 1, 1, 0, NULL,
					    parameters, NULL));
		MUST(cuEventRecord(events[1], NULL));
		MUST(cuEventSynchronize(events[1]));
		MUST(cuEventElapsedTime(&ms, events[0], events[1]));
		best = ms < best ? ms : best;
	}
	MUST(cuMemsetD8(counter, 0, 8));
	run_world("checksum", base, 16 * count, counter);
	*ret_sum = read_u64(counter);
	return best * 1000 / BENCH_BATCH;
}

/* Each kernel once, without a fence. */
static void profile_kernels(void)
{
	const u64 size = 4ull << 30;
	u64 count = BENCH_N, a, b, c, p;
	int n = BENCH_N;
	void *parameters[] = { &a, &b, &c, &p, &n };
	struct bounds bounds;
	address memory;
	handle module;

	open_context();
	MUST(cuMemAlloc(&memory, size));
	bounds = bounds_of(memory, size);
	module = load("bench", modes[NATIVE], &bounds);
	a = memory, b = a + 4 * count, c = a + 8 * count, p = a + 12 * count;
	fill_bench(a, count);
	for (int i = 0; i < bench_count; i++)
		MUST(cuLaunchKernel(function_of(module, bench_names[i]), BENCH_N / 256, 1, 1,
				    256, 1, 1, 0, NULL, parameters, NULL));
	MUST(cuCtxSynchronize());
	MUST(cuCtxDestroy(context));
}

static void measure_kernels(void)
{
	const u64 size = 4ull << 30;
	double sums[MODES] = { 0 };
	int differ = 0, spilled = 0, more[4] = { 0 };
	handle modules[MODES], events[2];
	struct bounds bounds;
	address memory, counter;

	open_context();
	MUST(cuMemAlloc(&memory, 2 * size));
	MUST(cuMemAlloc(&counter, 4096));
	bounds = bounds_of((memory + size - 1) & ~(size - 1), size);
	for (int i = 0; i < 2; i++)
		MUST(cuEventCreate(&events[i], 0));
	for (int mode = 0; mode < MODES; mode++)
		modules[mode] = load("bench", modes[mode], &bounds);
	for (int i = 0; i < bench_count; i++) {
		double native = 0;
		u64 sum, first = 0;
		int registers, local, had = 0;

		printf("kernel %-16s", bench_names[i]);
		for (int mode = 0; mode < MODES; mode++) {
			handle function = function_of(modules[mode], bench_names[i]);
			double us = bench_one(function, bounds.base + 2 * MARGIN, counter, &sum,
					      events);

			MUST(cuFuncGetAttribute(&registers, 4, function));
			MUST(cuFuncGetAttribute(&local, 3, function));
			if (mode == NATIVE) {
				native = us, first = sum, had = registers;
				printf(" native_us=%.1f registers=%d", us, registers);
				continue;
			}
			differ += sum != first;
			sums[mode] += us / native;
			printf(" %s=%+.1f%%/%+d", modes[mode], 100 * (us / native - 1),
			       registers - had);
			if (mode == FENCE) {
				int by = registers - had;

				more[by <= 0 ? 0 : by <= 1 ? 1 : by <= 2 ? 2 : 3]++;
				spilled += local > 0;
			}
		}
		printf("\n");
		fflush(stdout);
	}
	for (int mode = FENCE; mode < MODES; mode++)
		printf("mean mode=%s kernels=%d overhead=%.2f%%\n", modes[mode], bench_count,
		       100 * (sums[mode] / bench_count - 1));
	printf("registers of fence: 0 or fewer more in %d, 1 in %d, 2 in %d, above in %d of "
	       "%d; local memory in %d\n",
	       more[0], more[1], more[2], more[3], bench_count, spilled);
	printf("honest kernels: %llu addresses counted by mode count\n",
	       read_found(modules[COUNT]));
	failed |= read_found(modules[COUNT]) != 0;
	printf("results that differ from the native ones: %d of %d\n", differ,
	       bench_count * (MODES - 1));
	failed |= differ;
	MUST(cuCtxDestroy(context));
}

/* What the driver's compiler needs for a module, native and fenced. */
static void measure_loads(void)
{
	static const char *const files[] = { "bench.ptx", "bench.fence.ptx" };

	open_context();
	for (int i = 0; i < 2; i++) {
		u64 begin = now_ns();
		handle module;

		MUST(cuModuleLoad(&module, files[i]));
		printf("load %s ms=%llu\n", files[i], (now_ns() - begin) / 1000000);
		MUST(cuModuleUnload(module));
	}
	MUST(cuCtxDestroy(context));
}

/* Nanoseconds of a launch on the host, with the queue never full. */
static void measure_launches(void)
{
	static const char *const suffixes[] = { "native", "fence", "params-fence" };
	struct bounds bounds;
	address memory;

	open_context();
	MUST(cuMemAlloc(&memory, 128u << 20));
	bounds = bounds_of((memory + (64u << 20) - 1) & ~((64ull << 20) - 1), 64u << 20);
	for (int round = 0; round < 2; round++)
		for (int kind = 0; kind < 3; kind++) {
			handle module = load("attack", suffixes[kind], &bounds);
			handle function = function_of(module, "nothing");
			u64 at = bounds.base, base = bounds.base, mask = bounds.size - 1,
			    spent = 0;
			int n = 0;
			void *parameters[] = { &at, &at, &at, &n, &base, &mask };
			const int batches = 500, batch = 200;

			for (int i = 0; i < batches; i++) {
				u64 begin = now_ns();

				for (int j = 0; j < batch; j++)
					MUST(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0,
							    NULL, parameters, NULL));
				spent += now_ns() - begin;
				MUST(cuCtxSynchronize());
			}
			printf("launch %s ns=%llu\n", suffixes[kind],
			       spent / (u64)(batches * batch));
			MUST(cuModuleUnload(module));
		}
	fflush(stdout);
	MUST(cuCtxDestroy(context));
}

static int read_names(const char *path, char names[128][32])
{
	FILE *file = fopen(path, "r");
	int count = 0;

	if (!file)
		return 0;
	while (count < 128 && fscanf(file, "%31s", names[count]) == 1)
		count++;
	fclose(file);
	return count;
}

int main(int argc, char **argv)
{
	char name[128];
	int device, version;
	u64 begin = now_ns();

	load_driver(functions, sizeof(functions) / sizeof(*functions));
	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDeviceGetName(name, sizeof(name), device));
	MUST(cuDriverGetVersion(&version));
	printf("# %s, CUDA %d.%d\n", name, version / 1000, version % 1000 / 10);
	attack_count = read_names("attack.names", attack_names);
	bench_count = read_names("bench.names", bench_names);
	if (argc > 1 && !strcmp(argv[1], "profile")) {
		profile_kernels();
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "attack"))
		attack_rounds = (u32)atoi(argv[2]);
	attack_all(NATIVE, "native");
	attack_all(FENCE, "fence");
	attack_all(FENCE, "params-fence");
	attack_all(ONCE, "once");
	attack_all(FOUR_G, "4g");
	attack_all(MODULO, "modulo");
	attack_all(COUNT, "count");
	if (argc == 1) {
		measure_chains();
		measure_launches();
		measure_loads();
		measure_kernels();
	}
	attack_check(); /* last: a trap ends CUDA for the whole process */
	printf("# %s after %.1f s\n", failed ? "FAILED" : "all promises held",
	       (double)(now_ns() - begin) / 1e9);
	return failed;
}
