/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a software GPU consists of. What its parts do, and all locks: softgpu.h. */
#ifndef SOFTGPU_STATE_H
#define SOFTGPU_STATE_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "softgpu_driver.h"
#include "softgpu_ioctl.h"

#define SOFTGPU_GPUS	      3u /* at most */
#define SOFTGPU_INSTANCES     4u /* of MIG, at most */
#define SOFTGPU_BIG_PAGE      65536ul
#define SOFTGPU_CHUNK	      (2ul << 20)
#define SOFTGPU_CHUNK_PAGES   32u	   /* big pages */
#define SOFTGPU_RESERVED      (16ul << 20) /* of vidmem, at its end: RM's own */
#define SOFTGPU_WINDOW	      256u	   /* accesses of an SM that wait at once */
#define SOFTGPU_EVENTS	      65536u
#define SOFTGPU_CANCELS	      256u
#define SOFTGPU_COUNTERS      256u
#define SOFTGPU_NOTIFICATIONS 256u
#define SOFTGPU_DMA_BITS      47u
#define SOFTGPU_PACKET_WORDS  8u /* of a fault */
#define SOFTGPU_ENGINE_FAULTS 64u
#define SOFTGPU_SUBCONTEXTS   64u /* of a TSG: its address spaces */

struct softgpu;

/* Of a peer: the vidmem of another GPU. */
enum softgpu_aperture { SOFTGPU_VIDMEM, SOFTGPU_SYSMEM, SOFTGPU_PEER };

/* Where a virtual address leads. */
struct softgpu_mapping {
	enum softgpu_aperture aperture;
	u64 address;	/* of the byte */
	u64 page_bytes; /* of the page that it is in */
	u32 peer;	/* the GPU's name for the peer whose memory it is */
	bool read_only;
	bool no_atomics;
	bool uncounted; /* by access counters */
};

/* Memory that RM allocated for UVM in an address space. Guarded by softgpu.lock. */
struct softgpu_memory {
	struct list_head node; /* in softgpu_space.memories */
	u64 va;
	u64 bytes;
	u64 vidmem;   /* its address there */
	void *cpu;    /* its bytes in host memory; NULL: it is in vidmem */
	bool shared;  /* the bytes belong to another one, of another address space */
	void *mapped; /* vidmem as the CPU sees it, once it was mapped */
};

struct softgpu_space;

/* What differs from chip to chip. */
struct softgpu_chip {
	const char *name;
	u32 architecture; /* NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE_* */
	u32 host_class;
	u32 copy_class;
	u32 compute_class;
	u32 graphics_engine; /* number of the MMU's engine that SMs belong to: of subcontext 0, and so on */
	u32 copy_engine; /* of the copy engine's, and of host's */
	u32 host_engine;
	bool scrubs;	 /* the copy engine has a scrubber */
	u64 vidmem_most; /* bytes that its PTEs can address */
	u32 va_bits;	 /* of a virtual address */
	/*
	 * Walk the page tables that UVM writes. Returns whether @va is
	 * mapped; else the type of fault.
	 */
	bool (*walk)(struct softgpu_space *space, u64 va, struct softgpu_mapping *ret_mapping,
		     u32 *ret_fault);
};

/* Cached translations, one array for each size of page, by va >> shift. Entries: tlb.c. */
#define SOFTGPU_TLB_SIZES 3
struct softgpu_tlb {
	struct xarray pages[SOFTGPU_TLB_SIZES];
};

/* An address space of the GPU. */
struct softgpu_space {
	struct softgpu *gpu;
	struct softgpu_part *part; /* whose memory it takes */
	struct list_head node;	   /* in softgpu.spaces; softgpu.lock */
	struct list_head memories; /* softgpu.lock */
	u64 next_va;		   /* for memory of RM; softgpu.lock */
	bool has_directory;	   /* this and the next two: softgpu.walkers */
	enum softgpu_aperture aperture;
	u64 directory; /* address of the page directory */
	struct softgpu_tlb tlb;
};

/* A TSG of UVM's own channels. */
struct softgpu_tsg {
	struct softgpu_space *space;
	u32 engine;
};

/*
 * A channel of UVM's, or the engine of one of user mode. Guarded by softgpu.lock, but
 * for what both sides write.
 */
