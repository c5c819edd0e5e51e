// SPDX-License-Identifier: MIT OR GPL-2.0
/* Operations of streams in their order; see op.h. */
#include "cuda/op.h"

#include <stdlib.h>

#include "cuda/library.h"

struct cuda_op *cuda_op_take(struct cuda_stream *stream, enum cuda_op_kind kind, u32 touches)
{
	struct cuda_context *context = stream->context;
	struct cuda_op *op = context->free;

	if (op)
		context->free = op->next;
	else
		op = calloc(1, sizeof(*op));
	if (op && op->touch_room < touches) {
		struct gmmu_touch *grown = reallocarray(op->touches, touches, sizeof(*grown));

		if (!grown) {
			op->next = context->free;
			context->free = op;
			return NULL;
		}
		op->touches = grown;
		op->touch_room = touches;
	}
	if (op)
		*op = (struct cuda_op){
			.stream = stream,
			.kind = kind,
			.touches = op->touches,
			.touch_room = op->touch_room,
			.burst.touches = op->touches,
		};
	return op;
}

/* Take operations that have ended off the head of a stream. */
static void stream_recycle(struct cuda_stream *stream)
{
	while (stream->first && stream->first->ended) {
		struct cuda_op *op = stream->first;

		stream->first = op->next;
		if (!stream->first)
			stream->last = NULL;
		op->next = stream->context->free;
		stream->context->free = op;
	}
}

/* An operation has ended. It may be used again at once. */
static void op_end(struct cuda_op *op, int status)
{
	struct cuda_context *context = op->stream->context;
	const struct cuda_library *library = context->device->library;

	op->ended = true;
	context->unfinished--;
	/* Kernels that wait for their turn die with their context. */
	if (!op->started)
		context->unstarted--;
	if (!context->status)
		context->status = status;
	stream_recycle(op->stream);
	eng_wake_all(&context->waitq);
	if (context->unstarted)
		eng_timer_set(&context->starter, eng_now());
	if (!context->unfinished && library && library->idle)
		library->idle(context);
}

static void library_ended(struct cuda_context *context)
{
	const struct cuda_library *library = context->device->library;

	if (library && library->ended)
		library->ended(context);
}

static void burst_on_end(struct fifo_burst *burst)
{
	library_ended(container_of(burst, struct cuda_op, burst)->stream->context);
	op_end(container_of(burst, struct cuda_op, burst), burst->status);
}

static void copy_on_end(void *data)
{
	struct cuda_op *op = data;

	op->stream->context->copies--;
	op_end(op, 0);
}

/* All pages are there, or were when they were accessed: move the bytes. */
static void copy_move(struct cuda_op *op)
{
	struct cuda_context *context = op->stream->context;
	int status;

	op->copy.doorbell_ns = eng_now_busy();
	op->copy.ret_bytes = &context->copied_bytes[op->direction];
	op->copy.on_end = copy_on_end;
	op->copy.data = op;
	context->copies++;
	status = pcie_copy(&context->device->gpu->link, op->direction, &op->copy, NULL);
	if (status) {
		context->copies--;
		op_end(op, status);
	}
}

static void copy_on_touched(struct fifo_burst *burst)
{
	struct cuda_op *op = container_of(burst, struct cuda_op, burst);

	library_ended(op->stream->context);
	if (burst->status)
		op_end(op, burst->status);
	else
		copy_move(op);
}

/* The library sees kernels, and the accesses of a copy that faults. */
static void library_submitted(struct cuda_context *context)
{
	const struct cuda_library *library = context->device->library;

	if (library && library->submitted)
		library->submitted(context);
}

static void op_submit(struct cuda_op *op)
{
	fifo_submit_to(op->stream->channel, &op->burst);
	library_submitted(op->stream->context);
}

/* The copy engine's accesses fault like those of a kernel: a burst makes them. */
static void copy_start(struct cuda_op *op)
{
	struct sim_process *process = op->stream->context->process;
	struct gmmu_walk walk = { .table = &process->page_table,
				  .touches = op->touches,
				  .count = op->burst.touch_count };
	struct gmmu_cursor cursor = { 0 };

	if (process->tsg.dead) {
		op_end(op, -EIO);
	} else if (gmmu_all_resident(&walk) || !gmmu_find_miss(&walk, &cursor)) {
		copy_move(op);
	} else {
		op->burst.on_end = copy_on_touched;
		op_submit(op);
	}
}

