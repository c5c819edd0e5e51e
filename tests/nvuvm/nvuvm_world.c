// SPDX-License-Identifier: MIT OR GPL-2.0
#include "nvuvm_world.h"

struct cfg_gpu world_profile = {
	.link = { .bandwidth = 1000000000,
		  .bandwidth_both = 2000000000,
		  .setup = 1000,
		  .piece_in = 100,
		  .piece_out = 100 },
	.sched = { .timeslice = 1000 * US, .timeslice_scale = CFG_PPM, .rpc = 100 * US },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 1,
		   .interrupt = INTERRUPT_NS,
		   .batch = BATCH_NS,
		   .entry = ENTRY_NS,
		   .block = BLOCK_NS,
		   .replay = REPLAY_NS,
		   .evict = EVICT_NS,
		   .walk = WALK_NS,
		   .zero_bandwidth = 1000000000000 },
};

struct sim_gpu world_gpu;
struct sim_process world_process, world_other, world_more[2];

const struct sim_memory_policy world_stock = { .manager = &sim_manager_nvuvm };
const struct sim_memory_policy world_limits = { .manager = &sim_manager_nvuvm,
						.limits = true,
						.one_list = true };
const struct sim_memory_policy world_gvm = { .manager = &sim_manager_nvuvm,
					     .limits = true,
					     .fast_path = true };
const struct sim_memory_policy world_ghost_uvm = { .manager = &sim_manager_ghost_uvm };

static void (*world_body)(void);

static void body_main(void *data)
{
	(void)data;
	ck_assert_int_eq(sim_gpu_start(&world_gpu), 0);
	world_body();
	sim_process_exit(&world_process);
	sim_process_exit(&world_other);
	sim_process_exit(&world_more[0]);
	sim_process_exit(&world_more[1]);
	sim_gpu_stop(&world_gpu);
	world_check();
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 0);
	ck_assert_uint_eq(world_gpu.device.container_count, 0);
	ck_assert_uint_eq(world_gpu.free_count, world_gpu.device.chunk_count);
	ck_assert(list_empty(&world_nvuvm()->containers));
}

void world_run(u32 chunks, const struct sim_memory_policy *policy, void (*body)(void))
{
	struct eng_actor *actor;

	world_body = body;
	world_profile.memory = chunks * CHUNK;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&world_gpu, "gpu0", &world_profile, policy), 0);
	actor = eng_spawn("body", body_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	eng_join(actor);
	sim_gpu_destroy(&world_gpu);
}

struct gvm_range *world_map(struct sim_process *process, u32 blocks, bool on_host)
{
	if (!process->running)
		ck_assert_int_eq(sim_process_start(process, &world_gpu,
						   process == &world_process ? 1 : 2),
				 0);
	return sim_process_map(process, blocks * CHUNK, on_host);
}

