// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Copy engines: a thread for each, which takes copies off its queue in order. A copy waits for
 * earlier copies of the same chunk, on any engine. Copies only wait for copies that started
 * earlier, so no circle of waits is possible.
 */
#include "fakegpu.h"

#include <linux/moduleparam.h>

static unsigned int fail_copies;
module_param(fail_copies, uint, 0644);
MODULE_PARM_DESC(fail_copies, "let every n-th copy or clear fail with EIO (0: none)");

static unsigned int fail_outs;
module_param(fail_outs, uint, 0644);
MODULE_PARM_DESC(fail_outs, "let every n-th copy to the host fail with EIO (0: none)");

/*
 * For tests that need a thread to stay where it starts a copy, with the locks that it has then:
 * a queue that is held looks full.
 */
static unsigned int hold_copies;
static DECLARE_WAIT_QUEUE_HEAD(copies_held);

static int hold_copies_set(const char *text, const struct kernel_param *parameter)
{
	int status = param_set_uint(text, parameter);

	wake_up_all(&copies_held);
	return status;
}

static const struct kernel_param_ops hold_copies_ops = {
	.set = hold_copies_set,
	.get = param_get_uint,
};
module_param_cb(hold_copies, &hold_copies_ops, &hold_copies, 0644);
MODULE_PARM_DESC(hold_copies, "start no copy: 1 to the GPU, 2 to the host, 4 clears, or sums");

static bool engine_is_held(enum gvm_engine which)
{
	return READ_ONCE(hold_copies) & BIT(which);
}

static bool engine_passed(struct fakegpu_engine *engine, u64 sequence)
{
	return smp_load_acquire(&engine->done) >= sequence;
}

bool fakegpu_fence_passed(void *data, const struct gvm_fence *fence)
{
	struct fakegpu *gpu = data;
	u32 i;

	for (i = 0; i < GVM_ENGINES; i++)
		if (!engine_passed(&gpu->engines[i], fence->sequence[i]))
			return false;
	return true;
}

int fakegpu_fence_wait(void *data, const struct gvm_fence *fence)
{
	struct fakegpu *gpu = data;
	struct gvm_fence until = *fence;
	bool passed = false;

	gvm_trace_wait("fence", true);
	(void)wait_event_killable(gpu->copied, (passed = fakegpu_fence_passed(gpu, &until)) ||
						       gvm_worker_should_stop());
	gvm_trace_wait("fence", false);
	return passed ? 0 : -EINTR;
}

void fakegpu_engines_drain(struct fakegpu *gpu)
{
	struct gvm_fence all;
	u32 i;

	spin_lock(&gpu->engine_lock);
	for (i = 0; i < GVM_ENGINES; i++)
		all.sequence[i] = gpu->engines[i].submitted;
	spin_unlock(&gpu->engine_lock);
	gvm_trace_wait("fence", true);
	wait_event(gpu->copied, fakegpu_fence_passed(gpu, &all));
	gvm_trace_wait("fence", false);
}

struct gvm_fence fakegpu_chunk_fence(struct fakegpu *gpu, u32 chunk)
{
	struct gvm_fence fence;

	spin_lock(&gpu->engine_lock);
	fence = gpu->last[chunk];
	spin_unlock(&gpu->engine_lock);
	return fence;
}

/* Put a copy on the queue. Returns false: the queue is full. */
static bool engine_push(struct fakegpu_engine *engine, u32 chunk,
			const struct fakegpu_copy *copy, u64 *ret_sequence)
{
	struct fakegpu *gpu = engine->gpu;
	struct fakegpu_copy *slot;
	bool pushed = false;

	spin_lock(&gpu->engine_lock);
	if (engine->submitted - smp_load_acquire(&engine->done) < FAKEGPU_COPIES) {
		slot = &engine->queue[engine->submitted % FAKEGPU_COPIES];
		*slot = *copy;
		slot->after = gpu->last[chunk];
		*ret_sequence = ++engine->submitted;
		engine->bytes += copy->bytes;
		gpu->last[chunk].sequence[engine->which] = *ret_sequence;
		pushed = true;
	}
	spin_unlock(&gpu->engine_lock);
	return pushed;
}

/*
 * Start a copy. 0, -EIO, or -EINTR: the queue was full, and the thread is being killed or
 * stopped.
 */
static int engine_submit(struct fakegpu *gpu, enum gvm_engine which, u32 chunk,
			 const struct fakegpu_copy *copy, struct gvm_fence *fence)
{
	struct fakegpu_engine *engine = &gpu->engines[which];
	bool pushed = false;
	u64 sequence;

	if (engine_is_held(which)) {
		gvm_trace_wait("a place in a copy queue", true);
		(void)wait_event_killable(copies_held,
					  !engine_is_held(which) || gvm_worker_should_stop());
		gvm_trace_wait("a place in a copy queue", false);
	}
	if (fakegpu_fails(&gpu->copies, READ_ONCE(fail_copies)) ||
	    (which == GVM_ENGINE_OUT && fakegpu_fails(&gpu->outs, READ_ONCE(fail_outs))))
		return -EIO;
	pushed = engine_push(engine, chunk, copy, &sequence);
	if (!pushed) {
		gvm_trace_wait("a place in a copy queue", true);
		(void)wait_event_killable(
			gpu->copied, (pushed = engine_push(engine, chunk, copy, &sequence)) ||
					     gvm_worker_should_stop());
		gvm_trace_wait("a place in a copy queue", false);
	}
	if (!pushed)
		return -EINTR;
	fence->sequence[which] = sequence;
	wake_up_all(&gpu->copied);
	return 0;
}

