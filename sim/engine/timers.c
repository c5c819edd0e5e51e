// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/timers.h"

#include <stddef.h>

static bool timer_before(const struct eng_timer *a, const struct eng_timer *b)
{
	if (a->date != b->date)
		return a->date < b->date;
	return a->sequence < b->sequence;
}

/*
 * Meld two heaps: the later one becomes the first child of the earlier one. Returns the earlier
 * one.
 */
static struct eng_timer *heap_meld(struct eng_timer *a, struct eng_timer *b)
{
	if (timer_before(b, a)) {
		struct eng_timer *later = a;

		a = b;
		b = later;
	}
	b->sibling = a->child;
	if (b->sibling)
		b->sibling->previous = b;
	b->previous = a;
	a->child = b;
	return a;
}

/*
 * Meld a list of siblings into one heap: by pairs from the left, then all pairs from the right.
 */
static struct eng_timer *heap_meld_siblings(struct eng_timer *sibling)
{
	struct eng_timer *pairs = NULL;
	struct eng_timer *heap;

	while (sibling) {
		struct eng_timer *second = sibling->sibling;
		struct eng_timer *rest = second ? second->sibling : NULL;
		struct eng_timer *pair = second ? heap_meld(sibling, second) : sibling;

		pair->sibling = pairs;
		pairs = pair;
		sibling = rest;
	}
	heap = pairs;
	if (!heap)
		return NULL;
	pairs = heap->sibling;
	while (pairs) {
		struct eng_timer *next = pairs->sibling;

		heap = heap_meld(heap, pairs);
		pairs = next;
	}
	heap->sibling = NULL;
	heap->previous = NULL;
	return heap;
}

void eng_timers_set(struct eng_timers *timers, struct eng_timer *timer, u64 date)
{
	eng_timers_cancel(timers, timer);
	timer->date = date;
	timer->sequence = timers->next_sequence++;
	timer->set = true;
	timer->child = NULL;
	timer->sibling = NULL;
	timer->previous = NULL;
	timers->first = timers->first ? heap_meld(timers->first, timer) : timer;
}

void eng_timers_cancel(struct eng_timers *timers, struct eng_timer *timer)
{
	struct eng_timer *children;

	if (!timer->set)
		return;
	timer->set = false;
	children = heap_meld_siblings(timer->child);
	if (timer == timers->first) {
		timers->first = children;
		return;
	}
	if (timer->previous->child == timer)
		timer->previous->child = timer->sibling;
	else
		timer->previous->sibling = timer->sibling;
	if (timer->sibling)
		timer->sibling->previous = timer->previous;
	if (children)
		timers->first = heap_meld(timers->first, children);
}

u64 eng_timers_next(const struct eng_timers *timers)
{
	return timers->first ? timers->first->date : ENG_NEVER;
}

struct eng_timer *eng_timers_pop_due(struct eng_timers *timers, u64 now)
{
	struct eng_timer *timer = timers->first;

	if (!timer || timer->date > now)
		return NULL;
	eng_timers_cancel(timers, timer);
	return timer;
}
