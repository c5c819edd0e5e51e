// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Charges: which chunk of nvidia-uvm's is charged, and to whom. The core knows the payer of
 * each page of 64 KB, and how many of its pieces of 4 KB are charged. Here is what it does not
 * know: which pieces these are, and pieces in a page of another container.
 *
 * Chunks of a VA space that came before gvm_nvidia.ko are not charged. Chunks of the
 * driver itself are not charged.
 */
#include "gvm_nvidia.h"

#include <linux/delay.h>
#include <linux/mm.h>

#include "gvm/charge.h"
#include "gvm/clock.h"
#include "gvm/swap.h"

/*
 * bind waits for the thread that picked the root chunk. That thread finds it pinned and puts it
 * back.
 */
#define BIND_WAIT_US   100u
#define BIND_WAITS_MAX 100000u

int gvm_nvidia_books_init(struct gvm_nvidia_gpu *gpu)
{
	size_t chunks = gpu->uvm->chunk_count;

	gvm_spin_init(&gpu->lock, "gvm nvidia");
	xa_init(&gpu->pieces);
	gpu->charged = kvcalloc(chunks, sizeof(*gpu->charged), GFP_KERNEL);
	gpu->paid = kvcalloc(chunks * GVM_PAGES_PER_BLOCK, sizeof(*gpu->paid), GFP_KERNEL);
	gpu->unused = kvcalloc(BITS_TO_LONGS(chunks), sizeof(*gpu->unused), GFP_KERNEL);
	gpu->forced = kvcalloc(BITS_TO_LONGS(chunks), sizeof(*gpu->forced), GFP_KERNEL);
	if (gpu->charged && gpu->paid && gpu->unused && gpu->forced)
		return 0;
	gvm_nvidia_books_destroy(gpu);
	return -ENOMEM;
}

void gvm_nvidia_books_destroy(struct gvm_nvidia_gpu *gpu)
{
	for (u32 i = 0; gpu->charged && i < gpu->uvm->chunk_count; i++)
		WARN_ON_ONCE(gpu->charged[i]);
	WARN_ON_ONCE(!xa_empty(&gpu->pieces));
	kvfree(gpu->charged);
	kvfree(gpu->paid);
	kvfree(gpu->unused);
	kvfree(gpu->forced);
	xa_destroy(&gpu->pieces);
}

bool gvm_nvidia_is_charged(struct gvm_nvidia_gpu *gpu, u32 index)
{
	return READ_ONCE(gpu->charged[index]) != 0;
}

static struct gvm_container *payer_of(struct gvm_uvm_space *space, u64 va)
{
	return gvm_nvidia_payer(gvm_nvidia_space(space), va)->container;
}

int gvm_nvidia_reserve(struct gvm_uvm_space *space, u64 va, u64 bytes)
{
	return gvm_charge_reserve_bytes(payer_of(space, va), bytes);
}

void gvm_nvidia_cancel(struct gvm_uvm_space *space, u64 va, u64 bytes)
{
	gvm_charge_cancel_bytes(payer_of(space, va), bytes);
}

/* A part of a root chunk: pages, or one piece of the first page, if pages is 0. */
struct gvm_nvidia_part {
	u32 index, first, pages, piece;
};

/* The pieces of a page that the core has as charged. */
static u16 *paid_of(struct gvm_nvidia_gpu *gpu, u32 index, u32 page)
{
	return &gpu->paid[(size_t)index * GVM_PAGES_PER_BLOCK + page];
}

static struct gvm_nvidia_part part_at(u64 address, u64 bytes)
{
	return (struct gvm_nvidia_part){
		.index = (u32)(address >> GVM_CHUNK_SHIFT),
		.first = (address & (GVM_CHUNK_BYTES - 1)) >> GVM_PAGE_SHIFT,
		.pages = (u32)(bytes >> GVM_PAGE_SHIFT),
		.piece = (address & (GVM_PAGE_BYTES - 1)) / GVM_PIECE_BYTES,
	};
}

