// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Faults of the copy engine and of host, which cannot be replayed. The channel leaves the
 * engine, with a bit in its register that says who faulted:
 *
 *      push.c      an address is not mapped: a packet, the bit ENG_FAULTED or PBDMA_FAULTED, an interrupt
 *      UVM         services it, writes into the register which bit to clear, and rings the runlist's doorbell
 *      push.c      the channel is back, and goes on at that address
 *
 * What UVM cannot service it reports to RM, which stops the channel for ever.
 */
#include "softgpu.h"

#include "hwref/ampere/ga100/dev_fault.h"   /* Hopper's clients have the same numbers */
#include "hwref/ampere/ga100/dev_runlist.h" /* of Hopper, too */

#define SOFTGPU_NOT_RUNG U32_MAX

#ifdef SOFTGPU_RUNLIST_PRI
#define SOFTGPU_DOORBELL (NV_RUNLIST_INTERNAL_DOORBELL / 4)
#else
#define SOFTGPU_DOORBELL 0
#endif

void softgpu_engine_faults_init(struct softgpu *gpu)
{
	spin_lock_init(&gpu->engine_faults.lock);
}

void softgpu_engine_faults_describe(struct softgpu *gpu, UvmGpuFaultInfo *ret_info)
{
	struct softgpu_engine_faults *faults = &gpu->engine_faults;

	spin_lock(&faults->lock);
	faults->tail = faults->head;
	spin_unlock(&faults->lock);
	ret_info->nonReplayable.shadowBufferAddress = faults->packets;
	ret_info->nonReplayable.shadowBufferContext = gpu;
	ret_info->nonReplayable.bufferSize = sizeof(faults->packets);
}

bool softgpu_engine_faults_pending(struct softgpu *gpu)
{
	return READ_ONCE(gpu->engine_faults.head) != READ_ONCE(gpu->engine_faults.tail);
}

/*
 * The channel's registers say that it has faulted, before UVM can know. LOCKING: softgpu.lock.
 */
static void softgpu_engine_leaves(struct softgpu_user_channel *channel, bool host)
{
	channel->fault = host ? DRF_DEF(_CHRAM, _CHANNEL, _PBDMA_FAULTED, _TRUE) :
				DRF_DEF(_CHRAM, _CHANNEL, _ENG_FAULTED, _TRUE);
	WRITE_ONCE(channel->runlist[SOFTGPU_DOORBELL], SOFTGPU_NOT_RUNG);
	smp_store_release(&channel->chram, channel->fault);
}

void softgpu_engine_fault_post(struct softgpu_user_channel *channel, u64 va, u32 type,
			       enum softgpu_op op, bool host)
{
	struct softgpu *gpu = channel->space->gpu;
	struct softgpu_engine_faults *faults = &gpu->engine_faults;
	u32 client = host ? NV_PFAULT_CLIENT_HUB_HOST : NV_PFAULT_CLIENT_HUB_CE0;
	u64 now = ktime_get_ns();
	u32 *packet;

	spin_lock(&faults->lock);
	if (faults->head - faults->tail == SOFTGPU_ENGINE_FAULTS) {
		/* The push is tried again, and faults again. */
		spin_unlock(&faults->lock);
		return;
	}
	softgpu_engine_leaves(channel, host);
	packet =
		faults->packets + SOFTGPU_PACKET_WORDS * (faults->head % SOFTGPU_ENGINE_FAULTS);
	packet[0] = lower_32_bits(channel->instance);
	packet[1] = upper_32_bits(channel->instance);
	packet[2] = lower_32_bits(va & PAGE_MASK);
	packet[3] = upper_32_bits(va);
	packet[4] = lower_32_bits(now);
	packet[5] = upper_32_bits(now);
	packet[6] = host ? gpu->chip->host_engine : gpu->chip->copy_engine;
	/*
	 * Not replayable; client, access type, client HUB, replayable fault enabled, valid. 535
	 * tells host from the copy engine by packet[6], 580 and later by the client.
	 */
	packet[7] = type | client << 8 | softgpu_fault_access(op) << 16 |
		    NV_PFAULT_MMU_CLIENT_TYPE_HUB << 20 | 1u << 30 | 1u << 31;
	WRITE_ONCE(faults->head, faults->head + 1);
	spin_unlock(&faults->lock);
	channel->faults++;
	gpu->stats.engine_faults++;
	wake_up(&gpu->faults.posted);
}

bool softgpu_engine_fault_cleared(struct softgpu_user_channel *channel)
{
	u32 clear = channel->fault == DRF_DEF(_CHRAM, _CHANNEL, _ENG_FAULTED, _TRUE) ?
			    NV_CHRAM_CHANNEL_UPDATE_RESET_ENG_FAULTED :
			    NV_CHRAM_CHANNEL_UPDATE_RESET_PBDMA_FAULTED;

	if (smp_load_acquire(&channel->runlist[SOFTGPU_DOORBELL]) == SOFTGPU_NOT_RUNG ||
	    READ_ONCE(channel->chram) != clear)
		return false;
	channel->fault = 0;
	WRITE_ONCE(channel->chram, 0);
	return true;
}

/* RM interface: faults that cannot be replayed. UVM's top half asks, with interrupts off. */

NV_STATUS nvUvmInterfaceHasPendingNonReplayableFaults(UvmGpuFaultInfo *info,
						      NvBool *ret_pending)
{
	*ret_pending = softgpu_engine_faults_pending(info->nonReplayable.shadowBufferContext);
	return NV_OK;
}

NV_STATUS nvUvmInterfaceGetNonReplayableFaults(UvmGpuFaultInfo *info, void *buffer,
					       NvU32 *ret_count)
{
	struct softgpu *gpu = info->nonReplayable.shadowBufferContext;
	struct softgpu_engine_faults *faults = &gpu->engine_faults;
	u32 *to = buffer;

	*ret_count = 0;
	spin_lock(&faults->lock);
	for (; faults->tail != faults->head; ++*ret_count) {
		memcpy(to,
		       faults->packets +
			       SOFTGPU_PACKET_WORDS * (faults->tail % SOFTGPU_ENGINE_FAULTS),
		       NVC369_BUF_SIZE);
		to += SOFTGPU_PACKET_WORDS;
		WRITE_ONCE(faults->tail, faults->tail + 1);
	}
	spin_unlock(&faults->lock);
	return NV_OK;
}

/* RM stops the channel. UVM may have destroyed it by now. */
NV_STATUS nvUvmInterfaceReportNonReplayableFault(uvmGpuDeviceHandle device, const void *packet)
{
	struct softgpu *gpu = softgpu_of(device);
	const u32 *words = packet;
	u64 instance = (u64)words[1] << 32 | (words[0] & PAGE_MASK);
	struct softgpu_user_channel *channel;

	mutex_lock(&gpu->lock);
	list_for_each_entry(channel, &gpu->user_channels, node)
		if (channel->engine && channel->instance == instance &&
		    !channel->engine->failed) {
			gpu->stats.engine_kills++;
			softgpu_channel_fail(channel->engine);
		}
	mutex_unlock(&gpu->lock);
	return NV_OK;
}
