// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host engine as a state machine; see gsp.h for its rules.
 *
 * Everything happens in two steps: gsp_update() brings the loaded context's train up to the
 * present, gsp_plan() decides what holds now and sets the one timer for the next date at which
 * that can change. Submissions, replays, RPCs and the timer all do the same: update, change
 * something, plan.
 */
#include "gsp/gsp.h"

#include "gsp/train.h"

/* Stalls at one block before a kernel is stuck: several turns of all pages, one by one. */
#define STUCK_STALLS (4 * GVM_PAGES_PER_BLOCK)

static void gsp_plan(struct gsp *gsp);

/* When a TSG has something to execute; ENG_NEVER: not until something is submitted. */
static u64 tsg_work_date(const struct gsp_tsg *tsg)
{
	return !tsg->dead && tsg->first ? train_ready_date(tsg->first, eng_now()) : ENG_NEVER;
}

/* From when on a TSG may be switched to. */
static u64 tsg_ready_date(const struct gsp_tsg *tsg)
{
	return tsg->enabled ? tsg_work_date(tsg) : ENG_NEVER;
}

/* The current TSG has been stalled from updated_ns until now: who else had something to do? */
static void gsp_count_blocked(struct gsp *gsp, u64 now)
{
	struct gsp_tsg *tsg = gsp->current;
	u64 ready;

	while ((tsg = tsg->next) != gsp->current) {
		if (!tsg->enabled || tsg->dead || !tsg->first)
			continue;
		ready = train_ready_date(tsg->first, gsp->updated_ns);
		tsg->blocked_ns += now - min(ready, now);
	}
}

void gsp_update(struct gsp *gsp)
{
	struct gsp_tsg *tsg = gsp->current;
	u64 now = eng_now();
	u64 done;

	if (tsg && tsg->first && !gsp->switching && !tsg->stalled) {
		done = train_work_at(tsg->first, gsp->updated_ns, now);
		tsg->busy_ns += done - tsg->first->done_ns;
		tsg->first->done_ns = done;
	}
	if (tsg && tsg->stalled) {
		tsg->stall_ns += now - tsg->stalled_ns_since;
		tsg->stalled_ns_since = now;
		gsp_count_blocked(gsp, now);
	}
	gsp->updated_ns = now;
}

static void train_finish(struct gsp_tsg *tsg, int status)
{
	struct gsp_train *train = tsg->first;

	tsg->first = train->next;
	if (!tsg->first)
		tsg->last = NULL;
	tsg->ended_kernels +=
		train_launched(train, eng_now()); /* of a dead TSG: all ends here */
	train->finished = true;
	train->status = status;
	train->finished_ns = eng_now();
	eng_wake_all(&train->waitq);
}

static void tsg_finish_done(struct gsp_tsg *tsg)
{
	while (tsg->first && tsg->first->done_ns == train_work_ns(tsg->first))
		train_finish(tsg, 0);
}

static void gsp_start_slice(struct gsp *gsp)
{
	u64 slice = (u64)((unsigned __int128)gsp->current->timeslice_ns *
			  gsp->config.timeslice_scale_ppm / 1000000);

	gsp->slice_end_ns = eng_now() + slice;
}

/* How long it takes to save or restore a TSG's state: only a kernel in execution has any. */
static u64 gsp_state_ns(const struct gsp *gsp, const struct gsp_tsg *tsg)
{
	const struct gsp_train *train = tsg ? tsg->first : NULL;
	u32 occupancy;

	if (!train || train->done_ns % train->kernel_ns == 0)
		return 0;
	occupancy = train->occupancy_ppm ? train->occupancy_ppm : 1000000;
	return gsp->config.context_state_ns * occupancy / 1000000;
}

static void gsp_switch_to(struct gsp *gsp, struct gsp_tsg *tsg)
{
	u64 state = gsp_state_ns(gsp, gsp->current) + gsp_state_ns(gsp, tsg);

	gsp->current = tsg;
	gsp->switching = true;
	gsp->switch_end_ns = eng_now() + gsp->config.context_switch_ns + state;
	gsp->switches++;
}

