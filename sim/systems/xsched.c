// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * xsched: XSched (Shen et al., OSDI 2025), a user-space scheduler and a baseline of the GVM
 * paper. A library in each container puts launches into a queue of its own, an XQueue. A worker
 * thread launches them, a few at a time. A server decides whose XQueues run: all ready ones of
 * the highest priority, and no others. There are no control files; memory is unified memory,
 * paged by the stock driver, as the GVM paper ran it.
 *
 * The numbers are the public code's (github.com/XpuOS/xsched, bd494cb):
 *
 *     system.level       1, system.threshold 16, system.batch 8: protocol/include/xsched/protocol/
 *                        def.h:3 to 5. The published runs had them, too.
 *     the worker         Every batch-th command has an event. With threshold commands in flight
 *                        the worker waits for the oldest event, and then launches as many more
 *                        as a batch has (preempt/src/xqueue/launch_worker.cpp:200 to 245).
 *     ready and idle     An XQueue is ready from its first command on. It is idle when its buffer
 *                        is empty and the worker has waited for all in flight
 *                        (command_buffer.cpp: 55 to 90). Both are told to the server.
 *     the policy         Highest priority first: an XQueue is suspended while one of higher
 *                        priority is ready (sched/src/policy/hpf.cpp:8 to 42).
 *     suspension         Level 1: the worker launches no more. What is in flight ends, up to
 *                        threshold kernels (async_xqueue.cpp:109 to 111). Level 2: kernels in
 *                        flight that have not begun end at once, and are launched again at the
 *                        resumption. Level 3: as level 1, and the context's timeslice is 0
 *                        until the resumption (platforms/cuda/hal/src/level3/tsg.cpp). That
 *                        takes the whole context off the GPU, says
 *                        examples/Linux/9_llm_serving/vllm.md.
 *
 * The public code has level 2 for three other generations of GPUs; on an A100 it has level 1,
 * and level 3 as above, with XSCHED_CUDA_LV3_IMPL=TSG (platforms/cuda/hal/src/arch/arch.cpp:60
 * to 83).
 *
 * Times that the code does not say are keys, and assumed: system.sync, from the end of a
 * command to the thread that waits for it, and system.ipc, from one process to another over
 * shared memory. A suspension takes two messages, from the process that is ready to the server,
 * from there to the process that is suspended. A resumption takes system.sync more.
 *
 *
 * Starvation: XSched that is stuck
 *
 * Priority is strict. An XQueue of low priority does not run while another's is ready, and
 * nothing bounds that time. A server that launches without a gap starves it: so the Ghost
 * paper's "stuck entirely" for its video pipeline (section 6.3.1) can follow from hpf.cpp
 * alone. An engine that waits for the tokens of each step is idle between two steps, and low
 * priority runs then. The public code has two more causes of starvation, which are not
 * modelled. Launches on CUDA's default stream do not go through an XQueue but wait until all of
 * the process's XQueues are empty (shim.h:45 to 49, shim.cpp:43 to 59): the host thread of a
 * suspended process stands still with them. And a synchronization waits in the same worker,
 * which is paused.
 *
 *
 * How it differs from XSched
 *
 *   1. An XQueue is ready from the first launch of a burst (such as a step of a server) to its
 *      end, gaps between its launches included. In the public code the buffer of an eager
 *      server is empty between two kernels, and the XQueue is idle whenever that lasts longer
 *      than system.sync: a message for each kernel, in place of one for each step.
 *   2. A context has one XQueue, with all its streams, and its default stream is in it. The
 *      public code leaves that one out (above).
 *   3. A process has one message under way at a time; what changed meanwhile goes with the
 *      next.
 *   4. The worker launches commands in no time, and after a wait it has them all at once. Waits
 *      for events that are longer than the kernels in flight slow all kernels of a burst down
 *      equally.
 *   5. Instrumented kernels of level 2 are no slower, and the empty ones take no time.
 */
#include <stdlib.h>

#include "config/steps.h"
#include "fifo/fifo.h"
#include "systems/core.h"
#include "systems/system.h"

struct xsched_keys {
	u64 level;
	u64 threshold;
	u64 batch;
	u64 sync;
	u64 ipc;
};

