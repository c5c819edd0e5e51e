/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulated host engine: runlists of TSGs, timeslices, context switches (GVM 3.2), and GPUs
 * that several contexts share in space.
 *
 * Rules of a runlist, from the papers and from measurements on real hardware:
 *  - One context runs at a time. TSGs take turns in the order of the runlist, each for its
 *    timeslice, which starts when the state of its kernels begins to come back. Faults count
 *    into it.
 *  - A TSG without work gives way at once. One that is alone on the runlist runs past the end
 *    of its slice. If kernels are queued after the one in execution then, it begins a new
 *    slice, and a newcomer waits for the end of that. Else it gives way to a newcomer at once.
 *  - A context switch takes time in which no context of the runlist runs: more if kernels were
 *    in execution, whose registers and shared memory go out to memory and come back.
 *  - A TSG with unserviced replayable faults cannot be switched out (GVM 7.5). The warps of a
 *    kernel fault side by side on all that the kernel touches at once, such as the matrix of a
 *    product with few tokens. So it stays until it has all of that, however many rounds the
 *    driver takes. A kernel that goes through its memory in order faults on a front of
 *    blocks, gpu.fault.front, and can leave between two fronts. Both are what an H200 does
 *    (plots/reference/hardware/h200-580-fronts.txt). A replay completes the accesses whose
 *    pages are there by then, before anything else can happen to the pages: so two contexts
 *    that evict each other's memory still make progress.
 *  - A kernel may never get all of its pages at once: the driver serves its other warps first
 *    and has no room for all of them. Such a kernel faults one block at a time until it ends.
 *    On a GPU each warp goes on as soon as its own page is there; here all of them have one
 *    cursor.
 *
 * Partitions and servers
 * ======================
 *
 * A GPU has one partition or several, each with a fixed share of the SMs and of the memory
 * bandwidth. A TSG is in one partition for life. A partition has one runlist. An entry of a
 * runlist is a TSG, or an MPS server that has several TSGs, its clients. The entries take
 * turns. The TSGs of an entry run side by side in its turn and share the partition's part.
 *
 *     in time    Entries as above; each turn has the whole partition.
 *     in space   One entry, which all TSGs share. There are no slices and no switches.
 *
 *     time slicing   one partition in time with everything (the default)
 *     MPS            one partition in space with everything; TSGs may have a limit
 *     MPS beside     a server in a partition in time: its clients share the server's turns,
 *       others       other containers have turns of their own
 *     MIG            a partition in time, or in space, for each instance
 *     vGPU           MIG-backed as MIG; time-sliced as time slicing, or in fixed turns
 *                    (turns.h)
 *
 * A server's turn ends when its slice does, or when none of its clients has work. It stays
 * loaded while one of them has unserviced faults. A switch saves and restores the state of all
 * its clients, at most what all SMs can hold. The server has one timeslice: a write to a
 * client's timeslice sets it. A preemption of a client ends the server's turn. A disabled
 * client does not run in later turns.
 *
 * TSGs that run side by side do not escape each other's faults. A kernel begins and runs beside
 * one that faults, but it cannot end before that one has all of its pages. So its stream waits,
 * and so does the host that synchronizes with it. An H200 does so for streams of one context
 * and for clients of an MPS server (plots/reference/hardware/onecontext_detail.cu). If the
 * threads that fault there are in few thread blocks, some kernels end between two replays. Here
 * none does. A TSG whose kernel waits for its end executes nothing from its other channels.
 *
 * What each of them gets of the SMs and of the memory is in beside.h.
 *
 * Channels
 * ========
 *
 * A TSG has a channel for each stream of its context. It executes one burst at a time: a
 * channel's first burst until it ends, or runs dry because the host launches too slowly. Then
 * the next channel has its turn. So channels fill each other's gaps, without a context switch,
 * and all of them together do no more work than one. On a GPU, kernels of two streams that
 * leave SMs free also run side by side.
 *
 * Work is submitted as bursts: n equal kernels, one launched every so often by the host. A
 * burst is one object that is advanced lazily to the present. There is an event per switch,
 * fault, submission or completion, never per kernel: a run has tens of millions of those.
 * (Several contexts in space are the exception: where a host launches too slowly, others get
 * the SMs in each gap.)
 *
 * LOCKING: none. The simulator's code runs without interruption between two blocking calls.
 */
#ifndef SIM_FIFO_FIFO_H
#define SIM_FIFO_FIFO_H

#include "fifo/types.h"

void fifo_init(struct fifo *fifo, const struct fifo_config *config, struct gmmu *gmmu);
void fifo_destroy(struct fifo *fifo);

/*
 * Put a TSG on a runlist, with the default timeslice; or take it off, failing its bursts.
 * @table is borrowed. init puts it into the first partition without a limit; init_in into
 * partition number @partition, where it gets at most @limit_ppm of the partition's SMs
 * (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). Both return 0, or -ENOSPC: there are FIFO_CHANNELS_MAX.
 */
int fifo_tsg_init(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table);
int fifo_tsg_init_in(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table,
		     u32 partition, u32 limit_ppm);
void fifo_tsg_destroy(struct fifo_tsg *tsg);

/*
 * Put an MPS server on the runlist of partition number @partition, which is shared in time; or
 * take it off, without clients. The owner keeps its memory. fifo_tsg_init_client() is
 * fifo_tsg_init_in() for a client of a server.
 */
void fifo_server_init(struct fifo *fifo, struct fifo_entry *server, u32 partition);
void fifo_server_destroy(struct fifo_entry *server);
int fifo_tsg_init_client(struct fifo_entry *server, struct fifo_tsg *tsg,
			 const struct page_table *table, u32 limit_ppm);

