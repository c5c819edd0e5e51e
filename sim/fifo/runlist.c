// SPDX-License-Identifier: MIT OR GPL-2.0
/* One runlist: turns, timeslices and context switches; see fifo.h for the rules. */
#include "fifo/burst.h"
#include "fifo/parts.h"

/* From when on a TSG may be switched to. */
static u64 tsg_ready_date(const struct fifo_tsg *tsg)
{
	return tsg->enabled ? tsg_work_date(tsg) : ENG_NEVER;
}

void tsg_finish_burst(struct fifo_tsg *tsg, int status)
{
	struct fifo_burst *burst = tsg->first;

	tsg->first = burst->next;
	if (!tsg->first)
		tsg->last = NULL;
	/* Of a dead TSG: all that were launched end here. */
	tsg->ended_kernels += burst_launched(burst, eng_now());
	burst->finished = true;
	burst->status = status;
	burst->finished_ns = eng_now();
	eng_wake_all(&burst->waitq);
}

void runner_add(struct fifo_runner *runner, struct fifo_tsg *tsg)
{
	tsg->runner = runner;
	tsg->next = runner->runlist ? runner->runlist->next : tsg;
	if (runner->runlist)
		runner->runlist->next = tsg;
	runner->runlist = tsg;
}

/* Unload the current context. The next turn is the next TSG's. */
static void runner_unload(struct fifo_runner *runner)
{
	runner->runlist = runner->current->next;
	runner->current = NULL;
}

void runner_remove(struct fifo_runner *runner, struct fifo_tsg *tsg)
{
	struct fifo_tsg *before = tsg;

	while (before->next != tsg)
		before = before->next;
	before->next = tsg->next;
	if (runner->current == tsg) {
		runner_unload(runner);
		runner->switching = false;
	}
	if (runner->runlist == tsg)
		runner->runlist = before == tsg ? NULL : tsg->next;
}

/* The current TSG has been stalled since the last update: count the time that others were ready. */
static void runner_count_blocked(struct fifo_runner *runner, u64 now)
{
	for (struct fifo_tsg *tsg = runner->current->next; tsg != runner->current;
	     tsg = tsg->next) {
		u64 ready;

		if (!tsg->enabled || tsg->dead || !tsg->first)
			continue;
		ready = burst_ready_date(tsg->first, runner->updated_ns);
		tsg->blocked_ns += now - min(ready, now);
	}
}

/* Book what came of a TSG's fault episode since the last time. */
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

void runner_update(struct fifo_runner *runner)
{
	struct fifo_tsg *tsg = runner->current;
	u64 now = eng_now();

	if (tsg && tsg->first && !runner->switching && !tsg->stalled) {
		struct fifo_burst *burst = tsg->first;
		u64 done = burst_work_at(burst, runner->updated_ns, now, &burst->done_ppm);

		tsg->busy_ns += done - burst->done_ns;
		burst->done_ns = done;
	}
	if (tsg && tsg->stalled) {
		tsg_book_stall(tsg, now);
		runner_count_blocked(runner, now);
	}
	runner->updated_ns = now;
}

void runner_start_slice(struct fifo_runner *runner)
{
	u64 slice = runner->current->timeslice_ns;
	u64 scale = runner->partition->fifo->config.timeslice_scale_ppm;

	if (scale != 1000000)
		slice = (u64)((unsigned __int128)slice * scale / 1000000);
	runner->slice_end_ns = eng_now() + slice;
}

/* The time to save or restore a TSG's state. Only a kernel in execution has any. */
static u64 fifo_state_ns(const struct fifo *fifo, const struct fifo_tsg *tsg)
{
	const struct fifo_burst *burst = tsg ? tsg->first : NULL;
	u32 occupancy;

	if (!burst || (burst->done_ns % burst->kernel_ns == 0 && !burst->done_ppm))
		return 0;
	occupancy = burst->occupancy_ppm ? burst->occupancy_ppm : 1000000;
	return fifo->config.context_state_ns * occupancy / 1000000;
}

