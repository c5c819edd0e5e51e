// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Charging: which container pays for which memory, and how much it may have.
 *
 * Layer: policy. Never waits, never calls back, takes only the device's leaf lock.
 *
 *
 * Charge before use, uncharge once, from the record
 *
 * A charge is a promise before it is a chunk:
 *
 *              reserve           allocated             bind             uncharge
 *     (nothing) ------> reserved ---------> allocated ------> on rings ---------> (nothing)
 *                           |                   |
 *                           '---> cancel        '---> uncharge ---> (nothing)
 *
 *     charged_bytes     +                                                 -
 *     reserved_bytes    +                             -
 *
 * The usage rises in the first step, under the lock that checks the limit. So the sum of
 * promises and chunks never exceeds the limit, for any number of threads and any batches of the
 * device's allocator. From the second step on the chunk records its payer. When another
 * container's thread evicts the chunk, the payer is credited once, with the charged bytes.
 *
 * A change of usage may put the container on the other side of its gmem.limit.low, which costs
 * the clock O(1). Memory that has left for the host is counted in policy/swap.c.
 *
 *
 * Parts of a chunk
 *
 * With sub_chunks, each page of a chunk has a payer. One chunk then serves several VA blocks:
 *
 *     page     0    1    2    3    4    5    6  ...  31
 *     payer    A    A    A    A    B    B    -   -   -      owner A, 6 pages charged
 *
 * The chunk stands on the rings of its owner. The first owner is the payer of the first part.
 * When the owner's last page leaves, another payer becomes the owner. Eviction works on whole
 * root chunks in NVIDIA's driver as well, so a pick of A's chunk may cost B its two pages; each
 * payer is credited with its own pages. A container that has only parts of other containers'
 * chunks has no victim of its own. The rejected alternative, where the first owner pays for the
 * whole root chunk, lets B use memory at A's cost.
 *
 * Therefore all parts of a chunk in the block layer belong to one container (block/part.c). A
 * page of such a chunk that has no payer is still of no use to other containers. So the number
 * of a container's chunks is limited, too: at most gmem.limit.high, rounded up to chunks,
 * however few pages it pays for. Otherwise a tenant could fill chunks with parts, discard all
 * but one part of each, and occupy 32 times its limit. NVIDIA's driver puts parts of several
 * containers into one chunk, so a limit in chunks would count chunks that they share. Its port
 * limits bytes alone (gvm_device_config.byte_limits), and such a tenant is a known gap there.
 *
 * A page of 64 KB may be charged by pieces of 4 KB, as NVIDIA's driver hands them out. All its
 * pieces have one payer. A piece that goes to another container is refused, and the driver's
 * port charges it to that container as unevictable memory, until the page has no payer any more
 * (gvm_charge_adopt_piece()). A payer for each piece would take 16 times the memory, and only for
 * containers with ranges of less than 64 KB.
 *
 *
 * How it differs from the papers (GVM 4.3) and the published driver
 *
 *   1. GVM "first accounts the new pages, then checks": usage above the limit is normal there,
 *      and eviction brings it down again. Here a charge above the limit is refused, and the
 *      caller makes room first. Usage exceeds a limit only after the limit was lowered, or
 *      after gvm_charge_force().
 *   2. The published driver compares before the allocation, adds after it, and enforces only
 *      when its allocator has no free chunk left from its last batch: up to 64 chunks over.
 *   3. The published driver uncharges the size of a root chunk per VA block and clamps at zero,
 *      which hides chunks that are counted twice or never. Here a charge below zero is a broken
 *      invariant.
 *   4. The published driver counts neither page tables nor contexts; GVM's Table 2 and section
 *      4.3 want both.
 */
#include "gvm/charge.h"
#include "gvm/family.h"
#include "gvm/clock.h"
#include "gvm/shield.h"

