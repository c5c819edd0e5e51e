/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The seam between a hooked nvidia-uvm.ko and gvm_nvidia.ko. Neither module needs the other to
 * be loaded. When nvidia-uvm adds a GPU it looks for gvm_uvm_calls. If gvm_nvidia.ko is there,
 * it manages that GPU until nvidia-uvm removes it, and cannot be unloaded meanwhile. If not,
 * the GPU is as the stock driver's.
 *
 *     nvidia-uvm.ko                                     gvm_nvidia.ko        gvm.ko
 *     hooks ------------ struct gvm_uvm_calls --------> books of a GPU ----> charge, clock
 *     PMM, VA blocks <-- struct gvm_uvm_services ------ memory_ops <-------- reclaim, evictors
 *
 * Nothing here has a type of NVIDIA's or of the core's. A chunk of user memory is named by its
 * physical address and size: 4 KB, 64 KB or 2 MB. A root chunk of 2 MB is the core's chunk, and
 * its index is the address divided by 2 MB.
 *
 * LOCKING. "PMM list lock" is nvidia-uvm's leaf lock of a GPU's chunks. The core's leaf lock is
 * taken under it.
 */
#ifndef GVM_UVM_H
#define GVM_UVM_H

#include <linux/list.h>
#include <linux/types.h>

/* Changes with every change of a struct of this file. */
#define GVM_UVM_VERSION 12u

/* No root chunk. */
#define GVM_UVM_NO_CHUNK (~0u)

/* Channels that one control call of RM disables. */
#define GVM_UVM_CHANNELS_MAX 64u

struct gvm_uvm_channel;
struct gvm_uvm_gpu;

/* What nvidia-uvm does for gvm_nvidia.ko. @pmm is gvm_uvm_gpu.pmm. */
struct gvm_uvm_services {
	/*
	 * Evict a root chunk that the core has picked. 0: all of it has left. With @keep it is
	 * the caller's, for make_room() to return, and its copies may be in flight. Without,
	 * they have ended, and it is free. -ENOENT: another thread evicts it, its owner has
	 * freed it, or RM has it instead of the caller. Other errors: the chunk is in use
	 * (-EBUSY) or did not leave as a whole (-EIO), and eviction_fails() was called.
	 * CONTEXT: process, no lock of nvidia-uvm's but those of the fault path.
	 */
	int (*evict)(void *pmm, u32 index, bool keep);
	/*
	 * Would the root chunk go now? A guess: evict() confirms. CONTEXT: atomic, without a
	 * lock.
	 */
	bool (*evictable)(void *pmm, u32 index);
	/* Root chunks that RM has, about. CONTEXT: atomic, without a lock. */
	u32 (*free_chunks)(void *pmm);
	/*
	 * Root chunks that nvidia-uvm has taken from RM and keeps for its next allocations, up
	 * to 64: it takes so many at once. CONTEXT: process, no spinlock.
	 */
	u32 (*kept_chunks)(void *pmm);

	/*
	 * RM's control calls about channels, and about the TSG that a channel is in. Each is
	 * one call. Each returns 0, -ENODEV (RM does not know it any more), -ENXIO (the GPU is
	 * lost), -ETIMEDOUT, -EOPNOTSUPP, -ENOMEM or -EIO, and has changed nothing then.
	 * preempt asks the TSG to leave the GPU. channels_disable takes @count channels, 1 to
	 * GVM_UVM_CHANNELS_MAX, of one client and subdevice off the runlist, or puts them back;
	 * with @preempt they leave the GPU. -ENODEV: RM does not know one of them. After an
	 * error about several channels it is not known which of them have changed. CONTEXT:
	 * process.
	 */
	int (*tsg_set_timeslice)(const struct gvm_uvm_channel *channel, u64 timeslice_us);
	int (*tsg_preempt)(const struct gvm_uvm_channel *channel);
	int (*channels_disable)(const struct gvm_uvm_channel *const *channels, u32 count,
				bool disable, bool preempt);
};

