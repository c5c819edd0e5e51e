// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Channels of UVM's own, and the thread that runs them. UVM writes methods into a push buffer,
 * an entry that points to them into the channel's ring, and PUT. The thread reads rings in
 * turn:
 *
 *      GP entry    address of the segment (bits 39:2), its words (bits 62:42)
 *      segment     header, data words, header, ...
 *      header      operation (31:29), words or data (28:16), subchannel (15:13), method / 4 (11:0)
 *
 * A channel whose acquire is not met stays where it is until its next turn.
 */
#include "softgpu.h"

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define SOFTGPU_COPY_SUBCHANNEL 4u
#define SOFTGPU_COPY_ENGINES	5u
#define SOFTGPU_IDLE_TRIES	30000u /* of a millisecond */
#define SOFTGPU_HOST_METHODS	0x100u /* below: host's, on any subchannel */

/* Run one method. Returns false if it has to be tried again. */
static bool softgpu_method(struct softgpu_channel *channel, u32 header, u32 data)
{
	u32 subchannel = header >> 13 & 7;
	u32 method = (header & 0xfff) << 2;

	channel->gpu->stats.methods++;
	if (method < SOFTGPU_HOST_METHODS)
		return softgpu_host_method(channel, method, data);
	if (subchannel == SOFTGPU_COPY_SUBCHANNEL)
		return softgpu_copy_method(channel, method, data);
	channel->gpu->stats.unknown_methods++;
	pr_warn_ratelimited("softgpu: method %x on subchannel %u\n", method, subchannel);
	return true;
}

void *softgpu_channel_translate(struct softgpu_channel *channel, u64 va, enum softgpu_op op,
				bool host, u64 *bytes)
{
	u32 fault;
	void *p = softgpu_translate(channel->space, va, op, bytes, &fault);

	if (p)
		return p;
	if (channel->user && fault != SOFTGPU_NO_FAULT) {
		softgpu_engine_fault_post(channel->user, va, fault, op, host);
		return NULL;
	}
	if (fault != SOFTGPU_NO_FAULT) {
		channel->gpu->stats.bad_addresses++;
		pr_err_ratelimited("softgpu: an engine faults at %llx, type %x\n", va, fault);
	}
	softgpu_channel_fail(channel);
	return NULL;
}

/* The GPU is lost. LOCKING: softgpu.lock. */
static void softgpu_lose(struct softgpu *gpu)
{
	struct softgpu_channel *channel;

	pr_err("softgpu: the GPU is lost\n");
	WRITE_ONCE(gpu->lost, true);
	list_for_each_entry(channel, &gpu->channels, node)
		if (!channel->failed)
			softgpu_channel_fail(channel);
	softgpu_wake_accesses(gpu);
}

/*
 * An entry without words. It sets the upper bits of the addresses of segments, or does nothing.
 */
static void softgpu_control_entry(struct softgpu_channel *channel, u64 entry)
{
	if (DRF_VAL(C86F, _GP_ENTRY1, _OPCODE, upper_32_bits(entry)) ==
	    NVC86F_GP_ENTRY1_OPCODE_SET_PB_SEGMENT_EXTENDED_BASE)
		channel->segment_base =
			(u64)DRF_VAL(C86F, _GP_ENTRY0, _PB_EXTENDED_BASE_OPERAND,
				     lower_32_bits(entry))
			<< 40;
}

/* Take the next segment from the ring. Returns false if there is none. */
static bool softgpu_next_segment(struct softgpu_channel *channel)
{
	u64 entry;

	if (channel->get == smp_load_acquire(&channel->put))
		return false;
	if (softgpu_fails(channel->gpu, SOFTGPU_FAIL_CHANNEL)) {
		softgpu_channel_fail(channel);
		return false;
	}
	if (softgpu_fails(channel->gpu, SOFTGPU_FAIL_LOST)) {
		softgpu_lose(channel->gpu);
		return false;
	}
	entry = channel->ring[channel->get];
	channel->segment = channel->segment_base | (entry & GENMASK_ULL(39, 2));
	channel->segment_words = entry >> 42 & GENMASK(20, 0);
	channel->header_words = 0;
	channel->gpu->stats.pushes++;
	if (!channel->segment_words) {
		softgpu_control_entry(channel, entry);
		WRITE_ONCE(channel->get, (channel->get + 1) % channel->ring_entries);
	}
	return true;
}