static size_t run_bytes(const struct gvm_page_run *run)
{
	return (size_t)run->page_count << GVM_PAGE_SHIFT;
}

static void *run_device(struct fakegpu *gpu, const struct gvm_page_run *run)
{
	return fakegpu_chunk_bytes(gpu, run->chunk) +
	       ((size_t)(run->offset_pages + run->first_page) << GVM_PAGE_SHIFT);
}

/*
 * Start a copy of a run to or from its block's host memory, and hold that. The range's lock is
 * held.
 */
static int copy_start(struct fakegpu *gpu, enum gvm_engine which,
		      const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct fakegpu_copy copy = { .bytes = run_bytes(run) };
	struct fakegpu_mapping *mapping;
	void *on_host;
	int status;

	gvm_mutex_assert_held(&run->range->lock);
	mapping = container_of(run->range, struct fakegpu_mapping, range);
	copy.host = fakegpu_host_alloc(gpu, &mapping->host[run->index],
				       GFP_KERNEL | __GFP_RETRY_MAYFAIL);
	if (!copy.host)
		return -ENOMEM;
	on_host = copy.host->bytes + ((size_t)run->first_page << GVM_PAGE_SHIFT);
	copy.to = which == GVM_ENGINE_OUT ? on_host : run_device(gpu, run);
	copy.from = which == GVM_ENGINE_OUT ? run_device(gpu, run) : on_host;
	refcount_inc(&copy.host->refs);
	status = engine_submit(gpu, which, run->chunk, &copy, fence);
	if (status)
		fakegpu_host_put(copy.host);
	return status;
}

int fakegpu_copy_in(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	return copy_start(gpu, GVM_ENGINE_IN, run, fence);
}

int fakegpu_copy_out(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	return copy_start(gpu, GVM_ENGINE_OUT, run, fence);
}

int fakegpu_clear(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct fakegpu *gpu = data;
	struct fakegpu_copy copy = { .to = run_device(gpu, run), .bytes = run_bytes(run) };

	return engine_submit(gpu, GVM_ENGINE_CLEAR, run->chunk, &copy, fence);
}

/* The oldest copy of the queue, or NULL. It stays in the queue until it is done. */
static struct fakegpu_copy *engine_first(struct fakegpu_engine *engine)
{
	struct fakegpu_copy *copy = NULL;

	spin_lock(&engine->gpu->engine_lock);
	if (engine->done < engine->submitted)
		copy = &engine->queue[engine->done % FAKEGPU_COPIES];
	spin_unlock(&engine->gpu->engine_lock);
	return copy;
}

/* Copy in pieces, so that other threads get the CPU in between. */
static void copy_do(const struct fakegpu_copy *copy)
{
	size_t at;

	for (at = 0; at < copy->bytes; at += GVM_PAGE_BYTES) {
		if (copy->from)
			memcpy(copy->to + at, copy->from + at, GVM_PAGE_BYTES);
		else
			memset(copy->to + at, 0, GVM_PAGE_BYTES);
		cond_resched();
	}
}

/* An engine stops only when its queue is empty, so each copy that was started is finished. */
static void engine_thread(void *data)
{
	struct fakegpu_engine *engine = data;
	struct fakegpu *gpu = engine->gpu;
	struct fakegpu_copy *copy = NULL;

	/* Hardware needs no CPU: processes of tenants do not delay it. */
	gvm_worker_hurry();
	for (;;) {
		(void)wait_event_interruptible(gpu->copied, (copy = engine_first(engine)) ||
								    gvm_worker_should_stop());
		if (!copy)
			break;
		wait_event(gpu->copied, fakegpu_fence_passed(gpu, &copy->after));
		copy_do(copy);
		fakegpu_host_put(copy->host);
		smp_store_release(&engine->done, engine->done + 1);
		wake_up_all(&gpu->copied);
	}
}

int fakegpu_engines_start(struct fakegpu *gpu)
{
	static const char *const names[GVM_ENGINES] = {
		[GVM_ENGINE_IN] = "fakegpu in",
		[GVM_ENGINE_OUT] = "fakegpu out",
		[GVM_ENGINE_CLEAR] = "fakegpu clear",
	};
	int status = 0;
	u32 i;

	for (i = 0; i < GVM_ENGINES && !status; i++) {
		struct fakegpu_engine *engine = &gpu->engines[i];

		engine->gpu = gpu;
		engine->which = i;
		status = gvm_worker_start(&engine->worker, names[i], engine_thread, engine);
	}
	if (status)
		fakegpu_engines_stop(gpu);
	return status;
}

void fakegpu_engines_stop(struct fakegpu *gpu)
{
	u32 i;

	for (i = 0; i < GVM_ENGINES; i++)
		if (gpu->engines[i].worker.task)
			gvm_worker_stop(&gpu->engines[i].worker);
}