/* A GPU that is managed. Made by nvidia-uvm, which frees it after gpu_remove(). */
struct gvm_uvm_gpu {
	const struct gvm_uvm_calls *calls;
	const struct gvm_uvm_services *services;
	void *pmm;   /* nvidia-uvm's name for it */
	void *books; /* gvm_nvidia.ko's; set by gpu_add() */
	/*
	 * Its place among the driver's GPUs, by PCI address: nvidia-smi's number. Of an
	 * instance of MIG: 16 * (place + 1) and the instance's id
	 */
	u32 number;
	u32 chunk_count; /* root chunks, up to the highest physical address */
	char name[128];	 /* as nvidia-uvm prints it, with its UUID at the end */
};

/*
 * A VA space on a managed GPU. gvm_nvidia.ko allocates it, as the head of a larger struct.
 */
struct gvm_uvm_space {
	struct gvm_uvm_gpu *gpu;
};

/* A channel of user mode. Made by nvidia-uvm, which frees it after channel_detach(). */
struct gvm_uvm_channel {
	struct gvm_uvm_space *space;
	u32 client, object; /* its handles of RM's */
	u32 tsg;	    /* its client's handle of its TSG; others have another one */
	u32 subdevice;	    /* its client's handle of the GPU */
	/* Its TSG by the hardware's numbers, which RM gives to no other while it is registered. */
	u32 runlist, tsg_id;
	const volatile u32 *state; /* its NV_CHRAM_CHANNEL; NULL: the GPU has none */
	struct list_head node;	   /* gvm_nvidia.ko's, like books */
	void *books;
};

/* What the hooks call. Each is a function of gvm_nvidia.ko. */
struct gvm_uvm_calls {
	u32 version; /* GVM_UVM_VERSION */

	/*
	 * A GPU comes and goes. add: 0 or -errno; then the GPU is not managed. remove: no VA
	 * space is attached, and all memory has been freed. CONTEXT: process, the global lock
	 * of nvidia-uvm held.
	 */
	int (*gpu_add)(struct gvm_uvm_gpu *gpu);
	void (*gpu_remove)(struct gvm_uvm_gpu *gpu);

	/*
	 * The GPU is about to sleep, and has woken up: no evictor, writer or RPC of the core
	 * works in between. CONTEXT: process.
	 */
	void (*suspend)(struct gvm_uvm_gpu *gpu);
	void (*resume)(struct gvm_uvm_gpu *gpu);

	/*
	 * A VA space of the calling process uses the GPU. 0 or -errno. detach: all its memory
	 * on the GPU has been freed. CONTEXT: process. attach: no lock. detach: no lock, or the
	 * global lock of nvidia-uvm, if the GPU goes first.
	 */
	int (*attach)(struct gvm_uvm_gpu *gpu, struct gvm_uvm_space **ret_space);
	void (*detach)(struct gvm_uvm_space *space);

	/*
	 * A channel of the VA space comes, and has not run yet. 0 or -errno: it must not run;
	 * -EPERM: its TSG is in another container. detach: it has stopped. CONTEXT: process;
	 * attach: the VA space locked for reading.
	 */
	int (*channel_attach)(struct gvm_uvm_channel *channel);
	void (*channel_detach)(struct gvm_uvm_channel *channel);

	/*
	 * Managed memory of the VA space at its addresses @first to @last. made: 0, -EINVAL (a
	 * child's window has a part of them) or -ENOMEM: it must go again. split: it is in two
	 * parts from now on, and the second begins at @first; 0, or -ENOMEM: it must not be
	 * split. gone: a part that was made or split off goes, and has no chunk and nothing
	 * swapped out any more. CONTEXT: process, the VA space locked for writing.
	 */
	int (*range_made)(struct gvm_uvm_space *space, u64 first, u64 last);
	int (*range_split)(struct gvm_uvm_space *space, u64 first);
	void (*range_gone)(struct gvm_uvm_space *space, u64 first, u64 last);

