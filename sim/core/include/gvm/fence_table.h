/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The partition table of fenced tenants, and the two allocators under it: partitions of an
 * address range (fence/fence_table.c, fence/fence_buddy.c), and a tenant's memory inside its
 * partition (fence/fence_heap.c). Addresses only: who owns the memory behind them is the
 * caller's business.
 */
#ifndef GVM_FENCE_TABLE_H
#define GVM_FENCE_TABLE_H

#include "gvm/address_fence.h"

/* Bins of free extents: one for each power of two of bytes. */
#define GVM_FENCE_BINS 64u

/* An extent of a heap: used, or free. Guarded by the heap's caller. */
struct gvm_fence_extent {
	u64 base;
	u64 bytes;
	struct list_head order; /* in gvm_fence_heap.order, by address */
	struct list_head bin;	/* free: in its bin; unused: in gvm_fence_heap.spare */
	struct rb_node node;	/* used: in gvm_fence_heap.used, by address */
	bool is_free;
};

/*
 * An allocator of extents of any size, multiples of a granule. It has no lock: the caller has
 * one. All its memory is allocated at once.
 */
struct gvm_fence_heap {
	struct gvm_fence_extent *extents; /* the pool */
	struct list_head order;		  /* used and free extents, by address */
	struct list_head spare;		  /* of the pool, in neither state */
	struct list_head bins[GVM_FENCE_BINS];
	u64 full_bins;	     /* bit n: bin n is not empty */
	struct rb_root used; /* by address */
	u64 granule;	     /* power of two */
	u64 bytes;	     /* that it has in all */
	u64 used_bytes;
};

/*
 * A heap over [@base, @base + @bytes), multiples of @granule, with at most @extents extents, at
 * least 3. Returns 0; -EINVAL; -ENOMEM: no memory for the pool. Destroy frees the pool; extents
 * may be in use. CONTEXT: process.
 */
int gvm_fence_heap_init(struct gvm_fence_heap *heap, u64 base, u64 bytes, u64 granule,
			u32 extents);
void gvm_fence_heap_destroy(struct gvm_fence_heap *heap);

/*
 * Take @bytes, rounded up to the granule, at a multiple of it. Returns 0; -EINVAL: no bytes;
 * -ENOMEM: no free extent is large enough; -ENOSPC: the pool of extents is used up. CONTEXT:
 * atomic.
 */
int gvm_fence_heap_alloc(struct gvm_fence_heap *heap, u64 bytes, u64 *ret_address);

/*
 * Free what alloc returned. Free neighbours become one. Returns the bytes, or 0: no allocation
 * begins at @address. CONTEXT: atomic.
 */
u64 gvm_fence_heap_free(struct gvm_fence_heap *heap, u64 address);

/* Most leaves of a buddy tree: 1 << 16. */
#define GVM_FENCE_BUDDY_DEPTH 16u

/*
 * A buddy allocator: powers of two of leaves, each at a multiple of its size. It has no lock:
 * the caller has one.
 */
struct gvm_fence_buddy {
	u8 *largest; /* by node, the root is 1: 1 + order of the largest free part; 0: none */
	u64 base;    /* of leaf 0: at a multiple of all leaves together */
	u32 leaf_shift; /* log2 of a leaf's bytes */
	u32 depth;	/* there are 1 << depth leaves */
};

/*
 * Cover [@base, @base + @bytes), multiples of a leaf. Leaves of the tree outside of it
 * are never free. Returns 0; -EINVAL: no whole leaf, or the range needs more than 1 << 16
 * leaves, since it is too large or lies across a boundary of a large power of two, or it
 * lies across 2^63; -ENOMEM. CONTEXT: process.
 */
int gvm_fence_buddy_init(struct gvm_fence_buddy *buddy, u64 base, u64 bytes, u32 leaf_shift);
void gvm_fence_buddy_destroy(struct gvm_fence_buddy *buddy);

/*
 * Take @bytes, a power of two of at least a leaf. Of two halves with room it goes to the one
 * whose largest free part is smaller, or to the lower one. Returns 0 or -ENOMEM: no free part
 * is large enough. CONTEXT: atomic.
 */
int gvm_fence_buddy_alloc(struct gvm_fence_buddy *buddy, u64 bytes, u64 *ret_base);

/* Free what alloc returned: @bytes at @base. Free buddies become one. CONTEXT: atomic. */
void gvm_fence_buddy_free(struct gvm_fence_buddy *buddy, u64 base, u64 bytes);

/* What a tenant's fence has done. */
struct gvm_fence_counts {
	u64 launches;	    /* of fenced kernels */
	u64 refused_copies; /* copies that the bounds check has refused */
};

