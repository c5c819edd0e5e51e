// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The runlist: TSGs of user mode share the SMs by turns.
 *
 *     runlist:  B -> C -> A         SMs: A, until its slice is over and another one waits,
 *                  (in turn)             or it is preempted or disabled, or has no work left
 *
 * One TSG has the SMs at a time. A slice is counted in accesses: one microsecond each, so that a test gives the
 * same in every run. A TSG that is alone goes on past its slice, and one that comes then waits for no more than
 * the window of accesses that is under way.
 *
 * A TSG that only waits for replays lets others run. On hardware it cannot: replayable faults stall the engine, and
 * the context cannot be switched out. With the parameter hold_on_fault it keeps the SMs, and a preempt of it times
 * out. It loses them a second after its fault nevertheless. Hardware ends its stay with the slice, which is wall
 * time there.
 *
 * Each channel has a TSG of its own here.
 */
#include "softgpu.h"

#include <linux/jiffies.h>
#include <linux/module.h>

#define SOFTGPU_TIMESLICE_US 1024u /* RM's default */
#define SOFTGPU_HOLD	     HZ	   /* of a TSG with faults, with hold_on_fault */

/* Of NV_CHRAM_CHANNEL. */
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

void softgpu_tsg_init(struct softgpu_user_channel *channel)
{
	INIT_LIST_HEAD(&channel->turn);
	channel->timeslice_us = SOFTGPU_TIMESLICE_US;
}

/* The next TSG that may run, or NULL. LOCKING: scheduler.lock. */
static struct softgpu_user_channel *softgpu_runlist_next(struct softgpu_scheduler *scheduler)
{
	struct softgpu_user_channel *channel;

	list_for_each_entry(channel, &scheduler->runlist, turn)
		if (!channel->disabled)
			return channel;
	return NULL;
}

/* Whether the TSG on the SMs has to leave them as soon as it can. LOCKING: scheduler.lock. */
static bool softgpu_turn_is_over(struct softgpu_scheduler *scheduler)
{
	const struct softgpu_user_channel *channel = scheduler->running;

	return !channel->users || channel->disabled || channel->preempted ||
	       ((channel->ran >= channel->timeslice_us ||
		 channel->faulting == channel->users) &&
		softgpu_runlist_next(scheduler));
}

/* With hold_on_fault its faults keep it there, for a while. LOCKING: scheduler.lock. */
static bool softgpu_is_held(const struct softgpu_user_channel *channel)
{
	return channel->inside ||
	       (hold_on_fault && channel->faulting &&
		time_before(jiffies, channel->faulting_since + SOFTGPU_HOLD));
}

/* What a TSG's channel says of itself. LOCKING: scheduler.lock. */
static void softgpu_set_chram(struct softgpu_scheduler *scheduler,
			      struct softgpu_user_channel *channel)
{
	WRITE_ONCE(channel->chram,
		   (channel->users ? SOFTGPU_CHRAM_BUSY : 0) |
			   (scheduler->running == channel ? SOFTGPU_CHRAM_ON_ENG : 0));
}

/* Switch, if that is due and possible. LOCKING: scheduler.lock. */
static void softgpu_schedule(struct softgpu *gpu)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	struct softgpu_user_channel *channel = scheduler->running;

	if (channel && softgpu_turn_is_over(scheduler) && !softgpu_is_held(channel)) {
		struct softgpu_event event = { .kind = SOFTGPU_EVENT_SWITCH,
					       .a = channel->client,
					       .b = channel->ran };

		softgpu_event(gpu, &event);
		gpu->stats.switches++;
		channel->ran = 0;
		channel->preempted = false;
		if (channel->users)
			list_add_tail(&channel->turn, &scheduler->runlist);
		scheduler->running = NULL;
		softgpu_set_chram(scheduler, channel);
		wake_up_all(&scheduler->changed);
	}
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

	spin_lock(&scheduler->lock);
	if (!channel->users++ && scheduler->running != channel)
		list_add_tail(&channel->turn, &scheduler->runlist);
	softgpu_set_chram(scheduler, channel);
	spin_unlock(&scheduler->lock);
}

void softgpu_tsg_end(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	spin_lock(&scheduler->lock);
	if (!--channel->users)
		list_del_init(&channel->turn);
	softgpu_set_chram(scheduler, channel);
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
	enters = scheduler->running == channel && !softgpu_turn_is_over(scheduler);
	channel->inside += enters;
	spin_unlock(&scheduler->lock);
	return enters;
}

int softgpu_tsg_enter(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	long left;

	/* Now and then it looks by itself whether a TSG with faults has held the SMs for long enough. */
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
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	spin_lock(&scheduler->lock);
	channel->inside--;
	channel->ran += accesses;
	if (faults && !channel->faulting++)
		channel->faulting_since = jiffies;
	softgpu_schedule(gpu);
	spin_unlock(&scheduler->lock);
}

void softgpu_tsg_replayed(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	spin_lock(&scheduler->lock);
	channel->faulting--;
	softgpu_schedule(gpu);
	spin_unlock(&scheduler->lock);
}

static bool softgpu_tsg_is_off(struct softgpu *gpu, struct softgpu_user_channel *channel)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;
	bool off;

	spin_lock(&scheduler->lock);
	softgpu_schedule(gpu);
	off = scheduler->running != channel || !channel->preempted;
	spin_unlock(&scheduler->lock);
	return off;
}

NV_STATUS softgpu_tsg_preempt(struct softgpu *gpu, struct softgpu_user_channel *channel,
			      bool wait, u32 timeout_us)
{
	struct softgpu_scheduler *scheduler = &gpu->scheduler;

	spin_lock(&scheduler->lock);
	channel->preempted = scheduler->running == channel;
	spin_unlock(&scheduler->lock);
	if (softgpu_tsg_is_off(gpu, channel) || !wait)
		return NV_OK;
	if (wait_event_timeout(scheduler->changed, softgpu_tsg_is_off(gpu, channel),
			       usecs_to_jiffies(timeout_us)))
		return NV_OK;
	gpu->stats.preempt_timeouts++;
	return NV_ERR_TIMEOUT;
}

void softgpu_tsg_set(struct softgpu *gpu, struct softgpu_user_channel *channel, bool disabled,
		     u64 timeslice_us)
{
	spin_lock(&gpu->scheduler.lock);
	channel->disabled = disabled;
	channel->timeslice_us = timeslice_us;
	softgpu_schedule(gpu);
	spin_unlock(&gpu->scheduler.lock);
	wake_up_all(&gpu->scheduler.changed);
}