/* It is charged in the core's books, and its root chunk is in use. Under the lock. */
static void mark_paid(struct gvm_nvidia_gpu *gpu, const struct gvm_nvidia_part *part)
{
	for (u32 page = part->first; page < part->first + part->pages; page++) {
		gpu->charged[part->index] |= BIT(page);
		*paid_of(gpu, part->index, page) = (u16)GENMASK(GVM_PIECES_PER_PAGE - 1, 0);
	}
	if (!part->pages) {
		gpu->charged[part->index] |= BIT(part->first);
		*paid_of(gpu, part->index, part->first) |= BIT(part->piece);
	}
	__clear_bit(part->index, gpu->unused);
	__clear_bit(part->index, gpu->forced);
}

/* Charge it. The core's count of a page's pieces and ours change under one lock. */
static int try_bind(struct gvm_nvidia_gpu *gpu, struct gvm_container *container,
		    const struct gvm_nvidia_part *part)
{
	int status;

	gvm_spin_lock(&gpu->lock);
	if (part->pages)
		status = gvm_charge_bind_part(container, part->index, part->first, part->pages);
	else
		status = gvm_charge_bind_piece(container, part->index, part->first);
	if (!status)
		mark_paid(gpu, part);
	gvm_spin_unlock(&gpu->lock);
	return status;
}

/*
 * A piece of a page that another container pays for. It is charged before it can be found:
 * adopt_pieces() takes it for charged.
 */
static int bind_foreign(struct gvm_nvidia_gpu *gpu, struct gvm_container *container,
			u64 address)
{
	unsigned long piece = address / GVM_PIECE_BYTES;
	int status = xa_reserve(&gpu->pieces, piece, GFP_KERNEL);

	if (status)
		return status;
	gvm_charge_bind_unevictable(container, GVM_PIECE_BYTES);
	/* The entry is there, so no memory is needed. */
	WARN_ON_ONCE(xa_err(xa_store(&gpu->pieces, piece, container, GFP_NOWAIT)));
	return 0;
}

/*
 * Another part of the root chunk may be on the clock, and the core may have picked it. The
 * chunk at hand is pinned, so the thread that picked puts it back: wait for that.
 */
static int bind(struct gvm_nvidia_gpu *gpu, struct gvm_container *container, u64 address,
		u64 bytes)
{
	struct gvm_nvidia_part part = part_at(address, bytes);
	int status = try_bind(gpu, container, &part);

	for (u32 waits = 0; status == -EBUSY && waits < BIND_WAITS_MAX; waits++) {
		usleep_range(BIND_WAIT_US, 2 * BIND_WAIT_US);
		status = try_bind(gpu, container, &part);
	}
	return status == -EEXIST ? bind_foreign(gpu, container, address) : status;
}

int gvm_nvidia_bind(struct gvm_uvm_space *space, u64 va, u64 address, u64 bytes)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(space->gpu);
	struct gvm_nvidia_payer *payer = gvm_nvidia_payer(gvm_nvidia_space(space), va);
	struct gvm_container *container = payer->container;
	int status = bind(gpu, container, address, bytes);

	if (status) {
		gvm_charge_cancel_bytes(container, bytes);
		return status;
	}
	gvm_nvidia_forget_tries(payer);
	atomic_set(&gpu->kept, (int)gpu->uvm->services->kept_chunks(gpu->uvm->pmm));
	gvm_evictors_kick(container, 0);
	return 0;
}

void gvm_nvidia_swapped(struct gvm_uvm_space *space, u64 va, s64 bytes)
{
	if (bytes > 0)
		gvm_swap_charge(payer_of(space, va), (u64)bytes);
	else
		gvm_swap_uncharge(payer_of(space, va), (u64)-bytes);
}

/*
 * A page or more leave as a whole. Pages that were not charged are passed over. A chunk that
 * was picked by force counts as taken as soon as it loses a page.
 */
