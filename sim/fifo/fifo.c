// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host engine as a state machine; see fifo.h for its rules.
 *
 * Everything happens in two steps: fifo_update() brings the loaded context's burst up to the
 * present, fifo_plan() decides what holds now and sets the one timer for the next date at which
 * that can change. Submissions, replays, RPCs and the timer all do the same: update, change
 * something, plan.
 */
#include "fifo/fifo.h"

#include "fifo/burst.h"

/* Stalls at one block before a kernel is stuck: several turns of all pages, one by one. */
#define STUCK_STALLS (4 * GVM_PAGES_PER_BLOCK)

static void fifo_plan(struct fifo *fifo);

/* When a TSG has something to execute; ENG_NEVER: not until something is submitted. */
static u64 tsg_work_date(const struct fifo_tsg *tsg)
{
	return !tsg->dead && tsg->first ? burst_ready_date(tsg->first, eng_now()) : ENG_NEVER;
}

/* From when on a TSG may be switched to. */
static u64 tsg_ready_date(const struct fifo_tsg *tsg)
{
	return tsg->enabled ? tsg_work_date(tsg) : ENG_NEVER;
}

/* The current TSG has been stalled from updated_ns until now: who else had something to do? */
static void fifo_count_blocked(struct fifo *fifo, u64 now)
{
	struct fifo_tsg *tsg = fifo->current;
	u64 ready;

	while ((tsg = tsg->next) != fifo->current) {
		if (!tsg->enabled || tsg->dead || !tsg->first)
			continue;
		ready = burst_ready_date(tsg->first, fifo->updated_ns);
		tsg->blocked_ns += now - min(ready, now);
	}
}

void fifo_update(struct fifo *fifo)
{
	struct fifo_tsg *tsg = fifo->current;
	u64 now = eng_now();
	u64 done;

	if (tsg && tsg->first && !fifo->switching && !tsg->stalled) {
		done = burst_work_at(tsg->first, fifo->updated_ns, now);
		tsg->busy_ns += done - tsg->first->done_ns;
		tsg->first->done_ns = done;
	}
	if (tsg && tsg->stalled) {
		tsg->stall_ns += now - tsg->stalled_ns_since;
		tsg->stalled_ns_since = now;
		fifo_count_blocked(fifo, now);
	}
	fifo->updated_ns = now;
}

static void burst_finish(struct fifo_tsg *tsg, int status)
{
	struct fifo_burst *burst = tsg->first;

	tsg->first = burst->next;
	if (!tsg->first)
		tsg->last = NULL;
	tsg->ended_kernels +=
		burst_launched(burst, eng_now()); /* of a dead TSG: all ends here */
	burst->finished = true;
	burst->status = status;
	burst->finished_ns = eng_now();
	eng_wake_all(&burst->waitq);
}

static void tsg_finish_done(struct fifo_tsg *tsg)
{
	while (tsg->first && tsg->first->done_ns == burst_work_ns(tsg->first))
		burst_finish(tsg, 0);
}

static void fifo_start_slice(struct fifo *fifo)
{
	u64 slice = (u64)((unsigned __int128)fifo->current->timeslice_ns *
			  fifo->config.timeslice_scale_ppm / 1000000);

	fifo->slice_end_ns = eng_now() + slice;
}

/* How long it takes to save or restore a TSG's state: only a kernel in execution has any. */
static u64 fifo_state_ns(const struct fifo *fifo, const struct fifo_tsg *tsg)
{
	const struct fifo_burst *burst = tsg ? tsg->first : NULL;
	u32 occupancy;

	if (!burst || burst->done_ns % burst->kernel_ns == 0)
		return 0;
	occupancy = burst->occupancy_ppm ? burst->occupancy_ppm : 1000000;
	return fifo->config.context_state_ns * occupancy / 1000000;
}

static void fifo_switch_to(struct fifo *fifo, struct fifo_tsg *tsg)
{
	u64 state = fifo_state_ns(fifo, fifo->current) + fifo_state_ns(fifo, tsg);

	fifo->current = tsg;
	fifo->switching = true;
	fifo->switch_end_ns = eng_now() + fifo->config.context_switch_ns + state;
	fifo->switches++;
}