u64 world_touch(struct sim_process *process, struct gvm_range *range, u32 first, u32 count)
{
	struct gmmu_touch touch = sim_touch_blocks(range, first, count, GVM_ACCESS_WRITE);
	struct fifo_burst burst = {
		.kernels = 1,
		.kernel_ns = 1 * US,
		.touches = &touch,
		.touch_count = 1,
	};
	u64 start = eng_now();

	fifo_submit(&process->tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	world_check();
	return burst.finished_ns - start;
}

/* Service the faults of a batch that was made by hand. */
static void service(struct gvm_range *range, struct gvm_fault *faults, u32 count)
{
	struct gvm_fence fence = { 0 };

	nvuvm_service(world_nvuvm(), range, faults, count, &fence);
	nvuvm_batch_end(world_nvuvm());
	ck_assert_int_eq(world_gpu.device.ops->flush_and_replay(&world_gpu, &fence), 0);
	world_check();
}

int world_fault(struct gvm_range *range, u32 block, u32 page)
{
	struct gvm_fault fault = {
		.space = range->space,
		.va = range->va + block * CHUNK + page * GVM_PAGE_BYTES,
		.access = GVM_ACCESS_WRITE,
	};

	service(range, &fault, 1);
	return fault.status;
}

u32 world_fault_blocks(struct gvm_range *range, u32 first, u32 count)
{
	struct gvm_fault faults[GVM_FAULT_BATCH_MAX];
	u32 well = 0;
	u32 i;

	for (i = 0; i < count; i++)
		faults[i] = (struct gvm_fault){
			.space = range->space,
			.va = range->va + (first + i) * CHUNK,
			.access = GVM_ACCESS_WRITE,
		};
	service(range, faults, count);
	for (i = 0; i < count; i++)
		well += faults[i].status == 0;
	return well;
}

u32 world_chunk(const struct gvm_range *range, u32 block)
{
	return range->blocks[block].chunk;
}

/* Count a list from its head to its tail, and check each link back, the tail and the count. */
static u32 count_list(const struct nvuvm *nvuvm, const struct nvuvm_list *list,
		      enum nvuvm_order order)
{
	u32 chunk = list->head;
	u32 before = GVM_NO_CHUNK;
	u32 count = 0;

	for (; chunk != GVM_NO_CHUNK; chunk = nvuvm->chunks[chunk].next[order], count++) {
		GVM_ASSERT(nvuvm->chunks[chunk].prev[order] == before);
		before = chunk;
	}
	ck_assert_uint_eq(list->tail, before);
	ck_assert_uint_eq(list->count, count);
	return count;
}

/* Walk the used list up to the container's first chunk: the count that walk.c keeps. */
static void check_walk(const struct nvuvm *nvuvm, const struct nvuvm_container *owner)
{
	u32 chunk = nvuvm->used.head;
	u32 ahead = 0;

	for (; chunk != GVM_NO_CHUNK && nvuvm->chunks[chunk].owner != owner; ahead++)
		chunk = nvuvm->chunks[chunk].next[NVUVM_ORDER_STATE];
	ck_assert_uint_eq(owner->walk_first, chunk);
	if (chunk != GVM_NO_CHUNK)
		ck_assert_uint_eq(owner->walk_ahead, ahead);
}

void world_check(void)
{
	const struct nvuvm *nvuvm = world_nvuvm();
	const struct nvuvm_container *owner;
	u32 states[NVUVM_LAZY + 1] = { 0 };
	u32 own = 0;
	u32 i;

	ck_assert_int_eq(gvm_check(&world_gpu.device), 0);
	for (i = 0; i < world_gpu.device.chunk_count; i++)
		states[nvuvm->chunks[i].state]++;
	ck_assert_uint_eq(count_list(nvuvm, &nvuvm->free, NVUVM_ORDER_STATE),
			  states[NVUVM_FREE]);
	ck_assert_uint_eq(count_list(nvuvm, &nvuvm->used, NVUVM_ORDER_STATE),
			  states[NVUVM_USED]);
	ck_assert_uint_eq(count_list(nvuvm, &nvuvm->unused, NVUVM_ORDER_STATE),
			  states[NVUVM_UNUSED]);
	ck_assert_uint_eq(count_list(nvuvm, &nvuvm->lazy, NVUVM_ORDER_STATE),
			  states[NVUVM_LAZY]);
	list_for_each_entry(owner, &nvuvm->containers, node) {
		own += count_list(nvuvm, &owner->used, NVUVM_ORDER_OWN) +
		       count_list(nvuvm, &owner->unused, NVUVM_ORDER_OWN);
		if (nvuvm->config.limits && nvuvm->config.one_list)
			check_walk(nvuvm, owner);
	}
	ck_assert_uint_eq(own, states[NVUVM_USED] + states[NVUVM_UNUSED]);
	ck_assert_uint_eq(states[NVUVM_IN_PMA], world_gpu.free_count);
	ck_assert_uint_eq(states[NVUVM_EVICTING] + states[NVUVM_TEMP_PINNED], nvuvm->in_hands);
	/* During a limit write, the write may hold some of the chunks. */
	ck_assert_uint_ge(world_gpu.device.bound_chunks, own);
}

const struct nvuvm_stats *world_stats(void)
{
	return nvuvm_stats(world_nvuvm());
}

u32 world_charged(const struct sim_process *process)
{
	return (u32)(process->container->charged_bytes >> GVM_CHUNK_SHIFT);
}

void world_set_limit(struct sim_process *process, u32 chunks)
{
	gvm_limit_set_high(process->container, chunks * CHUNK);
}

void world_fault_each(struct gvm_range *range, u32 first, u32 count)
{
	for (u32 i = 0; i < count; i++)
		ck_assert_int_eq(world_fault(range, first + i, 0), 0);
}
