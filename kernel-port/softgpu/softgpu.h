/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A software GPU below NVIDIA's driver. softgpu.ko stands in for nvidia.ko towards an
 * unmodified nvidia-uvm.ko:
 *
 *      nvidia-uvm.ko --calls of the RM interface--> rm.c, rm_space.c, pma.c, channel.c
 *          |    ^
 *          |    |--interrupt, fault buffer-- fault_buffer.c <--miss-- tlb.c, mmu_v?.c <-- sm.c
 *          |    '--notifications-- counters.c <--host memory-----------------------------'
 *          |                                                            ^
 *          '--push buffers--> channel.c --> host.c ---invalidate, replay'
 *                              ^  '-------> copy_engine.c --> memory.c
 *     pushes of user mode--> push.c <--miss of an engine-- engine_faults.c
 *
 * It is a GA100 (host class C56F, copy class C6B5, page tables of version 2) or a GH100
 * (C86F, C8B5, version 3): struct softgpu_chip. Device memory is host memory, allocated in
 * chunks of 2 MB when it is touched.
 *
 * LOCKING, outermost first:
 *   softgpu.lock          channels, address spaces and what RM maps there. Sleeping.
 *   softgpu.walkers       read: an SM uses a translation. write: a TLB invalidate waits for all
 *                         of them
 *   softgpu_scheduler.lock or softgpu_fault_buffer.lock, then softgpu.events_lock;
 *   softgpu_pma.lock, softgpu_engine_faults.lock, softgpu_counters.lock: leaves. Spinlocks.
 *   softgpu.uvm_lock      read: UVM is called. write: UVM comes or goes. Taken alone, or under
 *                         softgpu_sleep_lock (device.c)
 *   softgpu_pma.callbacks read: UVM evicts for RM. write: UVM's callbacks come or go. Before
 *                         pma.lock
 */
#ifndef SOFTGPU_H
#define SOFTGPU_H

#include "softgpu_state.h"

/* The GPU that a handle of UVM's leads to. */
static inline struct softgpu *softgpu_of(uvmGpuDeviceHandle device)
{
	return ((struct softgpu_part *)device)->gpu;
}

/*
 * How many subcontexts a TSG may have. With MIG the GPU's are divided: an instance has
 * those from the first one on.
 */
static inline u32 softgpu_subcontexts(const struct softgpu *gpu)
{
	return SOFTGPU_SUBCONTEXTS / max(gpu->instances, 1u);
}

static inline u32 softgpu_first_subcontext(const struct softgpu_space *space)
{
	return space->part->number * softgpu_subcontexts(space->gpu);
}

/* rm.c: one more GPU that RM knows; before UVM or anyone else can call. */
void softgpu_rm_add(struct softgpu *gpu);

/* The GPU with that number, or NULL. */
struct softgpu *softgpu_rm_gpu(u32 number);

/*
 * peer.c: the GPU that is called so in a GPU's page tables and methods; NULL: it may
 * access none of that name now.
 */
struct softgpu *softgpu_peer(const struct softgpu *gpu, u32 id);

/* The bytes at a mapping, as softgpu_physical() has them. */
void *softgpu_mapped(struct softgpu *gpu, const struct softgpu_mapping *mapping, u64 *bytes);

/* module.c: whether RM says that the platform has ATS. */
bool softgpu_has_ats(void);

/* ats.c: a GPU of such a platform comes, and goes. */
void softgpu_ats_begin(struct pci_dev *pci);
void softgpu_ats_end(struct pci_dev *pci);

/* device.c */
int softgpu_device_init(struct softgpu *gpu);
void softgpu_device_destroy(struct softgpu *gpu);

/* events.c */
int softgpu_events_init(struct softgpu *gpu);
void softgpu_events_destroy(struct softgpu *gpu);

/* Remember an operation. The oldest one is forgotten if there are too many. */
void softgpu_event(struct softgpu *gpu, const struct softgpu_event *event);

/* Take the oldest event. Returns whether there was one. */
bool softgpu_event_take(struct softgpu *gpu, struct softgpu_event *ret_event);

/* Whether the operation has to fail now: SOFTGPU_FAIL asked for it. */
bool softgpu_fails(struct softgpu *gpu, enum softgpu_failure failure);

/* Wait while SOFTGPU_FAIL has set a count of SOFTGPU_HOLD_*. A minute at most. */
void softgpu_hold(struct softgpu *gpu, enum softgpu_failure failure);