/*
 * The partition of one tenant. Guarded by the table's lock; the fence is constant while open.
 */
struct gvm_fence_partition {
	u64 tenant;   /* the caller's name of it: a process number, a connection */
	bool taken;   /* its addresses are a tenant's */
	bool open;    /* and its heap is there */
	u64 declared; /* bytes that the tenant has asked for */
	struct gvm_address_fence fence; /* what its kernels get */
	struct gvm_fence_heap heap;	/* its memory: the partition, without margins */
	struct gvm_fence_counts counts;
};

/* How a table cuts its address range up. */
struct gvm_fence_table_config {
	u64 base;	 /* of the address range, a multiple of the granule */
	u64 bytes;	 /* likewise */
	u64 granule;	 /* smallest partition: a power of two, GVM_FENCE_ALIGNMENT or more */
	u64 margin;	 /* of partitions with ONCE, multiple of GVM_FENCE_ALIGNMENT */
	u32 tenants;	 /* most partitions at once, at least 1 and less than 65536 */
	u32 allocations; /* of each tenant at once, at least 1 */
	bool any_size;	 /* partitions are multiples of the granule, for CHECK and MODULO alone;
			  * else powers of two at multiples of their size, for all modes */
};

/* A partition table. */
struct gvm_fence_table {
	struct gvm_fence_table_config config; /* constant */
	struct gvm_spinlock lock;	      /* leaf: guards all below */
	struct gvm_fence_partition *partitions;
	struct gvm_fence_buddy buddy; /* of powers of two */
	struct gvm_fence_heap heap;   /* of any size */
};

/* Returns 0, -EINVAL or -ENOMEM. CONTEXT: process. */
int gvm_fence_table_init(struct gvm_fence_table *table,
			 const struct gvm_fence_table_config *config);

/* Partitions may be open; they are closed. CONTEXT: process. */
void gvm_fence_table_destroy(struct gvm_fence_table *table);

/*
 * Give @tenant a partition of at least @declared bytes, fenced by @mode. With powers of two,
 * the next one up. ONCE adds its margins before that, 4G has 4 GiB at least. Returns 0;
 * -EEXIST: it has one; -EINVAL: no bytes, or the mode wants powers of two and the table has any
 * size; -ENOSPC: no free part is large enough; -EMFILE: all partitions are in use; -ENOMEM. The
 * partition stays until close. CONTEXT: process.
 */
int gvm_fence_table_open(struct gvm_fence_table *table, u64 tenant, u64 declared,
			 enum gvm_fence_mode mode, struct gvm_fence_partition **ret_partition);

/*
 * A tenant is gone: its partition and all its allocations are free at once, for others. Its
 * kernels have ended. Returns 0 or -ENOENT. CONTEXT: process.
 */
int gvm_fence_table_close(struct gvm_fence_table *table, u64 tenant);

/*
 * Another mode for the kernels that @tenant launches from now on (Guardian 4.4); NONE while it
 * is alone. ONCE cannot come later: its margins may hold data. Returns 0; -ENOENT; -EINVAL: its
 * partition does not fit the mode. CONTEXT: atomic.
 */
int gvm_fence_table_set_mode(struct gvm_fence_table *table, u64 tenant,
			     enum gvm_fence_mode mode);

/*
 * Memory inside a tenant's partition, as cudaMalloc() and cudaFree() have it: aligned to
 * GVM_FENCE_ALIGNMENT. Alloc returns 0; -ENOENT: no such tenant; else as
 * gvm_fence_heap_alloc(). Free returns 0, -ENOENT, or -EINVAL: no allocation of this tenant
 * begins there. CONTEXT: atomic.
 */
int gvm_fence_table_alloc(struct gvm_fence_table *table, u64 tenant, u64 bytes,
			  u64 *ret_address);
int gvm_fence_table_free(struct gvm_fence_table *table, u64 tenant, u64 address);

/*
 * gvm_address_fence_copy() for @tenant, counted if it is refused. Returns 0, -EACCES or
 * -ENOENT. CONTEXT: atomic.
 */
int gvm_fence_table_copy(struct gvm_fence_table *table, u64 tenant,
			 enum gvm_fence_copy direction, u64 destination, u64 source, u64 bytes);

/*
 * Count the work of @tenant's kernels; @counts is added to its own. Unknown tenants: nothing.
 * CONTEXT: atomic.
 */
void gvm_fence_table_count(struct gvm_fence_table *table, u64 tenant,
			   const struct gvm_fence_counts *counts);

/* The partition of a tenant, or NULL. Valid until its close. CONTEXT: atomic. */
struct gvm_fence_partition *gvm_fence_table_tenant(struct gvm_fence_table *table, u64 tenant);

#endif
