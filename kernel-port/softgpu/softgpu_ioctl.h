/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * /dev/softgpu, and /dev/softgpu1 and so on of further GPUs: a test lets the SMs of the
 * software GPU touch memory, asks what the GPU did, and makes it fail. One reader of events at
 * a time sees all of them.
 */
#ifndef SOFTGPU_IOCTL_H
#define SOFTGPU_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "gvm_rmapi.h"

#define SOFTGPU_UUID	    "software-gpu-00" /* with its zero, the 16 bytes that UVM's ioctls take */
#define SOFTGPU_UUID_NUMBER 14 /* which of them has the GPU's number: the second one has 1 */
/*
 * With instances of MIG, the parameter instances=N, a process registers one of them:
 * hSmcPartRef is its number, from 1 to N. Its UUID is the GPU's with that number in this byte.
 */
#define SOFTGPU_UUID_INSTANCE 15

enum softgpu_op {
	SOFTGPU_READ = 0,   /* and add up in sum */
	SOFTGPU_WRITE = 1,  /* value + number of the access * step */
	SOFTGPU_ATOMIC = 2, /* add value */
	/*
	 * Each access is all words of a page of 4 KB; va and stride are whole
	 * pages. The word at an address is gvm_fakegpu_word(value, address), or 0.
	 * Wrong words are counted in sum.
	 */
	SOFTGPU_FILL = 3,
	SOFTGPU_VERIFY = 4,
	SOFTGPU_VERIFY_ZERO = 5,
};

/*
 * Access @count words of 8 bytes, @stride bytes apart, from @va on, as a kernel on the channel
 * (@client, @channel) does. Up to @window accesses (1 to 256) wait for their fault at once.
 * Returns when all are done: 0; ENOENT: no such channel; ENODEV: the channel went away;
 * ETIMEDOUT: no replay, and UVM did nothing for 30 s (the parameter patience_ms); EINTR: killed.
 */
struct softgpu_access {
	__u32 client;
	__u32 channel;
	__u64 va;
	__u64 count;
	__u64 stride;
	__u64 value;
	__u64 step;
	__u32 op; /* enum softgpu_op */
	__u32 window;
	__u64 sum;     /* out, as all that follow */
	__u64 faults;  /* that were put into the fault buffer */
	__u64 replays; /* that were waited for */
	__u64 errors;  /* accesses that were cancelled */
	__u64 wrong;   /* the address of a wrong word, if there is one */
};

/*
 * A channel that is registered with a number of this or more is one of the copy engine. It runs
 * pushes, and its faults cannot be replayed.
 */
#define SOFTGPU_COPY_CHANNELS 0x1000u

/*
 * Channels of SMs whose numbers are equal modulo this one are in one TSG of their client: 1, 17
 * and so on. So are those of two clients that are equal modulo SOFTGPU_TSG_CLIENTS: clients
 * 1000 and 1000 + 0x10000 share their TSGs, as clients do that gave each other a handle of one.
 * In MPS processes use one client, or such.
 */
#define SOFTGPU_TSG_CHANNELS 0x10u
#define SOFTGPU_TSG_CLIENTS  0x10000u

/*
 * Run a push on such a channel: headers and methods as in a push buffer, those of host and, on
 * subchannel 4, of the copy engine. The caller is trusted, as RM is: nothing stops physical
 * addresses. Returns when all is done: 0; ENOENT: no such channel; EBUSY: it runs another push;
 * EIO: it has stopped with an error, for ever; ENODEV: it went away; ETIMEDOUT: a fault was not
 * serviced, or a semaphore not reached, and UVM did nothing for 30 s, as above; EINTR: killed.
 */
#define SOFTGPU_PUSH_WORDS 1024u
struct softgpu_push {
	__u32 client;
	__u32 channel;
	__u64 words; /* a pointer to 32-bit words */
	__u32 count; /* up to SOFTGPU_PUSH_WORDS */
	__u32 pad;
	__u64 faults; /* out: of the copy engine and of host */
};

/* Counted since the module was loaded. Copies are counted by [2 * from vidmem + to vidmem]. */
struct softgpu_stats {
	__u64 pushes, methods, copies, copy_bytes[4], memsets, memset_bytes;
	__u64 releases, acquires, invalidates, invalidates_lost, replays, cancels;
	__u64 faults, faults_lost, interrupts;
	__u64 unseen_passes; /* accesses over their windows while UVM did not see a fault: most */
	__u64 tlb_hits, tlb_misses;
	__u64 pma_allocs, pma_frees, pma_evictions, pma_used_bytes;
	__u64 pma_demands; /* RM began to ask UVM for memory */
	__u64 unknown_methods, bad_addresses, channel_errors, failures;
	__u64 switches, preempt_timeouts;   /* of TSGs */
	__u64 notifications;		    /* of access counters */
	__u64 peer_copies, peer_copy_bytes; /* from or to the other GPU; not in copy_bytes */
	__u64 peer_accesses;		    /* of kernels to the other GPU's memory */
	__u64 engine_faults, engine_kills; /* of pushes; channels that UVM had killed for one */
	__u64 replay_wait_ms;		   /* that an access waited for a replay: most */
	__u64 disables, preempts;	   /* control calls of modules, failed ones, too */
};

