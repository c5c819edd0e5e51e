// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The runlist: TSGs of user mode share the SMs by turns.
 *
 *     runlist:  B -> C -> A         SMs: A, until its slice is over and another one waits,
 *                  (in turn)             or it is preempted or disabled, or has no work left
 *
 * One TSG has the SMs at a time. A slice is counted in accesses: one microsecond each, so that
 * a test gives the same in every run. A TSG that is alone goes on past its slice, and one that
 * comes then waits for no more than the window of accesses that is under way.
 *
 * A TSG that only waits for replays lets others run. On hardware it cannot: replayable faults
 * stall the engine, and the context cannot be switched out. With the parameter hold_on_fault it
 * keeps the SMs, and a preempt of it times out. It loses them a second after its fault
 * nevertheless. Hardware ends its stay with the slice, which is wall time there.
 *
 * Channels of a TSG run side by side. A disabled one does not run, and the
 * others of its TSG do.
 */
#include "softgpu.h"

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#define SOFTGPU_TIMESLICE_US 1024u /* RM's default */
#define SOFTGPU_HOLD	     HZ	   /* of a TSG with faults, with hold_on_fault */

/* Of NV_CHRAM_CHANNEL. */
#define SOFTGPU_CHRAM_ENABLE BIT(1)
#define SOFTGPU_CHRAM_BUSY   BIT(3)
#define SOFTGPU_CHRAM_ON_ENG BIT(7)

static bool hold_on_fault;
module_param(hold_on_fault, bool, 0400);
MODULE_PARM_DESC(hold_on_fault, "a TSG with faults that were not serviced keeps the SMs");

void softgpu_scheduler_init(struct softgpu *gpu)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	spin_lock_init(&scheduler->lock);
	INIT_LIST_HEAD(&scheduler->runlist);
	init_waitqueue_head(&scheduler->changed);
}

/* TSGs and their channels. */

/* The number of the TSG that a channel is in. */
static u32 softgpu_tsg_number(u32 object)
{
	return object < SOFTGPU_COPY_CHANNELS ? object % SOFTGPU_TSG_CHANNELS : object;
}

bool softgpu_tsg_has(const struct softgpu_user_channel *channel, u32 client, u32 number)
{
	return channel->client == client && channel->tsg->number == number;
}

/* The TSG that a channel belongs into, or NULL. LOCKING: softgpu.lock. */
static struct softgpu_user_tsg *softgpu_tsg_find(struct softgpu *gpu, u32 client, u32 object)
{
	struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &gpu->user_channels, node)
		if (channel->tsg->client == client % SOFTGPU_TSG_CLIENTS &&
		    channel->tsg->number == softgpu_tsg_number(object))
			return channel->tsg;
	return NULL;
}

static struct softgpu_user_tsg *softgpu_tsg_new(struct softgpu *gpu, u32 client, u32 object)
{
	struct softgpu_user_tsg *tsg = kzalloc(sizeof(*tsg), GFP_KERNEL);

	if (!tsg)
		return NULL;
	tsg->client = client % SOFTGPU_TSG_CLIENTS;
	tsg->number = softgpu_tsg_number(object);
	tsg->id = gpu->next_user_tsg++;
	tsg->timeslice_us = SOFTGPU_TIMESLICE_US;
	INIT_LIST_HEAD(&tsg->channels);
	INIT_LIST_HEAD(&tsg->turn);
	return tsg;
}

/*
 * The subcontext of an address space in a TSG. All channels of an address space share one. Its
 * first channel gets a free one. Channels that UVM does not retain do not count. Returns the
 * subcontext or -ENOSPC. LOCKING: softgpu.lock.
 */
static int softgpu_tsg_subcontext(const struct softgpu_user_tsg *tsg,
				  const struct softgpu_space *space)
{
	const struct softgpu_user_channel *channel;
	u64 used = 0;

	BUILD_BUG_ON(SOFTGPU_SUBCONTEXTS != 8 * sizeof(used));
	list_for_each_entry(channel, &tsg->channels, tsg_node) {
		if (!channel->retained)
			continue;
		if (channel->space == space)
			return channel->subcontext;
		used |= BIT_ULL(channel->subcontext);
	}
	return ~used && ffz(used) < softgpu_subcontexts(space->gpu) ? (int)ffz(used) : -ENOSPC;
}

