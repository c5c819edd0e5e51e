/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Tracepoints of gvm.ko (/sys/kernel/tracing/events/gvm). Only gvm_trace.c includes this file;
 * others call the functions that gvm_world.h declares. GVM_TRACE_SYSTEM names another folder
 * for another module.
 */
#ifndef GVM_TRACE_SYSTEM
#define GVM_TRACE_SYSTEM gvm
#endif
#undef TRACE_SYSTEM
#define TRACE_SYSTEM GVM_TRACE_SYSTEM

#if !defined(GVM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GVM_TRACE_H

#include <linux/tracepoint.h>
#include <linux/version.h>

/* Since Linux 6.10 the text is that of __string() alone. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define GVM_ASSIGN_STR(field, text) __assign_str(field, text)
#else
#define GVM_ASSIGN_STR(field, text) __assign_str(field)
#endif

/* It takes these macros for calls: */
/* clang-format off */

TRACE_DEFINE_ENUM(GVM_COST_BATCH);
TRACE_DEFINE_ENUM(GVM_COST_ENTRY);
TRACE_DEFINE_ENUM(GVM_COST_BLOCK);
TRACE_DEFINE_ENUM(GVM_COST_PAGE);
TRACE_DEFINE_ENUM(GVM_COST_REPLAY);
TRACE_DEFINE_ENUM(GVM_COST_EVICT);

/* gvm_cost(): the driver has just worked on n things of a kind. */
TRACE_EVENT(gvm_cost,
	TP_PROTO(enum gvm_cost kind, u32 n),
	TP_ARGS(kind, n),
	TP_STRUCT__entry(
		__field(u32, kind)
		__field(u32, n)
	),
	TP_fast_assign(
		__entry->kind = kind;
		__entry->n = n;
	),
	TP_printk("kind=%s n=%u",
		__print_symbolic(__entry->kind,
			{ GVM_COST_BATCH, "batch" },
			{ GVM_COST_ENTRY, "entry" },
			{ GVM_COST_BLOCK, "block" },
			{ GVM_COST_PAGE, "page" },
			{ GVM_COST_REPLAY, "replay" },
			{ GVM_COST_EVICT, "evict" }),
		__entry->n)
);

/*
 * A block has left the device: whose, where it was mapped, which chunk it left, how many of its
 * pages of 64 KB were resident. The thread that evicted it is the one that the event is of:
 * "gvm faults", "gvm evictor", or the writer of a limit. A tgid may be that of just before a
 * container's leader left.
 */
TRACE_EVENT(gvm_evict,
	TP_PROTO(const struct gvm_container *container, u64 va, u32 chunk, u32 pages),
	TP_ARGS(container, va, chunk, pages),
	TP_STRUCT__entry(
		__string(gpu, container->device->name)
		__field(u32, tgid)
		__field(u64, va)
		__field(u32, chunk)
		__field(u32, pages)
	),
	TP_fast_assign(
		GVM_ASSIGN_STR(gpu, container->device->name);
		__entry->tgid = READ_ONCE(container->tgid);
		__entry->va = va;
		__entry->chunk = chunk;
		__entry->pages = pages;
	),
	TP_printk("gpu=%s tgid=%u va=0x%llx chunk=%u pages=%u",
		__get_str(gpu), __entry->tgid, __entry->va, __entry->chunk, __entry->pages)
);

/*
 * The fault handler of a GPU begins a batch with so many fault records, or has replayed it: so
 * many were left of them without duplicates.
 */
TRACE_EVENT(gvm_batch,
	TP_PROTO(const struct gvm_device *device, bool begins, u32 faults),
	TP_ARGS(device, begins, faults),
	TP_STRUCT__entry(
		__string(gpu, device->name)
		__field(bool, begins)
		__field(u32, faults)
	),
	TP_fast_assign(
		GVM_ASSIGN_STR(gpu, device->name);
		__entry->begins = begins;
		__entry->faults = faults;
	),
	TP_printk("%s gpu=%s faults=%u", __entry->begins ? "begin" : "end",
		__get_str(gpu), __entry->faults)
);

/*
 * The listeners of a container are told that so many bytes are about to be evicted. A container
 * without listeners has the event, too.
 */
TRACE_EVENT(gvm_pressure,
	TP_PROTO(const struct gvm_container *container, u64 bytes),
	TP_ARGS(container, bytes),
	TP_STRUCT__entry(
		__string(gpu, container->device->name)
		__field(u32, tgid)
		__field(u64, bytes)
		__field(u32, listeners)
	),
	TP_fast_assign(
		GVM_ASSIGN_STR(gpu, container->device->name);
		__entry->tgid = READ_ONCE(container->tgid);
		__entry->bytes = bytes;
		__entry->listeners = container->listener_count;
	),
	TP_printk("gpu=%s tgid=%u bytes=%llu listeners=%u",
		__get_str(gpu), __entry->tgid, __entry->bytes, __entry->listeners)
);

/*
 * A thread and a mutex of the core, by the name of its class: "wait" begins, and the holder is
 * the thread that has the mutex just then (0: it is free again); "take" and "release" by the
 * thread itself.
 */
TRACE_EVENT(gvm_lock,
	TP_PROTO(const char *lock, const char *step, int holder),
	TP_ARGS(lock, step, holder),
	TP_STRUCT__entry(
		__string(lock, lock)
		__string(step, step)
		__field(int, holder)
	),
	TP_fast_assign(
		GVM_ASSIGN_STR(lock, lock);
		GVM_ASSIGN_STR(step, step);
		__entry->holder = holder;
	),
	TP_printk("lock=%s step=%s holder=%d",
		__get_str(lock), __get_str(step), __entry->holder)
);

/*
 * A thread begins or ends a wait for the GPU or for another thread: the condition that it waits
 * for.
 */
TRACE_EVENT(gvm_wait,
	TP_PROTO(const char *what, bool begins),
	TP_ARGS(what, begins),
	TP_STRUCT__entry(
		__string(what, what)
		__field(bool, begins)
		__field(bool, of_kernel)
	),
	TP_fast_assign(
		GVM_ASSIGN_STR(what, what);
		__entry->begins = begins;
		__entry->of_kernel = current->flags & PF_KTHREAD;
	),
	TP_printk("%s by=%s what=%s", __entry->begins ? "begin" : "end",
		__entry->of_kernel ? "kernel" : "process", __get_str(what))
);

/* clang-format on */

#endif

/* Outside of the guard: <trace/define_trace.h> includes this file again. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE gvm_trace
#include <trace/define_trace.h>
