// SPDX-License-Identifier: MIT OR GPL-2.0
/* Whose turn it is, where turns are fixed; see turns.h. */
#include "fifo/turns.h"

static const struct fifo_turns *turns_of(const struct fifo_runlist *runlist)
{
	return &runlist->partition->fifo->config.turns;
}

bool turns_are_fixed(const struct fifo_runlist *runlist)
{
	return turns_of(runlist)->length_ns && !runlist->partition->share.in_space;
}

static struct fifo_entry *turns_find(const struct fifo_runlist *runlist, u32 turn)
{
	struct fifo_entry *entry = runlist->entries;

	do {
		if (entry && entry->turn == turn)
			return entry;
		entry = entry ? entry->next : NULL;
	} while (entry != runlist->entries);
	return NULL;
}

/* The entry @turns turns after the present one, of those that there are. */
static struct fifo_entry *turns_next(const struct fifo_runlist *runlist, u64 turns)
{
	struct fifo_entry *entry = runlist->holder;
	u64 count = 1;

	if (!runlist->entries)
		return NULL;
	if (!entry) {
		entry = runlist->entries;
		turns--;
	}
	for (const struct fifo_entry *other = entry->next; other != entry; other = other->next)
		count++;
	for (turns %= count; turns; turns--)
		entry = entry->next;
	return entry;
}

void turns_advance(struct fifo_runlist *runlist)
{
	const struct fifo_turns *config = turns_of(runlist);
	u64 now = eng_now(), turns;

	if (now < runlist->turn_end_ns)
		return;
	turns = (now - runlist->turn_end_ns) / config->length_ns + 1;
	runlist->turn_end_ns += turns * config->length_ns;
	if (!config->count) {
		runlist->holder = turns_next(runlist, turns);
		return;
	}
	runlist->turn = (u32)((runlist->turn_end_ns / config->length_ns - 1) % config->count);
	runlist->holder = turns_find(runlist, runlist->turn);
}

void turns_add(struct fifo_entry *entry)
{
	struct fifo_runlist *runlist = entry->runlist;
	u32 turn = 0;

	entry->turn = U32_MAX;
	while (turns_find(runlist, turn))
		turn++;
	entry->turn = turn;
	GVM_ASSERT(!turns_of(runlist)->count || turn < turns_of(runlist)->count);
	if (turns_of(runlist)->count ? turn == runlist->turn : !runlist->holder)
		runlist->holder = entry;
}

void turns_remove(struct fifo_entry *entry)
{
	struct fifo_runlist *runlist = entry->runlist;

	if (runlist->holder != entry)
		return;
	runlist->holder = NULL;
	runlist->entries = entry->next;
}
