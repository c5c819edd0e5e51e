// SPDX-License-Identifier: MIT OR GPL-2.0
/* One runlist: turns, timeslices and context switches; see fifo.h for the rules. */
#include "fifo/runlist.h"

#include "fifo/burst.h"
#include "fifo/channel.h"
#include "fifo/memory.h"
#include "fifo/remote.h"
#include "fifo/turns.h"

void tsg_finish_burst(struct fifo_tsg *tsg, int status)
{
	struct fifo_channel *channel = tsg->current;
	struct fifo_burst *burst = tsg->first;

	channel->first = burst->next;
	if (!channel->first)
		channel->last = NULL;
	tsg_choose_channel(tsg);
	/* Of a dead TSG: all that were launched end here. */
	tsg->ended_kernels += burst_launched(burst, eng_now());
	burst->finished = true;
	burst->status = status;
	burst->finished_ns = eng_now();
	eng_wake_all(&burst->waitq);
	if (burst->on_end)
		burst->on_end(burst);
}

/* When a loaded entry has something to execute. */
static u64 entry_work_date(const struct fifo_entry *entry)
{
	const struct fifo_tsg *tsg;
	u64 date = ENG_NEVER;

	fifo_for_each_loaded(entry, tsg)
		date = min(date, tsg_work_date(tsg));
	return date;
}

/* From when on an entry may be switched to. */
static u64 entry_ready_date(const struct fifo_entry *entry)
{
	const struct fifo_tsg *tsg;
	u64 date = ENG_NEVER;

	fifo_for_each_in(entry, tsg)
		if (tsg->enabled)
			date = min(date, tsg_work_date(tsg));
	return date;
}

/* Since when an entry could be switched to. */
static u64 entry_ready_since(const struct fifo_entry *entry)
{
	const struct fifo_tsg *tsg;
	u64 since = ENG_NEVER;

	fifo_for_each_in(entry, tsg)
		if (tsg->enabled && !tsg->dead && tsg->first)
			since = min(since, burst_ready_since(tsg->first));
	return since;
}

/* Has an entry launched kernels after the ones in execution? */
static bool entry_has_queue(const struct fifo_entry *entry)
{
	const struct fifo_tsg *tsg;
	u64 now = eng_now();

	fifo_for_each_loaded(entry, tsg) {
		const struct fifo_burst *burst = tsg->first;

		if (burst && (burst_launched(burst, now) > burst->done_kernels + 1 ||
			      (burst->next && burst_launched(burst->next, now))))
			return true;
	}
	return false;
}

/* An entry that is loaded has a new TSG, or a TSG that was disabled, or is loaded only now. */
static void entry_load(struct fifo_entry *entry)
{
	struct fifo_tsg *tsg;

	fifo_for_each_in(entry, tsg)
		tsg->loaded |= tsg->enabled;
}

static void entry_unload(struct fifo_entry *entry)
{
	struct fifo_tsg *tsg;

	fifo_for_each_in(entry, tsg)
		tsg->loaded = false;
}

/* Unload the current entry. The next turn is the next entry's. */
static void runlist_unload(struct fifo_runlist *runlist)
{
	entry_unload(runlist->current);
	runlist->entries = runlist->current->next;
	runlist->current = NULL;
}

void runlist_add(struct fifo_runlist *runlist, struct fifo_entry *entry)
{
	bool turns = turns_are_fixed(runlist);

	if (turns)
		turns_advance(runlist);
	entry->runlist = runlist;
	entry->next = runlist->entries ? runlist->entries->next : entry;
	if (runlist->entries)
		runlist->entries->next = entry;
	runlist->entries = entry;
	if (turns)
		turns_add(entry);
}