/* Add reserved bytes to the usage of a container and of its parent. */
static void charge_add_locked(struct gvm_container *container, u64 bytes)
{
	struct gvm_container *parent = container->parent;

	container->charged_bytes += bytes;
	container->reserved_bytes += bytes;
	container->peak_bytes = max(container->peak_bytes, gvm_family_bytes(container));
	if (parent) {
		parent->children_bytes += bytes;
		parent->peak_bytes = max(parent->peak_bytes, gvm_family_bytes(parent));
	}
	gvm_container_update_shield_locked(container);
}

/* Take bytes off the usage of a container and of its parent. Reservations stay. */
static void charge_lower_locked(struct gvm_container *container, u64 bytes)
{
	container->charged_bytes -= bytes;
	if (container->parent)
		container->parent->children_bytes -= bytes;
	gvm_container_update_shield_locked(container);
}

/*
 * Charge, or refuse: @refuser is the member of the family whose gmem.limit.high has no room.
 * NULL: all have.
 */
static int charge_reserve_locked(struct gvm_container *container, u64 bytes,
				 struct gvm_container *refuser)
{
	if (refuser) {
		refuser->events[GVM_EVENT_HIGH]++;
		return -EDQUOT;
	}
	charge_add_locked(container, bytes);
	return 0;
}

