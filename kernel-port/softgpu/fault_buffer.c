// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The replayable fault buffer, its interrupt, replays and cancels. Registers are plain memory:
 * UVM reads PUT and writes GET.
 *
 * PUT moves when all SM accesses have posted what they have to post, and the interrupt comes
 * then. So a batch of UVM's holds the same faults in every run, however threads are scheduled.
 * Many kernels at once may never be all outside of their windows. So PUT also moves when enough
 * of them have been through one since the first fault that UVM does not see.
 *
 * A full buffer loses faults, as hardware does. The access waits, and faults again after the
 * next replay.
 */
#include "softgpu.h"

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/vmalloc.h>

#include "hwref/ampere/ga100/dev_fault.h" /* types of accesses, which all chips share */

#define SOFTGPU_GET_MASK 0xfffffu /* above: bits that clear conditions */
#define SOFTGPU_NO_GET	 (SOFTGPU_GET_MASK + 1)
#define SOFTGPU_PASSES	 16u /* over windows, that a fault stays unseen for */

static u32 softgpu_fault_get(struct softgpu_fault_buffer *buffer)
{
	return READ_ONCE(buffer->get_reg) & SOFTGPU_GET_MASK;
}

static bool softgpu_faults_pending(struct softgpu_fault_buffer *buffer)
{
	return softgpu_fault_get(buffer) != READ_ONCE(buffer->put_reg);
}

static bool softgpu_interrupt_pending(struct softgpu *gpu)
{
	return softgpu_faults_pending(&gpu->faults) || softgpu_counters_pending(gpu) ||
	       softgpu_engine_faults_pending(gpu);
}

/*
 * The interrupt: UVM's top half, which has to be called from a thread. It reschedules itself
 * while it finds faults, and disables the interrupt by a register that does nothing here: extra
 * calls are harmless. There are fewer of them, the longer UVM has been at a batch.
 */
static int softgpu_interrupts(void *data)
{
	struct softgpu *gpu = data;
	struct softgpu_fault_buffer *buffer = &gpu->faults;
	u32 get = SOFTGPU_NO_GET;
	u64 moved_ns = 0;

	while (!kthread_should_stop()) {
		wait_event_interruptible_timeout(
			buffer->posted, kthread_should_stop() || softgpu_interrupt_pending(gpu),
			HZ / 10);
		if (!softgpu_interrupt_pending(gpu)) {
			get = SOFTGPU_NO_GET;
			continue;
		}
		softgpu_hold(gpu, SOFTGPU_HOLD_INTERRUPT);
		down_read(&gpu->uvm_lock);
		if (gpu->uvm && gpu->uvm->isrTopHalf) {
			gpu->uvm->isrTopHalf(&gpu->uuid);
			gpu->stats.interrupts++;
		}
		up_read(&gpu->uvm_lock);
		if (get != softgpu_fault_get(buffer)) {
			get = softgpu_fault_get(buffer);
			moved_ns = ktime_get_ns();
		}
		softgpu_poll_sleep(moved_ns, 100);
	}
	return 0;
}

int softgpu_faults_init(struct softgpu *gpu, u32 entries)
{
	struct softgpu_fault_buffer *buffer = &gpu->faults;

	spin_lock_init(&buffer->lock);
	init_waitqueue_head(&buffer->posted);
	init_waitqueue_head(&buffer->replayed);
	if (entries < 2 || entries > SOFTGPU_GET_MASK)
		return -EINVAL;
	buffer->entries = entries;
	buffer->packets = vzalloc((u64)entries * NVC369_BUF_SIZE);
	if (!buffer->packets)
		return -ENOMEM;
	buffer->interrupts = kthread_run(softgpu_interrupts, gpu, "softgpu irq");
	return PTR_ERR_OR_ZERO(buffer->interrupts);
}

void softgpu_faults_destroy(struct softgpu *gpu)
{
	if (!IS_ERR_OR_NULL(gpu->faults.interrupts))
		kthread_stop(gpu->faults.interrupts);
	vfree(gpu->faults.packets);
}

void softgpu_faults_begin(struct softgpu *gpu)
{
	spin_lock(&gpu->faults.lock);
	gpu->faults.posting++;
	spin_unlock(&gpu->faults.lock);
}

