// SPDX-License-Identifier: MIT OR GPL-2.0
/* On what TSGs and runlists spend their time; see account.h. */
#include "fifo/account.h"

#include "fifo/burst.h"
#include "fifo/ring.h"

/* Tell the recorder, if there is one, on what a TSG spent its time. */
static void tsg_observe(const struct fifo_tsg *tsg, enum fifo_activity activity, u64 from_ns,
			u64 to_ns)
{
	const struct fifo_observer *observer = &tsg->fifo->observer;

	if (observer->spent && from_ns < to_ns)
		observer->spent(observer->data, tsg, activity, from_ns, to_ns, 0, 0);
}

/*
 * Count the time of a loaded TSG that ran since the last update, and executed up to @done_ns
 * and @done_ppm. At 1 ppm of full speed that is less than a ns of work in most updates, and all
 * of the time.
 */
static void tsg_book_run(struct fifo_tsg *tsg, u64 now, u64 done_ns, u32 done_ppm)
{
	const struct fifo_observer *observer = &tsg->fifo->observer;
	u64 from_ns = tsg->entry->runlist->updated_ns;
	u64 busy_ns = done_ns - tsg->first->done_ns;
	u64 spent_ns = burst_time_to(tsg->first, done_ns, done_ppm);

	spent_ns = max(min(spent_ns, now - from_ns), busy_ns);
	tsg->busy_ns += busy_ns;
	tsg->slow_ns += spent_ns - busy_ns;
	if (observer->spent)
		observer->spent(observer->data, tsg, FIFO_RUNS, from_ns, now, busy_ns,
				spent_ns - busy_ns);
}

/*
 * Count the time since the last update that TSGs of other entries had work ready. With a
 * current TSG that @stalled they were blocked by its faults. Else it was not their turn, or
 * they are held or frozen.
 */
static void runlist_count_ready(struct fifo_runlist *runlist, u64 now, bool stalled)
{
	struct fifo_entry *entry = runlist->entries;
	struct fifo_tsg *tsg;

	do {
		fifo_for_each_in(entry, tsg) {
			u64 ready;

			if (tsg->loaded || tsg->dead)
				continue;
			if (!tsg->first) {
				tsg_observe(tsg, FIFO_IDLE, runlist->updated_ns, now);
				continue;
			}
			ready = min(burst_ready_date(tsg->first, runlist->updated_ns), now);
			tsg_observe(tsg, FIFO_IDLE, runlist->updated_ns, ready);
			if (stalled && tsg->enabled && entry != runlist->current) {
				tsg->blocked_ns += now - ready;
				tsg_observe(tsg, FIFO_BLOCKED, ready, now);
			} else {
				tsg->waited_ns += now - ready;
				tsg_observe(tsg, FIFO_WAITS, ready, now);
			}
		}
		entry = entry->next;
	} while (entry != runlist->entries);
}

/* All bursts are advanced to the present: where does the host thread stand? */
static void runlist_bound_launches(struct fifo_runlist *runlist)
{
	struct fifo_entry *entry = runlist->entries;
	struct fifo_tsg *tsg;

	do {
		fifo_for_each_in(entry, tsg)
			tsg_bound_launches(tsg);
		entry = entry->next;
	} while (entry != runlist->entries);
}

/* Book the time that a TSG has waited for its faults since the last call, by its parts. */
static void tsg_book_stall(struct fifo_tsg *tsg, u64 now)
{
	const struct fifo_stall_ops *ops = &tsg->fifo->stall_ops;
	u64 ns = now - tsg->stall_booked_ns;
	struct fifo_stall stall = { .ns = { [FIFO_STALL_CPU] = ns } };

	if (ops->parts && ns)
		stall = ops->parts(ops->data, tsg, ns);
	GVM_ASSERT(fifo_stall_ns(&stall) == ns);
	for (int part = 0; part < FIFO_STALL_PARTS; part++)
		tsg->stall.ns[part] += stall.ns[part];
	tsg->stall_booked_ns = now;
}

/*
 * Count the time since the last update of a loaded TSG, and advance the burst that it executes
 * to the present. Returns the work that was done in ns.
 */
static u64 tsg_update_loaded(struct fifo_tsg *tsg, u64 now)
{
	const struct fifo_runlist *runlist = tsg->entry->runlist;
	u64 from_ns = runlist->updated_ns;
	struct fifo_burst *burst = tsg->first;
	u64 done, worked;
	u32 done_ppm;

	if (runlist->switching)
		tsg->switching_ns += now - from_ns;
	if (tsg->stalled) {
		tsg_observe(tsg, FIFO_STALLED, from_ns, now);
		tsg_book_stall(tsg, now);
		return 0;
	}
	if (runlist->switching) {
		tsg_observe(tsg, FIFO_SWITCHING, from_ns, now);
		return 0;
	}
	if (burst && burst_is_at_end(burst)) {
		tsg_observe(tsg, FIFO_BLOCKED, from_ns, now);
		tsg->blocked_ns += now - from_ns;
		return 0;
	}
	if (!burst || burst->waits) {
		tsg_observe(tsg, FIFO_IDLE, from_ns, now);
		return 0;
	}
	done = burst_work_at(burst, from_ns, now, &done_ppm);
	tsg_book_run(tsg, now, done, done_ppm);
	worked = done - burst->done_ns;
	burst_set_done(burst, done, done_ppm);
	return worked;
}

void runlist_update(struct fifo_runlist *runlist)
{
	u64 now = eng_now(), passed = now - runlist->updated_ns, worked = 0;
	bool stalled = false;
	struct fifo_tsg *tsg;

	if (!passed)
		return;
	fifo_for_each_loaded(runlist->current, tsg) {
		worked += tsg_update_loaded(tsg, now);
		stalled |= tsg->stalled;
	}
	runlist->busy_ns += worked;
	if (runlist->switching)
		runlist->switching_ns += passed;
	else if (stalled)
		runlist->stalled_ns += passed - min(worked, passed);
	if (runlist->entries) {
		runlist_count_ready(runlist, now, stalled);
		runlist_bound_launches(runlist);
	}
	runlist->updated_ns = now;
}
