/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * gvm_nvidia.ko: the memory of nvidia-uvm as a memory manager under the core's contracts. It
 * answers the hooks in nvidia-uvm.ko (gvm_uvm.h) with the core's books, and the core's wish for
 * an eviction with nvidia-uvm's own.
 *
 * UNITS. A root chunk of 2 MB is a chunk of the core. A chunk of 64 KB is a part of it, and one
 * of 4 KB a piece of a page of it. A page has one payer. A chunk of 4 KB that nvidia-uvm puts
 * into a page of another container is charged as unevictable memory: its container's limit
 * does not evict it. When its root chunk is evicted, for whatever reason, it leaves too, and its
 * bytes are credited. When the payer has left the page, it becomes an ordinary piece.
 */
#ifndef GVM_NVIDIA_H
#define GVM_NVIDIA_H

#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/xarray.h>

#include "gvm/evictor.h"

#include "gvm_registry.h"
#include "gvm_uvm.h"

/*
 * How often a payer makes room without getting a chunk, before it is refused: in the GPU's
 * memory, where one eviction makes room for any chunk; and below its limit. There room for 2 MB
 * may take 512 evictions: each root chunk holds a piece of 4 KB of the container's, or more.
 */
#define GVM_NVIDIA_TRIES_MAX	 64
#define GVM_NVIDIA_OWN_TRIES_MAX 1024

/* A managed GPU. */
struct gvm_nvidia_gpu {
	struct list_head node; /* in the list of all GPUs; guarded by its lock */
	struct gvm_uvm_gpu *uvm;
	struct gvm_device *device;
	struct gvm_evictor evictor; /* of the device */
	atomic_t kept; /* root chunks that nvidia-uvm keeps free, at the last bind */

	struct gvm_spinlock lock; /* leaf but for the core's; guards all below */
	u32 *charged; /* of each root chunk: its pages with charged pieces, one bit each */
	/*
	 * Of each page: its charged pieces. nvidia-uvm splits a chunk when a process unmaps a part
	 * of it, so a page that was charged as a whole may leave in pieces.
	 */
	u16 *paid;
	/* Bitmaps, by root chunk: it holds no data that is needed; */
	unsigned long *unused;
	/* it was picked for RM or for page tables, and no page of it has left yet. */
	unsigned long *forced;
	/* Payer of a chunk of 4 KB in a page of another container, by address / 4 KB. */
	struct xarray pieces;

	/* Channels of a control call; guarded by the device's tsg_mutex. */
	const struct gvm_uvm_channel *batch[GVM_UVM_CHANNELS_MAX];
	struct mutex tsgs_lock; /* channels come and go; before the device's tsg_mutex */
	struct xarray tsgs;	/* gvm_nvidia_tsgs.c, by the core's id */
	struct delayed_work tsgs_watch;
};

/* A payer for managed memory of a VA space. */
struct gvm_nvidia_payer {
	struct gvm_container *container;
	atomic_t tries;	     /* to make room in the GPU's memory, since the last bind or loss */
	atomic_t own_tries;  /* below the limit, likewise */
	struct rb_node node; /* of a child, in gvm_nvidia_space.children, by address */
	u64 first, last;     /* what it pays for */
};

/* A VA space on it. */
struct gvm_nvidia_space {
	struct gvm_uvm_space uvm;
	struct gvm_member *member;
	struct gvm_nvidia_payer own; /* the member's container: all but its children's ranges */
	struct gvm_spinlock lock;    /* leaf; guards children */
	struct rb_root children;     /* gvm_nvidia_payers.c */
};

/* The payer has got a chunk, or lost an access. CONTEXT: atomic. */
static inline void gvm_nvidia_forget_tries(struct gvm_nvidia_payer *payer)
{
	atomic_set(&payer->tries, 0);
	atomic_set(&payer->own_tries, 0);
}

static inline struct gvm_nvidia_gpu *gvm_nvidia_gpu(struct gvm_uvm_gpu *uvm)
{
	return uvm->books;
}