int softgpu_tsg_join(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_user_tsg *tsg = softgpu_tsg_find(gpu, channel->client, channel->object);
	int subcontext;

	if (!tsg)
		tsg = softgpu_tsg_new(gpu, channel->client, channel->object);
	if (!tsg)
		return -ENOMEM;
	subcontext = softgpu_tsg_subcontext(tsg, channel->space);
	if (subcontext < 0)
		return subcontext;
	channel->subcontext = subcontext;
	channel->tsg = tsg;
	spin_lock(&gpu->scheduler.lock);
	list_add_tail(&channel->tsg_node, &tsg->channels);
	spin_unlock(&gpu->scheduler.lock);
	return 0;
}

void softgpu_tsg_quit(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_user_tsg *tsg = channel->tsg;

	spin_lock(&gpu->scheduler.lock);
	list_del(&channel->tsg_node);
	spin_unlock(&gpu->scheduler.lock);
	if (list_empty(&tsg->channels))
		kfree(tsg);
}

/* Turns. */

/* Whether a channel of the TSG may run, and has work. LOCKING: scheduler.lock. */
static bool softgpu_tsg_is_ready(const struct softgpu_user_tsg *tsg)
{
	const struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &tsg->channels, tsg_node)
		if (channel->users && !channel->disabled)
			return true;
	return false;
}

/* Whether all work that may run waits for replays. LOCKING: scheduler.lock. */
static bool softgpu_tsg_only_waits(const struct softgpu_user_tsg *tsg)
{
	const struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &tsg->channels, tsg_node)
		if (channel->users != channel->faulting && !channel->disabled)
			return false;
	return true;
}

/* The next TSG that may run, or NULL. LOCKING: scheduler.lock. */
static struct softgpu_user_tsg *softgpu_runlist_next(struct softgpu_scheduler *scheduler)
{
	struct softgpu_user_tsg *tsg;

	list_for_each_entry(tsg, &scheduler->runlist, turn)
		if (softgpu_tsg_is_ready(tsg))
			return tsg;
	return NULL;
}

/* Whether the TSG on the SMs has to leave them as soon as it can. LOCKING: scheduler.lock. */
static bool softgpu_turn_is_over(struct softgpu_scheduler *scheduler)
{
	const struct softgpu_user_tsg *tsg = scheduler->running;

	return tsg->preempted || !softgpu_tsg_is_ready(tsg) ||
	       ((tsg->ran >= tsg->timeslice_us || softgpu_tsg_only_waits(tsg)) &&
		softgpu_runlist_next(scheduler));
}

/* With hold_on_fault its faults keep it there, for a while. LOCKING: scheduler.lock. */
static bool softgpu_is_held(const struct softgpu_user_tsg *tsg)
{
	return tsg->inside || (hold_on_fault && tsg->faulting &&
			       time_before(jiffies, tsg->faulting_since + SOFTGPU_HOLD));
}

/* What the channels of a TSG say of themselves. LOCKING: scheduler.lock. */
static void softgpu_set_chram(struct softgpu_scheduler *scheduler, struct softgpu_user_tsg *tsg)
{
	u32 on = scheduler->running == tsg ? SOFTGPU_CHRAM_ON_ENG : 0;
	struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &tsg->channels, tsg_node)
		WRITE_ONCE(channel->chram,
			   on | (channel->users ? SOFTGPU_CHRAM_BUSY : 0) |
				   (channel->disabled ? 0 : SOFTGPU_CHRAM_ENABLE));
}

/* The TSG on the SMs leaves them. LOCKING: scheduler.lock. */
static void softgpu_switch_off(struct softgpu *gpu)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	struct softgpu_user_tsg *tsg = scheduler->running;
	struct softgpu_event event = { .kind = SOFTGPU_EVENT_SWITCH,
				       .a = tsg->client,
				       .b = tsg->ran };

	softgpu_event(gpu, &event);
	gpu->stats.switches++;
	tsg->ran = 0;
	tsg->preempted = false;
	if (tsg->users)
		list_add_tail(&tsg->turn, &scheduler->runlist);
	scheduler->running = NULL;
	softgpu_set_chram(scheduler, tsg);
	wake_up_all(&scheduler->changed);
}

/* Switch, if that is due and possible. LOCKING: scheduler.lock. */
static void softgpu_schedule(struct softgpu *gpu)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	if (scheduler->running && softgpu_turn_is_over(scheduler) &&
	    !softgpu_is_held(scheduler->running))
		softgpu_switch_off(gpu);
	if (!scheduler->running) {
		scheduler->running = softgpu_runlist_next(scheduler);
		if (scheduler->running) {
			list_del_init(&scheduler->running->turn);
			softgpu_set_chram(scheduler, scheduler->running);
			wake_up_all(&scheduler->changed);
		}
	}
}