struct softgpu_channel {
	struct list_head node; /* in softgpu.channels, if it is UVM's */
	struct softgpu *gpu;
	struct softgpu_space *space;
	/* NULL: it is UVM's own. Else it runs this channel's pushes, and UVM services its faults. */
	struct softgpu_user_channel *user;
	u32 id;
	u64 *ring; /* GP entries */
	u32 ring_entries;
	u32 get; /* written here, read by UVM */
	u32 put; /* written by UVM */
	u32 token;
	u32 doorbell;
	NvNotification *notifier;
	u64 segment_base;  /* bits of its VA above the 40 that are in an entry of the ring */
	u64 segment;	   /* VA of the next word of the push buffer */
	u32 segment_words; /* that are left */
	u32 header;	   /* of the methods that are being read */
	u32 header_words;  /* data words of these that are left */
	u64 transferred;   /* bytes of a copy or memset, before it faulted */
	bool failed;	   /* it runs no more */
	u32 host[0x100 / 4];
	u32 copy[0x4000 / 4];
};

/*
 * A TSG of user mode. Its channels have the SMs together, in turn with other TSGs. They may be
 * of several address spaces, as with MPS: each of these is a subcontext.
 */
struct softgpu_user_tsg {
	u32 client; /* this and the next one are its name: softgpu_ioctl.h */
	u32 number;
	u32 id;
	/* By softgpu_user_channel.tsg_node. Changed under softgpu.lock and scheduler.lock, both. */
	struct list_head channels;
	/* Guarded by scheduler.lock, as all that follow: */
	struct list_head turn; /* in the runlist */
	u64 timeslice_us;
	u64 ran;		      /* accesses since it got the SMs */
	u32 users;		      /* calls of SOFTGPU_ACCESS that are under way */
	u32 inside;		      /* of these, those that access memory now */
	u32 faulting;		      /* of these, those that wait for a replay */
	unsigned long faulting_since; /* jiffies */
	bool preempted;		      /* it has to leave the SMs, and has not yet */
};

/*
 * A channel of CUDA's user mode, which UVM registered. Its kernels are accesses by sm.c; one of
 * the copy engine runs pushes instead.
 */
struct softgpu_user_channel {
	struct list_head node; /* in softgpu.user_channels; softgpu.lock */
	struct softgpu_user_tsg *tsg;
	struct list_head tsg_node; /* in softgpu_user_tsg.channels */
	u32 client;
	u32 object;
	u32 subcontext;
	u32 retained;	/* by UVM; softgpu.lock */
	u32 references; /* of UVM and of accesses; softgpu.lock */
	u32 id;
	bool gone; /* softgpu.walkers */
	struct softgpu_space *space;
	struct softgpu_channel *engine; /* of pushes; NULL: it runs kernels */
	bool pushing;			/* softgpu.lock */
	u32 fault;  /* the bit in chram of the fault that it waits for, or 0; softgpu.lock */
	u64 faults; /* of its pushes; softgpu.lock */
	u32 users; /* calls of SOFTGPU_ACCESS that are under way; this and the next two: scheduler.lock */
	u32 faulting;	    /* of these, those that wait for a replay */
	bool disabled;	    /* off the runlist */
	u64 instance;	    /* address of its instance block */
	u32 chram;	    /* registers: NV_CHRAM_CHANNEL, written under scheduler.lock */
	u32 runlist[0x100]; /* and the runlist's */
};

/* Who has the SMs. */
struct softgpu_scheduler {
	spinlock_t lock;
	struct list_head runlist; /* TSGs that wait, in turn */
	struct softgpu_user_tsg *running;
	wait_queue_head_t changed;
};

/*
 * A cancel of faults: accesses that waited before the replay number @replay end with an error.
 */
struct softgpu_cancel {
	u64 replay;
	u64 directory;
	u64 va;
	u32 access; /* NVC56F_MEM_OP_C_TLB_INVALIDATE_ACCESS_TYPE_* */
	bool all;   /* whatever the VA and the access */
};

/* The replayable fault buffer and its registers. */
struct softgpu_fault_buffer {
	spinlock_t lock;
	u32 *packets;
	u32 entries;
	u32 put;     /* of the hardware; lock */
	u32 get_reg; /* written by UVM */
	u32 put_reg; /* of the hardware, seen by UVM */
	u32 regs[5]; /* info, interrupts, prefetch: nothing happens */
	u32 posting; /* SM accesses that have more faults to post; lock */
	u32 passes;  /* that ended since the first fault that PUT does not show; lock */
	u64 replays; /* lock */
	u64 cancels; /* lock */
	struct softgpu_cancel cancel[SOFTGPU_CANCELS]; /* the last ones; lock */
	wait_queue_head_t posted;
	wait_queue_head_t replayed;
	struct task_struct *interrupts;
};

