// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The other things that the driver of a real GPU does to the core: suspend and resume, a GPU
 * that falls off the bus, memory that RM's allocator takes by force, TSGs of an MPS server.
 * Tests ask for them by ioctl.
 */
#include "fakegpu.h"

#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/quiesce.h"

#include "gvm_registry.h"

/* The byte that RM writes into memory that it has taken. */
#define FAKEGPU_RM_BYTE 0x5a

int fakegpu_quiesce(struct fakegpu *gpu, u64 timeout_us)
{
	return gvm_device_quiesce(gpu->device,
				  min_t(u64, timeout_us, USEC_PER_SEC * 60) * NSEC_PER_USEC);
}

int fakegpu_resume(struct fakegpu *gpu)
{
	return gvm_device_resume(gpu->device);
}

/* The TSGs die, and threads that wait for the GPU wake up and see that it is lost. */
int fakegpu_lose(struct fakegpu *gpu)
{
	struct fakegpu_tsg *tsg;
	unsigned long id;

	WRITE_ONCE(gpu->lost, true);
	gvm_device_set_lost(gpu->device);
	xa_for_each(&gpu->tsgs, id, tsg)
		fakegpu_tsg_kill(gpu, (u32)id, -ENODEV);
	wake_up_all(&gpu->faults.posted);
	wake_up_all(&gpu->idle);
	return 0;
}

/*
 * Evict a chunk that was taken, write to it as RM does, and give it back. Returns 1, or 0: it
 * stayed.
 */
static u32 fakegpu_take_chunk(struct fakegpu *gpu, u32 chunk)
{
	struct gvm_device *device = gpu->device;
	struct gvm_eviction eviction = { .keep = true };

	if (!gvm_clock_is_picked(device, chunk) ||
	    device->memory_ops->evict(device->memory, chunk, &eviction) || eviction.left_bytes)
		return 0;
	/*
	 * Copies out of the chunk may be under way: of the evicted data, or, if that was clean,
	 * for an earlier owner. A caller that is being killed waits for them as well.
	 */
	fakegpu_engines_drain(gpu);
	memset(fakegpu_chunk_bytes(gpu, chunk), FAKEGPU_RM_BYTE, GVM_CHUNK_BYTES);
	fakegpu_chunk_free(gpu, chunk);
	return 1;
}

int fakegpu_take(struct fakegpu *gpu, struct gvm_fakegpu_take *take)
{
	if (take->first > gpu->chunk_count || take->count > gpu->chunk_count - take->first)
		return -EINVAL;
	gvm_clock_take_range(gpu->device, take->first, take->count);
	take->ret_taken = 0;
	for (u32 chunk = take->first; chunk < take->first + take->count; chunk++)
		take->ret_taken += fakegpu_take_chunk(gpu, chunk);
	return 0;
}

int fakegpu_share(struct fakegpu_context *context, u32 tgid)
{
	struct gvm_device *device = context->gpu->device;
	struct gvm_container *container;
	int status = gvm_process_find(tgid, gvm_device_index(device), &container);

	if (status)
		return status;
	mutex_lock(&context->mutex);
	if (context->tsg_count && !context->share.container)
		(void)gvm_tsg_share(&context->tsgs[0].core, container, &context->share);
	else
		status = -EBUSY;
	mutex_unlock(&context->mutex);
	gvm_container_put(container);
	return status;
}
