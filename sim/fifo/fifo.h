/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulated host engine: runlists of TSGs, timeslices, context switches (GVM 3.2), and GPUs that
 * several contexts share in space.
 *
 * Rules of a runlist, from the papers and from measurements on real hardware:
 *  - One context runs at a time. TSGs take turns in the order of the runlist, each for its
 *    timeslice, which starts when it is scheduled.
 *  - A TSG without work gives way at once. One that is alone on the runlist runs past the end of
 *    its slice, and then gives way at once to a newcomer.
 *  - A context switch takes time in which no context of the runlist runs: more if kernels were in
 *    execution, whose registers and shared memory go out to memory and come back.
 *  - A TSG with unserviced replayable faults cannot be switched out (GVM 7.5). The warps of a
 *    kernel fault side by side, so a kernel that has begun to fault stays until it has all of
 *    its pages, however many rounds the driver takes. A replay completes
 *    the accesses whose pages are there by then, before anything else can happen to the pages: so
 *    two contexts that evict each other's memory still make progress.
 *  - A kernel may never get all of its pages at once: the driver serves its other warps first and has
 *    no room for all of them. Such a kernel faults one block at a time until it ends. On a GPU each
 *    warp goes on as soon as its own page is there; here all of them have one cursor.
 *
 * Partitions
 * ==========
 *
 * A GPU has one partition or several, each with a fixed share of the SMs and of the memory
 * bandwidth. A TSG is in one partition for life. A partition shares its part in one of two ways:
 *
 *     in time    One runlist, as above; the context that runs has the whole partition.
 *     in space   All TSGs run at once, as clients of one MPS server do. There are no slices and no
 *                switches, and a TSG that faults holds up no other.
 *
 *     time slicing   one partition in time with everything (the default)
 *     MPS            one partition in space with everything; TSGs may have a limit
 *     MIG            a partition in time, or in space, for each instance
 *     vGPU           MIG-backed as MIG; time-sliced as time slicing
 *
 * Shares are in ppm of the whole GPU, and a kernel's time is its time on the whole GPU. A kernel
 * says how many SMs it can fill (sm_ppm) and which part of the bandwidth it uses then
 * (bandwidth_ppm). It runs at full speed if it gets both; with less of either it is slower in
 * proportion:
 *
 *     1. SMs         max-min over the kernels on the partition: each gets what it can fill, up to its
 *                    TSG's limit; where that is too much in all, those that want most get equal
 *                    shares, and take what the others leave. A kernel that waits for its faults
 *                    keeps its SMs: its blocks stay resident.
 *     2. bandwidth   max-min over what each kernel uses at the speed that its SMs permit. SMs that
 *                    wait for memory are held, too: they help no other kernel.
 *
 * Speeds are in whole ppm, rounded down. They hold from one event of the partition to the next:
 * bursts are advanced at their old speed before a share changes, and planned again. Work is counted in
 * ns at full speed and a rest in ppm of a ns, so that nothing is lost between events.
 *
 * Work is submitted as bursts: n equal kernels, one launched every so often by the host.
 * A burst is one object that is advanced lazily to the present. There is an event per switch,
 * fault, submission or completion, never per kernel: a run has tens of millions of those. (Several
 * contexts in space are the exception: where a host launches too slowly, others get the SMs in each
 * gap.)
 *
 * LOCKING: none. The simulator's code runs without interruption between two blocking calls.
 */
#ifndef SIM_FIFO_FIFO_H
#define SIM_FIFO_FIFO_H

#include "uvm/gmmu.h"

/* Channels of a GPU, a TSG has one: RM's list for one RPC has no more entries. */
#define FIFO_CHANNELS_MAX 64u

/* Partitions of a GPU: the most MIG instances that any has. */
#define FIFO_PARTITIONS_MAX 7u

/* All of a GPU's SMs or bandwidth, and full speed. */
#define FIFO_ALL_PPM 1000000u

/* A burst. Memory belongs to the submitter until fifo_wait() has returned. */
struct fifo_burst {
	/* Set by the submitter. */
	u32 kernels;			  /* at least 1 */
	u64 kernel_ns;			  /* GPU time of each */
	u64 launch_ns;			  /* host time between two launches */
	const struct gmmu_touch *touches; /* memory accessed, in order; borrowed */
	u32 touch_count;
	u32 sm_ppm;	   /* of the GPU's SMs, that its kernels can fill; 0 is all */
	u32 bandwidth_ppm; /* of the GPU's memory bandwidth, that they use at full speed */
	u32 occupancy_ppm; /* of what all SMs can hold, that its kernels do; 0 is all */
	u32 pages_at_once; /* of a block, that its warps touch side by side; 0: fifo_config's */
	u32 faults_per_page; /* threads with addresses of their own in a page; 0 is 1 */