void softgpu_faults_end(struct softgpu *gpu)
{
	struct softgpu_fault_buffer *buffer = &gpu->faults;

	spin_lock(&buffer->lock);
	buffer->posting--;
	if (buffer->put_reg != buffer->put)
		buffer->passes++;
	if (!buffer->posting || buffer->passes == SOFTGPU_PASSES) {
		gpu->stats.unseen_passes = max_t(u64, gpu->stats.unseen_passes, buffer->passes);
		buffer->passes = 0;
		smp_store_release(&buffer->put_reg, buffer->put);
	}
	spin_unlock(&buffer->lock);
	wake_up(&buffer->posted);
}

/*
 * UVM writes bits above GET's number to clear conditions. A real register reads them as zero;
 * this one keeps them until UVM's next write. UVM reads GET at two times only: as it takes the
 * buffer, when GET is 0, and as it wakes up. So they are dropped before it wakes up.
 */
void softgpu_faults_wake(struct softgpu *gpu)
{
	WRITE_ONCE(gpu->faults.get_reg, softgpu_fault_get(&gpu->faults));
}

u32 softgpu_fault_access(enum softgpu_op op)
{
	switch (op) {
	case SOFTGPU_READ:
		return NV_PFAULT_ACCESS_TYPE_VIRT_READ;
	case SOFTGPU_WRITE:
		return NV_PFAULT_ACCESS_TYPE_VIRT_WRITE;
	default:
		return NV_PFAULT_ACCESS_TYPE_VIRT_ATOMIC_STRONG;
	}
}

bool softgpu_fault_post(struct softgpu_user_channel *channel, u64 va, u32 type,
			enum softgpu_op op)
{
	struct softgpu *gpu = channel->space->gpu;
	struct softgpu_fault_buffer *buffer = &gpu->faults;
	struct softgpu_event event = { .kind = SOFTGPU_EVENT_FAULT, .a = va, .b = op };
	u64 now = ktime_get_ns();
	u32 *packet;
	u32 next;

	spin_lock(&buffer->lock);
	next = (buffer->put + 1) % buffer->entries;
	if (next == softgpu_fault_get(buffer)) {
		gpu->stats.faults_lost++;
		spin_unlock(&buffer->lock);
		return false;
	}
	/*
	 * Words of NVC369_BUF_ENTRY: instance, address, time stamp, engine, what happened and
	 * valid.
	 */
	packet = buffer->packets + SOFTGPU_PACKET_WORDS * buffer->put;
	packet[0] = lower_32_bits(channel->instance);
	packet[1] = upper_32_bits(channel->instance);
	packet[2] = lower_32_bits(va & PAGE_MASK);
	packet[3] = upper_32_bits(va);
	packet[4] = lower_32_bits(now);
	packet[5] = upper_32_bits(now);
	packet[6] = gpu->chip->graphics_engine + softgpu_first_subcontext(channel->space) +
		    channel->subcontext;
	/* Replayable fault enabled, access type, replayable, valid. */
	smp_store_release(&packet[7], type | 1u << 7 | softgpu_fault_access(op) << 16 |
					      1u << 30 | 1u << 31);
	buffer->put = next;
	gpu->stats.faults++;
	softgpu_event(gpu, &event);
	spin_unlock(&buffer->lock);
	return true;
}

u64 softgpu_replays(struct softgpu *gpu)
{
	return READ_ONCE(gpu->faults.replays);
}

void softgpu_replay(struct softgpu *gpu, const struct softgpu_cancel *cancel)
{
	struct softgpu_fault_buffer *buffer = &gpu->faults;
	struct softgpu_event event = {
		.kind = cancel ? SOFTGPU_EVENT_CANCEL : SOFTGPU_EVENT_REPLAY,
		.a = cancel ? cancel->va : 0,
	};

	softgpu_event(gpu, &event);
	spin_lock(&buffer->lock);
	if (cancel) {
		struct softgpu_cancel *kept =
			&buffer->cancel[buffer->cancels++ % SOFTGPU_CANCELS];

		*kept = *cancel;
		kept->replay = buffer->replays + 1;
		gpu->stats.cancels++;
	} else {
		gpu->stats.replays++;
	}
	WRITE_ONCE(buffer->replays, buffer->replays + 1);
	spin_unlock(&buffer->lock);
	wake_up_all(&buffer->replayed);
}

