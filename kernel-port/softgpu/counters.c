// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Access counters: how often SMs access memory that is not on this GPU.
 *
 *      access of an SM to host memory --> counter of the region (2 MB unless UVM asks for less)
 *          at the threshold --> one notification in the buffer, PUT, interrupt --> UVM
 *          migrates, and clears
 *
 * The number of a counter is the tag by which UVM clears it. It counts on after its
 * notification, and notifies once until it is cleared. A notification that finds the
 * buffer full comes with the next access. The counters of accesses to this GPU's memory
 * by others (MOMC) never count.
 *
 * Notifications tell physical addresses where UVM takes them: 535 does. It drops virtual ones
 * where the host's pages have 4 KB (service_virt_notifications). 580 knows virtual ones alone,
 * and drops them as well: on such a host its counters never make it migrate.
 */
#include "softgpu.h"

#include "clc365.h"

#define SOFTGPU_TOUCHED_BITS 32u /* of a notification, for its region */

#ifdef SOFTGPU_CONST_COUNTER
#define SOFTGPU_ADDRESSES NVC365_NOTIFY_BUF_ENTRY_ADDR_TYPE_GVA
#else
#define SOFTGPU_ADDRESSES NVC365_NOTIFY_BUF_ENTRY_ADDR_TYPE_GPA
#endif

void softgpu_counters_init(struct softgpu *gpu)
{
	spin_lock_init(&gpu->counters.lock);
}

/*
 * The counter of a region; a free one if it has none; NULL if all are in
 * use. LOCKING: counters.lock.
 */
static struct softgpu_counter *softgpu_counter_find(struct softgpu_counters *counters,
						    const void *owner, u64 region)
{
	struct softgpu_counter *unused = NULL;

	for (u32 i = 0; i < SOFTGPU_COUNTERS; i++) {
		struct softgpu_counter *counter = &counters->counter[i];

		if (counter->owner == owner && counter->region == region)
			return counter;
		if (!counter->owner && !unused)
			unused = counter;
	}
	if (unused)
		*unused = (struct softgpu_counter){ .owner = owner, .region = region };
	return unused;
}

/*
 * Write a notification, unless the buffer is full. Words of NVC365_NOTIFY_BUF_ENTRY:
 * kinds and instance, instance, address, what of the region was accessed, tag, value, engine
 * and valid. LOCKING: counters.lock.
 */
static bool softgpu_notify(struct softgpu_counters *counters,
			   const struct softgpu_user_channel *channel, u64 address,
			   const struct softgpu_counter *counter)
{
	u32 *packet = counters->packets + SOFTGPU_PACKET_WORDS * counters->put_reg;
	u32 next = (counters->put_reg + 1) % SOFTGPU_NOTIFICATIONS;
	u64 instance = channel->instance >> PAGE_SHIFT;

	if (next == READ_ONCE(counters->get_reg))
		return false;
	packet[0] = NVC365_NOTIFY_BUF_ENTRY_TYPE_GPU | SOFTGPU_ADDRESSES << 1 |
		    NVC365_NOTIFY_BUF_ENTRY_APERTURE_SYS_MEM_COHERENT << 8 |
		    NVC365_NOTIFY_BUF_ENTRY_INST_APERTURE_VID_MEM << 10 | (u32)instance << 12;
	packet[1] = (u32)(instance >> 20);
	packet[2] = lower_32_bits(address & ~(SOFTGPU_BIG_PAGE - 1));
	packet[3] = upper_32_bits(address);
	packet[4] = counter->touched;
	packet[5] = (u32)(counter - counters->counter);
	packet[6] = counter->count;
	smp_store_release(&packet[7],
			  (channel->space->gpu->chip->graphics_engine +
			   softgpu_first_subcontext(channel->space) + channel->subcontext)
					  << 20 |
				  (u32)NVC365_NOTIFY_BUF_ENTRY_VALID_TRUE << 31);
	smp_store_release(&counters->put_reg, next);
	return true;
}

void softgpu_count(const struct softgpu_user_channel *channel, u64 va, u64 physical)
{
	bool virtual = SOFTGPU_ADDRESSES == NVC365_NOTIFY_BUF_ENTRY_ADDR_TYPE_GVA;
	struct softgpu *gpu = channel->space->gpu;
	struct softgpu_counters *counters = &gpu->counters;
	const void *owner = virtual ? (void *)channel->space : gpu;
	u64 address = virtual ? va : physical;
	struct softgpu_counter *counter = NULL;
	bool posted = false;

	if (!READ_ONCE(counters->enabled))
		return;
	spin_lock(&counters->lock);
	if (counters->enabled)
		counter =
			softgpu_counter_find(counters, owner, address / counters->granularity);
	if (counter) {
		counter->count = min(counter->count + 1, (u32)U16_MAX);
		counter->touched |= BIT(address % counters->granularity /
					(counters->granularity / SOFTGPU_TOUCHED_BITS));
		if (!counter->notified && counter->count >= counters->threshold) {
			posted = softgpu_notify(counters, channel, address, counter);
			counter->notified = posted;
			gpu->stats.notifications += posted;
		}
	}
	spin_unlock(&counters->lock);
	if (posted)
		wake_up(&gpu->faults.posted);
}