/* Clients that share a partition in space have one scheduling context: they switch at no cost. */
static void runner_switch_to(struct fifo_runner *runner, struct fifo_tsg *tsg)
{
	struct fifo *fifo = runner->partition->fifo;
	u64 state = fifo_state_ns(fifo, runner->current) + fifo_state_ns(fifo, tsg);

	runner->current = tsg;
	if (runner->partition->share.in_space) {
		runner_start_slice(runner);
		return;
	}
	runner->switching = true;
	runner->switch_end_ns = eng_now() + fifo->config.context_switch_ns + state;
	fifo->switches++;
}

/* The next TSG of the runlist behind the current one that is ready now, or NULL. */
static struct fifo_tsg *runner_next_ready(const struct fifo_runner *runner)
{
	struct fifo_tsg *start = runner->current ? runner->current : runner->runlist;
	struct fifo_tsg *tsg = start;

	if (!start)
		return NULL;
	if (!runner->current && tsg_ready_date(start) <= eng_now())
		return start;
	while ((tsg = tsg->next) != start)
		if (tsg_ready_date(tsg) <= eng_now())
			return tsg;
	return NULL;
}

/* Let another TSG have the runner if the rules say so now. True: a switch has begun. */
static bool runner_make_room(struct fifo_runner *runner)
{
	struct fifo_tsg *tsg = runner->current, *next;
	u64 now = eng_now();

	if (runner_is_faulting(runner))
		return false;
	/* A preemption takes effect once the TSG can be switched out. */
	if (tsg) {
		if (tsg->preempted)
			runner->slice_end_ns = now;
		if (!tsg->enabled && (tsg->preempted || !tsg->first))
			runner_unload(runner);
		tsg->preempted = false;
	}
	next = runner_next_ready(runner);
	if (!next)
		return false;
	if (runner->current && tsg_work_date(runner->current) <= now &&
	    now < runner->slice_end_ns)
		return false;
	runner_switch_to(runner, next);
	return runner->switching;
}

void runner_decide(struct fifo_runner *runner)
{
	struct fifo_tsg *tsg = runner->current;

	while (tsg && tsg->first && tsg->first->done_ns == burst_work_ns(tsg->first))
		tsg_finish_burst(tsg, 0);
	if (!runner->runlist || (tsg && tsg->stalled) || runner->switching ||
	    runner_make_room(runner))
		return;
	if (runner_at_miss(runner))
		runner_stall(runner);
}

/* The first date at which the current TSG, which may run now, has to give way to another. */
static u64 runner_contention_date(const struct fifo_runner *runner)
{
	const struct fifo_tsg *tsg = runner->current;
	const struct fifo_tsg *start = tsg ? tsg : runner->runlist;
	u64 others = tsg ? ENG_NEVER : tsg_ready_date(start);
	u64 dry;

	for (const struct fifo_tsg *other = start->next; other != start; other = other->next)
		others = min(others, tsg_ready_date(other));
	if (others == ENG_NEVER || !tsg || tsg_work_date(tsg) > eng_now())
		return others;
	dry = burst_dry_date(tsg->first, eng_now());
	if (dry < others)
		return others;
	return max(others, min(dry, runner->slice_end_ns));
}

/* The date of the current TSG's next event: the end of its burst, or its next miss. */
static u64 runner_progress_date(const struct fifo_runner *runner)
{
	struct fifo_tsg *tsg = runner->current;
	u64 work;

	if (!tsg || tsg_work_date(tsg) == ENG_NEVER)
		return ENG_NEVER;
	work = burst_work_before_miss(tsg->first);
	if (work == tsg->first->done_ns)
		return tsg_work_date(tsg);
	return burst_date_of_work(tsg->first, eng_now(), work);
}

u64 runner_next_date(struct fifo_runner *runner)
{
	u64 date;

	if (!runner->runlist || (runner->current && runner->current->stalled))
		return ENG_NEVER;
	if (runner->switching)
		return runner->switch_end_ns;
	date = runner_progress_date(runner);
	return runner_is_faulting(runner) ? date : min(date, runner_contention_date(runner));
}
