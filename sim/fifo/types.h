/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The structs of the host engine, below all of its parts. See fifo.h for its rules. */
#ifndef SIM_FIFO_TYPES_H
#define SIM_FIFO_TYPES_H

#include "uvm/gmmu.h"

/* TSGs of a GPU: RM's list for one RPC has no more entries. */
#define FIFO_CHANNELS_MAX 64u

/* Partitions of a GPU: the most MIG instances that any has. */
#define FIFO_PARTITIONS_MAX 7u

/* No limit to the launches of a TSG. */
#define FIFO_ALLOW_ALL (~0ull)

/* Priorities of clients of an MPS server: normal and below normal. */
#define FIFO_SM_PRIORITIES 2u

/*
 * No burst takes longer than this, executing or launching, and no run: ten years. Dates fit
 * into 64 bits.
 */
#define FIFO_BURST_MAX_NS 315360000000000000ull

/* All of a GPU's SMs or bandwidth, and full speed. */
#define FIFO_ALL_PPM 1000000u

/*
 * What each kernel of a burst claims of its partition, given its TSG's limit.
 * beside.c computes it once.
 */
struct fifo_claim {
	u32 fills; /* SMs that its blocks hold while they run */
	u32 need;  /* SMs with which it runs as fast as it may, while they run */
	u32 wants; /* SMs, as a mean over its time, with which it runs as fast as it may */
	u32 top;   /* its speed then; its limit may not permit full speed */
	u32 rate;  /* part of the bandwidth that it draws while it keeps the memory busy */
	u32 memory_time; /* part of its time on its SMs in which it keeps the memory busy */
	u32 fixed;	 /* part of its time that is latency: its start and its end */
	/*
	 * For so long its blocks hold the SMs in a turn, as if they held all of them. At least
	 * 1; 0: not computed yet.
	 */
	u64 turn_ns;
};

/* Bytes that kernels move over the link because their pages lie in host memory; remote.c. */
enum fifo_remote_way { FIFO_REMOTE_READS, FIFO_REMOTE_WRITES, FIFO_REMOTE_WAYS };

/*
 * A piece of a burst's work that has a pace of its own, as its kernels access host memory. The
 * next piece may have another.
 */
struct fifo_piece {
	u64 changes; /* page_table.remote_changes when it was looked up, plus 1; 0: it was not */
	u64 start_ns; /* in GPU time of the burst */
	u64 end_ns;
	u64 bytes[FIFO_REMOTE_WAYS];
	/* bytes/s, at the speed that the burst has without the link */
	u64 wants[FIFO_REMOTE_WAYS];
};

/*
 * A burst. Its memory is the submitter's, and stays until the burst has ended: on_end, or
 * fifo_wait().
 */
struct fifo_burst {
	/* Set by the submitter. */
	u32 kernels;			  /* at least 1 */
	u64 kernel_ns;			  /* GPU time of each */
	u64 launch_ns;			  /* host time between two launches */
	const struct gmmu_touch *touches; /* memory accessed, in order; borrowed */
	u32 touch_count;
	u32 sm_ppm;	   /* of the GPU's SMs, that its kernels can fill; 0 is all */
	u32 sm_need_ppm;   /* of the GPU's SMs, with which they run at full speed; 0: sm_ppm */
	u32 sm_busy_ppm;   /* of their time at full speed, in which blocks run; 0 is all */
	u32 sm_fixed_ppm;  /* of that time, in which blocks only start or end; within busy */
	u32 sm_open_ppm;   /* of their work, by blocks that leave room for small kernels */
	u32 sm_turns_ppm;  /* turns that a kernel takes beside such, as a mean; 0 is one */
	u32 bandwidth_ppm; /* of the GPU's memory bandwidth, that they use at full speed */
	u32 occupancy_ppm; /* of what all SMs can hold, that its kernels do; 0 is all */
	u32 pages_at_once; /* of a block, that its warps touch side by side; 0: fifo_config's */
	u32 faults_per_page; /* threads with addresses of their own in a page; 0 is 1 */
	bool in_fronts;	     /* kernels fault on fifo_config's front of what they go through */
	bool graph;	     /* one launch for all of its kernels */
	bool waits;	     /* for a semaphore; fifo_release() */
	/*
	 * Called when it has ended, as the last thing. Must not block, nor call this room. Or
	 * NULL.
	 */
	void (*on_end)(struct fifo_burst *burst);

