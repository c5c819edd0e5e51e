/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The port header: everything that the driver core may ask of its world.
 *
 * The core is one set of source files that is compiled into the simulator and into gvm.ko. It
 * includes its own headers and this one, and nothing else. Each world supplies a header
 * "gvm_world.h" on the include path. It provides the list below with the semantics of the
 * Linux kernel, and not just its names: a lock knows its owner, a wait can be interrupted,
 * allocation can fail.
 *
 *   sim/engine/port/gvm_world.h           the simulator and the unit tests, over sim/engine
 *   sim/engine/port_threads/gvm_world.h   POSIX threads, for ThreadSanitizer
 *   kernel-port/linux/gvm_world.h         a Linux kernel module
 *
 * Rules for the core: gnu11 as the kernel has it; no libc, no floating point, no recursion, no
 * variable-length arrays, frames under 1 KiB, no unbounded loop under a lock. Time is a u64 of
 * nanoseconds, memory a u64 of bytes, errors are negative errno values.
 *
 * What a world provides:
 *
 *   types        u8 u16 u32 u64 s64 bool size_t, NULL, U64_MAX, U32_MAX, E* error numbers
 *   helpers      container_of ARRAY_SIZE BIT min max swap, div64_u64, hweight32, __ffs (of a
 *                non-zero unsigned long), memset memcpy memcmp strlen strcmp, scnprintf,
 *                READ_ONCE WRITE_ONCE (of a byte or a u32, where no lock is held)
 *   list         struct list_head and the list_*() calls of <linux/list.h> used here:
 *                INIT_LIST_HEAD LIST_HEAD list_add list_add_tail list_del_init list_move_tail
 *                list_empty list_first_entry list_for_each_entry list_for_each_entry_safe
 *   tree         struct rb_root, struct rb_node and the calls of <linux/rbtree.h> used here:
 *                RB_ROOT RB_EMPTY_ROOT RB_EMPTY_NODE RB_CLEAR_NODE rb_entry rb_link_node
 *                rb_insert_color rb_erase
 *
 *   void *gvm_alloc(size_t bytes)     zeroed memory; may sleep; NULL: no memory
 *   void gvm_free(void *memory)       NULL is fine
 *
 *   struct gvm_spinlock               gvm_spin_init(lock, name) gvm_spin_lock
 *                                     gvm_spin_unlock gvm_spin_assert_held
 *   struct gvm_mutex                  gvm_mutex_init(lock, name) gvm_mutex_lock
 *                                     gvm_mutex_unlock gvm_mutex_assert_held
 *     gvm_mutex_lock_killable(lock)                       0, or -EINTR: not taken, the thread
 *                                                         is being killed
 *     gvm_mutex_trylock(lock)                             false: another thread has it
 *   struct gvm_waitqueue              gvm_waitqueue_init(wq)
 *     gvm_wake_up_all(wq)                                 any number wait; no spinlock held
 *     gvm_wake_up_one(wq)                                 at most one thread waits there;
 *                                                         also under a spinlock
 *     gvm_wait_event(wq, condition)                       0, uninterruptible
 *     gvm_wait_event_interruptible(wq, condition)         0 or -EINTR
 *     gvm_wait_event_timeout_ns(wq, condition, ns)        0, -ETIMEDOUT or -EINTR
 *     gvm_wait_event_killable(wq, condition)              0, or -EINTR: the thread is being
 *                                                         killed or stopped. Other signals do
 *                                                         not end it
 *     gvm_wait_event_killable_timeout_ns(wq, condition, ns)  likewise, or -ETIMEDOUT
 *     gvm_wait_event_uninterruptible_timeout_ns(wq, condition, ns)  0 or -ETIMEDOUT; not in a
 *                                                         worker
 *   struct gvm_completion             gvm_completion_init gvm_complete_all
 *     gvm_completion_wait(completion)                     0 or -EINTR
 *   struct gvm_worker                 a thread of the driver
 *     int gvm_worker_start(worker, name, function, data)  0 or -ENOMEM
 *     bool gvm_worker_should_stop(void)                   called by the thread itself
 *     void gvm_worker_hurry(void)                         likewise: it serves all tenants, and
 *                                                         gets a CPU before their processes
 *     void gvm_worker_stop(worker)                        interrupts its waits, then joins it
 *
 *   bool gvm_give_way(void)           between two steps of long work, no lock held: another
 *                                     thread may get the CPU. True: the thread is being killed
 *                                     or stopped, and leaves the rest undone
 *
 *   u64 gvm_ktime_ns(void)            monotonic
 *   gvm_info gvm_warn (printf style, no newline at the end), GVM_WARN_ONCE(condition, ...)
 *   GVM_HOLDS(condition)              its value, true unless an invariant is broken. User space
 *                                     aborts then; a kernel logs it and returns false
 *   GVM_ASSERT(condition)             the same without a value; stays in release builds
 *   void gvm_cost(enum gvm_cost kind, u32 n)
 *                                     the driver has just spent CPU time on n things of a kind.
 *                                     Never yields. The simulator turns it into time before
 *                                     other threads can see the thread's next effect. In the
 *                                     kernel the time has really passed; it has a tracepoint
 *                                     here.
 *   void gvm_trace_evict(const struct gvm_container *container, u64 va, u32 chunk, u32 pages)
 *                                     the block at @va of an address space of the container has
 *                                     just left @chunk; @pages of it were resident. Called
 *                                     under its range's lock. Never waits. The kernel has a
 *                                     tracepoint, the simulator's machine records it
 *                                     (output.evictions).
 *   void gvm_trace_batch(const struct gvm_device *device, bool begins, u32 faults)
 *                                     the fault handler of @device begins a batch of @faults
 *                                     records, or has replayed it: @faults were left of them
 *                                     without duplicates. Never waits.
 *   void gvm_trace_pressure(const struct gvm_container *container, u64 bytes)
 *                                     the listeners of @container, if it has any, are told that
 *                                     @bytes are about to be evicted. Called under the device's
 *                                     lock. Never waits.
 */