/* The next TSG of the runlist behind the current one that is ready now, or NULL. */
static struct gsp_tsg *gsp_next_ready(struct gsp *gsp)
{
	struct gsp_tsg *start = gsp->current ? gsp->current : gsp->runlist;
	struct gsp_tsg *tsg = start;

	if (!start)
		return NULL;
	if (!gsp->current && tsg_ready_date(start) <= eng_now())
		return start;
	while ((tsg = tsg->next) != start)
		if (tsg_ready_date(tsg) <= eng_now())
			return tsg;
	return NULL;
}

/* The earliest date at which a TSG other than the current one wants the GPU. */
static u64 gsp_others_ready_date(const struct gsp *gsp)
{
	struct gsp_tsg *start = gsp->current ? gsp->current : gsp->runlist;
	struct gsp_tsg *tsg = start;
	u64 earliest = gsp->current ? ENG_NEVER : tsg_ready_date(start);

	while ((tsg = tsg->next) != start)
		earliest = min(earliest, tsg_ready_date(tsg));
	return earliest;
}

/* The block that a train has got to, all before it having been used. */
static u64 train_progress_ordinal(const struct gsp_train *train)
{
	return (u64)((unsigned __int128)train->touch_blocks * train->done_ns /
		     train_work_ns(train));
}

/* The first look at a train's touches: what they amount to, and where in them it is. */
static void train_count_touches(struct gsp_train *train)
{
	if (train->touch_blocks)
		return;
	train->touch_blocks = gmmu_count_blocks(train->touches, train->touch_count);
	train->cursor =
		gmmu_seek(train->touches, train->touch_count, train_progress_ordinal(train));
}

/*
 * How much of the train's work can be done before it touches something that is not resident:
 * all of it if nothing is missing.
 */
static u64 train_work_before_miss(struct gsp_train *train)
{
	u64 work = train_work_ns(train);
	u64 miss;

	if (!train->touch_count || gmmu_all_resident(train->touches, train->touch_count))
		return work;
	train_count_touches(train);
	if (!gmmu_find_miss(train->touches, train->touch_count, &train->cursor))
		return work;
	miss = (u64)((unsigned __int128)work * train->cursor.ordinal / train->touch_blocks);
	return max(miss, train->done_ns);
}

/* Blocks are touched evenly over a train's kernels: those that the one at its cursor touches. */
static u64 train_kernel_end_ordinal(const struct gsp_train *train)
{
	unsigned __int128 blocks = train->touch_blocks;
	u64 kernel = (u64)(train->cursor.ordinal * (unsigned __int128)train->kernels / blocks);
	u64 end = (u64)(((kernel + 1) * blocks + train->kernels - 1) / train->kernels);

	return max(end, train->cursor.ordinal + 1);
}

/* A train stalls at its cursor, in a kernel that ends at @end: how far does it look ahead? */
static u64 train_window_end(struct gsp_train *train, u64 end)
{
	u64 at = train->cursor.ordinal;

	train->stuck_stalls = at == train->stuck_ordinal ? train->stuck_stalls + 1 : 0;
	train->stuck_ordinal = at;
	if (train->stuck_stalls >= STUCK_STALLS)
		train->narrow_ordinal = end;
	return at < train->narrow_ordinal ? at + 1 : end;
}

/* The current TSG stands at a missing page. */
static void gsp_stall(struct gsp *gsp)
{
	struct gsp_tsg *tsg = gsp->current;
	struct gsp_train *train = tsg->first;
	u64 kernel_end = train_kernel_end_ordinal(train);
	struct gmmu_window window = {
		.end_ordinal = train_window_end(train, kernel_end),
		.faults = gsp->config.outstanding_faults,
		.pages_per_block = train->pages_at_once ? train->pages_at_once :
							  gsp->config.faults_per_block,
		.faults_per_page = max(train->faults_per_page, 1u),
	};

	train->faulting_ordinal = kernel_end;
	/* Work is rounded down to where a miss is: the block before that is used, too. */
	train->granted_ordinal = train->cursor.ordinal;
	tsg->stalled = true;
	tsg->stalled_ns_since = eng_now();
	gmmu_report(gsp->gmmu, tsg->space, tsg->id, train->touches, train->touch_count,
		    train->cursor, &window);
}