void runlist_remove(struct fifo_entry *entry)
{
	struct fifo_runlist *runlist = entry->runlist;
	struct fifo_entry *before = entry;

	if (turns_are_fixed(runlist)) {
		turns_advance(runlist);
		turns_remove(entry);
	}
	while (before->next != entry)
		before = before->next;
	before->next = entry->next;
	if (runlist->current == entry) {
		runlist_unload(runlist);
		runlist->switching = false;
	}
	if (runlist->entries == entry)
		runlist->entries = before == entry ? NULL : entry->next;
}

void entry_join(struct fifo_entry *entry, struct fifo_tsg *tsg)
{
	if (entry->tsgs)
		tsg->timeslice_ns = entry->tsgs->timeslice_ns;
	tsg->entry = entry;
	tsg->sibling = entry->tsgs;
	entry->tsgs = tsg;
}

void entry_leave(struct fifo_tsg *tsg)
{
	struct fifo_runlist *runlist = tsg->entry->runlist;
	struct fifo_tsg **link = &tsg->entry->tsgs;

	while (*link != tsg)
		link = &(*link)->sibling;
	*link = tsg->sibling;
	if (!tsg->entry->tsgs && runlist->current == tsg->entry) {
		runlist_unload(runlist);
		runlist->switching = false;
	}
}

/* The current entry's timeslice as the GPU counts it. */
static u64 runlist_slice_ns(const struct fifo_runlist *runlist)
{
	u64 slice = runlist->current->tsgs->timeslice_ns;
	u64 scale = runlist->partition->fifo->config.timeslice_scale_ppm;

	if (scale != FIFO_ALL_PPM)
		slice = fifo_mul_div(slice, scale, FIFO_ALL_PPM);
	return slice;
}

/*
 * The time to save or restore the state of the loaded TSGs of an entry. Only kernels in
 * execution have any, and together they fill the SMs at most once.
 */
static u64 entry_state_ns(const struct fifo *fifo, const struct fifo_entry *entry)
{
	const struct fifo_tsg *tsg;
	u64 occupancy = 0;

	fifo_for_each_loaded(entry, tsg) {
		const struct fifo_burst *burst = tsg->first;

		if (!burst || (burst->done_ns % burst->kernel_ns == 0 && !burst->done_ppm))
			continue;
		occupancy += burst->occupancy_ppm ? burst->occupancy_ppm : FIFO_ALL_PPM;
	}
	return fifo->config.context_state_ns * min(occupancy, (u64)FIFO_ALL_PPM) / FIFO_ALL_PPM;
}

/* The slice began when the entry's state began to come back. At least 1 ns of it is left. */
void runlist_start_slice(struct fifo_runlist *runlist)
{
	u64 slice = runlist_slice_ns(runlist);
	u64 restore = entry_state_ns(runlist->partition->fifo, runlist->current);

	runlist->slice_end_ns = eng_now() + (slice > restore ? slice - restore : 1);
}

/* The one entry of a partition that is shared in space is loaded at no cost. */
static void runlist_switch_to(struct fifo_runlist *runlist, struct fifo_entry *entry)
{
	struct fifo *fifo = runlist->partition->fifo;
	u64 state = entry_state_ns(fifo, runlist->current);

	entry_unload(runlist->current);
	entry_load(entry);
	state += entry_state_ns(fifo, entry);
	runlist->current = entry;
	if (runlist->partition->share.in_space) {
		runlist_start_slice(runlist);
		return;
	}
	runlist->switching = true;
	runlist->switch_end_ns = eng_now() + fifo->config.context_switch_ns + state;
	fifo->switches++;
}

/* The next entry of the runlist after the current one that is ready now, or NULL. */
static struct fifo_entry *runlist_next_ready(const struct fifo_runlist *runlist)
{
	struct fifo_entry *start = runlist->current ? runlist->current : runlist->entries;
	struct fifo_entry *entry = start;

	if (!runlist->current && entry_ready_date(start) <= eng_now())
		return start;
	while ((entry = entry->next) != start)
		if (entry_ready_date(entry) <= eng_now())
			return entry;
	return NULL;
}