/* Whether a cancel of this access type is for this operation. */
static bool softgpu_cancels_op(u32 access, enum softgpu_op op)
{
	switch (access) {
	case NVC56F_MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_VIRT_ALL:
		return true;
	case NVC56F_MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_VIRT_READ:
		return op == SOFTGPU_READ;
	case NVC56F_MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_VIRT_WRITE:
		return op == SOFTGPU_WRITE;
	case NVC56F_MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_VIRT_WRITE_AND_ATOMIC:
		return op != SOFTGPU_READ;
	default:
		return op == SOFTGPU_ATOMIC;
	}
}

bool softgpu_cancelled(struct softgpu *gpu, u64 directory, u64 va, enum softgpu_op op,
		       u64 since)
{
	struct softgpu_fault_buffer *buffer = &gpu->faults;
	bool cancelled = false;

	spin_lock(&buffer->lock);
	for (u32 i = 0; i < SOFTGPU_CANCELS && !cancelled; i++) {
		const struct softgpu_cancel *cancel = &buffer->cancel[i];

		cancelled = cancel->replay > since && cancel->directory == directory &&
			    (cancel->all || (cancel->va == (va & PAGE_MASK) &&
					     softgpu_cancels_op(cancel->access, op)));
	}
	spin_unlock(&buffer->lock);
	return cancelled;
}

void softgpu_wake_accesses(struct softgpu *gpu)
{
	struct softgpu_fault_buffer *buffer = &gpu->faults;

	spin_lock(&buffer->lock);
	WRITE_ONCE(buffer->replays, buffer->replays + 1);
	spin_unlock(&buffer->lock);
	wake_up_all(&buffer->replayed);
	wake_up_all(&gpu->scheduler.changed);
}

/* RM interface: fault buffers. */

NV_STATUS nvUvmInterfaceInitFaultInfo(uvmGpuDeviceHandle device, UvmGpuFaultInfo *ret_info)
{
	struct softgpu_fault_buffer *buffer = &softgpu_of(device)->faults;

	memset(ret_info, 0, sizeof(*ret_info));
	spin_lock(&buffer->lock);
	buffer->get_reg = buffer->put_reg = buffer->put = buffer->passes = 0;
	memset(buffer->packets, 0, (u64)buffer->entries * NVC369_BUF_SIZE);
	spin_unlock(&buffer->lock);
	ret_info->replayable.pFaultBufferGet = &buffer->get_reg;
	ret_info->replayable.pFaultBufferPut = &buffer->put_reg;
	ret_info->replayable.pFaultBufferInfo = &buffer->regs[0];
	ret_info->replayable.pPmcIntr = &buffer->regs[1];
	ret_info->replayable.pPmcIntrEnSet = &buffer->regs[2];
	ret_info->replayable.pPmcIntrEnClear = &buffer->regs[3];
	ret_info->replayable.pPrefetchCtrl = &buffer->regs[4];
	ret_info->replayable.replayableFaultMask = 1;
	ret_info->replayable.bufferAddress = buffer->packets;
	ret_info->replayable.bufferSize = buffer->entries * NVC369_BUF_SIZE;
	softgpu_engine_faults_describe(softgpu_of(device), ret_info);
	ret_info->faultBufferHandle = 1;
	return NV_OK;
}

NV_STATUS nvUvmInterfaceDestroyFaultInfo(uvmGpuDeviceHandle device, UvmGpuFaultInfo *info)
{
	return NV_OK;
}

NV_STATUS nvUvmInterfaceOwnPageFaultIntr(uvmGpuDeviceHandle device, NvBool own)
{
	return NV_OK;
}

#ifdef SOFTGPU_FLUSH_BY_INFO
NV_STATUS nvUvmInterfaceFlushReplayableFaultBuffer(UvmGpuFaultInfo *info, NvBool copy_and_flush)
#else
NV_STATUS nvUvmInterfaceFlushReplayableFaultBuffer(uvmGpuDeviceHandle device)
#endif
{
	return NV_OK;
}

#ifdef SOFTGPU_TOGGLE_PREFETCH
NV_STATUS nvUvmInterfaceTogglePrefetchFaults(UvmGpuFaultInfo *info, NvBool enable)
{
	return NV_OK;
}
#endif
