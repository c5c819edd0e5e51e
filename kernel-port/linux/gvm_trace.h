/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Tracepoints of gvm.ko (/sys/kernel/tracing/events/gvm). Included by gvm_world.h, and once more
 * by gvm_trace.c, which makes them. A disabled tracepoint costs one no-op instruction.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gvm

#if !defined(GVM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GVM_TRACE_H

#include <linux/tracepoint.h>

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

/* clang-format on */

#endif

/* Outside of the guard: this is what reads the file again. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE gvm_trace
#include <trace/define_trace.h>