/* The next TSG of the runlist behind the current one that is ready now, or NULL. */
static struct fifo_tsg *fifo_next_ready(struct fifo *fifo)
{
	struct fifo_tsg *start = fifo->current ? fifo->current : fifo->runlist;
	struct fifo_tsg *tsg = start;

	if (!start)
		return NULL;
	if (!fifo->current && tsg_ready_date(start) <= eng_now())
		return start;
	while ((tsg = tsg->next) != start)
		if (tsg_ready_date(tsg) <= eng_now())
			return tsg;
	return NULL;
}

/* The earliest date at which a TSG other than the current one wants the GPU. */
static u64 fifo_others_ready_date(const struct fifo *fifo)
{
	struct fifo_tsg *start = fifo->current ? fifo->current : fifo->runlist;
	struct fifo_tsg *tsg = start;
	u64 earliest = fifo->current ? ENG_NEVER : tsg_ready_date(start);

	while ((tsg = tsg->next) != start)
		earliest = min(earliest, tsg_ready_date(tsg));
	return earliest;
}

/* The block that a burst has got to, all before it having been used. */
static u64 burst_progress_ordinal(const struct fifo_burst *burst)
{
	return (u64)((unsigned __int128)burst->touch_blocks * burst->done_ns /
		     burst_work_ns(burst));
}

/* The first look at a burst's touches: what they amount to, and where in them it is. */
static void burst_count_touches(struct fifo_burst *burst)
{
	if (burst->touch_blocks)
		return;
	burst->touch_blocks = gmmu_count_blocks(&burst->walk);
	burst->cursor = gmmu_seek(&burst->walk, burst_progress_ordinal(burst));
}

/*
 * How much of the burst's work can be done before it touches something that is not resident:
 * all of it if nothing is missing.
 */
static u64 burst_work_before_miss(struct fifo_burst *burst)
{
	u64 work = burst_work_ns(burst);
	u64 miss;

	if (!burst->touch_count || gmmu_all_resident(&burst->walk))
		return work;
	burst_count_touches(burst);
	if (!gmmu_find_miss(&burst->walk, &burst->cursor))
		return work;
	miss = (u64)((unsigned __int128)work * burst->cursor.ordinal / burst->touch_blocks);
	return max(miss, burst->done_ns);
}

/* Blocks are touched evenly over a burst's kernels: those that the one at its cursor touches. */
static u64 burst_kernel_end_ordinal(const struct fifo_burst *burst)
{
	unsigned __int128 blocks = burst->touch_blocks;
	u64 kernel = (u64)(burst->cursor.ordinal * (unsigned __int128)burst->kernels / blocks);
	u64 end = (u64)(((kernel + 1) * blocks + burst->kernels - 1) / burst->kernels);

	return max(end, burst->cursor.ordinal + 1);
}

/* A burst stalls at its cursor, in a kernel that ends at @end: how far does it look ahead? */
static u64 burst_window_end(struct fifo_burst *burst, u64 end)
{
	u64 at = burst->cursor.ordinal;

	burst->stuck_stalls = at == burst->stuck_ordinal ? burst->stuck_stalls + 1 : 0;
	burst->stuck_ordinal = at;
	if (burst->stuck_stalls >= STUCK_STALLS)
		burst->narrow_ordinal = end;
	return at < burst->narrow_ordinal ? at + 1 : end;
}

/* The current TSG stands at a missing page. */
static void fifo_stall(struct fifo *fifo)
{
	struct fifo_tsg *tsg = fifo->current;
	struct fifo_burst *burst = tsg->first;
	u64 kernel_end = burst_kernel_end_ordinal(burst);
	struct gmmu_window window = {
		.end_ordinal = burst_window_end(burst, kernel_end),
		.faults = fifo->config.outstanding_faults,
		.pages_per_block = burst->pages_at_once ? burst->pages_at_once :
							  fifo->config.faults_per_block,
		.faults_per_page = max(burst->faults_per_page, 1u),
	};

	burst->faulting_ordinal = kernel_end;
	/* Work is rounded down to where a miss is: the block before that is used, too. */
	burst->granted_ordinal = burst->cursor.ordinal;
	tsg->stalled = true;
	tsg->stalled_ns_since = eng_now();
	gmmu_report(fifo->gmmu, tsg->id, &burst->walk, burst->cursor, &window);
}

