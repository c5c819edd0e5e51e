// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Walks over rings and lists that may be broken, for the steps of gvm_check(). check.c has the list
 * of invariants.
 *
 * Layer: policy. Never calls back.
 */
#include "gvm/check.h"
#include "gvm/container.h"

int gvm_check_failed(const struct gvm_device *device, const char *what, u32 number)
{
	gvm_warn("%s: books are broken: %s (%u)", device->name, what, number);
	return -EUCLEAN;
}

bool gvm_check_is_bound(const struct gvm_device *device, u32 index)
{
	return index < device->chunk_count &&
	       (device->chunks[index].state == GVM_CHUNK_BOUND ||
		device->chunks[index].state == GVM_CHUNK_EVICTING);
}

bool gvm_check_list_is_closed(const struct list_head *head, u32 max, u32 *ret_count)
{
	const struct list_head *position = head;
	u32 count = 0;

	while (position->next && position->next->prev == position && count <= max) {
		position = position->next;
		if (position == head) {
			*ret_count = count;
			return true;
		}
		count++;
	}
	return false;
}

int gvm_check_front(const struct gvm_device *device, bool met)
{
	/* 2.10, 3.3 */
	return met ? 0 : gvm_check_failed(device, "front hand or window is not on its ring", 0);
}

int gvm_check_owned_ring(const struct gvm_container *owner, const struct gvm_ring *ring,
			 enum gvm_order order, u32 *length)
{
	const struct gvm_device *device = owner->device;
	bool front_met = !ring->lead, ask_met = !ring->asked;
	u32 index = ring->hand;

	if (index == GVM_NO_CHUNK)
		return gvm_check_front(device, front_met && ask_met);
	/* 2.8, 3.4 */
	if (!gvm_check_is_bound(device, index))
		return gvm_check_failed(device, "hand is on no bound chunk", owner->tgid);
	do {
		/* 2.9, 3.5 */
		if (device->chunks[index].owner != owner)
			return gvm_check_failed(device, "chunk on a foreign ring", index);
		(*length)++;
		front_met |= index == ring->front;
		ask_met |= index == ring->ask;
		index = device->chunks[index].next[order];
	} while (index != ring->hand);
	return gvm_check_front(device, front_met && ask_met);
}