#ifndef GVM_PORT_H
#define GVM_PORT_H

/* The kinds of work that gvm_cost() counts. */
enum gvm_cost {
	GVM_COST_BATCH,	 /* fetching and sorting one batch of faults */
	GVM_COST_ENTRY,	 /* one fault record */
	GVM_COST_BLOCK,	 /* servicing one VA block: masks, charge, push, PTEs */
	GVM_COST_PAGE,	 /* one page of a block, in NVIDIA's driver, which looks at each */
	GVM_COST_REPLAY, /* flushing the fault buffer and replaying */
	GVM_COST_EVICT,	 /* evicting one chunk: unmapping, host memory, push */
	GVM_COST_WALK,	 /* one chunk that a search for a victim passes, in the published GVM */
	GVM_COST_KINDS,
};

struct gvm_container;
struct gvm_device;

#include "gvm_world.h"

/* A chunk: the unit of charge, of the clock and of device allocation, as in UVM. */
#define GVM_CHUNK_SHIFT 21
#define GVM_CHUNK_BYTES (1ull << GVM_CHUNK_SHIFT)

/* A page: the unit of the GMMU's faults, and a bit in the masks of a block. */
#define GVM_PAGE_SHIFT	    16
#define GVM_PAGE_BYTES	    (1ull << GVM_PAGE_SHIFT)
#define GVM_PAGES_PER_BLOCK 32
#define GVM_BLOCK_FULL	    0xffffffffu

/* A piece of a page: the smallest that a driver may charge by itself (gvm/charge.h). */
#define GVM_PIECE_BYTES	    4096u
#define GVM_PIECES_PER_PAGE (GVM_PAGE_BYTES / GVM_PIECE_BYTES)

/* The physical number of a chunk on its device; GVM_NO_CHUNK is none. */
#define GVM_NO_CHUNK 0xffffffffu

#endif