	/* Set here. */
	struct fifo_burst *next;   /* in the TSG's queue */
	struct gmmu_walk walk;	   /* its touches, in its TSG's address space */
	u64 launch_start_ns;	   /* kernel i is there at launch_start + (i + 1) * launch_ns */
	u64 done_ns;		   /* GPU time executed, up to kernels * kernel_ns, */
	u32 done_ppm;		   /* and of the next ns so many millionths */
	u32 speed_ppm;		   /* at which it executes now; 0 is full speed */
	u64 touch_blocks;	   /* blocks in touches; 0 until they are first looked at */
	struct gmmu_cursor cursor; /* first block that may miss */
	u64 faulting_ordinal;	   /* the kernel that faulted last touches blocks up to here */
	u64 granted_ordinal;	   /* blocks before this one: accesses that have been made */
	u64 stuck_ordinal;	   /* where it stalled last, */
	u32 stuck_stalls;	   /* and how often there, one after the other */
	u64 narrow_ordinal;	   /* up to here it reports one block at a time */
	bool finished;
	int status; /* 0, or -EIO: its TSG died */
	u64 finished_ns;
	struct eng_waitq waitq;
};

struct fifo_tsg;
struct fifo_partition;

/*
 * A fault episode is the time from a TSG's stall to the replay that lets it go on. This is where
 * its time goes: each nanosecond belongs to exactly one part. In the first two columns is the
 * answer to "does the driver's fault handler wait for the device on behalf of this TSG, and is that
 * direction of the link at work?".
 *
 *   in   out
 *   no   no    FIFO_STALL_CPU: the handler computes, waits for a clear or serves other TSGs
 *   yes  no    FIFO_STALL_IN: a copy from host memory, or its last PTEs and the replay
 *   no   yes   FIFO_STALL_OUT: a copy to host memory
 *   yes  yes   FIFO_STALL_BOTH
 */
enum fifo_stall_part {
	FIFO_STALL_CPU,
	FIFO_STALL_IN,
	FIFO_STALL_OUT,
	FIFO_STALL_BOTH,
	FIFO_STALL_PARTS
};

/* The time in fault episodes, in ns: of one of them, or all of a TSG's so far. */
struct fifo_stall {
	u64 ns[FIFO_STALL_PARTS];
};

/* All parts together, and what counts for each direction: half of the time in which both work. */
static inline u64 fifo_stall_ns(const struct fifo_stall *stall)
{
	return stall->ns[FIFO_STALL_CPU] + stall->ns[FIFO_STALL_IN] +
	       stall->ns[FIFO_STALL_OUT] + stall->ns[FIFO_STALL_BOTH];
}

static inline u64 fifo_stall_in_ns(const struct fifo_stall *stall)
{
	return stall->ns[FIFO_STALL_IN] + stall->ns[FIFO_STALL_BOTH] / 2;
}

static inline u64 fifo_stall_out_ns(const struct fifo_stall *stall)
{
	return stall->ns[FIFO_STALL_OUT] + stall->ns[FIFO_STALL_BOTH] -
	       stall->ns[FIFO_STALL_BOTH] / 2;
}

/* The driver: on what did the last @ns of a TSG's episode go? 0 ns: an episode begins. Must not block. */
struct fifo_stall_ops {
	struct fifo_stall (*parts)(void *data, const struct fifo_tsg *tsg, u64 ns);
	void *data;
};

/*
 * What one context at a time is loaded on. A partition that is shared in time has one; in a
 * partition that is shared in space each TSG has its own.
 */
struct fifo_runner {
	struct fifo_partition *partition;
	struct fifo_runner *next; /* of the partition's runners */
	struct fifo_tsg *runlist; /* any TSG of the circle; NULL: empty */
	struct fifo_tsg *current; /* whose context is loaded, or being loaded */
	bool switching;		  /* until switch_end_ns */
	u64 switch_end_ns;
	u64 slice_end_ns; /* of current */
	u64 updated_ns;	  /* current's burst is advanced up to here */
};

/* One TSG: here with one channel, as one CUDA context with one busy stream has. */
struct fifo_tsg {
	struct fifo *fifo;
	struct fifo_runner *runner;
	struct fifo_runner own; /* its runner, in a partition that is shared in space */
	struct fifo_tsg *next;	/* runlist, circular */
	u32 id;
	u32 sm_limit_ppm;		/* of the GPU's SMs, that its kernels get at most */
	const struct page_table *table; /* of its address space; NULL: it touches no memory */
	u64 timeslice_ns;
	bool enabled;
	bool dead;		  /* a fault was cancelled; submissions fail */
	bool stalled;		  /* has unserviced replayable faults */
	bool preempted;		  /* to leave as soon as it can be switched out */
	u64 stalled_ns_since;	  /* the present episode, or the last one */
	u64 stall_booked_ns;	  /* it is in stall up to here */
	struct fifo_burst *first; /* in execution */
	struct fifo_burst *last;
	u64 launch_end_ns; /* until when its host thread is busy launching */
	u64 ended_kernels; /* of bursts that are through, or failed */

	/* Counters. */
	u64 busy_ns;		 /* its kernels executed, in GPU time at full speed */
	struct fifo_stall stall; /* waited for faults */
	u64 blocked_ns; /* had work ready while another TSG held its runner with unserviced faults */
};