/*
 * Has all ended that an operation waits for? @first: it is the first one of its stream. @open:
 * else, ahead of it are only kernels that the channel keeps in order, and records, which hold
 * up nothing.
 */
static bool op_may_start(const struct cuda_op *op, bool first, bool open)
{
	const struct cuda_context *context = op->stream->context;
	const struct cuda_stream *stream = &context->stream;

	if (!first && !(open && op->kind == CUDA_OP_BURST))
		return false;
	if (op->stream != stream) {
		if (stream->first && stream->first->serial < op->serial)
			return false;
	} else {
		while ((stream = stream->next))
			if (stream->first && stream->first->serial < op->serial)
				return false;
	}
	return op->kind != CUDA_OP_WAIT || !cuda_op_is_pending(context, op->awaited);
}

/*
 * May kernels be after an operation in the channel, given that they may be after the one
 * before it?
 */
static bool op_is_open(const struct cuda_op *op, bool open)
{
	return open &&
	       (op->kind == CUDA_OP_RECORD || (op->kind == CUDA_OP_BURST && op->started));
}

/* Start an operation whose turn has come. It may end at once. */
static void op_start(struct cuda_op *op)
{
	op->started = true;
	op->stream->context->unstarted--;
	switch (op->kind) {
	case CUDA_OP_BURST:
		fifo_release(op->stream->channel, &op->burst);
		library_submitted(op->stream->context);
		break;
	case CUDA_OP_COPY:
		copy_start(op);
		break;
	case CUDA_OP_RECORD:
		if (op->event->serial == op->serial)
			op->event->date_ns = eng_now();
		op_end(op, 0);
		break;
	case CUDA_OP_WAIT:
		op_end(op, 0);
		break;
	}
}

/*
 * The library sees kernels before they are launched, and may make them, or their launches, take
 * longer. What would take longer than any run takes as long as a burst may.
 */
static void library_launch(struct cuda_context *context, struct fifo_burst *burst)
{
	const struct cuda_library *library = context->device->library;
	u64 most_ns = FIFO_BURST_MAX_NS / burst->kernels;

	if (!library || !library->launch)
		return;
	library->launch(context, burst);
	burst->kernel_ns = min(burst->kernel_ns, most_ns);
	burst->launch_ns = min(burst->launch_ns, most_ns);
}

void cuda_op_call(struct cuda_op *op)
{
	struct cuda_stream *stream = op->stream;
	struct cuda_context *context = stream->context;
	const struct cuda_library *library = context->device->library;
	struct cuda_op *before = stream->last;
	bool may_start;

	op->serial = ++context->serial;
	if (before)
		before->next = op;
	else
		stream->first = op;
	stream->last = op;
	if (!context->unfinished++ && library && library->busy)
		library->busy(context);
	context->unstarted++;
	may_start = op_may_start(op, !before, before && before->open);
	if (op->kind == CUDA_OP_BURST) {
		library_launch(context, &op->burst);
		op->burst.on_end = burst_on_end;
		op->burst.waits = !may_start;
		op->started = may_start;
		context->unstarted -= may_start;
	}
	op->open = op_is_open(op, !before || before->open);
	if (op->kind == CUDA_OP_BURST)
		op_submit(op);
	else if (may_start)
		op_start(op);
}

/* Start the next operation of a stream. False: it is the turn of none. */
static bool stream_start_next(struct cuda_stream *stream)
{
	bool open = true;

	for (struct cuda_op *op = stream->first; op && open; op = op->next) {
		if (!op->started && !op->ended && op_may_start(op, op == stream->first, open)) {
			op_start(op);
			return true;
		}
		open = op_is_open(op, open);
		op->open = open;
	}
	return false;
}

void cuda_ops_start(struct eng_timer *timer)
{
	struct cuda_context *context = container_of(timer, struct cuda_context, starter);
	bool again;

	do {
		again = false;
		for (struct cuda_stream *stream = &context->stream; stream;
		     stream = stream->next)
			while (stream_start_next(stream))
				again = true;
	} while (again);
}

bool cuda_op_is_pending(const struct cuda_context *context, u64 serial)
{
	for (const struct cuda_stream *stream = &context->stream; stream; stream = stream->next)
		for (const struct cuda_op *op = stream->first; op; op = op->next)
			if (op->serial == serial && !op->ended)
				return true;
	return false;
}

void cuda_ops_free(struct cuda_op *op)
{
	while (op) {
		struct cuda_op *next = op->next;

		free(op->touches);
		free(op);
		op = next;
	}
}
