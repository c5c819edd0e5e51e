// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * guardian: Guardian (an anonymous submission; arXiv 2401.09290): kernels of all containers run
 * side by side in one CUDA context, and address fences keep each in its own partition.
 *
 *
 * The idea
 *
 * A manager owns the one context. A library in each container forwards allocations, copies and
 * launches to it. Each container has a stream and a partition of the address space. Before
 * every load and store of a kernel, instructions of the container's fence mode force the
 * address into the partition (sim/core/fence). So kernels share the GPU in space as clients of
 * MPS do, by the same rule (sim/fifo/beside.h), and cannot touch each other's memory.
 *
 *     system.mode   none      contexts of their own and time slicing: NVIDIA's driver
 *                   noprot    the common context, nothing is fenced
 *                   fence     AND and OR                                     (the paper's)
 *                   check     two comparisons, each with a branch            (the paper's)
 *                   modulo    seven instructions inline                      (the paper's)
 *                   once      AND and OR of the register alone               (ours)
 *                   4g        AND and OR of the upper half of an address     (ours)
 *                   count     as fence; addresses that it changes are counted  (ours)
 *
 * A container that is alone on the GPU gets unfenced kernels (Guardian 4.2.3). When a second
 * one comes, bursts that are launched from then on are fenced. A running burst stays as it is.
 * guardian_cost.c has what a fence costs.
 *
 *
 * Detection on demand
 *
 * system.sample, or a policy that writes to fence.sample, has one fenced launch of so many run in
 * mode count. It costs its share of the difference of both modes, and finds its share of the
 * launches with wild accesses: containers.NAME.guardian.wild, since the simulator has no
 * addresses (5 below). fence.stat says how many were counted, and found. Launches of a container
 * that is alone are not fenced, and not counted.
 *
 *
 * What a launch costs
 *
 * The manager looks the fenced kernel up (557 cycles of its CPU), and adds two parameters (400;
 * Table 5). noprot and an alone container have the look-up only. By default each container
 * has a thread that launches: in 6.2 the manager is a part of the application. In 6.1 it is a
 * process of its own (section 5), which is system.manager "process". The paper does not say
 * how many threads that has. Here one thread launches for all:
 * n containers with work get its launches in turns, so each has one every n
 * launches. The burst has the n of its beginning.
 *
 *
 * Memory
 *
 *     system.partitions   pow2      a power of two of the GPU's memory, as the paper has it: it
 *                                   is resident at once, and no allocation exceeds it
 *                         any       any size, for check and modulo
 *                         virtual   addresses alone (ours): memory is paged, a container takes
 *                                   what it touches, and limits are those of its control files
 *
 *     system.memory       stock     NVIDIA's driver pages
 *                         ghost     the core: gmem.* and hmem.limit of each container
 *
 *     system.group_high   with ghost: limits of the common context. Each container is then a
 *     system.group_low    child of one container, by its range of addresses (gvm/child.h). At the
 *                         group's limit the largest child gives; a child's gmem.limit.low
 *                         holds as far as the group's goes
 *
 * Two levels
 *
 * A container with an mps.server of its own is outside: it is not fenced, has no partition, and
 * its context takes turns with the common one. compute.timeslice says how long its turns are.
 * Those of the common context have the default length, as long as it has two tenants or more:
 * to the driver it is one TSG (sim/gpu/mps.c).
 *
 * A virtual partition wastes no memory: half of a power of two that is never touched is never
 * there. Addresses are plenty, so a partition is not resized. A write to its gmem.limit.high
 * resizes the memory behind it.
 *
 *
 * How this differs from the paper
 *
 *   1. The paper adds the time of a launch and that of its kernel (6.4: 957 cycles of 27000 are
 *      "3 %"). Here the host launches ahead, as CUDA does, so a look-up costs time only where
 *      the host is slower than the GPU. The paper's applications show 3.7 to 10 %: they are
 *      bound by launches, or wait for their kernels.
 *   2. The paper finds an MPS server that is a bottleneck with thousands of pending kernels.
 *      NVIDIA documents that since Volta clients submit to the GPU themselves. So do those of
 *      system mps here, and noprot is not faster.
 *   3. Two lenets are 1.4 times faster side by side than in turns, four of them 1.5 times. The
 *      paper says "up to 2". Its applications leave the GPU idle for a part of the time, which
 *      it does not give; ours launch ahead and keep it busy.
 *   4. Each container keeps context memory of its own. One context would have it once.
 *   5. A wild access cannot be seen here: address spaces of the simulator are apart. That a
 *      fenced one stays in its partition is a theorem of sim/core/fence, with its own tests.
 *   6. Messages between container and manager take no time: the paper gives none.
 *   7. A fault that is no address (a trap, a misaligned access) ends the common context, and so
 *      all containers. The paper does not say so.
 *   8. Kernels share SMs as means of their bursts. Two kernels of 10 ms that come together and
 *      need 60 % of the SMs each both end at 12 ms. Block by block the first one would end at
 *      10 ms and the second one at 13.3 ms. Both schedules do the same work until 10 ms, and
 *      of many such kernels each takes 12 ms in both (tests/fifo/test_beside.c).
 *   9. Paging in one context is ours, not the paper's. A kernel of one container cannot end
 *      while another one's waits for its faults, as on an H200 (sim/fifo/fifo.h). So a fenced
 *      group does not do away with the hidden interference of page faults (GVM 7.5).
 *
 *
 * What the paper contradicts
 *
 *   1. The gain over time slicing is 37 % in section 1 and 23 % in 6.1. The overhead is "4 to
 *      12 %" in the abstract, 13 % in Figure 11, and 1.055 x 1.076, 13.5 %, in 6.2.
 *   2. L2 takes 193 cycles in Table 2 and 180 in 6.5; "1.4 times better than global" is 1.58.
 *   3. A remainder by one multiplication is wrong for a quarter of all addresses and sizes;
 *      address_fence.c has the two instructions more that correct it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/steps.h"
#include "fifo/fifo.h"
#include "gvm/fence_table.h"
#include "systems/core.h"
#include "systems/guardian.h"
#include "systems/system.h"

/* Where the common context has its partitions: any address will do. */
#define GUARDIAN_BASE	 (1ull << 46)
#define GUARDIAN_GRANULE (2ull << 20)
/* Of virtual partitions: addresses for 64 containers of 1 TiB each. */
#define GUARDIAN_VIRTUAL_BYTES	 (64ull << 40)
#define GUARDIAN_VIRTUAL_GRANULE (1ull << 30)
/* SASS immediates are 24 bits with a sign. */
#define GUARDIAN_MARGIN (8ull << 20)

static const char *const mode_words[] = { "none",  "noprot", "fence", "once", "4g",
					  "check", "modulo", "count", NULL };
static const char *const manager_words[] = { "inprocess", "process", NULL };
static const char *const partition_words[] = { "pow2", "any", "virtual", NULL };
static const char *const memory_words[] = { "stock", "ghost", NULL };

#define GUARDIAN_KEY(name_, type_, default_, help_, ...) \
	CFG_SYSTEM_KEY(#name_, type_, struct guardian_keys, name_, default_, help_, __VA_ARGS__)

static const struct cfg_key guardian_rows[] = {
	GUARDIAN_KEY(mode, ENUM, "fence", "how addresses are fenced", .words = mode_words),
	GUARDIAN_KEY(native_when_alone, BOOL, "true",
		     "a container that is alone on its GPU has unfenced kernels"),
	GUARDIAN_KEY(manager, ENUM, "inprocess",
		     "who launches: a thread of each container, or one thread for all",
		     .words = manager_words),
	GUARDIAN_KEY(partitions, ENUM, "pow2",
		     "a power of two of the memory, a part of any size, or addresses alone",
		     .words = partition_words),
	GUARDIAN_KEY(memory, ENUM, "stock", "who pages, with system.partitions \"virtual\"",
		     .words = memory_words),
	GUARDIAN_KEY(group_high, SIZE, "max",
		     "gmem.limit.high of all containers together, with system.memory \"ghost\"",
		     CFG_RANGE(0, U64_MAX)),
	GUARDIAN_KEY(group_low, SIZE, "0",
		     "gmem.limit.low of all containers together, with system.memory \"ghost\"",
		     CFG_RANGE(0, U64_MAX)),
	GUARDIAN_KEY(hide, PPM, "1", "part of a fence's cycles that other warps do not hide",
		     CFG_RANGE(0, CFG_PPM)),
	GUARDIAN_KEY(sample, INTEGER, "0",
		     "one fenced launch of so many runs in mode count; 0: none",
		     CFG_RANGE(0, 1000000000)),
	GUARDIAN_KEY(lookup, INTEGER, "557", "the manager's cycles to find a fenced kernel",
		     CFG_RANGE(0, 1000000)),
	GUARDIAN_KEY(augment, INTEGER, "400",
		     "the manager's cycles to add the fence's parameters",
		     CFG_RANGE(0, 1000000)),
	GUARDIAN_KEY(host_clock, INTEGER, "3000000000", "the manager's cycles a second",
		     CFG_RANGE(1000000, 100000000000)),
};

/* Guardian on one GPU. */
struct guardian {
	const struct guardian_keys *keys;
	const struct config *config;
	struct gvm_fence_table table;
	u32 contexts; /* attached */
	u32 busy;     /* of these have work */
};

/* A container's part of it. */
struct guardian_tenant {
	struct guardian *guardian;
	const struct cfg_container *cfg;
	bool busy;
	/* Detection on demand: fence.sample, and what fence.stat says. */
	u64 every;
	u64 launches;
	u64 sampled, sampled_rest; /* the rest is of a launch, in parts of @every */
	u64 found, found_rest;	   /* likewise, in ppm */
};

/* A container of a GPU that runs in the common context. */
static bool is_tenant(const struct config *config, const struct cfg_container *container,
		      size_t gpu)
{
	return config_is_on(config, container, gpu) && !*container->mps_server;
}

/* What an enabled container declares, or an equal power of two. */
static u64 declared_bytes(const struct config *config, const struct cfg_container *container,
			  u64 memory)
{
	size_t gpu = config_gpu_index(config, container);
	u64 count = 0, bytes = GUARDIAN_GRANULE;

	if (container->guardian.partition)
		return container->guardian.partition;
	for (size_t i = 0; i < config->container_count; i++)
		count += is_tenant(config, &config->containers[i], gpu);
	while (bytes * 2 * count <= memory)
		bytes *= 2;
	return bytes;
}

/*
 * The smallest part of @memory bytes that a table tells apart. It has a limited number of
 * them, so above 128 GiB they are larger.
 */
static u64 memory_granule(u64 memory)
{
	u64 granule = GUARDIAN_GRANULE;

	while (memory >> GVM_FENCE_BUDDY_DEPTH > granule)
		granule *= 2;
	return granule;
}

/* The partition table of a GPU with @memory bytes. Returns 0 or -ENOMEM. */
static int guardian_table(struct gvm_fence_table *table, const struct guardian_keys *keys,
			  u64 memory, size_t containers)
{
	bool is_virtual = keys->partitions == GUARDIAN_VIRTUAL;
	u64 granule = is_virtual ? GUARDIAN_VIRTUAL_GRANULE : memory_granule(memory);
	struct gvm_fence_table_config config = {
		.base = GUARDIAN_BASE,
		.bytes = is_virtual ? GUARDIAN_VIRTUAL_BYTES : memory / granule * granule,
		.granule = granule,
		.margin = GUARDIAN_MARGIN,
		.tenants = (u32)max(containers, (size_t)1),
		.allocations = 1,
		.any_size = keys->partitions == GUARDIAN_ANY,
	};

	return gvm_fence_table_init(table, &config);
}

/* Give the enabled containers of GPU number @gpu their partitions, as far as they fit. */
static int guardian_check_gpu(struct cfg_load *load, const struct config *config, size_t gpu)
{
	const struct guardian_keys *keys = config->system_keys;
	struct gvm_fence_partition *partition;
	struct gvm_fence_table table;
	const struct cfg_gpu *profile = gpu ? &config->gpus[gpu - 1] : &config->gpu;
	int status = 0;

	if (guardian_table(&table, keys, profile->memory, config->container_count))
		return 0; /* no memory to check: the run will say so */
	for (size_t i = 0; i < config->container_count && !status; i++) {
		const struct cfg_container *container = &config->containers[i];
		u64 declared;

		if (!is_tenant(config, container, gpu))
			continue;
		declared = declared_bytes(config, container, profile->memory);
		if (gvm_fence_table_open(&table, i, declared, guardian_mode(keys), &partition))
			status = cfg_reject_container(
				load, container, "guardian.partition",
				"a partition for %llu bytes does not fit into what others "
				"leave of %llu bytes, allowed: a smaller one, or "
				"system.partitions \"virtual\"",
				declared, table.config.bytes);
	}
	gvm_fence_table_destroy(&table);
	return status;
}

static int guardian_check(struct cfg_load *load, const struct config *config)
{
	const struct guardian_keys *keys = config->system_keys;
	bool any = keys->mode == GVM_FENCE_CHECK || keys->mode == GVM_FENCE_MODULO ||
		   keys->mode <= GVM_FENCE_NOPROT;
	int status = 0;

	if (keys->partitions == GUARDIAN_ANY && !any)
		return cfg_reject(load, "system.partitions",
				  "\"any\" is no power of two, which mode \"%s\" needs, "
				  "allowed: pow2, virtual, or mode check or modulo",
				  mode_words[keys->mode]);
	for (size_t gpu = 0; gpu <= config->gpu_count && !status; gpu++)
		status = guardian_check_gpu(load, config, gpu);
	return status;
}

static int guardian_create(struct cuda_device *device, const struct config *config)
{
	const struct guardian_keys *keys = config->system_keys;
	struct guardian *guardian = calloc(1, sizeof(*guardian));

	if (!guardian)
		return -ENOMEM;
	guardian->keys = keys;
	guardian->config = config;
	if (guardian_table(&guardian->table, keys, device->gpu->profile->memory,
			   config->container_count)) {
		free(guardian);
		return -ENOMEM;
	}
	device->library_data = guardian;
	return 0;
}

static void guardian_destroy(struct cuda_device *device)
{
	struct guardian *guardian = device->library_data;

	gvm_fence_table_destroy(&guardian->table);
	free(guardian);
}

static void guardian_stop(struct cuda_device *device)
{
	(void)device;
}

static void guardian_attach(struct cuda_context *context, const struct cfg_container *container)
{
	struct guardian *guardian = context->device->library_data;
	const struct guardian_keys *keys = guardian->keys;
	struct guardian_tenant *tenant;
	u64 memory = context->device->gpu->profile->memory;
	struct gvm_fence_partition *partition;

	tenant = *container->mps_server ? NULL : calloc(1, sizeof(*tenant));
	context->library_data = tenant;
	if (!tenant)
		return;
	tenant->guardian = guardian;
	tenant->cfg = container;
	tenant->every = keys->sample;
	guardian->contexts++;
	if (gvm_fence_table_open(&guardian->table,
				 (u64)(container - guardian->config->containers),
				 declared_bytes(guardian->config, container, memory),
				 guardian_mode(keys), &partition))
		return; /* the check of the scenario has refused all but a lack of memory */
	if (keys->mode != GVM_FENCE_NONE && keys->partitions != GUARDIAN_VIRTUAL)
		context->process->frame_buffer = partition->fence.bytes;
}

static void guardian_idle(struct cuda_context *context)
{
	struct guardian_tenant *tenant = context->library_data;

	if (!tenant || !tenant->busy)
		return;
	tenant->busy = false;
	tenant->guardian->busy--;
}

static void guardian_detach(struct cuda_context *context)
{
	struct guardian_tenant *tenant = context->library_data;
	struct guardian *guardian = context->device->library_data;

	if (!tenant)
		return;
	guardian_idle(context);
	context->library_data = NULL;
	guardian->contexts--;
	(void)gvm_fence_table_close(&guardian->table,
				    (u64)(tenant->cfg - guardian->config->containers));
	free(tenant);
}

static void guardian_busy(struct cuda_context *context)
{
	struct guardian_tenant *tenant = context->library_data;

	if (!tenant || tenant->busy)
		return;
	tenant->busy = true;
	tenant->guardian->busy++;
}

/*
 * Count @kernels launches. Which ones a sample has is random in a manager; here each share is
 * exact, and the rest of a division is kept for the next burst.
 */
static void tenant_sample(struct guardian_tenant *tenant, u64 kernels)
{
	u64 sampled;

	tenant->launches += kernels;
	if (!tenant->every)
		return;
	sampled = (kernels + tenant->sampled_rest) / tenant->every;
	tenant->sampled_rest = (kernels + tenant->sampled_rest) % tenant->every;
	tenant->sampled += sampled;
	tenant->found_rest += sampled * tenant->cfg->guardian.wild;
	tenant->found += tenant->found_rest / CFG_PPM;
	tenant->found_rest %= CFG_PPM;
}

static int guardian_read_file(struct cuda_context *context, const char *file, char *text,
			      size_t size)
{
	const struct guardian_tenant *tenant = context->library_data;

	if (!tenant)
		return -ENOENT;
	if (!strcmp(file, "fence.sample"))
		return snprintf(text, size, "%llu\n", tenant->every);
	if (!strcmp(file, "fence.stat"))
		return snprintf(text, size,
				"every: %llu\nlaunches: %llu\nsampled: %llu\n"
				"found_launches: %llu\n",
				tenant->every, tenant->launches, tenant->sampled,
				tenant->found);
	return -ENOENT;
}

static int guardian_write_file(struct cuda_context *context, const char *file, const char *text)
{
	struct guardian_tenant *tenant = context->library_data;
	char *end;
	u64 every;

	if (!tenant || strcmp(file, "fence.sample") != 0)
		return -ENOENT;
	every = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || (*end && *end != '\n') || every > 1000000000)
		return -EINVAL;
	tenant->every = every;
	tenant->sampled_rest = 0;
	return 0;
}

static void guardian_launch(struct cuda_context *context, struct fifo_burst *burst)
{
	struct guardian_tenant *tenant = context->library_data;
	const struct guardian_keys *keys;
	struct guardian *guardian;
	struct gvm_fence_counts counts = { .launches = burst->kernels };
	u64 cycles;
	bool fenced;

	if (!tenant || tenant->guardian->keys->mode == GVM_FENCE_NONE)
		return;
	guardian = tenant->guardian;
	keys = guardian->keys;
	fenced = keys->mode != GVM_FENCE_NOPROT &&
		 !(keys->native_when_alone && guardian->contexts == 1);
	cycles = keys->lookup + (fenced ? keys->augment : 0);
	burst->launch_ns += cycles * CFG_SEC / keys->host_clock;
	if (keys->manager == GUARDIAN_PROCESS)
		burst->launch_ns *= max(guardian->busy, 1u);
	if (!fenced)
		return;
	guardian_fence_burst(keys, config_gpu(guardian->config, tenant->cfg), tenant->cfg,
			     tenant->every, burst);
	tenant_sample(tenant, burst->kernels);
	gvm_fence_table_count(&guardian->table,
			      (u64)(tenant->cfg - guardian->config->containers), &counts);
}

static const struct cuda_library guardian_library = {
	.create = guardian_create,
	.destroy = guardian_destroy,
	.stop = guardian_stop,
	.attach = guardian_attach,
	.detach = guardian_detach,
	.busy = guardian_busy,
	.idle = guardian_idle,
	.launch = guardian_launch,
	.read_file = guardian_read_file,
	.write_file = guardian_write_file,
};

static bool guardian_pages_by_core(const struct config *config)
{
	const struct guardian_keys *keys = config->system_keys;

	return keys->partitions == GUARDIAN_VIRTUAL && keys->memory == GUARDIAN_GHOST;
}

/* Is a container outside of the common context, so that contexts take turns? */
static bool has_turns(const struct config *config)
{
	for (size_t i = 0; i < config->container_count; i++)
		if (*config->containers[i].mps_server)
			return true;
	return false;
}

static bool guardian_honours(const struct config *config, const char *control_file)
{
	const struct guardian_keys *keys = config->system_keys;

	if (!strcmp(control_file, "compute.timeslice"))
		return has_turns(config);
	if (!strcmp(control_file, "fence.sample"))
		return keys->mode > GVM_FENCE_NOPROT;
	return guardian_pages_by_core(config) &&
	       (sim_system_core_takes(control_file, "gmem.") ||
		sim_system_core_takes(control_file, "hmem."));
}

static struct sim_memory_policy guardian_memory(const struct config *config)
{
	const struct guardian_keys *keys = config->system_keys;

	if (guardian_pages_by_core(config))
		return (struct sim_memory_policy){
			.manager = &sim_manager_core,
			.evictors = true,
			.family = keys->group_high != GVM_NO_LIMIT || keys->group_low,
			.family_high = keys->group_high,
			.family_low = keys->group_low,
		};
	return sim_system_nvidia_memory(config);
}

/* Contexts of their own: there is no common one. */
static bool guardian_is_apart(const struct config *config)
{
	const struct guardian_keys *keys = config->system_keys;

	return keys->mode == GVM_FENCE_NONE;
}

const struct sim_system system_guardian = {
	.keys = {
		.name = "guardian",
		.summary = "one GPU context for all containers, fenced in software: Guardian",
		CFG_KEYS(guardian_rows),
		.bytes = sizeof(struct guardian_keys),
		.common_server = true,
		.check_containers = guardian_check,
	},
	.apart = guardian_is_apart,
	.honours = guardian_honours,
	.memory = guardian_memory,
	.library = &guardian_library,
};