static const struct cfg_key xsched_rows[] = {
	CFG_SYSTEM_KEY(
		"level", INTEGER, struct xsched_keys, level, "1",
		"how a process is suspended: 1 launches no more, 2 ends what has not begun, "
		"3 takes the timeslice away, too",
		CFG_RANGE(1, 3)),
	CFG_SYSTEM_KEY("threshold", INTEGER, struct xsched_keys, threshold, "16",
		       "commands of an XQueue in flight", CFG_RANGE(1, 1000000)),
	CFG_SYSTEM_KEY("batch", INTEGER, struct xsched_keys, batch, "8",
		       "commands for each event; at most system.threshold",
		       CFG_RANGE(1, 1000000)),
	CFG_SYSTEM_KEY("sync", DURATION, struct xsched_keys, sync, "10us",
		       "from the end of a command to the thread that waits for it",
		       CFG_RANGE(0, CFG_SEC)),
	CFG_SYSTEM_KEY("ipc", DURATION, struct xsched_keys, ipc, "20us",
		       "a message between a process and the server", CFG_RANGE(0, CFG_SEC)),
};

/* The library in a container, with its one XQueue. */
struct xqueue {
	struct xsched *xsched;
	struct cuda_context *context; /* NULL: it has none, or not any more */
	unsigned long priority;	      /* 0 is the most important */
	bool ready;
	struct eng_timer enqueue; /* the first command comes */
	struct eng_timer idle;	  /* the worker finds out that all has ended */
	/* A message to the server, while its timer is set. */
	struct eng_timer message;
	bool message_ready;
	/* What the server knows and wants. */
	bool known_ready;
	bool wanted; /* suspended */
	/*
	 * A message from the server, while its timer is set; what it says holds from then on.
	 */
	struct eng_timer operation;
	bool suspended;
};

/* XSched on one GPU. */
struct xsched {
	const struct xsched_keys *keys;
	const struct config *config;
	struct xqueue *queues; /* by number of their container in the configuration */
};

static struct fifo_tsg *xqueue_tsg(const struct xqueue *queue)
{
	return &queue->context->process->tsg;
}

/*
 * The worker's kernels in flight now, and all before them: up to threshold, in steps of a batch
 * from the event that it has waited for last.
 */
static u64 xqueue_launched(const struct xqueue *queue)
{
	const struct xsched_keys *keys = queue->xsched->keys;
	struct fifo_tsg *tsg = xqueue_tsg(queue);
	u64 ended, there;

	fifo_update(tsg->fifo);
	ended = fifo_ended_kernels(tsg);
	there = ended + fifo_pending_kernels(tsg);
	return min(there, ended / keys->batch * keys->batch + keys->threshold);
}

static void xqueue_suspend(struct xqueue *queue)
{
	u64 level = queue->xsched->keys->level;
	struct fifo_tsg *tsg = xqueue_tsg(queue);

	fifo_allow(tsg, level == 2 ? 0 : xqueue_launched(queue), false);
	if (level == 3) {
		fifo_disable(tsg);
		fifo_preempt(tsg);
	}
}

static void xqueue_resume(struct xqueue *queue)
{
	struct fifo_tsg *tsg = xqueue_tsg(queue);

	if (queue->xsched->keys->level == 3)
		fifo_enable(tsg);
	fifo_allow(tsg, FIFO_ALLOW_ALL, false);
}

/* The server tells a process what it wants, if it does not know, and nothing is under way. */
static void xqueue_operate(struct xqueue *queue)
{
	if (queue->operation.set || queue->wanted == queue->suspended)
		return;
	queue->suspended = queue->wanted;
	eng_timer_set(&queue->operation, eng_now() + queue->xsched->keys->ipc);
}

static void operation_fire(struct eng_timer *timer)
{
	struct xqueue *queue = container_of(timer, struct xqueue, operation);

	if (queue->suspended)
		xqueue_suspend(queue);
	else
		xqueue_resume(queue);
	xqueue_operate(queue);
}

/* Highest priority first. */
static void server_schedule(struct xsched *xsched)
{
	size_t count = xsched->config->container_count;
	unsigned long first = ~0ul;

	for (size_t i = 0; i < count; i++)
		if (xsched->queues[i].known_ready)
			first = min(first, xsched->queues[i].priority);
	for (size_t i = 0; i < count; i++) {
		struct xqueue *queue = &xsched->queues[i];

		if (!queue->context)
			continue;
		queue->wanted = queue->priority > first;
		xqueue_operate(queue);
	}
}

/* Tell the server, if it does not know, and nothing is under way. */
static void xqueue_tell(struct xqueue *queue)
{
	if (queue->message.set || queue->ready == queue->known_ready)
		return;
	queue->message_ready = queue->ready;
	eng_timer_set(&queue->message, eng_now() + queue->xsched->keys->ipc);
}

static void message_fire(struct eng_timer *timer)
{
	struct xqueue *queue = container_of(timer, struct xqueue, message);

	queue->known_ready = queue->message_ready;
	server_schedule(queue->xsched);
	xqueue_tell(queue);
}

static void enqueue_fire(struct eng_timer *timer)
{
	struct xqueue *queue = container_of(timer, struct xqueue, enqueue);

	eng_timer_cancel(&queue->idle);
	queue->ready = true;
	xqueue_tell(queue);
}

