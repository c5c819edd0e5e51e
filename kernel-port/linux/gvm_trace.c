// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The tracepoints that gvm_trace.h declares, and the functions of gvm_world.h that fire them.
 * The functions are here because the port's header does not know containers, and tracepoints
 * do. While a tracepoint is disabled, a call costs a jump and a no-op.
 */
#include "gvm/container.h"

#define CREATE_TRACE_POINTS
#include "gvm_trace.h"

void gvm_cost(enum gvm_cost kind, u32 n)
{
	trace_gvm_cost(kind, n);
}

void gvm_trace_evict(const struct gvm_container *container, u64 va, u32 chunk, u32 pages)
{
	trace_gvm_evict(container, va, chunk, pages);
}

void gvm_trace_batch(const struct gvm_device *device, bool begins, u32 faults)
{
	trace_gvm_batch(device, begins, faults);
}

void gvm_trace_pressure(const struct gvm_container *container, u64 bytes)
{
	trace_gvm_pressure(container, bytes);
}

void gvm_trace_lock(const char *lock, const char *step, int holder)
{
	trace_gvm_lock(lock, step, holder);
}

void gvm_trace_wait(const char *what, bool begins)
{
	trace_gvm_wait(what, begins);
}