/*
 * Faults of the copy engine and of host, which cannot be replayed. On hardware RM moves them
 * into this buffer, from which UVM takes all at once. @head and @tail count packets.
 */
struct softgpu_engine_faults {
	spinlock_t lock;
	u64 head; /* written under lock, as tail is */
	u64 tail;
	u32 packets[SOFTGPU_ENGINE_FAULTS * SOFTGPU_PACKET_WORDS];
};

/* Accesses to one region that were counted. */
struct softgpu_counter {
	/* The address space, or the GPU if addresses are physical. NULL: unused. */
	const void *owner;
	u64 region; /* its address / granularity */
	u32 count;
	u32 touched;   /* one bit for each 32nd of the region that was accessed */
	bool notified; /* UVM knows, and has not cleared it yet */
};

/* Access counters, and the buffer and registers of their notifications. */
struct softgpu_counters {
	spinlock_t lock;
	bool enabled;
	u64 granularity;
	u32 threshold;
	struct softgpu_counter counter[SOFTGPU_COUNTERS];
	u32 get_reg; /* written by UVM */
	u32 put_reg;
	u32 regs[4]; /* full, interrupts: nothing happens */
	u32 packets[SOFTGPU_NOTIFICATIONS * 8];
};

/*
 * The physical memory allocator. Pages of 64 KB, used and pinned; chunks of 2 MB that RM took.
 */
struct softgpu_pma {
	spinlock_t lock;
	unsigned long *used;
	unsigned long *pinned;
	unsigned long *taken;
	u8 *chunk_used; /* of each chunk, its used pages */
	u64 used_bytes;
	u64 begin; /* the first chunk that it gives out, and the one after the last */
	u64 end;
	/* RM asks UVM for these pages: none of them is allocated until UVM answers. Under lock. */
	u64 wanted;
	u64 wanted_end;		       /* the page after it; 0: there is none */
	UvmPmaStatistics statistics;   /* read by UVM without a lock */
	struct rw_semaphore callbacks; /* guards the three that follow */
	uvmPmaEvictPagesCallback evict_pages;
	uvmPmaEvictRangeCallback evict_range;
	void *evict_data;
};

/*
 * What RM calls a device, and UVM has a handle of: the GPU, or an instance of MIG. An instance
 * has a part of the memory. All else is the GPU's.
 */
struct softgpu_part {
	struct softgpu *gpu;
	u32 number;
	struct softgpu_pma pma;
};

struct softgpu {
	u32 number;
	u32 instances; /* of MIG; 0: it is off, and the first part has all memory */
	struct softgpu_part parts[SOFTGPU_INSTANCES];
	bool nvlink;		/* GPUs are connected by it, not by PCIe */
	unsigned long patience; /* jiffies: events.c */
	/* One bit for each GPU, by number, with which RM has a P2P object: peer.c. */
	unsigned long peers;
	struct miscdevice device;
	char device_name[16];
	const struct softgpu_chip *chip;
	struct mutex lock;
	struct rw_semaphore walkers;
	NvProcessorUuid uuid;
	struct pci_dev *pci; /* any device: UVM maps host memory for it */
	u64 vidmem_bytes;
	void **chunks; /* of vidmem: their bytes, or NULL while they were never touched */
	struct list_head channels;
	struct list_head spaces;
	struct list_head user_channels;
	struct softgpu_scheduler scheduler;
	u32 next_channel;
	u32 next_user_tsg;
	struct task_struct *engine; /* runs all channels of UVM */
	u32 time0;		    /* registers of the timer */
	u32 time1;
	struct softgpu_fault_buffer faults;
	struct softgpu_engine_faults engine_faults;
	bool lost;	   /* fell off the bus; softgpu.lock to set */
	u32 ecc_interrupt; /* register: ECC has something to say */
	NvBool ecc_error;  /* RM has seen what */
	struct softgpu_counters counters;
	struct rw_semaphore uvm_lock;
#ifdef SOFTGPU_EVENTS_STRUCT
	struct UvmEventsLinux *uvm;
#else
	struct UvmOpsUvmEvents *uvm;
#endif
	/* Counted without a lock where a number may be off by a few. */
	struct softgpu_stats stats;
	spinlock_t events_lock;
	struct softgpu_event *events;
	u64 events_head;
	u64 events_tail;
	atomic_t fail_skip[SOFTGPU_FAILURES];
	atomic_t fail_count[SOFTGPU_FAILURES];
};

#endif