/* CONTEXT: under a VA-block lock. */
int gvm_charge_reserve_bytes(struct gvm_container *container, u64 bytes)
{
	int status;

	if (!gvm_books_lock(container->device))
		return -EIO;
	status = charge_reserve_locked(container, bytes,
				       gvm_family_refuser_locked(container, bytes));
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/* CONTEXT: under a VA-block lock. */
int gvm_charge_reserve_chunk(struct gvm_container *container, u64 bytes)
{
	int status;

	if (!gvm_books_lock(container->device))
		return -EIO;
	status = charge_reserve_locked(container, bytes,
				       gvm_family_chunk_refuser_locked(container, bytes));
	gvm_spin_unlock(&container->device->lock);
	return status;
}

/* CONTEXT: atomic. */
void gvm_charge_force(struct gvm_container *container)
{
	if (!gvm_books_lock(container->device))
		return;
	charge_add_locked(container, GVM_CHUNK_BYTES);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_charge_cancel_bytes(struct gvm_container *container, u64 bytes)
{
	struct gvm_device *device = container->device;

	if (!gvm_books_lock(device))
		return;
	if (!gvm_is_broken(device, container->reserved_bytes >= bytes)) {
		container->reserved_bytes -= bytes;
		charge_lower_locked(container, bytes);
	}
	gvm_spin_unlock(&device->lock);
}

/* The payer of a page. Only with sub_chunks; without them a chunk has one payer, its owner. */
static struct gvm_container **charge_payer(const struct gvm_device *device, u32 chunk, u32 page)
{
	return &device->payers[(size_t)chunk * GVM_PAGES_PER_BLOCK + page];
}

/* How many pieces of a page are charged. Only with sub_chunks. */
static u8 *charge_pieces(const struct gvm_device *device, u32 chunk, u32 page)
{
	return &device->pieces[(size_t)chunk * GVM_PAGES_PER_BLOCK + page];
}

/* Do the pages lie in a chunk of a device that records payers? Else the device is dead. */
static bool charge_is_part_locked(struct gvm_device *device, u32 chunk, u32 first_page,
				  u32 pages)
{
	return !gvm_is_broken(device, device->payers && chunk < device->chunk_count) &&
	       !gvm_is_broken(device, pages && first_page < GVM_PAGES_PER_BLOCK &&
					      pages <= GVM_PAGES_PER_BLOCK - first_page);
}

static bool charge_is_on_rings(const struct gvm_chunk *entry)
{
	return entry->state == GVM_CHUNK_BOUND || entry->state == GVM_CHUNK_EVICTING;
}

/*
 * Tie @bytes of a reservation to a chunk. The first payer of a free chunk is its owner. The
 * reservation is used up now if the chunk is bound already. False: the books are broken.
 */
static bool charge_add_bytes_locked(struct gvm_container *container, u32 chunk, u32 bytes)
{
	struct gvm_device *device = container->device;
	struct gvm_chunk *entry = &device->chunks[chunk];

	if (gvm_is_broken(device, entry->state != GVM_CHUNK_EVICTING) ||
	    gvm_is_broken(device, container->reserved_bytes >= bytes) ||
	    gvm_is_broken(device, entry->state == GVM_CHUNK_FREE || device->payers))
		return false;
	if (entry->state == GVM_CHUNK_FREE) {
		entry->state = GVM_CHUNK_ALLOCATED;
		entry->owner = container;
	}
	entry->bytes += bytes;
	if (entry->state == GVM_CHUNK_BOUND)
		container->reserved_bytes -= bytes;
	return true;
}

/* Tie a reservation to pages of a chunk, and record their payer. */
static void charge_allocate_locked(struct gvm_container *container, u32 chunk, u32 first_page,
				   u32 pages)
{
	struct gvm_device *device = container->device;

	if (!charge_add_bytes_locked(container, chunk, pages << GVM_PAGE_SHIFT))
		return;
	for (u32 page = first_page; device->payers && page < first_page + pages; page++) {
		struct gvm_container **payer = charge_payer(device, chunk, page);

		if (gvm_is_broken(device, !*payer))
			return;
		*payer = container;
		*charge_pieces(device, chunk, page) = GVM_PIECES_PER_PAGE;
	}
}

/* CONTEXT: atomic. */
void gvm_charge_allocated_part(struct gvm_container *container, u32 chunk, u32 first_page,
			       u32 pages)
{
	struct gvm_device *device = container->device;

	if (!gvm_books_lock(device))
		return;
	if (charge_is_part_locked(device, chunk, first_page, pages))
		charge_allocate_locked(container, chunk, first_page, pages);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: under a VA-block lock. */
int gvm_charge_join(struct gvm_container *container, u32 chunk, u32 first_page, u32 pages)
{
	struct gvm_device *device = container->device;
	u64 bytes = (u64)pages << GVM_PAGE_SHIFT;
	int status;

	if (!gvm_books_lock(device))
		return -EIO;
	if (!charge_is_part_locked(device, chunk, first_page, pages)) {
		status = -EIO;
	} else if (device->chunks[chunk].state != GVM_CHUNK_BOUND) {
		status = -EBUSY;
	} else {
		status = charge_reserve_locked(container, bytes,
					       gvm_family_refuser_locked(container, bytes));
		if (!status)
			charge_allocate_locked(container, chunk, first_page, pages);
	}
	gvm_spin_unlock(&device->lock);
	return status;
}

/* Lower the reservations of an allocated chunk's payers: the chunk is being bound. */
static void charge_use_reservations_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];

	if (!device->payers) {
		entry->owner->reserved_bytes -= entry->bytes;
		return;
	}
	for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++) {
		struct gvm_container *payer = *charge_payer(device, chunk, page);

		if (payer)
			payer->reserved_bytes -=
				*charge_pieces(device, chunk, page) * GVM_PIECE_BYTES;
	}
}

static void charge_bind_locked(struct gvm_container *container, u32 chunk)
{
	struct gvm_device *device = container->device;
	struct gvm_chunk *entry = &device->chunks[chunk];

	if (gvm_is_broken(device, chunk < device->chunk_count))
		return;
	if (entry->state == GVM_CHUNK_FREE)
		charge_allocate_locked(container, chunk, 0, GVM_PAGES_PER_BLOCK);
	if (entry->state == GVM_CHUNK_ALLOCATED) {
		charge_use_reservations_locked(device, chunk);
		entry->state = GVM_CHUNK_BOUND;
		entry->owner->bound_chunks++;
		device->bound_chunks++;
		gvm_clock_insert_locked(device, chunk);
	} else {
		/*
		 * The chunk was bound with an earlier part. Without parts a chunk is bound
		 * once.
		 */
		(void)gvm_is_broken(device, device->payers && entry->state == GVM_CHUNK_BOUND);
	}
}