	/*
	 * From here on the call is about the VA block that begins at @va. Its address tells the
	 * payer: the VA space's container, or a child of it.
	 *
	 * reserve: charge a chunk of @bytes before it is allocated. 0, or -EDQUOT: the payer is
	 * at its limit. cancel: it was not allocated. bind: it was, and is pinned. It is
	 * evictable as soon as nvidia-uvm has unpinned it. 0 or -errno; then it is not charged.
	 * CONTEXT: process, under a VA-block lock.
	 */
	int (*reserve)(struct gvm_uvm_space *space, u64 va, u64 bytes);
	void (*cancel)(struct gvm_uvm_space *space, u64 va, u64 bytes);
	int (*bind)(struct gvm_uvm_space *space, u64 va, u64 address, u64 bytes);
	/*
	 * Make room for a chunk of @bytes: evict one of the payer's own (@own), or one of any container
	 * that may lose it. 0: try again. @ret_index: the caller wants a whole root chunk, and
	 * on 0 has the victim's, whose copies may be in flight; or GVM_UVM_NO_CHUNK. NULL: it
	 * wants less. These lose the access, and are counted as oom:
	 * -ENOENT and -ENOSPC, there is no victim; -EAGAIN, all victims were in use for
	 * too long; -ENOMEM, too many calls without a bind; and the error of an
	 * eviction that failed. Not counted: -EINTR; -ENODEV, the GPU is lost. CONTEXT:
	 * process, no VA-block lock.
	 */
	int (*make_room)(struct gvm_uvm_space *space, u64 va, u64 bytes, bool own,
			 u32 *ret_index);

	/*
	 * Does a fault bring in its whole VA block of 2 MB? CONTEXT: process, under a VA-block
	 * lock.
	 */
	bool (*promotes)(struct gvm_uvm_space *space);
	/*
	 * Bytes of the VA block moved to host memory by an eviction; or came back, if negative,
	 * or are not needed any more. CONTEXT: atomic, under the VA-block lock.
	 */
	void (*swapped)(struct gvm_uvm_space *space, u64 va, s64 bytes);
	/*
	 * A chunk leaves its VA block: it was freed or evicted. Nothing happens if it is not
	 * charged. CONTEXT: atomic.
	 */
	void (*leaves)(struct gvm_uvm_gpu *gpu, u64 address, u64 bytes);
	/*
	 * A root chunk holds data that a processor uses (@used), or holds no data that is
	 * needed. CONTEXT: atomic.
	 */
	void (*used)(struct gvm_uvm_gpu *gpu, u32 index, bool used);
	/*
	 * A root chunk was split, and nothing tells when its parts are used: it does not count as
	 * one without data any more. Returns whether it did. CONTEXT: atomic, under the PMM list
	 * lock.
	 */
	bool (*split)(struct gvm_uvm_gpu *gpu, u32 index);

	/*
	 * nvidia-uvm is full and wants a victim. @first: the root chunk that the stock driver
	 * would evict; @first_is_free: it is on a free list. @space: for which VA space; NULL:
	 * for page tables, or for RM, which cannot be refused. Returns the root chunk to evict,
	 * which has been picked in the books, or GVM_UVM_NO_CHUNK. CONTEXT: atomic, under the
	 * PMM list lock.
	 */
	u32 (*victim)(struct gvm_uvm_gpu *gpu, struct gvm_uvm_space *space, u32 first,
		      bool first_is_free);
	/*
	 * Is the root chunk picked? putback: return one that is in use. CONTEXT: atomic, under
	 * the PMM list lock.
	 */
	bool (*is_picked)(struct gvm_uvm_gpu *gpu, u32 index);
	void (*putback)(struct gvm_uvm_gpu *gpu, u32 index);
	/*
	 * An eviction starts. If nothing has picked the root chunk, RM takes it by its address:
	 * it is picked now. CONTEXT: atomic, under the PMM list lock.
	 */
	void (*eviction_starts)(struct gvm_uvm_gpu *gpu, u32 index);
	/* It ended, and a part may be left. CONTEXT: atomic, under the PMM list lock. */
	void (*eviction_fails)(struct gvm_uvm_gpu *gpu, u32 index);
};

#endif