enum softgpu_event_kind {
	SOFTGPU_EVENT_COPY = 1,	  /* a: source, b: destination, bytes, how */
	SOFTGPU_EVENT_MEMSET,	  /* b: destination, bytes */
	SOFTGPU_EVENT_INVALIDATE, /* a: VA, bytes (0: all of the address space), how: level */
	SOFTGPU_EVENT_REPLAY,
	SOFTGPU_EVENT_CANCEL, /* a: VA */
	SOFTGPU_EVENT_FAULT,  /* a: VA, b: enum softgpu_op */
	SOFTGPU_EVENT_SWITCH, /* a TSG leaves the SMs; a: its client, b: its accesses since it came */
};

/*
 * Bits of softgpu_event.how of a copy. A virtual source lies in a push buffer: page-table
 * entries.
 */
#define SOFTGPU_TO_VIDMEM      1u
#define SOFTGPU_FROM_VIDMEM    2u
#define SOFTGPU_VIRTUAL_SOURCE 4u
#define SOFTGPU_TO_PEER	       8u
#define SOFTGPU_FROM_PEER      16u

/*
 * softgpu_event.how of an invalidate: up to which level of the page tables. 0: all levels, 1:
 * PTEs, 2: the directory entry of 2 MB, too; and so on.
 */
#define SOFTGPU_LEVEL_ALL   0u
#define SOFTGPU_LEVEL_BLOCK 2u

/* One operation of the GPU, in order. Copies and memsets under 4 KB are left out. */
struct softgpu_event {
	__u32 kind;
	__u32 how;
	__u64 a;
	__u64 b;
	__u64 bytes;
	/* of a copy: the second word of what it copies, so that pages can be marked */
	__u64 word;
};

enum softgpu_failure {
	SOFTGPU_FAIL_PMA_ALLOC = 0, /* the PMA has no memory */
	SOFTGPU_FAIL_RM_ALLOC =
		1, /* RM has no memory: channels, address spaces, their memory */
	SOFTGPU_FAIL_INVALIDATE = 2, /* a TLB invalidate has no effect */
	SOFTGPU_FAIL_CHANNEL = 3, /* a channel of UVM's stops with an error at its next push */
	/* a copy reads a word of vidmem with an error that ECC cannot correct */
	SOFTGPU_FAIL_ECC = 4,
	/*
	 * The GPU is lost at the next push, for ever: its channels stop, RM gives nothing any
	 * more, and accesses end with ENODEV.
	 */
	SOFTGPU_FAIL_LOST = 5,
	SOFTGPU_FAIL_CONTROL =
		6, /* a control call of RM ends with NV_ERR_TIMEOUT, and does nothing */
	/*
	 * No failure: while its count is not 0, RM destroys no address
	 * space, and its caller waits.
	 */
	SOFTGPU_HOLD_SPACE = 7,
	/* Likewise: RM has begun to ask UVM for memory, and UVM does not hear it yet. */
	SOFTGPU_HOLD_DEMAND = 8,
	/* A control call of RM ends with NV_ERR_OBJECT_NOT_FOUND: the handle was freed. */
	SOFTGPU_FAIL_HANDLE = 9,
	/* As the other holds: UVM hears of no interrupt. */
	SOFTGPU_HOLD_INTERRUPT = 10,
	SOFTGPU_FAILURES,
};

/*
 * Let the operation fail @count times, after it has succeeded @skip times. @count 0: fail no
 * more.
 */
struct softgpu_fail {
	__u32 failure; /* enum softgpu_failure */
	__u32 skip;
	__u32 count;
	__u32 pad;
};

/* Of vidmem. */
struct softgpu_range {
	__u64 address;
	__u64 bytes;
};

#define SOFTGPU_ACCESS _IOWR('S', 1, struct softgpu_access)
#define SOFTGPU_STATS  _IOR('S', 2, struct softgpu_stats)
/* RM itself allocates that many bytes of vidmem in chunks of 2 MB, evicting UVM's; ENOMEM. */
#define SOFTGPU_RM_TAKE _IOW('S', 3, __u64)
#define SOFTGPU_RM_GIVE _IO('S', 4)
#define SOFTGPU_FAIL	_IOW('S', 5, struct softgpu_fail)
/*
 * RM tells UVM that the machine is about to sleep (1), or has woken up (0): 0; EIO: UVM does not
 * take it; EBUSY: it sleeps already, or is awake.
 */
#define SOFTGPU_SLEEP _IOW('S', 6, __u32)
/* A control call of RM: gvm_rmapi.h. op is ignored. */
#define SOFTGPU_CONTROL _IOWR('S', 7, struct gvm_rm_control)
#define SOFTGPU_PUSH	_IOWR('S', 8, struct softgpu_push)
/*
 * RM itself allocates that range of vidmem, whole chunks of 2 MB, and has UVM evict what it has
 * there. 0; EINVAL: there is no such range; EBUSY: a part of it is pinned, or RM wants another
 * one now; ENOMEM: UVM gives it not. SOFTGPU_RM_GIVE gives it back.
 */
#define SOFTGPU_RM_TAKE_RANGE _IOW('S', 9, struct softgpu_range)
/* Sleep until UVM's channels have done all their work: 0 or ETIMEDOUT. */
#define SOFTGPU_IDLE _IO('S', 10)
/*
 * read(): the softgpu_events that were not read yet, at most as many as fit. 0: there are none.
 */

#endif