/*
 * Preemptions take effect: the slice of the entry is over, and a TSG that is disabled leaves. A
 * TSG that is only disabled leaves when it has no work. An entry without a loaded TSG is
 * unloaded.
 */
static void runlist_preempt(struct fifo_runlist *runlist)
{
	bool any = false;
	struct fifo_tsg *tsg;

	fifo_for_each_in(runlist->current, tsg) {
		if (tsg->preempted)
			runlist->slice_end_ns = eng_now();
		if (!tsg->enabled && (tsg->preempted || !tsg->first))
			tsg->loaded = false;
		tsg->preempted = false;
		any |= tsg->loaded;
	}
	if (!any)
		runlist_unload(runlist);
}

/*
 * An entry that is alone at the end of its slice begins a new one if kernels are queued after
 * those in execution, and so on until @next comes. So @next waits for the end of the slice in
 * which it came. Such slices are not events: they are counted when another entry wants the GPU.
 */
static void runlist_renew_slice(struct fifo_runlist *runlist, const struct fifo_entry *next)
{
	u64 slice = max(runlist_slice_ns(runlist), 1ull);
	u64 since = entry_ready_since(next);

	if (since > runlist->slice_end_ns && entry_has_queue(runlist->current))
		runlist->slice_end_ns +=
			((since - runlist->slice_end_ns - 1) / slice + 1) * slice;
}

/* Nothing but the holder of the present turn may run. True: a switch has begun. */
static bool runlist_keep_turn(struct fifo_runlist *runlist)
{
	struct fifo_entry *holder;

	turns_advance(runlist);
	holder = runlist->holder;
	if (holder == runlist->current)
		return false;
	if (holder && entry_ready_date(holder) <= eng_now()) {
		runlist_switch_to(runlist, holder);
		return true;
	}
	if (runlist->current)
		runlist_unload(runlist);
	return false;
}

/* Is a kernel of a TSG without a page that it needs? */
static bool tsg_faults(const struct fifo_tsg *tsg)
{
	return tsg->stalled || tsg_is_faulting(tsg);
}

/* Let another entry have its turn if the rules say so now. True: a switch has begun. */
static bool runlist_make_room(struct fifo_runlist *runlist)
{
	struct fifo_entry *next;
	const struct fifo_tsg *tsg;
	u64 now = eng_now();

	fifo_for_each_loaded(runlist->current, tsg)
		if (tsg_faults(tsg))
			return false;
	if (runlist->current)
		runlist_preempt(runlist);
	if (turns_are_fixed(runlist))
		return runlist_keep_turn(runlist);
	next = runlist_next_ready(runlist);
	if (!next)
		return false;
	if (runlist->current && entry_work_date(runlist->current) <= now) {
		runlist_renew_slice(runlist, next);
		if (now < runlist->slice_end_ns)
			return false;
	}
	runlist_switch_to(runlist, next);
	return runlist->switching;
}

/* Hold the kernels of an entry beside one that faults, and let those end that waited for it. */
static void entry_hold(struct fifo_entry *entry)
{
	struct fifo_tsg *tsg;
	u32 faulting = 0;

	if (!entry || !entry->faults)
		return;
	fifo_for_each_loaded(entry, tsg)
		faulting += tsg_faults(tsg);
	entry->faults = faulting;
	fifo_for_each_in(entry, tsg) {
		bool held = faulting && tsg->loaded && faulting > tsg_faults(tsg);
		struct fifo_channel *channel;

		fifo_for_each_channel(tsg, channel)
			if (channel->first)
				burst_hold(channel->first, held);
	}
}