/* The accesses of a stalled TSG run again: those whose pages are there are made now. */
static void tsg_replay(struct fifo_tsg *tsg)
{
	struct fifo_burst *burst = tsg->first;

	tsg->stalled = false;
	gmmu_find_miss(&burst->walk, &burst->cursor);
	burst->granted_ordinal = min(burst->cursor.ordinal, burst->faulting_ordinal);
}

/* Give the GPU to somebody else if the rules say so now. True: a switch has begun. */
static bool fifo_yield_current(struct fifo *fifo)
{
	struct fifo_tsg *next = fifo_next_ready(fifo);
	u64 now = eng_now();

	if (!next)
		return false;
	if (fifo->current && tsg_work_date(fifo->current) <= now && now < fifo->slice_end_ns)
		return false;
	fifo_switch_to(fifo, next);
	return true;
}

/* When the current TSG, which may go on now, has to make room for others at the earliest. */
static u64 fifo_contention_date(const struct fifo *fifo)
{
	u64 others = fifo_others_ready_date(fifo);
	const struct fifo_tsg *tsg = fifo->current;
	u64 dry;

	if (others == ENG_NEVER || !tsg || tsg_work_date(tsg) > eng_now())
		return others;
	dry = burst_dry_date(tsg->first, eng_now());
	if (dry < others)
		return others;
	return max(others, min(dry, fifo->slice_end_ns));
}

/* The next date of the current TSG's own doing: its burst's end or its next miss. */
static u64 fifo_progress_date(struct fifo *fifo)
{
	struct fifo_tsg *tsg = fifo->current;
	u64 work;

	if (!tsg || tsg_work_date(tsg) == ENG_NEVER)
		return ENG_NEVER;
	work = burst_work_before_miss(tsg->first);
	if (work == tsg->first->done_ns)
		return tsg_work_date(tsg);
	return burst_date_of_work(tsg->first, eng_now(), work);
}

/* Is the current TSG about to touch a missing page right now? */
static bool fifo_at_miss(struct fifo *fifo)
{
	struct fifo_tsg *tsg = fifo->current;

	return tsg && tsg_work_date(tsg) <= eng_now() &&
	       burst_work_before_miss(tsg->first) == tsg->first->done_ns;
}

/*
 * Is the current TSG in a kernel that has faulted and has not got all of its pages yet? Its warps
 * fault side by side: until it has, there is no instant without an outstanding fault.
 */
static bool fifo_is_faulting(struct fifo *fifo)
{
	const struct fifo_tsg *tsg = fifo->current;

	return tsg && tsg->first && tsg->first->faulting_ordinal &&
	       burst_work_before_miss(tsg->first) < burst_work_ns(tsg->first) &&
	       tsg->first->cursor.ordinal < tsg->first->faulting_ordinal;
}

/* No context is loaded any more; the turn is with whoever comes behind the one that was. */
static void fifo_unload(struct fifo *fifo)
{
	fifo->runlist = fifo->current->next;
	fifo->current = NULL;
}

/* A preemption takes effect once the TSG can be switched out. */
static void fifo_take_off_preempted(struct fifo *fifo)
{
	struct fifo_tsg *tsg = fifo->current;

	if (!tsg || fifo->switching)
		return;
	if (tsg->preempted)
		fifo->slice_end_ns = eng_now();
	if (!tsg->enabled && (tsg->preempted || !tsg->first))
		fifo_unload(fifo);
	tsg->preempted = false;
}

/* Let others have the GPU if they may. True: a switch has begun. */
static bool fifo_make_room(struct fifo *fifo)
{
	if (fifo_is_faulting(fifo))
		return false;
	fifo_take_off_preempted(fifo);
	return fifo_yield_current(fifo);
}

