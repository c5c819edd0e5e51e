/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Contexts, their streams, and events.
 *
 * Operations of a stream start in the order of their calls, each when the one before has ended.
 * The default stream is CUDA's legacy one: it waits for all earlier operations of the context,
 * and later operations of other streams wait for it. An application with one stream needs no
 * other.
 *
 *     kernels and kernels   A context executes one burst at a time. Streams fill each other's
 *                           gaps, where the host launches too slowly (sim/fifo, "Channels").
 *                           All of them together do no more work than the context's share of
 *                           the GPU: its partition, its slices.
 *     kernels and copies    The copy engines work beside the SMs, also while another context
 *                           runs.
 *     copies and paging     Both use the same two copy engines, in the order of their
 *                           doorbells.
 */
#ifndef SIM_CUDA_STREAM_H
#define SIM_CUDA_STREAM_H

#include "cuda/types.h"

/* Give a started process a context on @device, with the default stream. */
void cuda_context_create(struct cuda_context *context, struct cuda_device *device,
			 struct sim_process *process);

/*
 * The application has returned: kill the context if it has work in the queue, and free the
 * runtime's memory, with all streams. Blocking while a copy is on the link. The process stays,
 * with its memory. Twice is once.
 */
void cuda_context_destroy(struct cuda_context *context);

/*
 * Make a stream: 0 or -ENOMEM. Blocking: wait for its operations and end it: 0, or -EINTR: it
 * stays. Streams that are left end with the context.
 */
int cuda_stream_create(struct cuda_context *context, struct cuda_stream **ret_stream);
int cuda_stream_destroy(struct cuda_stream *stream);

/* The default stream of a context. */
static inline struct cuda_stream *cuda_default_stream(struct cuda_context *context)
{
	return &context->stream;
}

/*
 * Events. Record: the event is reached when the operations that were called on @stream so far
 * have ended; it forgets what it recorded before. Wait: later operations of @stream start when
 * the event, as recorded by now, is reached. Both return 0 or -ENOMEM. Blocking: synchronize
 * waits itself, and returns as cuda_synchronize() does.
 */
int cuda_event_record(struct cuda_event *event, struct cuda_stream *stream);
int cuda_stream_wait(struct cuda_stream *stream, const struct cuda_event *event);
bool cuda_event_is_reached(const struct cuda_event *event);
int cuda_event_synchronize(const struct cuda_event *event);

/* From one event to another, both reached, in ns (cudaEventElapsedTime). */
static inline u64 cuda_event_elapsed_ns(const struct cuda_event *from,
					const struct cuda_event *to)
{
	return to->date_ns - from->date_ns;
}

/*
 * Blocking: wait until all operations of the context, or of a stream, have ended. Returns 0,
 * -EIO (the context died), -ENOMEM (an operation had no host memory; like -EIO it stays the
 * answer) or -EINTR (the work is still queued).
 */
int cuda_synchronize(struct cuda_context *context);
int cuda_stream_synchronize(struct cuda_stream *stream);

#endif