void runlist_decide(struct fifo_runlist *runlist)
{
	struct fifo_tsg *tsg;

	entry_hold(runlist->current);
	fifo_for_each_loaded(runlist->current, tsg) {
		while (tsg->first && tsg->first->done_kernels == tsg->first->kernels)
			tsg_finish_burst(tsg, 0);
		tsg_choose_channel(tsg);
	}
	if (!runlist->entries || runlist->switching)
		return;
	if (runlist->current)
		entry_load(runlist->current);
	if (runlist_make_room(runlist))
		return;
	fifo_for_each_loaded(runlist->current, tsg)
		if (!tsg->stalled && tsg_at_miss(tsg)) {
			tsg_stall(tsg);
			runlist->current->faults = true;
		}
	entry_hold(runlist->current);
}

/* When the last TSG of a loaded entry that executes now runs dry. */
static u64 entry_dry_date(const struct fifo_entry *entry)
{
	const struct fifo_tsg *tsg;
	u64 now = eng_now(), date = now;

	fifo_for_each_loaded(entry, tsg)
		if (tsg_work_date(tsg) <= now)
			date = max(date, burst_dry_date(tsg->first, now));
	return date;
}

/*
 * With fixed turns: when the holder of the turn has work, or else the end of the turn, if any
 * entry has work.
 */
static u64 runlist_turn_date(const struct fifo_runlist *runlist)
{
	const struct fifo_entry *entry = runlist->entries;
	u64 date = ENG_NEVER;

	do {
		if (entry_ready_date(entry) != ENG_NEVER)
			date = runlist->turn_end_ns;
		entry = entry->next;
	} while (entry != runlist->entries);
	if (runlist->holder && runlist->holder != runlist->current)
		date = min(date, entry_ready_date(runlist->holder));
	return date;
}

/* The first date at which the current entry, which may run now, has to give way to another. */
static u64 runlist_contention_date(const struct fifo_runlist *runlist)
{
	const struct fifo_entry *entry = runlist->current;
	const struct fifo_entry *start = entry ? entry : runlist->entries;
	u64 others = entry ? ENG_NEVER : entry_ready_date(start);
	u64 dry;

	for (const struct fifo_entry *other = start->next; other != start; other = other->next)
		others = min(others, entry_ready_date(other));
	if (others == ENG_NEVER || !entry || entry_work_date(entry) > eng_now())
		return others;
	dry = entry_dry_date(entry);
	if (dry < others)
		return others;
	return max(others, min(dry, runlist->slice_end_ns));
}

/*
 * The date of a loaded TSG's next event: the end of its burst or of a piece, or its next miss.
 */
static u64 tsg_progress_date(const struct fifo_tsg *tsg)
{
	u64 work;

	if (tsg_work_date(tsg) == ENG_NEVER)
		return ENG_NEVER;
	work = remote_step_work(tsg->first);
	if (work == tsg->first->done_ns)
		return tsg_work_date(tsg);
	return burst_date_of_work(tsg->first, eng_now(), work);
}

/*
 * The same where TSGs run side by side: also when its burst begins or ends a gap, which
 * changes the shares of others.
 */
static u64 tsg_step_date(const struct fifo_tsg *tsg)
{
	u64 now = eng_now(), ready = tsg_work_date(tsg);

	return ready > now ? ready :
			     burst_step_date(tsg->first, now, remote_step_work(tsg->first));
}

u64 runlist_next_date(const struct fifo_runlist *runlist, bool side_by_side)
{
	const struct fifo_tsg *tsg;
	u64 date = ENG_NEVER;
	bool stays = false;

	if (!runlist->entries)
		return ENG_NEVER;
	if (runlist->switching)
		return runlist->switch_end_ns;
	fifo_for_each_loaded(runlist->current, tsg) {
		if (!tsg->stalled)
			date = min(date,
				   side_by_side ? tsg_step_date(tsg) : tsg_progress_date(tsg));
		date = min(date, tsg_turn_date(tsg));
		stays |= tsg_faults(tsg);
	}
	if (stays)
		return date;
	return min(date, turns_are_fixed(runlist) ? runlist_turn_date(runlist) :
						    runlist_contention_date(runlist));
}