/* Decide what holds now, and when that may change. The past is up to date. */
static void fifo_plan(struct fifo *fifo)
{
	u64 date;

	if (fifo->current)
		tsg_finish_done(fifo->current);
	if (!fifo->runlist || (fifo->current && fifo->current->stalled)) {
		eng_timer_cancel(&fifo->timer);
		return;
	}
	if (fifo->switching || fifo_make_room(fifo)) {
		eng_timer_set(&fifo->timer, fifo->switch_end_ns);
		return;
	}
	if (fifo_at_miss(fifo)) {
		fifo_stall(fifo);
		eng_timer_cancel(&fifo->timer);
		return;
	}
	date = fifo_progress_date(fifo);
	if (!fifo_is_faulting(fifo))
		date = min(date, fifo_contention_date(fifo));
	eng_timer_set(&fifo->timer, date);
}

static void fifo_fire(struct eng_timer *timer)
{
	struct fifo *fifo = container_of(timer, struct fifo, timer);

	fifo_update(fifo);
	if (fifo->switching) {
		fifo->switching = false;
		fifo_start_slice(fifo);
	}
	fifo_plan(fifo);
}

void fifo_init(struct fifo *fifo, const struct fifo_config *config, struct gmmu *gmmu)
{
	*fifo = (struct fifo){ .config = *config, .gmmu = gmmu, .next_id = 1 };
	fifo->timer.fire = fifo_fire;
}

void fifo_destroy(struct fifo *fifo)
{
	eng_timer_cancel(&fifo->timer);
}

/* A number that was never used, and whose place is free. */
static u32 fifo_take_id(struct fifo *fifo, struct fifo_tsg *tsg)
{
	while (fifo->by_id[fifo->next_id % FIFO_CHANNELS_MAX])
		fifo->next_id++;
	fifo->by_id[fifo->next_id % FIFO_CHANNELS_MAX] = tsg;
	fifo->channels++;
	return fifo->next_id++;
}

int fifo_tsg_init(struct fifo *fifo, struct fifo_tsg *tsg, const struct page_table *table)
{
	if (fifo->channels == FIFO_CHANNELS_MAX)
		return -ENOSPC;
	*tsg = (struct fifo_tsg){
		.fifo = fifo,
		.id = fifo_take_id(fifo, tsg),
		.table = table,
		.timeslice_ns = fifo->config.timeslice_ns,
		.enabled = true,
	};
	tsg->next = fifo->runlist ? fifo->runlist->next : tsg;
	if (fifo->runlist)
		fifo->runlist->next = tsg;
	fifo->runlist = tsg;
	return 0;
}

static void tsg_fail_all(struct fifo_tsg *tsg)
{
	tsg->dead = true;
	tsg->stalled = false;
	while (tsg->first)
		burst_finish(tsg, -EIO);
}

void fifo_tsg_destroy(struct fifo_tsg *tsg)
{
	struct fifo *fifo = tsg->fifo;
	struct fifo_tsg *before = tsg;

	fifo_update(fifo);
	tsg_fail_all(tsg);
	while (before->next != tsg)
		before = before->next;
	before->next = tsg->next;
	fifo->by_id[tsg->id % FIFO_CHANNELS_MAX] = NULL;
	fifo->channels--;
	if (fifo->current == tsg) {
		fifo_unload(fifo);
		fifo->switching = false;
	}
	if (fifo->runlist == tsg)
		fifo->runlist = before == tsg ? NULL : tsg->next;
	fifo_plan(fifo);
}

void fifo_submit(struct fifo_tsg *tsg, struct fifo_burst *burst)
{
	struct fifo *fifo = tsg->fifo;

	GVM_ASSERT(burst->kernels && burst->kernel_ns);
	GVM_ASSERT(burst->kernel_ns <= FIFO_BURST_MAX_NS / burst->kernels);
	GVM_ASSERT(burst->launch_ns <= FIFO_BURST_MAX_NS / burst->kernels);
	fifo_update(fifo);
	/* The launch fails: nothing of it is submitted, or counted. */
	if (tsg->dead) {
		burst->finished = true;
		burst->status = -EIO;
		burst->finished_ns = eng_now();
		return;
	}
	burst->walk = (struct gmmu_walk){ tsg->table, burst->touches, burst->touch_count };
	burst->launch_start_ns = max((u64)eng_now_busy(), tsg->launch_end_ns);
	GVM_ASSERT(burst->launch_start_ns <= FIFO_BURST_MAX_NS);
	tsg->launch_end_ns = burst->launch_start_ns + burst->kernels * burst->launch_ns;
	if (tsg->last)
		tsg->last->next = burst;
	else
		tsg->first = burst;
	tsg->last = burst;
	if (tsg == fifo->current && tsg->first == burst && !fifo->switching && tsg->enabled)
		fifo_start_slice(fifo); /* it was idle: it is scheduled anew */
	fifo_plan(fifo);
}