	/* Set here. */
	struct fifo_burst *next; /* in its channel */
	struct gmmu_walk walk;	 /* its touches, in its TSG's address space */
	u64 launch_start_ns;	 /* kernel i is there at launch_start + (i + 1) * launch_ns */
	/*
	 * Launches were moved to a later date while kernel moved_kernel - 1 was next, which is
	 * there since moved_ready_ns (ring.c). 0: none.
	 */
	u64 moved_kernel;
	u64 moved_ready_ns;
	u64 seen_kernels; /* done_kernels when ring.c last looked */
	u64 ordinal;	  /* kernels that were submitted to its TSG before it */
	u32 withheld; /* of its kernels, the last ones, that may not be launched; fifo_allow() */
	bool held;    /* faults of another TSG hold up the end of its next kernel; fifo.h */
	u64 done_ns;  /* GPU time executed, in whole ns; at most kernels * kernel_ns */
	u32 done_ppm;		 /* millionths of the next ns that are executed, too */
	u64 done_kernels;	 /* kernels that have ended; burst_set_done() */
	u32 speed_ppm;		 /* its present speed; 0 is full speed */
	struct fifo_claim claim; /* computed by beside.c when it is first needed */
	struct fifo_piece piece; /* with pages in host memory: the present one */
	/* the beginning of the touch in which the last piece began */
	struct gmmu_cursor piece_from;
	/* Its places among the blocks in its touches: memory.c has a drawing of them. */
	u64 touch_blocks;	   /* blocks in touches; 0 until they are first looked at */
	struct gmmu_cursor cursor; /* first block that may miss */
	struct gmmu_footprint footprint; /* of a kernel: the last that was looked up */
	/* the beginning of the touch that it had reached at the last look */
	struct gmmu_cursor reached;
	u64 faulting_ordinal; /* the kernel that faulted last touches blocks up to here */
	u64 granted_ordinal;  /* accesses before this block have been made */
	u64 stuck_ordinal;    /* block at which it stalled last */
	u32 stuck_stalls;     /* stalls there in a row */
	u64 narrow_ordinal;   /* before this block it reports one block at a time */
	bool finished;
	int status; /* 0, or -EIO: its TSG died */
	u64 finished_ns;
	struct eng_waitq waitq;
};

struct fifo_tsg;
struct fifo_partition;
struct fifo_runlist;

/*
 * A fault episode is the time from a TSG's stall to the replay that lets it go on. This is
 * where its time goes: each nanosecond belongs to exactly one part. In the first two columns is
 * the answer to "does the driver's fault handler wait for the device on behalf of this TSG, and
 * is that direction of the link at work?".
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

/*
 * All parts together, and what counts for each direction: half of the time in which both work.
 */
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

/*
 * The driver: on what did the last @ns of a TSG's episode go? 0 ns: an episode begins. Must not
 * block.
 */
struct fifo_stall_ops {
	struct fifo_stall (*parts)(void *data, const struct fifo_tsg *tsg, u64 ns);
	void *data;
};

/*
 * The link: kernels want to read and write so many bytes/s in host memory, in all
 * partitions. It says how many they get until it calls fifo_link_changed(). Must not
 * block, nor call this room.
 */
struct fifo_link_ops {
	void (*claim)(void *data, const u64 *wants, u64 *ret_gets);
	void *data;
};

/* What a TSG does with its time. */
enum fifo_activity {
	FIFO_RUNS, /* it is loaded and has work: kernels run, or the next launch is awaited */
	FIFO_STALLED,	/* it is loaded and waits for its faults */
	FIFO_SWITCHING, /* its context is being loaded */
	FIFO_BLOCKED,	/* it has work, and faults of another TSG hold it up */
	FIFO_WAITS,	/* it has work, and is not loaded for another reason */
	FIFO_IDLE,	/* it has nothing to execute */
	FIFO_ACTIVITIES
};