static int charge_bind_part_locked(struct gvm_container *container, u32 chunk, u32 first_page,
				   u32 pages)
{
	struct gvm_device *device = container->device;

	if (device->chunks[chunk].state == GVM_CHUNK_EVICTING)
		return -EBUSY;
	charge_allocate_locked(container, chunk, first_page, pages);
	if (device->chunks[chunk].state == GVM_CHUNK_ALLOCATED)
		charge_bind_locked(container, chunk);
	return device->dead ? -EIO : 0;
}

/* CONTEXT: atomic. */
int gvm_charge_bind_part(struct gvm_container *container, u32 chunk, u32 first_page, u32 pages)
{
	struct gvm_device *device = container->device;
	int status = -EIO;

	if (!gvm_books_lock(device))
		return -EIO;
	if (charge_is_part_locked(device, chunk, first_page, pages))
		status = charge_bind_part_locked(container, chunk, first_page, pages);
	gvm_spin_unlock(&device->lock);
	return status;
}

/* Charge a piece of a page that has no other payer, and bind the chunk. */
static int charge_bind_piece_locked(struct gvm_container *container, u32 chunk, u32 page)
{
	struct gvm_device *device = container->device;
	struct gvm_container **payer = charge_payer(device, chunk, page);
	u8 *pieces = charge_pieces(device, chunk, page);

	if (device->chunks[chunk].state == GVM_CHUNK_EVICTING)
		return -EBUSY;
	if (*payer && *payer != container)
		return -EEXIST;
	if (gvm_is_broken(device, *pieces < GVM_PIECES_PER_PAGE) ||
	    !charge_add_bytes_locked(container, chunk, GVM_PIECE_BYTES))
		return -EIO;
	*payer = container;
	(*pieces)++;
	if (device->chunks[chunk].state == GVM_CHUNK_ALLOCATED)
		charge_bind_locked(container, chunk);
	return device->dead ? -EIO : 0;
}

/* CONTEXT: atomic. */
int gvm_charge_bind_piece(struct gvm_container *container, u32 chunk, u32 page)
{
	struct gvm_device *device = container->device;
	int status = -EIO;

	if (!gvm_books_lock(device))
		return -EIO;
	if (charge_is_part_locked(device, chunk, page, 1))
		status = charge_bind_piece_locked(container, chunk, page);
	gvm_spin_unlock(&device->lock);
	return status;
}

/* CONTEXT: atomic. */
void gvm_charge_bind(struct gvm_container *container, u32 chunk)
{
	if (!gvm_books_lock(container->device))
		return;
	charge_bind_locked(container, chunk);
	gvm_spin_unlock(&container->device->lock);
}

/* Take a bound chunk off the rings and counts of its owner. */
static void charge_leave_rings_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	struct gvm_container *owner = entry->owner;

	if (gvm_is_broken(device, owner->bound_chunks > 0 && device->bound_chunks > 0))
		return;
	gvm_clock_remove_locked(device, chunk);
	owner->bound_chunks--;
	device->bound_chunks--;
}

/*
 * If the owner pays for no page any more, the payer of the first charged page becomes the
 * owner.
 */
static void charge_change_owner_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	struct gvm_container *heir = NULL;

	for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++) {
		struct gvm_container *payer = *charge_payer(device, chunk, page);

		if (payer == entry->owner)
			return;
		heir = heir ? heir : payer;
	}
	if (gvm_is_broken(device, heir))
		return;
	if (!charge_is_on_rings(entry)) {
		entry->owner = heir;
		return;
	}
	if (entry->state == GVM_CHUNK_EVICTING) {
		entry->owner->evicting_bytes -= entry->bytes;
		heir->evicting_bytes += entry->bytes;
	}
	charge_leave_rings_locked(device, chunk);
	gvm_container_update_shield_locked(entry->owner);
	entry->owner = heir;
	heir->bound_chunks++;
	device->bound_chunks++;
	gvm_clock_insert_locked(device, chunk);
	gvm_container_update_shield_locked(heir);
}

