// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/timers.h"

#include <stdio.h>
#include <stdlib.h>

static bool timer_before(const struct eng_timer *a, const struct eng_timer *b)
{
	if (a->date != b->date)
		return a->date < b->date;
	return a->sequence < b->sequence;
}

static void timers_place(struct eng_timers *timers, uint32_t index, struct eng_timer *timer)
{
	timers->heap[index] = timer;
	timer->slot = index + 1;
}

static void timers_sift_up(struct eng_timers *timers, uint32_t index)
{
	struct eng_timer *timer = timers->heap[index];

	while (index > 0) {
		uint32_t parent = (index - 1) / 2;

		if (!timer_before(timer, timers->heap[parent]))
			break;
		timers_place(timers, index, timers->heap[parent]);
		index = parent;
	}
	timers_place(timers, index, timer);
}

static void timers_sift_down(struct eng_timers *timers, uint32_t index)
{
	struct eng_timer *timer = timers->heap[index];

	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child >= timers->count)
			break;
		if (child + 1 < timers->count &&
		    timer_before(timers->heap[child + 1], timers->heap[child]))
			child++;
		if (!timer_before(timers->heap[child], timer))
			break;
		timers_place(timers, index, timers->heap[child]);
		index = child;
	}
	timers_place(timers, index, timer);
}

static void timers_remove_at(struct eng_timers *timers, uint32_t index)
{
	struct eng_timer *last = timers->heap[--timers->count];

	timers->heap[index]->slot = 0;
	if (index == timers->count)
		return;
	timers_place(timers, index, last);
	timers_sift_up(timers, index);
	timers_sift_down(timers, last->slot - 1);
}

static void timers_make_room(struct eng_timers *timers)
{
	uint32_t room = timers->room ? 2 * timers->room : 64;
	struct eng_timer **heap;

	if (timers->count < timers->room)
		return;
	heap = realloc(timers->heap, room * sizeof(struct eng_timer *));
	if (!heap) {
		fputs("gvmsim: out of memory for timers\n", stderr);
		exit(1);
	}
	timers->heap = heap;
	timers->room = room;
}

void eng_timers_set(struct eng_timers *timers, struct eng_timer *timer, uint64_t date)
{
	eng_timers_cancel(timers, timer);
	timers_make_room(timers);
	timer->date = date;
	timer->sequence = timers->next_sequence++;
	timers_place(timers, timers->count++, timer);
	timers_sift_up(timers, timers->count - 1);
}

void eng_timers_cancel(struct eng_timers *timers, struct eng_timer *timer)
{
	if (timer->slot)
		timers_remove_at(timers, timer->slot - 1);
}

uint64_t eng_timers_next(const struct eng_timers *timers)
{
	return timers->count ? timers->heap[0]->date : ENG_NEVER;
}

struct eng_timer *eng_timers_pop_due(struct eng_timers *timers, uint64_t now)
{
	struct eng_timer *timer;

	if (eng_timers_next(timers) > now || !timers->count)
		return NULL;
	timer = timers->heap[0];
	timers_remove_at(timers, 0);
	return timer;
}