/* Returns false if it has to be tried again. */
static bool softgpu_header(struct softgpu_channel *channel, u32 header)
{
	u32 count = header >> 16 & 0x1fff;

	channel->header = header;
	switch (header >> 29) {
	case NVC56F_DMA_SEC_OP_IMMD_DATA_METHOD:
		return softgpu_method(channel, header, count);
	case NVC56F_DMA_SEC_OP_INC_METHOD:
	case NVC56F_DMA_SEC_OP_NON_INC_METHOD:
	case NVC56F_DMA_SEC_OP_ONE_INC:
		channel->header_words = count;
		break;
	default:
		if (header) { /* 0 is a no-operation */
			channel->gpu->stats.unknown_methods++;
			pr_warn_ratelimited("softgpu: unknown header %x\n", header);
		}
	}
	return true;
}

/* Run a data word. Returns false if it has to be tried again. */
static bool softgpu_data(struct softgpu_channel *channel, u32 data)
{
	if (!softgpu_method(channel, channel->header, data))
		return false;
	channel->header_words--;
	switch (channel->header >> 29) {
	case NVC56F_DMA_SEC_OP_INC_METHOD:
		channel->header++;
		break;
	case NVC56F_DMA_SEC_OP_ONE_INC: /* all that follow go to the next method */
		channel->header++;
		channel->header +=
			(NVC56F_DMA_SEC_OP_NON_INC_METHOD - NVC56F_DMA_SEC_OP_ONE_INC) << 29;
	}
	return true;
}

bool softgpu_channel_word(struct softgpu_channel *channel, u32 word)
{
	return channel->header_words ? softgpu_data(channel, word) :
				       softgpu_header(channel, word);
}

/* Run a channel until it has no work, waits or failed. Returns whether it did anything. */
static bool softgpu_channel_run(struct softgpu_channel *channel)
{
	bool worked = false;

	while (!channel->failed) {
		u64 bytes = sizeof(u32);
		u32 *word;

		if (!channel->segment_words) {
			if (!softgpu_next_segment(channel))
				return worked;
			worked = true;
			continue;
		}
		word = softgpu_channel_translate(channel, channel->segment, SOFTGPU_READ, true,
						 &bytes);
		if (!word || !softgpu_channel_word(channel, *word))
			return worked;
		worked = true;
		channel->segment += sizeof(u32);
		if (!--channel->segment_words)
			WRITE_ONCE(channel->get, (channel->get + 1) % channel->ring_entries);
	}
	return worked;
}

int softgpu_channel_engine(void *data)
{
	struct softgpu *gpu = data;
	u64 worked_ns = ktime_get_ns();

	while (!kthread_should_stop()) {
		struct softgpu_channel *channel;
		u64 now = ktime_get_ns();
		bool worked = false;

		WRITE_ONCE(gpu->time1, upper_32_bits(now));
		WRITE_ONCE(gpu->time0, lower_32_bits(now));
		mutex_lock(&gpu->lock);
		list_for_each_entry(channel, &gpu->channels, node)
			worked |= softgpu_channel_run(channel);
		mutex_unlock(&gpu->lock);
		/* The doorbell is plain memory: writing it wakes no thread. */
		if (worked) {
			worked_ns = ktime_get_ns();
			cond_resched();
		} else {
			softgpu_poll_sleep(worked_ns, 20);
		}
	}
	return 0;
}

static bool softgpu_is_idle(struct softgpu *gpu)
{
	struct softgpu_channel *channel;
	bool idle = true;

	mutex_lock(&gpu->lock);
	list_for_each_entry(channel, &gpu->channels, node)
		idle &= channel->failed || channel->get == READ_ONCE(channel->put);
	mutex_unlock(&gpu->lock);
	return idle;
}

int softgpu_wait_idle(struct softgpu *gpu)
{
	for (u32 i = 0; !softgpu_is_idle(gpu); i++) {
		if (i == SOFTGPU_IDLE_TRIES)
			return -ETIMEDOUT;
		msleep(1);
	}
	return 0;
}

/* RM interface: channels. */