/* Take @bytes of one payer off the books. The chunk may stay, or be free now. */
static void charge_credit_locked(struct gvm_device *device, u32 chunk,
				 struct gvm_container *payer, u32 bytes)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	struct gvm_container *owner = entry->owner;

	if (gvm_is_broken(device, entry->bytes >= bytes && payer->charged_bytes >= bytes))
		return;
	entry->bytes -= bytes;
	if (entry->state == GVM_CHUNK_EVICTING)
		owner->evicting_bytes -= bytes;
	if (entry->state == GVM_CHUNK_ALLOCATED)
		payer->reserved_bytes -= bytes;
	if (!entry->bytes) {
		if (charge_is_on_rings(entry))
			charge_leave_rings_locked(device, chunk);
		if (entry->state == GVM_CHUNK_EVICTING) {
			owner->evicted_chunks++;
			device->evicting_chunks--;
		}
		entry->state = GVM_CHUNK_FREE;
		entry->owner = NULL;
	}
	charge_lower_locked(payer, bytes);
	if (owner != payer)
		gvm_container_update_shield_locked(owner);
}

static void uncharge_pages_locked(struct gvm_device *device, u32 chunk, u32 first_page,
				  u32 pages)
{
	struct gvm_chunk *entry = &device->chunks[chunk];

	for (u32 page = first_page; page < first_page + pages; page++) {
		struct gvm_container **payer = charge_payer(device, chunk, page);
		struct gvm_container *credited = *payer;
		u8 *pieces = charge_pieces(device, chunk, page);
		u32 bytes = *pieces * (u32)GVM_PIECE_BYTES;

		if (!credited)
			continue;
		*payer = NULL;
		*pieces = 0;
		charge_credit_locked(device, chunk, credited, bytes);
	}
	if (entry->bytes)
		charge_change_owner_locked(device, chunk);
}

static void uncharge_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];

	if (gvm_is_broken(device,
			  chunk < device->chunk_count && entry->state != GVM_CHUNK_FREE))
		return;
	if (device->payers)
		uncharge_pages_locked(device, chunk, 0, GVM_PAGES_PER_BLOCK);
	else
		charge_credit_locked(device, chunk, entry->owner, entry->bytes);
}