void softgpu_tsg_begin(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	struct softgpu_user_tsg *tsg = channel->tsg;

	spin_lock(&scheduler->lock);
	channel->users++;
	if (!tsg->users++ && scheduler->running != tsg)
		list_add_tail(&tsg->turn, &scheduler->runlist);
	softgpu_set_chram(scheduler, tsg);
	spin_unlock(&scheduler->lock);
}

void softgpu_tsg_end(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	struct softgpu_user_tsg *tsg = channel->tsg;

	spin_lock(&scheduler->lock);
	channel->users--;
	if (!--tsg->users)
		list_del_init(&tsg->turn);
	softgpu_set_chram(scheduler, tsg);
	softgpu_schedule(gpu);
	spin_unlock(&scheduler->lock);
}

/* Take the SMs if it is the TSG's turn. */
static bool softgpu_tsg_try(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	bool enters;

	spin_lock(&scheduler->lock);
	softgpu_schedule(gpu);
	enters = scheduler->running == channel->tsg && !channel->disabled &&
		 !softgpu_turn_is_over(scheduler);
	channel->tsg->inside += enters;
	spin_unlock(&scheduler->lock);
	return enters;
}

int softgpu_tsg_enter(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	long left;

	/*
	 * Now and then it looks by itself whether a TSG with faults has held
	 * the SMs for long enough.
	 */
	do {
		bool entered = false;

		left = wait_event_killable_timeout(
			gpu->scheduler.changed,
			READ_ONCE(channel->gone) || READ_ONCE(gpu->lost) ||
				(entered = softgpu_tsg_try(gpu, channel)),
			SOFTGPU_HOLD / 4);
		if (entered)
			return 0;
		if (READ_ONCE(channel->gone) || READ_ONCE(gpu->lost))
			return -ENODEV;
	} while (left >= 0);
	return -EINTR;
}

void softgpu_tsg_leave(struct softgpu *gpu, struct softgpu_user_channel *channel, u32 accesses,
		       bool faults)
{
	struct softgpu_user_tsg *tsg = channel->tsg;

	spin_lock(&gpu->scheduler.lock);
	tsg->inside--;
	tsg->ran += accesses;
	if (faults) {
		channel->faulting++;
		if (!tsg->faulting++)
			tsg->faulting_since = jiffies;
	}
	softgpu_schedule(gpu);
	spin_unlock(&gpu->scheduler.lock);
}

void softgpu_tsg_replayed(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	spin_lock(&gpu->scheduler.lock);
	channel->faulting--;
	channel->tsg->faulting--;
	softgpu_schedule(gpu);
	spin_unlock(&gpu->scheduler.lock);
}

static bool softgpu_tsg_is_off(struct softgpu *gpu, struct softgpu_user_tsg *tsg)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	bool off;

	spin_lock(&scheduler->lock);
	softgpu_schedule(gpu);
	off = scheduler->running != tsg || !tsg->preempted;
	spin_unlock(&scheduler->lock);
	return off;
}

NV_STATUS softgpu_tsg_preempt(struct softgpu *gpu, struct softgpu_user_tsg *tsg, bool wait,
			      u32 timeout_us)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	spin_lock(&scheduler->lock);
	tsg->preempted = scheduler->running == tsg;
	spin_unlock(&scheduler->lock);
	if (softgpu_tsg_is_off(gpu, tsg) || !wait)
		return NV_OK;
	if (wait_event_timeout(scheduler->changed, softgpu_tsg_is_off(gpu, tsg),
			       usecs_to_jiffies(timeout_us)))
		return NV_OK;
	gpu->stats.preempt_timeouts++;
	return NV_ERR_TIMEOUT;
}

void softgpu_tsg_set_timeslice(struct softgpu *gpu, struct softgpu_user_tsg *tsg,
			       u64 timeslice_us)
{
	spin_lock(&gpu->scheduler.lock);
	tsg->timeslice_us = timeslice_us;
	softgpu_schedule(gpu);
	spin_unlock(&gpu->scheduler.lock);
	wake_up_all(&gpu->scheduler.changed);
}

void softgpu_channel_disable(struct softgpu *gpu, struct softgpu_user_channel *channel,
			     bool disabled)
{
	spin_lock(&gpu->scheduler.lock);
	channel->disabled = disabled;
	softgpu_set_chram(&gpu->scheduler, channel->tsg);
	softgpu_schedule(gpu);
	spin_unlock(&gpu->scheduler.lock);
	wake_up_all(&gpu->scheduler.changed);
}