NV_STATUS nvUvmInterfaceQueryCopyEnginesCaps(uvmGpuDeviceHandle device,
					     UvmGpuCopyEnginesCaps *caps)
{
	memset(caps, 0, sizeof(*caps));
	for (u32 i = 0; i < SOFTGPU_COPY_ENGINES; i++) {
		caps->copyEngineCaps[i].supported = 1;
		caps->copyEngineCaps[i].sysmem = 1;
		caps->copyEngineCaps[i].sysmemRead = 1;
		caps->copyEngineCaps[i].sysmemWrite = 1;
		caps->copyEngineCaps[i].p2p = 1;
		caps->copyEngineCaps[i].cePceMask = 1u << i;
	}
	return NV_OK;
}

NV_STATUS nvUvmInterfaceTsgAllocate(uvmGpuAddressSpaceHandle space,
				    const UvmGpuTsgAllocParams *params,
				    uvmGpuTsgHandle *ret_tsg)
{
	struct softgpu_tsg *tsg = kzalloc(sizeof(*tsg), GFP_KERNEL);

	if (!tsg)
		return NV_ERR_NO_MEMORY;
	tsg->space = (struct softgpu_space *)space;
	tsg->engine = params->engineIndex;
	*ret_tsg = (uvmGpuTsgHandle)tsg;
	return NV_OK;
}

void nvUvmInterfaceTsgDestroy(uvmGpuTsgHandle tsg)
{
	kfree(tsg);
}

void softgpu_channel_free(struct softgpu_channel *channel)
{
	vfree(channel->ring);
	kfree((void *)channel->notifier); /* the type is volatile */
	kvfree(channel);
}

struct softgpu_channel *softgpu_channel_new(struct softgpu_space *space, u32 ring_entries)
{
	struct softgpu_channel *channel = kvzalloc(sizeof(*channel), GFP_KERNEL);

	if (!channel)
		return NULL;
	channel->ring = vzalloc(ring_entries * sizeof(*channel->ring));
	channel->notifier = kcalloc(4, sizeof(*channel->notifier), GFP_KERNEL);
	if (!channel->ring || !channel->notifier) {
		softgpu_channel_free(channel);
		return NULL;
	}
	channel->ring_entries = ring_entries;
	channel->gpu = space->gpu;
	channel->space = space;
	return channel;
}

NV_STATUS nvUvmInterfaceChannelAllocate(const uvmGpuTsgHandle handle,
					const UvmGpuChannelAllocParams *params,
					uvmGpuChannelHandle *ret_channel,
					UvmGpuChannelInfo *ret_info)
{
	struct softgpu_tsg *tsg = (struct softgpu_tsg *)handle;
	struct softgpu *gpu = tsg->space->gpu;
	struct softgpu_channel *channel;
	NV_STATUS status;

	status = softgpu_allocates(gpu, SOFTGPU_FAIL_RM_ALLOC);
	if (status != NV_OK)
		return status;
	channel = softgpu_channel_new(tsg->space, params->numGpFifoEntries);
	if (!channel)
		return NV_ERR_NO_MEMORY;
	mutex_lock(&gpu->lock);
	channel->id = gpu->next_channel++;
	channel->token = channel->id;
	list_add_tail(&channel->node, &gpu->channels);
	mutex_unlock(&gpu->lock);

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->gpGet = &channel->get;
	ret_info->gpPut = &channel->put;
	ret_info->gpFifoEntries = (UvmGpuPointer *)channel->ring;
	ret_info->numGpFifoEntries = channel->ring_entries;
	ret_info->channelClassNum = gpu->chip->host_class;
	ret_info->errorNotifier = channel->notifier;
	ret_info->hwRunlistId = tsg->engine;
	ret_info->hwChannelId = channel->id;
	ret_info->workSubmissionOffset = &channel->doorbell;
	ret_info->workSubmissionToken = channel->id;
	ret_info->pWorkSubmissionToken = &channel->token;
	*ret_channel = (uvmGpuChannelHandle)channel;
	return NV_OK;
}

/* UVM destroys a channel that could not be allocated: NULL. */
void nvUvmInterfaceChannelDestroy(uvmGpuChannelHandle handle)
{
	struct softgpu_channel *channel = (struct softgpu_channel *)handle;
	struct softgpu *gpu;

	if (!channel)
		return;
	gpu = channel->gpu;
	mutex_lock(&gpu->lock);
	if (!channel->failed && channel->get != READ_ONCE(channel->put))
		pr_warn("softgpu: channel %u is destroyed with work\n", channel->id);
	list_del(&channel->node);
	mutex_unlock(&gpu->lock);
	softgpu_channel_free(channel);
}