/* The accesses of a stalled TSG run again: those whose pages are there are made now. */
static void tsg_replay(struct gsp_tsg *tsg)
{
	struct gsp_train *train = tsg->first;

	tsg->stalled = false;
	gmmu_find_miss(train->touches, train->touch_count, &train->cursor);
	train->granted_ordinal = min(train->cursor.ordinal, train->faulting_ordinal);
}

/* Give the GPU to somebody else if the rules say so now. True: a switch has begun. */
static bool gsp_yield_current(struct gsp *gsp)
{
	struct gsp_tsg *next = gsp_next_ready(gsp);
	u64 now = eng_now();

	if (!next)
		return false;
	if (gsp->current && tsg_work_date(gsp->current) <= now && now < gsp->slice_end_ns)
		return false;
	gsp_switch_to(gsp, next);
	return true;
}

/* When the current TSG, which may go on now, has to make room for others at the earliest. */
static u64 gsp_contention_date(const struct gsp *gsp)
{
	u64 others = gsp_others_ready_date(gsp);
	const struct gsp_tsg *tsg = gsp->current;
	u64 dry;

	if (others == ENG_NEVER || !tsg || tsg_work_date(tsg) > eng_now())
		return others;
	dry = train_dry_date(tsg->first, eng_now());
	if (dry < others)
		return others;
	return max(others, min(dry, gsp->slice_end_ns));
}

/* The next date of the current TSG's own doing: its train's end or its next miss. */
static u64 gsp_progress_date(struct gsp *gsp)
{
	struct gsp_tsg *tsg = gsp->current;
	u64 work;

	if (!tsg || tsg_work_date(tsg) == ENG_NEVER)
		return ENG_NEVER;
	work = train_work_before_miss(tsg->first);
	if (work == tsg->first->done_ns)
		return tsg_work_date(tsg);
	return train_date_of_work(tsg->first, eng_now(), work);
}

/* Is the current TSG about to touch a missing page right now? */
static bool gsp_at_miss(struct gsp *gsp)
{
	struct gsp_tsg *tsg = gsp->current;

	return tsg && tsg_work_date(tsg) <= eng_now() &&
	       train_work_before_miss(tsg->first) == tsg->first->done_ns;
}

/*
 * Is the current TSG in a kernel that has faulted and has not got all of its pages yet? Its warps
 * fault side by side: until it has, there is no instant without an outstanding fault.
 */
static bool gsp_is_faulting(struct gsp *gsp)
{
	const struct gsp_tsg *tsg = gsp->current;

	return tsg && tsg->first && tsg->first->faulting_ordinal &&
	       train_work_before_miss(tsg->first) < train_work_ns(tsg->first) &&
	       tsg->first->cursor.ordinal < tsg->first->faulting_ordinal;
}

/* No context is loaded any more; the turn is with whoever comes behind the one that was. */
static void gsp_unload(struct gsp *gsp)
{
	gsp->runlist = gsp->current->next;
	gsp->current = NULL;
}

/* A preemption takes effect once the TSG can be switched out. */
static void gsp_take_off_preempted(struct gsp *gsp)
{
	struct gsp_tsg *tsg = gsp->current;

	if (!tsg || gsp->switching)
		return;
	if (tsg->preempted)
		gsp->slice_end_ns = eng_now();
	if (!tsg->enabled && (tsg->preempted || !tsg->first))
		gsp_unload(gsp);
	tsg->preempted = false;
}

/* Let others have the GPU if they may. True: a switch has begun. */
static bool gsp_make_room(struct gsp *gsp)
{
	if (gsp_is_faulting(gsp))
		return false;
	gsp_take_off_preempted(gsp);
	return gsp_yield_current(gsp);
}

