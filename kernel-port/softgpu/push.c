// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Pushes of user mode, on channels of the copy engine: what cudaMemcpy() on managed memory is
 * to the driver. The thread that asks for a push plays the engine. Its words are not in GPU
 * memory; all that they name is, and may fault.
 */
#include "softgpu.h"

#include <linux/delay.h>
#include <linux/sched/signal.h>

int softgpu_push_init(struct softgpu_user_channel *channel)
{
	channel->engine = softgpu_channel_new(channel->space, 1);
	if (!channel->engine)
		return -ENOMEM;
	channel->engine->user = channel;
	return 0;
}

/*
 * Run words from *done on, as far as it goes. Returns 0 when all are done, -EAGAIN if the
 * channel waits, or what the push ends with. LOCKING: softgpu.lock.
 */
static int softgpu_push_run(struct softgpu_user_channel *channel, const u32 *words, u32 count,
			    u32 *done)
{
	struct softgpu_channel *engine = channel->engine;

	if (channel->gone || READ_ONCE(engine->gpu->lost))
		return -ENODEV;
	if (engine->failed)
		return -EIO;
	if (READ_ONCE(channel->disabled) ||
	    (channel->fault && !softgpu_engine_fault_cleared(channel)))
		return -EAGAIN;
	for (; *done < count; ++*done)
		if (!softgpu_channel_word(engine, words[*done]))
			return engine->failed ? -EIO : -EAGAIN;
	return 0;
}

/* Run all of it, and wait where it has to. */
static int softgpu_push_all(struct softgpu *gpu, struct softgpu_user_channel *channel,
			    const u32 *words, u32 count)
{
	unsigned long end = jiffies + gpu->patience;
	struct softgpu_wait wait;
	u32 done = 0;
	u64 faults = 0;

	softgpu_wait_begin(gpu, &wait);
	for (;;) {
		int status;

		mutex_lock(&gpu->lock);
		status = softgpu_push_run(channel, words, count, &done);
		/* The time is one fault's, or one semaphore's. */
		if (faults != channel->faults) {
			end = jiffies + gpu->patience;
			softgpu_wait_begin(gpu, &wait);
		}
		faults = channel->faults;
		mutex_unlock(&gpu->lock);
		if (status != -EAGAIN)
			return status;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (time_after(jiffies, end)) {
			if (softgpu_wait_is_over(gpu, &wait))
				return -ETIMEDOUT;
			end = jiffies + gpu->patience;
		}
		usleep_range(50, 100);
	}
}

int softgpu_push(struct softgpu *gpu, struct softgpu_push *push, const u32 *words)
{
	struct softgpu_user_channel *channel;
	u64 before = 0;
	int status = 0;

	mutex_lock(&gpu->lock);
	channel = softgpu_user_channel_find(gpu, push->client, push->channel);
	if (!channel || !channel->engine) {
		status = -ENOENT;
	} else if (channel->pushing) {
		status = -EBUSY;
	} else {
		channel->references++;
		channel->pushing = true;
		before = channel->faults;
	}
	mutex_unlock(&gpu->lock);
	if (status)
		return status;
	status = softgpu_push_all(gpu, channel, words, push->count);
	mutex_lock(&gpu->lock);
	push->faults = channel->faults - before;
	/* A push that ended early leaves nothing of it for the next one. */
	channel->engine->header_words = 0;
	channel->engine->transferred = 0;
	channel->pushing = false;
	mutex_unlock(&gpu->lock);
	softgpu_user_channel_put(gpu, channel);
	return status;
}