/*
 * Sleep between two looks at what only polling shows: an eighth of the time since something
 * was seen there at @seen_ns, at least @least_us, and 2 ms at most. So little is seen late, and a
 * processor that is emulated has time for the driver.
 */
void softgpu_poll_sleep(u64 seen_ns, u32 least_us);

/*
 * A wait for UVM. It is over if UVM has given its channels nothing to do for softgpu.patience,
 * or has worked for very long and not done what is waited for.
 */
struct softgpu_wait {
	unsigned long since; /* jiffies */
	u64 pushes;
	u32 spells; /* of patience, in each of which UVM worked */
};
void softgpu_wait_begin(struct softgpu *gpu, struct softgpu_wait *wait);

/* After a spell of patience since begin or the last call: whether the wait is over. */
bool softgpu_wait_is_over(struct softgpu *gpu, struct softgpu_wait *wait);

/*
 * Whether RM allocates now: NV_OK, NV_ERR_GPU_IS_LOST, or NV_ERR_NO_MEMORY if
 * SOFTGPU_FAIL asked for it.
 */
NV_STATUS softgpu_allocates(struct softgpu *gpu, enum softgpu_failure failure);

/* memory.c */
int softgpu_memory_init(struct softgpu *gpu, u64 bytes);
void softgpu_memory_destroy(struct softgpu *gpu);

/*
 * The bytes at a physical address. *bytes is how many are wanted, and comes back as how many of
 * them lie together. Returns NULL, with a message, where there is no memory. May sleep.
 */
void *softgpu_physical(struct softgpu *gpu, enum softgpu_aperture aperture, u64 address,
		       u64 *bytes);

/* Clear a range of vidmem. */
void softgpu_vidmem_clear(struct softgpu *gpu, u64 address, u64 bytes);

/* chip_ampere.c, chip_hopper.c */
extern const struct softgpu_chip softgpu_ampere;
extern const struct softgpu_chip softgpu_hopper;

/* mmu_v2.c, mmu_v3.c: softgpu_chip.walk */
bool softgpu_mmu_v2_walk(struct softgpu_space *space, u64 va,
			 struct softgpu_mapping *ret_mapping, u32 *ret_fault);
bool softgpu_mmu_v3_walk(struct softgpu_space *space, u64 va,
			 struct softgpu_mapping *ret_mapping, u32 *ret_fault);

/* Read one entry of a table. Returns 0, which is an invalid entry, if the table is nowhere. */
u64 softgpu_entry_read(struct softgpu *gpu, enum softgpu_aperture aperture, u64 address);

/* tlb.c */
void softgpu_tlb_init(struct softgpu_tlb *tlb);

/* Forget everything. LOCKING: walkers for write, or no other thread knows the address space. */
void softgpu_tlb_flush(struct softgpu_space *space);

/*
 * Translate for an access. A cached translation is used whatever the page tables say now: it
 * may be stale. Only one that permits too little is looked up again, as on hardware. Returns
 * whether the access may go on; else the type of fault.
 * LOCKING: walkers for read, or the engine thread.
 */
bool softgpu_tlb_translate(struct softgpu_space *space, u64 va, enum softgpu_op op,
			   struct softgpu_mapping *ret_mapping, u32 *ret_fault);

/*
 * Drop the cached translations of 2^@order pages of 4 KB around @va, of the address space with
 * that page directory. @order 64: all of them. Waits until all accesses that use a translation
 * are over.
 */
void softgpu_tlb_invalidate(struct softgpu *gpu, u64 directory, u64 va, u32 order);

/* rm_space.c */

/*
 * The bytes at a virtual address, for an engine that does @op: memory of RM or what the page
 * tables map. *bytes as in softgpu_physical(). Returns NULL where nothing is mapped, with the
 * type of fault, or where there is no memory, with SOFTGPU_NO_FAULT. LOCKING: softgpu.lock.
 */
#define SOFTGPU_NO_FAULT U32_MAX
void *softgpu_translate(struct softgpu_space *space, u64 va, enum softgpu_op op, u64 *bytes,
			u32 *ret_fault);

/* channel.c: the thread that runs the channels; softgpu.engine. */
int softgpu_channel_engine(void *gpu);

/* A channel without a place in softgpu.channels, or NULL without memory; and its end. */
struct softgpu_channel *softgpu_channel_new(struct softgpu_space *space, u32 ring_entries);
void softgpu_channel_free(struct softgpu_channel *channel);