/* Decide what holds now, and when that may change. The past is up to date. */
static void gsp_plan(struct gsp *gsp)
{
	u64 date;

	if (gsp->current)
		tsg_finish_done(gsp->current);
	if (!gsp->runlist || (gsp->current && gsp->current->stalled)) {
		eng_timer_cancel(&gsp->timer);
		return;
	}
	if (gsp->switching || gsp_make_room(gsp)) {
		eng_timer_set(&gsp->timer, gsp->switch_end_ns);
		return;
	}
	if (gsp_at_miss(gsp)) {
		gsp_stall(gsp);
		eng_timer_cancel(&gsp->timer);
		return;
	}
	date = gsp_progress_date(gsp);
	if (!gsp_is_faulting(gsp))
		date = min(date, gsp_contention_date(gsp));
	eng_timer_set(&gsp->timer, date);
}

static void gsp_fire(struct eng_timer *timer)
{
	struct gsp *gsp = container_of(timer, struct gsp, timer);

	gsp_update(gsp);
	if (gsp->switching) {
		gsp->switching = false;
		gsp_start_slice(gsp);
	}
	gsp_plan(gsp);
}

void gsp_init(struct gsp *gsp, const struct gsp_config *config, struct gmmu *gmmu)
{
	*gsp = (struct gsp){ .config = *config, .gmmu = gmmu, .next_id = 1 };
	gsp->timer.fire = gsp_fire;
}

void gsp_destroy(struct gsp *gsp)
{
	eng_timer_cancel(&gsp->timer);
}

/* A number that was never used, and whose place is free. */
static u32 gsp_take_id(struct gsp *gsp, struct gsp_tsg *tsg)
{
	while (gsp->by_id[gsp->next_id % GSP_CHANNELS_MAX])
		gsp->next_id++;
	gsp->by_id[gsp->next_id % GSP_CHANNELS_MAX] = tsg;
	gsp->channels++;
	return gsp->next_id++;
}

int gsp_tsg_init(struct gsp *gsp, struct gsp_tsg *tsg, void *space)
{
	if (gsp->channels == GSP_CHANNELS_MAX)
		return -ENOSPC;
	*tsg = (struct gsp_tsg){
		.gsp = gsp,
		.id = gsp_take_id(gsp, tsg),
		.space = space,
		.timeslice_ns = gsp->config.timeslice_ns,
		.enabled = true,
	};
	tsg->next = gsp->runlist ? gsp->runlist->next : tsg;
	if (gsp->runlist)
		gsp->runlist->next = tsg;
	gsp->runlist = tsg;
	return 0;
}

static void tsg_fail_all(struct gsp_tsg *tsg)
{
	tsg->dead = true;
	tsg->stalled = false;
	while (tsg->first)
		train_finish(tsg, -EIO);
}

void gsp_tsg_destroy(struct gsp_tsg *tsg)
{
	struct gsp *gsp = tsg->gsp;
	struct gsp_tsg *before = tsg;

	gsp_update(gsp);
	tsg_fail_all(tsg);
	while (before->next != tsg)
		before = before->next;
	before->next = tsg->next;
	gsp->by_id[tsg->id % GSP_CHANNELS_MAX] = NULL;
	gsp->channels--;
	if (gsp->current == tsg) {
		gsp_unload(gsp);
		gsp->switching = false;
	}
	if (gsp->runlist == tsg)
		gsp->runlist = before == tsg ? NULL : tsg->next;
	gsp_plan(gsp);
}