static void pages_leave(struct gvm_nvidia_gpu *gpu, u32 index, u32 first, u32 pages)
{
	bool taken;
	u32 leaving;

	gvm_spin_lock(&gpu->lock);
	leaving = gpu->charged[index] & (u32)GENMASK_ULL(first + pages - 1, first);
	taken = leaving && __test_and_clear_bit(index, gpu->forced);
	gpu->charged[index] &= ~leaving;
	for (u32 page = first; page < first + pages; page++)
		*paid_of(gpu, index, page) = 0;
	gvm_spin_unlock(&gpu->lock);
	if (taken)
		gvm_clock_count_taken(gpu->device, index);
	while (leaving) {
		u32 run = __ffs(leaving);
		u32 length = __ffs64(~((u64)leaving >> run));

		gvm_uncharge_part(gpu->device, index, run, length);
		leaving &= ~(u32)GENMASK_ULL(run + length - 1, run);
	}
}

/*
 * The payer of a page has left it. The first foreign piece makes its container the payer, and all
 * pieces of that one are charged to it as any other from now on. A page whose root chunk is in
 * eviction stays as it is: its pieces leave with it. If the eviction fails, they stay
 * unevictable. A piece that leaves at the same time finds its entry in the xarray, or its bit
 * here. Under the lock.
 */
static void adopt_pieces(struct gvm_nvidia_gpu *gpu, const struct gvm_nvidia_part *page)
{
	unsigned long first = (((unsigned long)page->index << GVM_CHUNK_SHIFT) +
			       ((unsigned long)page->first << GVM_PAGE_SHIFT)) /
			      GVM_PIECE_BYTES;

	if (xa_empty(&gpu->pieces) ||
	    !gpu->uvm->services->evictable(gpu->uvm->pmm, page->index))
		return;
	xa_lock(&gpu->pieces);
	for (u32 piece = 0; piece < GVM_PIECES_PER_PAGE; piece++) {
		struct gvm_nvidia_part part = { page->index, page->first, 0, piece };
		struct gvm_container *container = xa_load(&gpu->pieces, first + piece);

		if (!container || gvm_charge_adopt_piece(container, part.index, part.first))
			continue;
		__xa_erase(&gpu->pieces, first + piece);
		mark_paid(gpu, &part);
	}
	xa_unlock(&gpu->pieces);
}

/*
 * A piece of 4 KB leaves: a chunk of its own, or one of those into which nvidia-uvm splits a
 * chunk when a process unmaps a part of it. A page has a payer as long as it has a piece.
 */
static void piece_leaves(struct gvm_nvidia_gpu *gpu, u64 address)
{
	struct gvm_container *foreign = xa_erase(&gpu->pieces, address / GVM_PIECE_BYTES);
	struct gvm_nvidia_part part = part_at(address, 0);
	u16 *paid = paid_of(gpu, part.index, part.first);

	if (foreign) {
		gvm_uncharge_unevictable(foreign, GVM_PIECE_BYTES);
		return;
	}
	gvm_spin_lock(&gpu->lock);
	if (*paid & BIT(part.piece)) {
		*paid &= ~BIT(part.piece);
		if (!*paid)
			gpu->charged[part.index] &= ~BIT(part.first);
		if (__test_and_clear_bit(part.index, gpu->forced))
			gvm_clock_count_taken(gpu->device, part.index);
		gvm_uncharge_piece(gpu->device, part.index, part.first);
		if (!*paid)
			adopt_pieces(gpu, &part);
	}
	gvm_spin_unlock(&gpu->lock);
}

void gvm_nvidia_leaves(struct gvm_uvm_gpu *uvm, u64 address, u64 bytes)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);
	struct gvm_nvidia_part part = part_at(address, bytes);

	if (part.pages)
		pages_leave(gpu, part.index, part.first, part.pages);
	else
		piece_leaves(gpu, address);
}
