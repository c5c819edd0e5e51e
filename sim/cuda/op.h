/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The operations of a context's streams, for stream.c and cuda.c.
 *
 *     call -> last of its stream -> started when all that it waits for has ended -> ended
 *
 * An operation waits for the one before it in its stream. CUDA's default stream waits for all
 * earlier operations of its context, and later operations of other streams wait for it. Kernels
 * are launched at the call, so that the host's launch time passes meanwhile, and wait in their
 * channel for their turn, as behind a semaphore. Kernels behind kernels of the same stream need
 * none: the channel keeps their order.
 *
 * The end of an operation is an event of simulated time, and starts others from a timer of the
 * same date.
 */
#ifndef SIM_CUDA_OP_H
#define SIM_CUDA_OP_H

#include "cuda/types.h"

/*
 * An operation for @stream, with room for @touches touches, to be filled in and given to
 * cuda_op_call(). Returns NULL without memory.
 */
struct cuda_op *cuda_op_take(struct cuda_stream *stream, enum cuda_op_kind kind, u32 touches);

/* The last operation of its stream, from now on. It may have ended when this returns. */
void cuda_op_call(struct cuda_op *op);

/* Has the operation of that number not ended? 0: there is none. */
bool cuda_op_is_pending(const struct cuda_context *context, u64 serial);

/* cuda_context.starter: start all operations whose turn has come. */
void cuda_ops_start(struct eng_timer *timer);

/* Free a list of operations, none of which is in a channel or on the link. */
void cuda_ops_free(struct cuda_op *op);

#endif
