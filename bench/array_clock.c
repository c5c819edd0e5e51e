// SPDX-License-Identifier: MIT OR GPL-2.0
/* CLOCK on a plain array; see array_clock.h. */
#include "array_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int array_clock_init(struct array_clock *clock, u32 objects, u32 slots)
{
	*clock = (struct array_clock){ .objects = objects, .slots = slots };
	clock->referenced = calloc(slots, sizeof(*clock->referenced));
	clock->object_in = calloc(slots, sizeof(*clock->object_in));
	clock->slot_of = calloc(objects, sizeof(*clock->slot_of));
	if (clock->referenced && clock->object_in && clock->slot_of)
		return 0;
	array_clock_destroy(clock);
	return -ENOMEM;
}

void array_clock_destroy(struct array_clock *clock)
{
	free(clock->referenced);
	free(clock->object_in);
	free(clock->slot_of);
}

void array_clock_reset(struct array_clock *clock)
{
	memset(clock->referenced, 0, clock->slots * sizeof(*clock->referenced));
	memset(clock->slot_of, 0xff, clock->objects * sizeof(*clock->slot_of));
	clock->used = 0;
	clock->hand = 0;
}

/* Free the slot that the hand finds. The hand moves on past it. */
static u32 array_clock_evict(struct array_clock *clock)
{
	u32 hand = clock->hand, victim;

	while (clock->referenced[hand]) {
		clock->referenced[hand] = 0;
		hand = hand + 1 == clock->slots ? 0 : hand + 1;
	}
	victim = hand;
	clock->hand = hand + 1 == clock->slots ? 0 : hand + 1;
	clock->slot_of[clock->object_in[victim]] = ARRAY_CLOCK_NONE;
	return victim;
}

u32 array_clock_replay(struct array_clock *clock, const u32 *requests, u32 count)
{
	u32 misses = 0;

	for (u32 i = 0; i < count; i++) {
		u32 object = requests[i], slot = clock->slot_of[object];

		if (slot != ARRAY_CLOCK_NONE) {
			clock->referenced[slot] = 1;
			continue;
		}
		misses++;
		slot = clock->used < clock->slots ? clock->used++ : array_clock_evict(clock);
		clock->slot_of[object] = slot;
		clock->object_in[slot] = object;
	}
	return misses;
}