static inline struct gvm_nvidia_space *gvm_nvidia_space(struct gvm_uvm_space *uvm)
{
	return container_of(uvm, struct gvm_nvidia_space, uvm);
}

/*
 * gvm_nvidia_books.c: make and free the books of a GPU. init returns 0 or -ENOMEM. destroy
 * warns if a chunk is still charged.
 */
int gvm_nvidia_books_init(struct gvm_nvidia_gpu *gpu);
void gvm_nvidia_books_destroy(struct gvm_nvidia_gpu *gpu);

/* Has the root chunk a charged page? CONTEXT: atomic. */
bool gvm_nvidia_is_charged(struct gvm_nvidia_gpu *gpu, u32 index);

/* The calls of struct gvm_uvm_calls, with their contracts. */
int gvm_nvidia_reserve(struct gvm_uvm_space *space, u64 va, u64 bytes);
void gvm_nvidia_cancel(struct gvm_uvm_space *space, u64 va, u64 bytes);
int gvm_nvidia_bind(struct gvm_uvm_space *space, u64 va, u64 address, u64 bytes);
void gvm_nvidia_swapped(struct gvm_uvm_space *space, u64 va, s64 bytes);
void gvm_nvidia_leaves(struct gvm_uvm_gpu *gpu, u64 address, u64 bytes);

/*
 * gvm_nvidia_payers.c. destroy: the VA space goes, and has no memory on the GPU any more.
 * payer: the payer of the VA block that begins at @va; it stays as long as the block. CONTEXT:
 * destroy: process; payer: atomic.
 */
void gvm_nvidia_payers_init(struct gvm_nvidia_space *space);
void gvm_nvidia_payers_destroy(struct gvm_nvidia_space *space);
struct gvm_nvidia_payer *gvm_nvidia_payer(struct gvm_nvidia_space *space, u64 va);
int gvm_nvidia_range_made(struct gvm_uvm_space *space, u64 first, u64 last);
int gvm_nvidia_range_split(struct gvm_uvm_space *space, u64 first);
void gvm_nvidia_range_gone(struct gvm_uvm_space *space, u64 first, u64 last);

/* gvm_nvidia_tsgs.c. destroy warns if there is still a TSG. */
extern const struct gvm_gpu_ops gvm_nvidia_gpu_ops;
void gvm_nvidia_tsgs_init(struct gvm_nvidia_gpu *gpu);
void gvm_nvidia_tsgs_destroy(struct gvm_nvidia_gpu *gpu);
int gvm_nvidia_channel_attach(struct gvm_uvm_channel *channel);
void gvm_nvidia_channel_detach(struct gvm_uvm_channel *channel);

/*
 * Look after frozen TSGs, until none is. watch: a TSG is frozen, or the GPU has woken up;
 * CONTEXT: process. unwatch: nothing looks at the GPU from here on until watch; CONTEXT: process,
 * without tsgs_lock and tsg_mutex.
 */
void gvm_nvidia_tsgs_watch(struct gvm_nvidia_gpu *gpu);
void gvm_nvidia_tsgs_unwatch(struct gvm_nvidia_gpu *gpu);

/* gvm_nvidia_victims.c. */
extern const struct gvm_memory_ops gvm_nvidia_memory_ops;
int gvm_nvidia_make_room(struct gvm_uvm_space *space, u64 va, u64 bytes, bool own,
			 u32 *ret_index);
void gvm_nvidia_used(struct gvm_uvm_gpu *gpu, u32 index, bool used);
bool gvm_nvidia_split(struct gvm_uvm_gpu *gpu, u32 index);
u32 gvm_nvidia_victim(struct gvm_uvm_gpu *gpu, struct gvm_uvm_space *space, u32 first,
		      bool first_is_free);
bool gvm_nvidia_is_picked(struct gvm_uvm_gpu *gpu, u32 index);
void gvm_nvidia_putback(struct gvm_uvm_gpu *gpu, u32 index);
void gvm_nvidia_eviction_starts(struct gvm_uvm_gpu *gpu, u32 index);

#endif