bool softgpu_counters_pending(struct softgpu *gpu)
{
	struct softgpu_counters *counters = &gpu->counters;

	return READ_ONCE(counters->enabled) &&
	       READ_ONCE(counters->get_reg) != READ_ONCE(counters->put_reg);
}

void softgpu_counters_clear(struct softgpu *gpu, u32 tag)
{
	struct softgpu_counters *counters = &gpu->counters;

	spin_lock(&counters->lock);
	for (u32 i = 0; i < SOFTGPU_COUNTERS; i++)
		if (tag == SOFTGPU_ALL_COUNTERS || tag == i)
			counters->counter[i] = (struct softgpu_counter){ 0 };
	spin_unlock(&counters->lock);
}

void softgpu_counters_forget(const struct softgpu_space *space)
{
	struct softgpu_counters *counters = &space->gpu->counters;

	spin_lock(&counters->lock);
	for (u32 i = 0; i < SOFTGPU_COUNTERS; i++)
		if (counters->counter[i].owner == space)
			counters->counter[i] = (struct softgpu_counter){ 0 };
	spin_unlock(&counters->lock);
}

/* RM interface: access counters. */

NV_STATUS nvUvmInterfaceInitAccessCntrInfo(uvmGpuDeviceHandle device,
					   UvmGpuAccessCntrInfo *ret_info, NvU32 index)
{
	struct softgpu_counters *counters = &softgpu_of(device)->counters;

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->pAccessCntrBufferGet = &counters->get_reg;
	ret_info->pAccessCntrBufferPut = &counters->put_reg;
	ret_info->pAccessCntrBufferFull = &counters->regs[0];
	ret_info->pHubIntr = &counters->regs[1];
	ret_info->pHubIntrEnSet = &counters->regs[2];
	ret_info->pHubIntrEnClear = &counters->regs[3];
	ret_info->accessCounterMask = 1;
	ret_info->bufferAddress = counters->packets;
	ret_info->bufferSize = sizeof(counters->packets);
	ret_info->accessCntrBufferHandle = 2;
	return NV_OK;
}

NV_STATUS nvUvmInterfaceDestroyAccessCntrInfo(uvmGpuDeviceHandle device,
					      UvmGpuAccessCntrInfo *info)
{
	return NV_OK;
}

#ifdef SOFTGPU_CONST_COUNTER
NV_STATUS nvUvmInterfaceEnableAccessCntr(uvmGpuDeviceHandle device, UvmGpuAccessCntrInfo *info,
					 const UvmGpuAccessCntrConfig *config)
{
	u32 granularity = config->granularity;
#else
NV_STATUS nvUvmInterfaceEnableAccessCntr(uvmGpuDeviceHandle device, UvmGpuAccessCntrInfo *info,
					 UvmGpuAccessCntrConfig *config)
{
	u32 granularity = config->mimcGranularity;
#endif
	struct softgpu *gpu = softgpu_of(device);
	struct softgpu_counters *counters = &gpu->counters;

	softgpu_counters_clear(gpu, SOFTGPU_ALL_COUNTERS);
	spin_lock(&counters->lock);
	counters->granularity = granularity == UVM_ACCESS_COUNTER_GRANULARITY_64K ? 64ul << 10 :
				granularity == UVM_ACCESS_COUNTER_GRANULARITY_2M  ? 2ul << 20 :
				granularity == UVM_ACCESS_COUNTER_GRANULARITY_16M ? 16ul << 20 :
										    16ul << 30;
	counters->threshold = config->threshold;
	counters->enabled = true;
	spin_unlock(&counters->lock);
	return NV_OK;
}

NV_STATUS nvUvmInterfaceDisableAccessCntr(uvmGpuDeviceHandle device, UvmGpuAccessCntrInfo *info)
{
	struct softgpu *gpu = softgpu_of(device);

	spin_lock(&gpu->counters.lock);
	gpu->counters.enabled = false;
	spin_unlock(&gpu->counters.lock);
	return NV_OK;
}