/*
 * A recorder: a TSG spent its time from @from_ns to @to_ns, which is now, or before now for
 * FIFO_IDLE. @busy_ns: of FIFO_RUNS, the GPU time at full speed that it executed; @slow_ns: how
 * much longer that took with fewer SMs or less bandwidth. Must not block, nor change anything.
 */
struct fifo_observer {
	void (*spent)(void *data, const struct fifo_tsg *tsg, enum fifo_activity activity,
		      u64 from_ns, u64 to_ns, u64 busy_ns, u64 slow_ns);
	void *data;
};

/*
 * One entry of a runlist: what takes a turn. A TSG has an entry of its own, or shares the entry
 * of an MPS server with the other clients. The TSGs of an entry run side by side in its turn.
 */
struct fifo_entry {
	struct fifo_runlist *runlist;
	struct fifo_entry *next; /* runlist, circular */
	struct fifo_tsg *tsgs;	 /* list, by fifo_tsg.sibling */
	u32 turn;		 /* its number among fixed turns; fifo_turns.count */
	bool faults; /* a TSG of it has stalled, and may not have all of its pages yet */
};

/* The entries that take turns on a partition. */
struct fifo_runlist {
	struct fifo_partition *partition;
	struct fifo_entry *entries; /* any of the circle; NULL: empty */
	struct fifo_entry *current; /* whose contexts are loaded, or being loaded */
	bool switching;		    /* until switch_end_ns */
	u64 switch_end_ns;
	u64 slice_end_ns; /* of current */
	/* Fixed turns; turns.h. */
	struct fifo_entry *holder; /* whose turn it is; NULL: of no entry */
	u32 turn;		   /* its number */
	u64 turn_end_ns;
	u64 updated_ns; /* current's bursts are advanced up to here */

	/* Counters; the rest of the time nothing was there to execute. */
	u64 busy_ns;	  /* kernels executed, in GPU time at full speed */
	u64 switching_ns; /* between two contexts */
	u64 stalled_ns;	  /* the loaded TSGs executed nothing and waited for faults */
};

/* A queue of bursts, such as a stream's. They execute in order. */
struct fifo_channel {
	struct fifo_tsg *tsg;
	struct fifo_channel *next; /* of the TSG's channels, circular */
	struct fifo_burst *first;
	struct fifo_burst *last;
	/* Of ring.c, while it looks at the bursts in order. */
	struct fifo_burst *untaken; /* the next one */
	u32 room;		    /* in the ring, after those before */
};

/*
 * One TSG: the channels of one CUDA context. It executes the first burst of one of them at a
 * time.
 */
struct fifo_tsg {
	struct fifo *fifo;
	struct fifo_entry *entry;
	struct fifo_entry own;	  /* its entry, unless it is a client of a server */
	struct fifo_tsg *sibling; /* the next TSG of its entry */
	u32 id;
	u32 sm_limit_ppm; /* of the GPU's SMs, that its kernels get at most */
	u32 sm_priority;  /* below FIFO_SM_PRIORITIES; blocks of 0 get SMs first */
	const struct page_table *table; /* of its address space; NULL: it touches no memory */
	u64 timeslice_ns;		/* the same for all TSGs of an entry */
	bool enabled;
	bool loaded;		      /* its context is loaded, or being loaded */
	bool dead;		      /* a fault was cancelled; submissions fail */
	bool stalled;		      /* it has faults that are not serviced yet */
	bool preempted;		      /* to leave as soon as it can be switched out */
	u64 stalled_ns_since;	      /* the present episode, or the last one */
	u64 stall_booked_ns;	      /* it is in stall up to here */
	struct fifo_channel main;     /* the first of its channels */
	struct fifo_channel *current; /* whose turn it is */
	/* the burst of that channel in execution, or next; NULL: no channel has one */
	struct fifo_burst *first;
	u64 launch_end_ns; /* until when its host thread is busy launching */
	u64 submitted;	   /* kernels, ever */
	u32 ring;	   /* launches of a channel for which there is room; 0: no bound */
	u64 allowed;	   /* of these may be launched; FIFO_ALLOW_ALL: all of them */
	u64 ended_kernels; /* of bursts that are through, or failed */