/*
 * Thread blocks of a TSG get SMs before those of TSGs with a larger @priority that share its
 * turns (CUDA_MPS_CLIENT_PRIORITY). Below FIFO_SM_PRIORITIES; 0 at first.
 */
void fifo_set_sm_priority(struct fifo_tsg *tsg, u32 priority);

/* The TSGs that there are, by id modulo FIFO_CHANNELS_MAX: @i counts, @tsg is each of them. */
#define fifo_for_each_tsg(fifo, i, tsg)                 \
	for (i = 0; i < FIFO_CHANNELS_MAX; i++)         \
		if (((tsg) = (fifo)->by_id[i]) == NULL) \
			continue;                       \
		else

/* Is the context of a TSG loaded, or being loaded? */
bool fifo_is_current(const struct fifo_tsg *tsg);

/*
 * A further channel of a TSG, which is in the caller's memory. It ends before the TSG's memory
 * does, and is empty then.
 */
void fifo_channel_init(struct fifo_channel *channel, struct fifo_tsg *tsg);
void fifo_channel_destroy(struct fifo_channel *channel);

/*
 * Queue a burst after earlier ones of the channel; fifo_submit: of the TSG's first channel.
 * Launching starts when the host thread is free. On a dead TSG it fails at once, without a
 * launch. A burst that is submitted with @waits set is launched, but executes only after its
 * release.
 */
void fifo_submit(struct fifo_tsg *tsg, struct fifo_burst *burst);
void fifo_submit_to(struct fifo_channel *channel, struct fifo_burst *burst);
void fifo_release(struct fifo_channel *channel, struct fifo_burst *burst);

/*
 * Each channel of a TSG has room for @launches launches that have not ended. The host thread
 * stands still before one that finds no room, until a kernel of the channel ends (ring.c). 0,
 * as at first: it never waits.
 */
void fifo_set_ring(struct fifo_tsg *tsg, u32 launches);

/*
 * The kernels of a TSG that may be launched, of all that were ever submitted to it, in the
 * order of their submission. The first @kernels may; FIFO_ALLOW_ALL is the state at the start.
 * A kernel that has begun always may. The others are withheld: a burst runs dry before them,
 * also if they were launched already. @host_waits: the host thread stands still before a
 * withheld kernel, so that later ones are launched one after the other from now on. Without it
 * the host went on: kernels that may be launched now are there at once.
 */
void fifo_allow(struct fifo_tsg *tsg, u64 kernels, bool host_waits);

/*
 * The first burst of those that begin with kernel @from or a later one, in the order of
 * submission: the number of its last kernel, counted from 1, and when that is launched, if the
 * host thread does not wait. False: there is none, or it is not released yet.
 */
bool fifo_next_burst(struct fifo_tsg *tsg, u64 from, u64 *ret_end, u64 *ret_launched_ns);

/* Since when the host thread stands before a withheld kernel; ENG_NEVER: it does not. */
u64 fifo_withheld_since(struct fifo_tsg *tsg);

/* Blocking: wait for a burst. 0, -EIO (the TSG died) or -EINTR (the burst is still queued). */
int fifo_wait(struct fifo_burst *burst);

/* The fault service replays: every stalled access runs again, and may miss again. */
void fifo_replay(struct fifo *fifo);

/*
 * The block at @va has just been unmapped in a TSG's page table. The TSG will miss there,
 * unless it has used the block or its access was replayed already.
 */
void fifo_unmapped(struct fifo_tsg *tsg, u64 va);

/* The link gives kernels another part of what they want: struct fifo_link_ops. */
void fifo_link_changed(struct fifo *fifo);

/* A fault was cancelled: the TSG's context dies with all its work. */
void fifo_kill(struct fifo *fifo, u32 tsg_id);

/*
 * How long the kernel that a loaded TSG executes has run, and how long it still runs, in ns at
 * full speed. False: none executes now.
 */
bool fifo_kernel_progress(struct fifo_tsg *tsg, u64 *ret_done_ns, u64 *ret_left_ns);

/* Effects of RPCs. find: NULL: no such TSG. */
struct fifo_tsg *fifo_find(struct fifo *fifo, u32 tsg_id);
void fifo_set_timeslice(struct fifo_tsg *tsg, u64 timeslice_ns);
void fifo_disable(struct fifo_tsg *tsg); /* not scheduled again; runs on until preempted */
void fifo_enable(struct fifo_tsg *tsg);
void fifo_preempt(struct fifo_tsg *tsg);
bool fifo_busy(const struct fifo_tsg *tsg); /* it has bursts that have not ended */

/* Bring counters up to the present. */
void fifo_update(struct fifo *fifo);

/*
 * The same for a TSG that may be in a fault episode: the driver goes on to another part of it.
 */
void fifo_book_stall(struct fifo_tsg *tsg);

/* What became of the time of a GPU. The rest is idle: no context had anything to execute. */
struct fifo_usage {
	u64 busy_ns;	  /* kernels executed, in GPU time at full speed */
	u64 switching_ns; /* context switches; of a partition, in proportion to its SMs */
	u64 stalled_ns;	  /* nothing executed, and a loaded TSG waited for faults; likewise */
	u64 switches;
};

/* The usage up to now, over all partitions. Call fifo_update() first. */
struct fifo_usage fifo_usage(const struct fifo *fifo);

/* Kernels launched by now that have not ended. Call fifo_update() first. */
u64 fifo_pending_kernels(const struct fifo_tsg *tsg);

/* Kernels that have ended, ever. Call fifo_update() first. */
u64 fifo_ended_kernels(const struct fifo_tsg *tsg);

#endif