/* CONTEXT: atomic. */
void gvm_uncharge(struct gvm_device *device, u32 chunk)
{
	if (!gvm_books_lock(device))
		return;
	uncharge_locked(device, chunk);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
void gvm_uncharge_part(struct gvm_device *device, u32 chunk, u32 first_page, u32 pages)
{
	bool paid;

	if (!gvm_books_lock(device))
		return;
	paid = charge_is_part_locked(device, chunk, first_page, pages);
	for (u32 page = first_page; paid && page < first_page + pages; page++)
		paid = !gvm_is_broken(device, *charge_payer(device, chunk, page));
	if (paid)
		uncharge_pages_locked(device, chunk, first_page, pages);
	gvm_spin_unlock(&device->lock);
}

/* Credit the payer of a page with one piece of it. */
static void uncharge_piece_locked(struct gvm_device *device, u32 chunk, u32 page)
{
	struct gvm_container **payer = charge_payer(device, chunk, page);
	u8 *pieces = charge_pieces(device, chunk, page);

	if (gvm_is_broken(device, *payer && *pieces))
		return;
	if (*pieces == 1) {
		uncharge_pages_locked(device, chunk, page, 1);
		return;
	}
	(*pieces)--;
	charge_credit_locked(device, chunk, *payer, GVM_PIECE_BYTES);
}

/* CONTEXT: atomic. */
void gvm_uncharge_piece(struct gvm_device *device, u32 chunk, u32 page)
{
	if (!gvm_books_lock(device))
		return;
	if (charge_is_part_locked(device, chunk, page, 1))
		uncharge_piece_locked(device, chunk, page);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
void gvm_charge_bind_unevictable(struct gvm_container *container, u64 bytes)
{
	struct gvm_device *device = container->device;

	if (!gvm_books_lock(device))
		return;
	if (!gvm_is_broken(device, container->reserved_bytes >= bytes)) {
		container->reserved_bytes -= bytes;
		container->unevictable_bytes += bytes;
		device->unevictable_bytes += bytes;
	}
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
int gvm_charge_adopt_piece(struct gvm_container *container, u32 chunk, u32 page)
{
	struct gvm_device *device = container->device;
	int status = -EIO;

	if (!gvm_books_lock(device))
		return -EIO;
	if (!charge_is_part_locked(device, chunk, page, 1) ||
	    gvm_is_broken(device, container->unevictable_bytes >= GVM_PIECE_BYTES))
		goto out;
	/* The binding takes a reservation. The bytes are charged all along. */
	container->reserved_bytes += GVM_PIECE_BYTES;
	status = charge_bind_piece_locked(container, chunk, page);
	if (status) {
		container->reserved_bytes -= GVM_PIECE_BYTES;
		goto out;
	}
	container->unevictable_bytes -= GVM_PIECE_BYTES;
	device->unevictable_bytes -= GVM_PIECE_BYTES;
out:
	gvm_spin_unlock(&device->lock);
	return status;
}

/* CONTEXT: atomic. */
void gvm_uncharge_unevictable(struct gvm_container *container, u64 bytes)
{
	struct gvm_device *device = container->device;

	if (!gvm_books_lock(device))
		return;
	if (!gvm_is_broken(device, container->unevictable_bytes >= bytes)) {
		container->unevictable_bytes -= bytes;
		device->unevictable_bytes -= bytes;
		charge_lower_locked(container, bytes);
	}
	gvm_spin_unlock(&device->lock);
}

static u64 charge_chunks(u64 bytes)
{
	return (bytes >> GVM_CHUNK_SHIFT) + ((bytes & (GVM_CHUNK_BYTES - 1)) != 0);
}

/*
 * Chunks by which the container is above its own gmem.limit.high. Two counts can be too high: the
 * bytes that it pays for, and the chunks that it occupies, unless limits hold for bytes alone. The
 * limit in chunks is rounded up.
 */
static u32 charge_excess_locked(const struct gvm_container *container)
{
	u64 limit = container->gmem_high_bytes;
	u64 charged = gvm_family_bytes(container);
	u64 occupied = charge_chunks(gvm_family_occupied_bytes(container));

	charged = charge_chunks(charged - min(charged, limit));
	if (container->device->byte_limits)
		return (u32)charged;
	occupied -= min(occupied, charge_chunks(limit));
	return (u32)max(charged, occupied);
}

/* CONTEXT: atomic. */
u32 gvm_charge_excess(struct gvm_container *container)
{
	u32 excess;

	gvm_spin_lock(&container->device->lock);
	excess = charge_excess_locked(container);
	if (container->parent)
		excess = max(excess, charge_excess_locked(container->parent));
	gvm_spin_unlock(&container->device->lock);
	return excess;
}

/* CONTEXT: process. */
void gvm_limit_set_high(struct gvm_container *container, u64 bytes)
{
	if (!gvm_books_lock(container->device))
		return;
	container->gmem_high_bytes = bytes;
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: process. */
void gvm_limit_set_low(struct gvm_container *container, u64 bytes)
{
	if (!gvm_books_lock(container->device))
		return;
	container->gmem_low_bytes = bytes;
	gvm_family_share_low_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
u64 gvm_charged_bytes(struct gvm_container *container)
{
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = gvm_family_bytes(container);
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}

/* CONTEXT: atomic. */
u64 gvm_peak_bytes(struct gvm_container *container)
{
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = container->peak_bytes;
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}