static void idle_fire(struct eng_timer *timer)
{
	struct xqueue *queue = container_of(timer, struct xqueue, idle);

	queue->ready = false;
	xqueue_tell(queue);
}

static void xqueue_stop(struct xqueue *queue)
{
	eng_timer_cancel(&queue->enqueue);
	eng_timer_cancel(&queue->idle);
	eng_timer_cancel(&queue->message);
	eng_timer_cancel(&queue->operation);
}

static int xsched_create(struct cuda_device *device, const struct config *config)
{
	struct xsched *xsched = calloc(1, sizeof(*xsched));

	if (!xsched)
		return -ENOMEM;
	xsched->keys = config->system_keys;
	xsched->config = config;
	xsched->queues = calloc(config->container_count + 1, sizeof(*xsched->queues));
	if (!xsched->queues) {
		free(xsched);
		return -ENOMEM;
	}
	device->library_data = xsched;
	return 0;
}

static void xsched_destroy(struct cuda_device *device)
{
	struct xsched *xsched = device->library_data;

	free(xsched->queues);
	free(xsched);
}

static void xsched_stop(struct cuda_device *device)
{
	struct xsched *xsched = device->library_data;

	for (size_t i = 0; i < xsched->config->container_count; i++)
		xqueue_stop(&xsched->queues[i]);
}

static void xsched_attach(struct cuda_context *context, const struct cfg_container *container)
{
	struct xsched *xsched = context->device->library_data;
	struct xqueue *queue = &xsched->queues[container - xsched->config->containers];

	*queue = (struct xqueue){
		.xsched = xsched,
		.context = context,
		.priority = sim_system_priority(xsched->config, container),
		.enqueue.fire = enqueue_fire,
		.idle.fire = idle_fire,
		.message.fire = message_fire,
		.operation.fire = operation_fire,
	};
	context->library_data = queue;
}

static void xsched_detach(struct cuda_context *context)
{
	struct xqueue *queue = context->library_data;

	if (!queue)
		return;
	context->library_data = NULL;
	queue->context = NULL;
	xqueue_stop(queue);
	queue->known_ready = false;
	server_schedule(queue->xsched);
}

static void xsched_busy(struct cuda_context *context)
{
	struct xqueue *queue = context->library_data;

	if (queue)
		eng_timer_set(&queue->enqueue, eng_now());
}

static void xsched_idle(struct cuda_context *context)
{
	struct xqueue *queue = context->library_data;

	if (queue)
		eng_timer_set(&queue->idle, eng_now() + queue->xsched->keys->sync);
}

/*
 * The first command comes when the host thread has launched it.
 *
 * The commands in flight after an event last for (threshold - batch) kernels. If the worker
 * wakes up later than that, the GPU has waited, once for each batch.
 */
static void xsched_launch(struct cuda_context *context, struct fifo_burst *burst)
{
	struct xqueue *queue = context->library_data;
	const struct xsched_keys *keys;
	unsigned __int128 ahead_ns;

	if (!queue)
		return;
	if (queue->enqueue.set)
		eng_timer_set(&queue->enqueue,
			      max((u64)eng_now_busy(), xqueue_tsg(queue)->launch_end_ns) +
				      burst->launch_ns);
	keys = queue->xsched->keys;
	ahead_ns = (unsigned __int128)burst->kernel_ns * (keys->threshold - keys->batch);
	if (keys->sync > ahead_ns)
		burst->launch_ns =
			max(burst->launch_ns,
			    burst->kernel_ns + (keys->sync - (u64)ahead_ns) / keys->batch);
}

static const struct cuda_library xsched_library = {
	.queues = true,
	.create = xsched_create,
	.destroy = xsched_destroy,
	.stop = xsched_stop,
	.attach = xsched_attach,
	.detach = xsched_detach,
	.busy = xsched_busy,
	.idle = xsched_idle,
	.launch = xsched_launch,
};

static int xsched_check(struct cfg_load *load, const struct config *config)
{
	const struct xsched_keys *keys = config->system_keys;

	if (keys->batch > keys->threshold)
		return cfg_reject(load, "system.batch",
				  "is %llu, allowed: at most system.threshold, %llu",
				  keys->batch, keys->threshold);
	return 0;
}

const struct sim_system system_xsched = {
	.keys = {
		.name = "xsched",
		.summary = "one GPU, the highest priority runs, all in user space: XSched",
		CFG_KEYS(xsched_rows),
		.bytes = sizeof(struct xsched_keys),
		.check_containers = xsched_check,
	},
	.by_priority = true,
	.memory = sim_system_nvidia_memory,
	.library = &xsched_library,
};