int fifo_wait(struct fifo_burst *burst)
{
	int status = 0;

	while (!burst->finished && status != -EINTR)
		status = eng_wait(&burst->waitq, ENG_NEVER, true);
	return burst->finished ? burst->status : status;
}

void fifo_replay(struct fifo *fifo)
{
	struct fifo_tsg *tsg = fifo->runlist;

	if (!tsg)
		return;
	fifo_update(fifo);
	do {
		if (tsg->stalled)
			tsg_replay(tsg);
		tsg = tsg->next;
	} while (tsg != fifo->runlist);
	fifo_plan(fifo);
}

void fifo_unmapped(struct fifo_tsg *tsg, u64 va)
{
	struct fifo_burst *burst = tsg->first;
	struct gmmu_cursor cursor;
	u64 used;

	if (!burst || !burst->touch_count)
		return;
	fifo_update(tsg->fifo);
	if (burst->touch_blocks) {
		used = max(burst->granted_ordinal, burst_progress_ordinal(burst));
		if (!gmmu_find_block(&burst->walk, va, used, &cursor) ||
		    cursor.ordinal >= burst->cursor.ordinal)
			return;
		burst->cursor = cursor;
	}
	/* Without a count, all was resident when the plan was made; now that is looked at. */
	fifo_plan(tsg->fifo);
}

struct fifo_tsg *fifo_find(struct fifo *fifo, u32 tsg_id)
{
	struct fifo_tsg *tsg = fifo->by_id[tsg_id % FIFO_CHANNELS_MAX];

	return tsg && tsg->id == tsg_id ? tsg : NULL;
}

void fifo_kill(struct fifo *fifo, u32 tsg_id)
{
	struct fifo_tsg *tsg = fifo_find(fifo, tsg_id);

	if (!tsg)
		return;
	fifo_update(fifo);
	tsg_fail_all(tsg);
	fifo_plan(fifo);
}

void fifo_set_timeslice(struct fifo_tsg *tsg, u64 timeslice_ns)
{
	fifo_update(tsg->fifo);
	tsg->timeslice_ns = timeslice_ns;
	fifo_plan(tsg->fifo);
}

void fifo_disable(struct fifo_tsg *tsg)
{
	fifo_update(tsg->fifo);
	tsg->enabled = false;
	fifo_plan(tsg->fifo);
}

void fifo_enable(struct fifo_tsg *tsg)
{
	fifo_update(tsg->fifo);
	tsg->enabled = true;
	fifo_plan(tsg->fifo);
}

void fifo_preempt(struct fifo_tsg *tsg)
{
	struct fifo *fifo = tsg->fifo;

	fifo_update(fifo);
	tsg->preempted = fifo->current == tsg;
	fifo_plan(fifo);
}

bool fifo_busy(const struct fifo_tsg *tsg)
{
	return tsg->first != NULL;
}

u64 fifo_pending_kernels(const struct fifo_tsg *tsg)
{
	const struct fifo_burst *burst;
	u64 pending = 0;

	for (burst = tsg->first; burst; burst = burst->next)
		pending += burst_launched(burst, eng_now()) - burst->done_ns / burst->kernel_ns;
	return pending;
}

u64 fifo_ended_kernels(const struct fifo_tsg *tsg)
{
	const struct fifo_burst *burst = tsg->first;

	return tsg->ended_kernels + (burst ? burst->done_ns / burst->kernel_ns : 0);
}
