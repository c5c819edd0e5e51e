// SPDX-License-Identifier: MIT OR GPL-2.0
/* A process with a GPU context; see process.h. */
#include "gpu/process.h"

#include "gpu/check.h"
#include "gpu/memory.h"
#include "gpu/mps.h"
#include "gpu/service.h"
#include "gvm/child.h"

/* Managed ranges start at the same address in every process, much as real ones do. */
#define PROCESS_FIRST_VA     0x700000000000ull
#define PROCESS_WINDOW_BYTES (1ull << 44)

/*
 * Take context memory from the device, unless the profile has none. The core charges it to the
 * container. NVIDIA's driver and the published GVM do not: RM allocates it past UVM's
 * accounting, so their gmem.current counts only pages, like their memory.current. Without
 * memory the context dies. An interrupted process exits anyway. Returns the bytes that it took.
 */
static u64 process_take(struct sim_process *process, u64 bytes)
{
	const struct gvm_memory_ops *ops = process->gpu->device.memory_ops;
	void *memory = process->gpu->device.memory;
	int status;

	if (!process->gpu->profile->context)
		return 0;
	status = ops->unevictable_add(memory, &process->context, bytes);
	if (!status)
		return bytes;
	if (status != -EINTR)
		sim_process_die(process, status);
	return 0;
}

static void process_put_evictor(struct sim_process *process)
{
	if (process->evicts)
		gvm_container_evictor_put(process->container);
	process->evicts = false;
}

/*
 * The container of a process of group @tgid. In a family it is a child, whose window is all of
 * the process's address space: partitions of one context are address spaces here. Returns 0,
 * -ENOMEM or -EIO, or -ENOSPC: the family has GVM_CHILDREN_MAX.
 */
static int process_join_container(struct sim_process *process, u32 tgid)
{
	struct gvm_container *family = process->gpu->family;
	struct gvm_window window = {
		.space = process,
		.va = PROCESS_FIRST_VA,
		.bytes = PROCESS_WINDOW_BYTES,
	};

	if (!family)
		return gvm_container_attach(&process->gpu->device, tgid, &process->container);
	process->container = gvm_child_find(family, tgid);
	if (process->container)
		return 0;
	return gvm_child_open(family, &window, tgid, &process->container);
}

static void process_leave_container(struct sim_process *process)
{
	if (!process->gpu->family) {
		gvm_container_detach(process->container);
		return;
	}
	gvm_children_close(process->gpu->family, process);
	gvm_container_put(process->container);
}

int sim_process_start(struct sim_process *process, struct sim_gpu *gpu, u32 tgid)
{
	return sim_process_start_client(process, gpu, tgid, NULL, FIFO_ALL_PPM);
}

int sim_process_start_client(struct sim_process *process, struct sim_gpu *gpu, u32 tgid,
			     struct sim_mps *mps, u32 limit_ppm)
{
	int status = sim_process_start_bare(process, gpu, tgid, mps, limit_ppm);

	if (!status)
		process_take(process, gpu->profile->context + gvm_page_table_space_bytes());
	return status;
}

int sim_process_start_bare(struct sim_process *process, struct sim_gpu *gpu, u32 tgid,
			   struct sim_mps *mps, u32 limit_ppm)
{
	int status;

	sim_gpu_use_costs(gpu);
	*process = (struct sim_process){ .gpu = gpu, .mps = mps, .next_va = PROCESS_FIRST_VA };
	page_table_init(&process->page_table, process);
	status = process_join_container(process, tgid);
	if (status)
		return status;
	if (gpu->policy.evictors) {
		status = gvm_container_evictor_get(process->container);
		process->evicts = true;
	}
	if (!status)
		status = mps ? fifo_tsg_init_client(&mps->entry, &process->tsg,
						    &process->page_table, limit_ppm) :
			       fifo_tsg_init(&gpu->fifo, &process->tsg, &process->page_table);
	if (status) {
		process_put_evictor(process);
		process_leave_container(process);
		return status;
	}
	if (mps)
		sim_mps_join(process);
	else
		gvm_tsg_attach(process->container, &process->core_tsg, process->tsg.id);
	process->running = true;
	gvm_unevictable_init(&process->context, process->container);
	gvm_unevictable_init(&process->unmanaged, process->container);
	return 0;
}

u64 sim_process_allocated(const struct sim_process *process)
{
	u64 blocks = 0;

	for (u32 i = 0; i < SIM_PROCESS_RANGES_MAX; i++)
		blocks += process->ranges[i].block_count;
	return process->context.bytes + process->unmanaged.bytes + (blocks << GVM_CHUNK_SHIFT);
}

