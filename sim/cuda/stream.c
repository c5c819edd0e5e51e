// SPDX-License-Identifier: MIT OR GPL-2.0
/* Contexts, their streams, and events; see stream.h. */
#include "cuda/stream.h"

#include <stdlib.h>

#include "cuda/library.h"
#include "cuda/op.h"

void cuda_context_create(struct cuda_context *context, struct cuda_device *device,
			 struct sim_process *process)
{
	*context = (struct cuda_context){
		.process = process,
		.device = device,
		.stream = { .context = context, .channel = &process->tsg.main },
		.starter.fire = cuda_ops_start,
	};
	list_add_tail(&context->node, &device->contexts);
	if (!device->library || !device->library->queues)
		fifo_set_ring(&process->tsg, CUDA_RING_LAUNCHES);
}

void cuda_context_destroy(struct cuda_context *context)
{
	struct cuda_stream *stream = &context->stream;

	if (!context->process)
		return;
	if (context->device->library)
		context->device->library->detach(context);
	if (context->unfinished)
		fifo_kill(context->process->tsg.fifo, context->process->tsg.id);
	while (context->copies)
		eng_wait(&context->waitq, ENG_NEVER, false);
	eng_timer_cancel(&context->starter);
	cuda_ops_free(context->free);
	while (stream) {
		struct cuda_stream *next = stream->next;

		cuda_ops_free(stream->first);
		if (stream != &context->stream) {
			fifo_channel_destroy(stream->channel);
			free(stream);
		}
		stream = next;
	}
	context->stream = (struct cuda_stream){ .context = context,
						.channel = &context->process->tsg.main };
	context->free = NULL;
	context->unfinished = 0;
	context->unstarted = 0;
}

int cuda_stream_create(struct cuda_context *context, struct cuda_stream **ret_stream)
{
	struct cuda_stream *stream = calloc(1, sizeof(*stream));

	*ret_stream = stream;
	if (!stream)
		return -ENOMEM;
	stream->context = context;
	stream->channel = &stream->own;
	fifo_channel_init(stream->channel, &context->process->tsg);
	stream->next = context->stream.next;
	context->stream.next = stream;
	return 0;
}

int cuda_stream_destroy(struct cuda_stream *stream)
{
	struct cuda_stream *before = &stream->context->stream;
	int status = cuda_stream_synchronize(stream);

	if (status == -EINTR)
		return status;
	while (before->next != stream)
		before = before->next;
	before->next = stream->next;
	fifo_channel_destroy(stream->channel);
	free(stream);
	return 0;
}

int cuda_synchronize(struct cuda_context *context)
{
	int status = 0;

	while (context->unfinished && status != -EINTR)
		status = eng_wait(&context->waitq, ENG_NEVER, true);
	return context->unfinished ? status : context->status;
}

int cuda_stream_synchronize(struct cuda_stream *stream)
{
	int status = 0;

	while (stream->first && status != -EINTR)
		status = eng_wait(&stream->context->waitq, ENG_NEVER, true);
	return stream->first ? status : stream->context->status;
}

int cuda_event_record(struct cuda_event *event, struct cuda_stream *stream)
{
	struct cuda_op *op = cuda_op_take(stream, CUDA_OP_RECORD, 0);

	if (!op)
		return -ENOMEM;
	*event = (struct cuda_event){ .context = stream->context,
				      .serial = stream->context->serial + 1 };
	op->event = event;
	cuda_op_call(op);
	return 0;
}

int cuda_stream_wait(struct cuda_stream *stream, const struct cuda_event *event)
{
	struct cuda_op *op = cuda_op_take(stream, CUDA_OP_WAIT, 0);

	if (!op)
		return -ENOMEM;
	op->awaited = event->serial;
	cuda_op_call(op);
	return 0;
}

bool cuda_event_is_reached(const struct cuda_event *event)
{
	return !event->serial || !cuda_op_is_pending(event->context, event->serial);
}

int cuda_event_synchronize(const struct cuda_event *event)
{
	int status = 0;

	while (!cuda_event_is_reached(event) && status != -EINTR)
		status = eng_wait(&event->context->waitq, ENG_NEVER, true);
	if (!cuda_event_is_reached(event))
		return status;
	return event->serial ? event->context->status : 0;
}