	/* Counters. */
	u64 busy_ns;		 /* its kernels executed, in GPU time at full speed */
	u64 slow_ns;		 /* that took so much longer, with a part of the GPU */
	struct fifo_stall stall; /* waited for faults */
	/* its context was being loaded, also by itself for other clients of a server */
	u64 switching_ns;
	/*
	 * had work ready while unserviced faults of another TSG held its runlist, or the end of
	 * its kernel
	 */
	u64 blocked_ns;
	u64 waited_ns; /* had work ready and was not loaded, for other reasons */
};

/*
 * The TSGs of an entry, which may be NULL; and those whose context is loaded or being loaded.
 */
#define fifo_for_each_in(entry, tsg) \
	for (tsg = (entry) ? (entry)->tsgs : NULL; tsg; tsg = (tsg)->sibling)
#define fifo_for_each_loaded(entry, tsg) \
	fifo_for_each_in(entry, tsg)     \
		if (!(tsg)->loaded)      \
			continue;        \
		else

/* Each channel of a TSG, its main one first. */
#define fifo_for_each_channel(tsg, channel)   \
	for (channel = &(tsg)->main; channel; \
	     channel = (channel)->next == &(tsg)->main ? NULL : (channel)->next)

/* What a partition has, and how its TSGs share it. */
struct fifo_share {
	u32 sm_ppm;
	u32 bandwidth_ppm;
	bool in_space;
};

/*
 * Fixed turns of the entries of a runlist in time, which an entry keeps also without work
 * (turns.h). All zero: an entry without work gives way.
 */
struct fifo_turns {
	u64 length_ns;
	u32 count; /* of turns in a round, also without entries; 0: one for each entry */
};

struct fifo_config {
	u64 timeslice_ns;	 /* of a new TSG, as programmed */
	u64 timeslice_scale_ppm; /* real over programmed */
	u64 context_switch_ns;	 /* a switch without state */
	u64 context_state_ns;	 /* more, to save or restore as much state as all SMs hold */
	u32 limited_speed_ppm;	 /* of a TSG with a limit beside others; 0: full speed */
	u32 outstanding_faults;	 /* most missing pages reported with one stall */
	u32 faults_per_block;	 /* most of one block */
	u32 front_blocks;	 /* of a burst that goes in fronts: blocks of one */
	u32 faults_per_page;	 /* addresses of a page that miss at once; 0 is 1 */
	u32 sms;		 /* on which a product of few tokens misses SM by SM */
	u32 faults_per_sm;	 /* new ones of an SM in a batch; 0: no product does so */
	u32 faults_again_ppm;	 /* of a batch of such a product, from the batch before */
	struct fifo_turns turns; /* of all partitions that are shared in time */
	u32 partition_count;	 /* 0: one, with everything, shared in time */
	struct fifo_share partitions[FIFO_PARTITIONS_MAX];
};

/* A part of a GPU. */
struct fifo_partition {
	struct fifo *fifo;
	struct fifo_share share;
	struct fifo_runlist runlist;
	struct fifo_entry space;     /* the one entry of a partition that is shared in space */
	u64 wants[FIFO_REMOTE_WAYS]; /* bytes/s over the link, of the kernels that run */
	struct eng_timer timer;	     /* the next date at which something changes in it */
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
	u64 switches;				   /* from one entry to another */
	struct fifo_stall_ops stall_ops; /* set before the start; zero: all is FIFO_STALL_CPU */
	struct fifo_link_ops link_ops; /* likewise; zero: the link does not slow kernels down */
	bool claims;		       /* of kernels, now */
	struct fifo_observer observer; /* set before the start; zero: none */
};

/*
 * @a * @b / @c, rounded down, of any @a and @b; the quotient has 64 bits. A division of 128
 * bits is a call of a function, so it is made only where the product has more than 64.
 */
static inline u64 fifo_mul_div(u64 a, u64 b, u64 c)
{
	u64 product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product / c;
	return (u64)((unsigned __int128)a * b / c);
}

#endif