struct gvm_range *sim_process_map(struct sim_process *process, u64 bytes, bool on_host)
{
	struct gvm_range *range = process->ranges;
	struct gvm_range_config config = {
		.container = process->container,
		.space = process,
		.va = process->next_va,
		.bytes = bytes,
		.on_host = on_host,
		.stats = &process->stats.block,
	};
	struct gvm_device *device = &process->gpu->device;
	u64 table_bytes =
		process->gpu->profile->context ? gvm_page_table_range_bytes(bytes) : 0;

	if (process->range_count == SIM_PROCESS_RANGES_MAX)
		return NULL;
	while (range->block_count)
		range++;
	if (page_table_reserve(&process->page_table, config.va, bytes))
		return NULL;
	if (device->memory_ops->range_init(device->memory, range, &config)) {
		page_table_release(&process->page_table, config.va);
		*range = (struct gvm_range){ 0 };
		return NULL;
	}
	process->range_count++;
	/* A hole of one block between ranges: an overrun faults instead of corrupting. */
	process->next_va += ((u64)range->block_count + 1) << GVM_CHUNK_SHIFT;
	if (process->frame_buffer &&
	    sim_process_allocated(process) + table_bytes > process->frame_buffer) {
		sim_process_die(process, -ENOMEM);
		return range;
	}
	process->table_bytes[range - process->ranges] = process_take(process, table_bytes);
	/* Only an interrupt ends this early, and then the process exits. */
	if (process->frame_buffer)
		(void)sim_process_prefetch(process, range, GVM_PROCESSOR_GPU);
	return range;
}

void sim_process_unmap(struct sim_process *process, struct gvm_range *range)
{
	struct gvm_device *device = &process->gpu->device;
	u64 va = range->va;

	sim_gpu_settle(process->gpu, process);
	process->range_count--;
	device->memory_ops->range_destroy(device->memory, range);
	page_table_release(&process->page_table, va);
	*range = (struct gvm_range){ 0 };
	device->memory_ops->unevictable_remove(device->memory, &process->context,
					       process->table_bytes[range - process->ranges]);
}

struct gvm_range *sim_process_find_range(struct sim_process *process, u64 va)
{
	for (u32 i = 0; i < SIM_PROCESS_RANGES_MAX; i++)
		if (gvm_range_covers(&process->ranges[i], va))
			return &process->ranges[i];
	return NULL;
}

int sim_process_prefetch(struct sim_process *process, struct gvm_range *range,
			 enum gvm_processor to)
{
	struct gvm_device *device = &process->gpu->device;
	int status;

	if (!device->memory_ops->migrate)
		return -EOPNOTSUPP;
	status = device->memory_ops->migrate(device->memory, range, to);
	eng_pay_debt();
	return status;
}

int sim_process_advise(struct sim_process *process, struct gvm_range *range,
		       enum gvm_advice advice)
{
	struct gvm_device *device = &process->gpu->device;
	int status;

	if (!device->memory_ops->advise)
		return -EOPNOTSUPP;
	status = device->memory_ops->advise(device->memory, range, advice);
	eng_pay_debt();
	return status;
}

u64 sim_process_discard(struct sim_process *process, struct gvm_range *range, u64 offset,
			u64 bytes)
{
	struct gvm_device *device = &process->gpu->device;

	if (!device->memory_ops->discard)
		return 0;
	return device->memory_ops->discard(device->memory, range, offset, bytes);
}

void sim_process_exit(struct sim_process *process)
{
	struct gvm_device *device = &process->gpu->device;

	if (!process->running)
		return;
	sim_gpu_check_at_exit(process->gpu);
	process->running = false;
	process->exited_ns = eng_now();
	fifo_tsg_destroy(&process->tsg);
	sim_gpu_forget(process->gpu, process);
	process_put_evictor(process);
	sim_gpu_drain(process->gpu);
	if (process->mps)
		sim_mps_leave(process);
	else
		gvm_tsg_detach(&process->core_tsg);
	for (u32 i = 0; i < SIM_PROCESS_RANGES_MAX; i++)
		if (process->ranges[i].block_count)
			device->memory_ops->range_destroy(device->memory, &process->ranges[i]);
	page_table_destroy(&process->page_table);
	/*
	 * Other processes may have evicted its pages meanwhile. Those copies use its memory and
	 * counters.
	 */
	sim_gpu_drain(process->gpu);
	device->memory_ops->unevictable_remove(device->memory, &process->unmanaged,
					       process->unmanaged.bytes);
	device->memory_ops->unevictable_remove(device->memory, &process->context,
					       process->context.bytes);
	process_leave_container(process);
}

struct gmmu_touch sim_touch_blocks(const struct gvm_range *range, u32 first, u32 count,
				   enum gvm_access access)
{
	return (struct gmmu_touch){
		.va = range->va + ((u64)first << GVM_CHUNK_SHIFT),
		.block_count = count,
		.access = (u8)access,
	};
}

struct gmmu_touch sim_touch_all(const struct gvm_range *range, enum gvm_access access)
{
	return sim_touch_blocks(range, 0, range->block_count, access);
}