/* Run the next word of a push. False: it has to be tried again. LOCKING: softgpu.lock. */
bool softgpu_channel_word(struct softgpu_channel *channel, u32 word);

/*
 * As softgpu_translate(), for the copy engine or @host. Where it returns NULL, a
 * channel of UVM's has failed; one of user mode has a fault, and what was to be
 * done has to be tried again.
 */
void *softgpu_channel_translate(struct softgpu_channel *channel, u64 va, enum softgpu_op op,
				bool host, u64 *bytes);

/* host.c: a channel stops, and UVM finds an error in its notifier. LOCKING: softgpu.lock. */
void softgpu_channel_fail(struct softgpu_channel *channel);

/* channel.c: sleep until no channel of UVM's has work left. 0 or -ETIMEDOUT. */
int softgpu_wait_idle(struct softgpu *gpu);

/* Run a method of host. Returns false if it has to be tried again: an acquire that waits. */
bool softgpu_host_method(struct softgpu_channel *channel, u32 method, u32 data);

/*
 * The semaphore at @va, of @bytes: as softgpu_channel_translate(). If it is not aligned to its
 * size, the channel stops with an error.
 */
u32 *softgpu_semaphore_at(struct softgpu_channel *channel, u64 va, enum softgpu_op op,
			  bool host, u64 bytes);

/*
 * Write a semaphore at @va, with a time stamp if @timestamp. @host: host does it, not the copy
 * engine. Returns false if it has to be tried again.
 */
bool softgpu_host_release(struct softgpu_channel *channel, u64 va, u32 payload, bool timestamp,
			  bool host);

/* copy_engine.c: run a method of the copy engine. Returns false if it has to be tried again. */
bool softgpu_copy_method(struct softgpu_channel *channel, u32 method, u32 data);

/* push.c: the engine of a channel of user mode, for pushes; -ENOMEM. */
int softgpu_push_init(struct softgpu_user_channel *channel);

/*
 * Run a push of user mode, whose words are in kernel memory: softgpu_ioctl.h.
 * Returns what SOFTGPU_PUSH does.
 */
int softgpu_push(struct softgpu *gpu, struct softgpu_push *push, const u32 *words);

/* engine_faults.c */
void softgpu_engine_faults_init(struct softgpu *gpu);

/*
 * A push faults. Its channel is off the engine until UVM has serviced that. LOCKING:
 * softgpu.lock.
 */
void softgpu_engine_fault_post(struct softgpu_user_channel *channel, u64 va, u32 type,
			       enum softgpu_op op, bool host);

/* Say in @ret_info where UVM finds them; forgets those of before. */
void softgpu_engine_faults_describe(struct softgpu *gpu, UvmGpuFaultInfo *ret_info);

/* Whether UVM has cleared the channel's fault. LOCKING: softgpu.lock. */
bool softgpu_engine_fault_cleared(struct softgpu_user_channel *channel);

/* Whether UVM has such faults to read. */
bool softgpu_engine_faults_pending(struct softgpu *gpu);

/* fault_buffer.c */
int softgpu_faults_init(struct softgpu *gpu, u32 entries);
void softgpu_faults_destroy(struct softgpu *gpu);

/*
 * A pass over a window of accesses begins, and ends: it has posted all its faults. UVM sees
 * them when no pass is under way, or after a few more passes.
 */
void softgpu_faults_begin(struct softgpu *gpu);
void softgpu_faults_end(struct softgpu *gpu);

/* The GPU wakes up. UVM will read its registers, and still sleeps: it writes none. */
void softgpu_faults_wake(struct softgpu *gpu);

/*
 * Post one. Returns false if the buffer was full: the fault is lost, the next replay brings it
 * again.
 */
bool softgpu_fault_post(struct softgpu_user_channel *channel, u64 va, u32 type,
			enum softgpu_op op);

/* What an operation is in a packet: NV_PFAULT_ACCESS_TYPE_*. */
u32 softgpu_fault_access(enum softgpu_op op);

/* How many replays there were. */
u64 softgpu_replays(struct softgpu *gpu);

/* Replay: all accesses that wait try again. @cancel: some of them end instead. */
void softgpu_replay(struct softgpu *gpu, const struct softgpu_cancel *cancel);

/* Whether an access that has waited since replay number @since was cancelled. */
bool softgpu_cancelled(struct softgpu *gpu, u64 directory, u64 va, enum softgpu_op op,
		       u64 since);

/* Wake all accesses, for their channel is gone. */
void softgpu_wake_accesses(struct softgpu *gpu);