void gsp_submit(struct gsp_tsg *tsg, struct gsp_train *train)
{
	struct gsp *gsp = tsg->gsp;

	GVM_ASSERT(train->kernels && train->kernel_ns);
	GVM_ASSERT(train->kernel_ns <= GSP_TRAIN_MAX_NS / train->kernels);
	GVM_ASSERT(train->launch_ns <= GSP_TRAIN_MAX_NS / train->kernels);
	gsp_update(gsp);
	/* The launch fails: nothing of it is submitted, or counted. */
	if (tsg->dead) {
		train->finished = true;
		train->status = -EIO;
		train->finished_ns = eng_now();
		return;
	}
	train->launch_start_ns = max((u64)eng_now_busy(), tsg->launch_end_ns);
	GVM_ASSERT(train->launch_start_ns <= GSP_TRAIN_MAX_NS);
	tsg->launch_end_ns = train->launch_start_ns + train->kernels * train->launch_ns;
	if (tsg->last)
		tsg->last->next = train;
	else
		tsg->first = train;
	tsg->last = train;
	if (tsg == gsp->current && tsg->first == train && !gsp->switching && tsg->enabled)
		gsp_start_slice(gsp); /* it was idle: it is scheduled anew */
	gsp_plan(gsp);
}

int gsp_wait(struct gsp_train *train)
{
	int status = 0;

	while (!train->finished && status != -EINTR)
		status = eng_wait(&train->waitq, ENG_NEVER, true);
	return train->finished ? train->status : status;
}

void gsp_replay(struct gsp *gsp)
{
	struct gsp_tsg *tsg = gsp->runlist;

	if (!tsg)
		return;
	gsp_update(gsp);
	do {
		if (tsg->stalled)
			tsg_replay(tsg);
		tsg = tsg->next;
	} while (tsg != gsp->runlist);
	gsp_plan(gsp);
}

void gsp_unmapped(struct gsp_tsg *tsg, const struct gvm_range *range, u32 index)
{
	struct gsp_train *train = tsg->first;
	struct gmmu_cursor cursor;
	u64 used;

	if (!train || !train->touch_count)
		return;
	gsp_update(tsg->gsp);
	if (train->touch_blocks) {
		used = max(train->granted_ordinal, train_progress_ordinal(train));
		if (!gmmu_find_block(train->touches, train->touch_count, range, index, used,
				     &cursor) ||
		    cursor.ordinal >= train->cursor.ordinal)
			return;
		train->cursor = cursor;
	}
	/* Without a count, all was resident when the plan was made; now that is looked at. */
	gsp_plan(tsg->gsp);
}

struct gsp_tsg *gsp_find(struct gsp *gsp, u32 tsg_id)
{
	struct gsp_tsg *tsg = gsp->by_id[tsg_id % GSP_CHANNELS_MAX];

	return tsg && tsg->id == tsg_id ? tsg : NULL;
}

void gsp_kill(struct gsp *gsp, u32 tsg_id)
{
	struct gsp_tsg *tsg = gsp_find(gsp, tsg_id);

	if (!tsg)
		return;
	gsp_update(gsp);
	tsg_fail_all(tsg);
	gsp_plan(gsp);
}

void gsp_set_timeslice(struct gsp_tsg *tsg, u64 timeslice_ns)
{
	gsp_update(tsg->gsp);
	tsg->timeslice_ns = timeslice_ns;
	gsp_plan(tsg->gsp);
}

void gsp_disable(struct gsp_tsg *tsg)
{
	gsp_update(tsg->gsp);
	tsg->enabled = false;
	gsp_plan(tsg->gsp);
}

void gsp_enable(struct gsp_tsg *tsg)
{
	gsp_update(tsg->gsp);
	tsg->enabled = true;
	gsp_plan(tsg->gsp);
}

void gsp_preempt(struct gsp_tsg *tsg)
{
	struct gsp *gsp = tsg->gsp;

	gsp_update(gsp);
	tsg->preempted = gsp->current == tsg;
	gsp_plan(gsp);
}

bool gsp_busy(const struct gsp_tsg *tsg)
{
	return tsg->first != NULL;
}

u64 gsp_pending_kernels(const struct gsp_tsg *tsg)
{
	const struct gsp_train *train;
	u64 pending = 0;

	for (train = tsg->first; train; train = train->next)
		pending += train_launched(train, eng_now()) - train->done_ns / train->kernel_ns;
	return pending;
}

u64 gsp_ended_kernels(const struct gsp_tsg *tsg)
{
	const struct gsp_train *train = tsg->first;

	return tsg->ended_kernels + (train ? train->done_ns / train->kernel_ns : 0);
}
