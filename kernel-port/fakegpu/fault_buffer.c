// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The replayable fault buffer. When it is full it loses records, as the hardware's does. An
 * access whose record was lost faults again after the next replay.
 */
#include "fakegpu.h"

void fakegpu_faults_init(struct fakegpu_fault_buffer *buffer)
{
	spin_lock_init(&buffer->lock);
	init_waitqueue_head(&buffer->posted);
	init_waitqueue_head(&buffer->replayed);
}

u64 fakegpu_fault_post(struct fakegpu *gpu, const struct gvm_fault *fault)
{
	struct fakegpu_fault_buffer *buffer = &gpu->faults;
	u64 replays;

	spin_lock(&buffer->lock);
	buffer->faults++;
	if (buffer->count < FAKEGPU_FAULTS)
		buffer->records[(buffer->get + buffer->count++) % FAKEGPU_FAULTS] = *fault;
	else
		buffer->lost++;
	replays = buffer->replays;
	spin_unlock(&buffer->lock);
	wake_up_all(&buffer->posted);
	return replays;
}

u64 fakegpu_replays(struct fakegpu *gpu)
{
	return READ_ONCE(gpu->faults.replays);
}

u32 fakegpu_fetch_faults(void *data, struct gvm_fault *faults, u32 max)
{
	struct fakegpu_fault_buffer *buffer = &((struct fakegpu *)data)->faults;
	u32 count = 0;

	spin_lock(&buffer->lock);
	while (buffer->count && count < max) {
		faults[count++] = buffer->records[buffer->get];
		buffer->get = (buffer->get + 1) % FAKEGPU_FAULTS;
		buffer->count--;
	}
	spin_unlock(&buffer->lock);
	return count;
}

int fakegpu_wait_for_faults(void *data)
{
	struct fakegpu *gpu = data;
	struct fakegpu_fault_buffer *buffer = &gpu->faults;
	bool posted = false;

	(void)wait_event_interruptible(
		buffer->posted, (posted = READ_ONCE(buffer->count) > 0) ||
					READ_ONCE(gpu->lost) || gvm_worker_should_stop());
	if (READ_ONCE(gpu->lost))
		return -ENODEV;
	return posted ? 0 : -EINTR;
}

/*
 * Records that are in the buffer at the replay are stale and are dropped: a warp that still
 * misses its page faults again. The flush and the count of replays change under one lock, so
 * that no stalled warp is forgotten in between.
 */
int fakegpu_flush_and_replay(void *data, const struct gvm_fence *fence)
{
	struct fakegpu *gpu = data;
	struct fakegpu_fault_buffer *buffer = &gpu->faults;
	int status = fakegpu_fence_wait(gpu, fence);

	if (status)
		return status;
	if (READ_ONCE(gpu->lost))
		return -ENODEV;
	spin_lock(&buffer->lock);
	buffer->count = 0;
	WRITE_ONCE(buffer->replays, buffer->replays + 1);
	spin_unlock(&buffer->lock);
	wake_up_all(&buffer->replayed);
	return 0;
}