/* counters.c */
void softgpu_counters_init(struct softgpu *gpu);

/* An SM accesses host memory at @va, which is at @physical. LOCKING: walkers for read. */
void softgpu_count(const struct softgpu_user_channel *channel, u64 va, u64 physical);

/* Whether UVM has notifications to read. */
bool softgpu_counters_pending(struct softgpu *gpu);

/* UVM clears the counter with that tag, or all. */
#define SOFTGPU_ALL_COUNTERS U32_MAX
void softgpu_counters_clear(struct softgpu *gpu, u32 tag);

/* An address space goes. */
void softgpu_counters_forget(const struct softgpu_space *space);

/*
 * pma.c. init: of the chunks from @begin up to @end. Returns 0 or -ENOMEM;
 * destroy follows in any case.
 */
int softgpu_pma_init(struct softgpu_part *part, u64 begin, u64 end);
void softgpu_pma_destroy(struct softgpu_part *part);

/* The bytes of the GPU that are not free. */
u64 softgpu_pma_used(const struct softgpu *gpu);

/*
 * RM takes chunks of 2 MB for itself, and evicts those of UVM if it must. Returns 0 or -ENOMEM.
 */
int softgpu_pma_take(struct softgpu_part *part, u64 bytes);
int softgpu_pma_take_range(struct softgpu_part *part, u64 address, u64 bytes);
void softgpu_pma_give(struct softgpu_part *part);

/* scheduler.c: TSGs share the SMs by turns. */
void softgpu_scheduler_init(struct softgpu *gpu);

/*
 * A channel enters the TSG that its name says. The first one makes that TSG. Returns 0;
 * -ENOMEM; or -ENOSPC: the TSG has as many address spaces as it may. quit: the channel leaves
 * it, and the last one frees it. LOCKING: softgpu.lock.
 */
int softgpu_tsg_join(struct softgpu *gpu, struct softgpu_user_channel *channel);
void softgpu_tsg_quit(struct softgpu *gpu, struct softgpu_user_channel *channel);

/* Whether the channel is in a TSG of that number, for its client. LOCKING: softgpu.lock. */
bool softgpu_tsg_has(const struct softgpu_user_channel *channel, u32 client, u32 number);

/* A call of SOFTGPU_ACCESS begins, and ends. */
void softgpu_tsg_begin(struct softgpu *gpu, struct softgpu_user_channel *channel);
void softgpu_tsg_end(struct softgpu *gpu, struct softgpu_user_channel *channel);

/*
 * Wait for the TSG's turn. Returns 0; -ENODEV: the channel or the GPU is gone; -EINTR: killed.
 * After 0, softgpu_tsg_leave() follows.
 */
int softgpu_tsg_enter(struct softgpu *gpu, struct softgpu_user_channel *channel);

/*
 * @accesses were tried. @faults: some wait for a replay, and softgpu_tsg_replayed() follows.
 */
void softgpu_tsg_leave(struct softgpu *gpu, struct softgpu_user_channel *channel, u32 accesses,
		       bool faults);
void softgpu_tsg_replayed(struct softgpu *gpu, struct softgpu_user_channel *channel);

/* It leaves the SMs, if it has them. @wait: until it has: NV_OK or NV_ERR_TIMEOUT. */
NV_STATUS softgpu_tsg_preempt(struct softgpu *gpu, struct softgpu_user_tsg *tsg, bool wait,
			      u32 timeout_us);

/* Set what the runlist knows of a TSG, and of one of its channels. */
void softgpu_tsg_set_timeslice(struct softgpu *gpu, struct softgpu_user_tsg *tsg,
			       u64 timeslice_us);
void softgpu_channel_disable(struct softgpu *gpu, struct softgpu_user_channel *channel,
			     bool disabled);

/* rmapi.c */

/* The size of a command's parameters; 0: there is no such command. */
u32 softgpu_control_bytes(u32 command);

/* A control call: gvm_rmapi.h. @params is in kernel memory. */
NV_STATUS softgpu_control(struct softgpu *gpu, u32 client, u32 object, u32 command,
			  void *params);

/* sm.c */

/* LOCKING: softgpu.lock. */
struct softgpu_user_channel *softgpu_user_channel_find(struct softgpu *gpu, u32 client,
						       u32 object);

/* Give up a reference. */
void softgpu_user_channel_put(struct softgpu *gpu, struct softgpu_user_channel *channel);

int softgpu_access(struct softgpu *gpu, struct softgpu_access *access);

#endif