/* What a partition has, and how its TSGs share it. */
struct fifo_share {
	u32 sm_ppm;
	u32 bandwidth_ppm;
	bool in_space;
};

struct fifo_config {
	u64 timeslice_ns;	 /* of a new TSG, as programmed */
	u64 timeslice_scale_ppm; /* real over programmed */
	u64 context_switch_ns;	 /* without any state, */
	u64 context_state_ns;	 /* and to save or restore what all SMs can hold */
	u32 outstanding_faults;	 /* most missing pages reported with one stall */
	u32 faults_per_block;	 /* most of one block */
	u32 partition_count;	 /* 0: one, with everything, shared in time */
	struct fifo_share partitions[FIFO_PARTITIONS_MAX];
};

/* A part of a GPU. */
struct fifo_partition {
	struct fifo *fifo;
	struct fifo_share share;
	struct fifo_runner *runners; /* list */
	struct fifo_runner
		time_slots;	/* the one runner of a partition that is shared in time */
	struct eng_timer timer; /* the next date at which something changes in it */
};

/* The host engine of one GPU. */
struct fifo {
	struct fifo_config config;
	struct gmmu *gmmu;
	struct fifo_partition partitions[FIFO_PARTITIONS_MAX];
	u32 partition_count;
	u32 next_id;
	struct fifo_tsg *by_id[FIFO_CHANNELS_MAX]; /* place: its id modulo FIFO_CHANNELS_MAX */
	u32 channels;				   /* in use */
	u64 switches;				   /* of contexts, in all runlists */
	struct fifo_stall_ops stall_ops; /* set before the start; zero: all is FIFO_STALL_CPU */
};

void fifo_init(struct fifo *fifo, const struct fifo_config *config, struct gmmu *gmmu);
void fifo_destroy(struct fifo *fifo);

/*
 * Put a TSG on a runlist, with the default timeslice; or take it off, failing its bursts. @table is
 * borrowed. init puts it into the first partition without a limit; init_in into partition number
 * @partition, where it gets at most @limit_ppm of the partition's SMs (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE).
 * Both return 0, or -ENOSPC: there are FIFO_CHANNELS_MAX.
 */
int fifo_tsg_init(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table);
int fifo_tsg_init_in(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table,
		     u32 partition, u32 limit_ppm);
void fifo_tsg_destroy(struct fifo_tsg *tsg);

/* The TSGs that there are, by id modulo FIFO_CHANNELS_MAX: @i counts, @tsg is each of them. */
#define fifo_for_each_tsg(fifo, i, tsg)                 \
	for (i = 0; i < FIFO_CHANNELS_MAX; i++)         \
		if (((tsg) = (fifo)->by_id[i]) == NULL) \
			continue;                       \
		else

/* Is the context of a TSG loaded, or being loaded? */
bool fifo_is_current(const struct fifo_tsg *tsg);

/* No burst takes longer than this, executing or launching: ten years. Dates fit into 64 bits. */
#define FIFO_BURST_MAX_NS 315360000000000000ull

/*
 * Queue a burst behind earlier ones of the TSG. Launching starts when the host thread is free. On a
 * dead TSG it fails at once, without a launch.
 */
void fifo_submit(struct fifo_tsg *tsg, struct fifo_burst *burst);

/* Blocking: wait for a burst. 0, -EIO (the TSG died) or -EINTR (the burst is still queued). */
int fifo_wait(struct fifo_burst *burst);

/* The fault service replays: every stalled access runs again, and may miss again. */
void fifo_replay(struct fifo *fifo);

/*
 * The block at @va has just been unmapped in a TSG's page table. The TSG will miss there, unless it has
 * used the block or its access was replayed already.
 */
void fifo_unmapped(struct fifo_tsg *tsg, u64 va);

/* A fault was cancelled: the TSG's context dies with all its work. */
void fifo_kill(struct fifo *fifo, u32 tsg_id);

/* Effects of RPCs. find: NULL: no such TSG. */
struct fifo_tsg *fifo_find(struct fifo *fifo, u32 tsg_id);
void fifo_set_timeslice(struct fifo_tsg *tsg, u64 timeslice_ns);
void fifo_disable(struct fifo_tsg *tsg); /* not scheduled again; runs on until preempted */
void fifo_enable(struct fifo_tsg *tsg);
void fifo_preempt(struct fifo_tsg *tsg);
bool fifo_busy(const struct fifo_tsg *tsg); /* it has bursts that have not ended */

/* Bring counters up to the present. */
void fifo_update(struct fifo *fifo);

/* The same for a TSG that may be in a fault episode: the driver goes on to another part of it. */
void fifo_book_stall(struct fifo_tsg *tsg);

/* Kernels launched by now that have not ended. Call fifo_update() first. */
u64 fifo_pending_kernels(const struct fifo_tsg *tsg);

/* Kernels that have ended, ever. Call fifo_update() first. */
u64 fifo_ended_kernels(const struct fifo_tsg *tsg);

#endif
