// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler's thread: it looks which TSGs have work, lets policy/sched.c decide,
 * and makes the RPCs.
 *
 * Layer: service. Looks and decides in one hold of tsg_mutex, and makes its RPCs under it, so
 * that the RPCs of a TSG and their record change together. A round with many TSGs
 * releases the mutex after GVM_SCHED_HOLD_RPCS RPCs, so other threads wait for that many at
 * most.
 *
 * A round has three steps. First the held TSGs leave the runlist and the GPU, up to
 * GVM_SCHED_BATCH of them with one RPC. Then released TSGs come back, in the same way.
 * Timeslices come last, one RPC for each TSG. A step lists the TSGs that need it and compares
 * each one's wish and record again when its turn comes. So a TSG that was detached since, or
 * has got its settings from a writer, gets no RPC. A TSG that is attached meanwhile gets the
 * round's decision with its attach.
 *
 * An RPC that failed is tried again in the next round.
 */
#include "gvm/sched.h"
#include "gvm/activity.h"

/* Looking. */

static u64 sched_pending_kernels(struct gvm_container *container)
{
	u64 submitted, ended;

	gvm_spin_lock(&container->device->lock);
	submitted = container->kernels_submitted;
	ended = container->kernels_ended;
	gvm_spin_unlock(&container->device->lock);
	return submitted > ended ? submitted - ended : 0;
}

/* Ask the device about all TSGs: how long each container ran, and whether it has work. */
static void sched_look_locked(struct gvm_scheduler *scheduler)
{
	const struct gvm_device *device = scheduler->device;
	struct gvm_container *container;
	struct gvm_tsg *tsg;

	list_for_each_entry(container, &device->compute, compute_node) {
		bool busy = false;

		list_for_each_entry(tsg, &container->tsgs, node) {
			struct gvm_tsg_sample sample = { .runtime_ns = tsg->runtime_ns };

			/* The work of a shared TSG is counted for no container. */
			if (gvm_tsg_is_shared(tsg))
				continue;
			device->ops->tsg_sample(device->gpu, tsg->id, &sample);
			/* A reset makes the device count from 0 again. */
			if (sample.runtime_ns > tsg->runtime_ns)
				container->share.ran_ns += sample.runtime_ns - tsg->runtime_ns;
			tsg->runtime_ns = sample.runtime_ns;
			busy |= sample.busy;
		}
		if (scheduler->config.tracking == GVM_TRACK_EVENTS)
			busy = sched_pending_kernels(container);
		container->share.work = busy && !container->frozen;
	}
}

/* RPCs. */

/* Take tsg_mutex, for up to GVM_SCHED_HOLD_RPCS RPCs. */
static void sched_lock(struct gvm_scheduler *scheduler)
{
	gvm_mutex_lock(&scheduler->device->tsg_mutex);
	scheduler->hold_rpcs = 0;
}

/* Count an RPC. Returns its error; -ENODEV (the TSG is gone) is none. */
static int sched_rpc_done(struct gvm_scheduler *scheduler, int status)
{
	scheduler->hold_rpcs++;
	if (!status || status == -ENODEV)
		return 0;
	if (status == -ENXIO)
		gvm_device_set_lost(scheduler->device);
	scheduler->failures++;
	return status;
}

/*
 * Does a hold also take the TSG off the GPU? Under priority it does, at once. Under weighted
 * shares the debtor may finish its timeslice: it gains a part of one timeslice at most.
 */
static bool sched_preempts(const struct gvm_scheduler *scheduler)
{
	return scheduler->config.policy == GVM_SCHED_PRIORITY;
}

/* Make one RPC for the TSGs of the batch, and empty it. */
static int sched_send_batch(struct gvm_scheduler *scheduler, bool disable)
{
	const struct gvm_device *device = scheduler->device;
	u32 count = scheduler->batch_count;
	int status;

	scheduler->batch_count = 0;
	if (!count)
		return 0;
	if (disable)
		status = device->ops->tsgs_disable(device->gpu, scheduler->batch_ids, count,
						   sched_preempts(scheduler));
	else
		status = device->ops->tsgs_enable(device->gpu, scheduler->batch_ids, count);
	status = sched_rpc_done(scheduler, status);
	for (u32 i = 0; i < count && !status; i++) {
		scheduler->batch[i]->disabled = disable;
		scheduler->batch[i]->preempted = disable && sched_preempts(scheduler);
		scheduler->batch[i]->left = false;
	}
	return status;
}

static int sched_add_to_batch(struct gvm_scheduler *scheduler, struct gvm_tsg *tsg,
			      bool disable)
{
	u32 i = scheduler->batch_count++;

	scheduler->batch[i] = tsg;
	scheduler->batch_ids[i] = tsg->id;
	return scheduler->batch_count == GVM_SCHED_BATCH ?
		       sched_send_batch(scheduler, disable) :
		       0;
}

static int sched_set_timeslice(struct gvm_scheduler *scheduler, struct gvm_tsg *tsg)
{
	const struct gvm_device *device = scheduler->device;
	u64 timeslice_us = gvm_tsg_plan_locked(tsg).timeslice_us;
	int status = device->ops->tsg_set_timeslice(device->gpu, tsg->id, timeslice_us);

	status = sched_rpc_done(scheduler, status);
	if (!status)
		tsg->timeslice_us = timeslice_us;
	return status;
}

enum sched_step {
	SCHED_DISABLE, /* all TSGs of held containers leave the runlist */
	SCHED_ENABLE,  /* released ones come back */
	SCHED_TIMESLICE,
};

/*
 * Does the TSG need the step? A failed freeze is not repeated here: the next write of it does
 * that.
 */
static bool sched_needs_step(const struct gvm_scheduler *scheduler, const struct gvm_tsg *tsg,
			     enum sched_step step)
{
	struct gvm_tsg_plan plan = gvm_tsg_plan_locked(tsg);

	if (step == SCHED_ENABLE)
		return plan.enable;
	if (step == SCHED_TIMESLICE)
		return plan.set_timeslice;
	if (!tsg->container->share.held)
		return false;
	return plan.disable ||
	       (sched_preempts(scheduler) && !tsg->preempted && !gvm_tsg_is_shared(tsg));
}

/*
 * List all TSGs that need the step. A detach takes its TSG off the list. A TSG that is on
 * another round's list stays there: with one TSG in two lists, neither would end.
 */
static void sched_list_step(struct gvm_scheduler *scheduler, enum sched_step step,
			    struct list_head *waiting)
{
	struct gvm_container *container;
	struct gvm_tsg *tsg;

	list_for_each_entry(container, &scheduler->device->compute, compute_node) {
		list_for_each_entry(tsg, &container->tsgs, node) {
			if (sched_needs_step(scheduler, tsg, step) &&
			    GVM_HOLDS(list_empty(&tsg->step_node)))
				list_add_tail(&tsg->step_node, waiting);
		}
	}
}

/*
 * Take the next TSG off the list that still needs the step. Lets other threads have the mutex
 * if this hold has had its RPCs; no TSG is in the batch then. Returns NULL at the end of the
 * list, or if the GPU is lost.
 */
static struct gvm_tsg *sched_next_tsg(struct gvm_scheduler *scheduler, enum sched_step step,
				      struct list_head *waiting)
{
	while (!list_empty(waiting)) {
		struct gvm_tsg *tsg;

		if (scheduler->hold_rpcs >= GVM_SCHED_HOLD_RPCS) {
			gvm_mutex_unlock(&scheduler->device->tsg_mutex);
			gvm_give_way();
			sched_lock(scheduler);
			continue;
		}
		tsg = list_first_entry(waiting, struct gvm_tsg, step_node);
		list_del_init(&tsg->step_node);
		if (!gvm_device_is_lost(scheduler->device) &&
		    sched_needs_step(scheduler, tsg, step))
			return tsg;
	}
	return NULL;
}

/* One step for all TSGs that need it. Returns the first error. */
static int sched_make_step(struct gvm_scheduler *scheduler, enum sched_step step)
{
	struct gvm_tsg *tsg;
	int first = 0, status;
	LIST_HEAD(waiting);

	sched_list_step(scheduler, step, &waiting);
	while ((tsg = sched_next_tsg(scheduler, step, &waiting))) {
		if (step == SCHED_TIMESLICE)
			status = sched_set_timeslice(scheduler, tsg);
		else
			status = sched_add_to_batch(scheduler, tsg, step == SCHED_DISABLE);
		first = first ? first : status;
	}
	status = sched_send_batch(scheduler, step == SCHED_DISABLE);
	return first ? first : status;
}

/* Make the RPCs of a round, with tsg_mutex released in between if they are many. */
static int sched_apply(struct gvm_scheduler *scheduler)
{
	int first, status;

	first = sched_make_step(scheduler, SCHED_DISABLE);
	status = sched_make_step(scheduler, SCHED_ENABLE);
	first = first ? first : status;
	status = sched_make_step(scheduler, SCHED_TIMESLICE);
	return first ? first : status;
}

/* CONTEXT: process. */
int gvm_scheduler_round(struct gvm_scheduler *scheduler)
{
	struct gvm_device *device = scheduler->device;
	int status;

	if (!gvm_activity_begin(device, GVM_ACTIVITY_SCHEDULER))
		return gvm_device_is_lost(device) ? -ENODEV : 0;
	sched_lock(scheduler);
	sched_look_locked(scheduler);
	gvm_sched_decide_locked(device, scheduler->config.policy, gvm_ktime_ns());
	status = sched_apply(scheduler);
	scheduler->rounds++;
	/* A series of failures is logged once. */
	if (status && !scheduler->failing)
		gvm_warn("%s: scheduler: an RPC failed (%d), and is tried again", device->name,
			 status);
	scheduler->failing = status;
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_activity_end(device, GVM_ACTIVITY_SCHEDULER);
	return status;
}

/* The thread. */

static bool scheduler_take_kick(struct gvm_scheduler *scheduler)
{
	bool kicked;

	gvm_spin_lock(&scheduler->device->lock);
	kicked = scheduler->kicked;
	scheduler->kicked = false;
	gvm_spin_unlock(&scheduler->device->lock);
	return kicked;
}

static void scheduler_worker(void *data)
{
	struct gvm_scheduler *scheduler = data;

	/* The interval is from look to look, so the time of the RPCs is part of it. */
	while (!gvm_worker_should_stop()) {
		u64 next_ns = gvm_ktime_ns() + scheduler->config.interval_ns;
		u64 now_ns;

		gvm_scheduler_round(scheduler);
		now_ns = gvm_ktime_ns();
		if (gvm_wait_event_timeout_ns(&scheduler->wait, scheduler_take_kick(scheduler),
					      next_ns - min(now_ns, next_ns)) == -EINTR)
			break;
	}
}

/* Kicks end, and another scheduler may start. */
static void scheduler_unpublish(struct gvm_device *device)
{
	gvm_spin_lock(&device->lock);
	device->scheduler = NULL;
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: process. */
int gvm_scheduler_start(struct gvm_scheduler *scheduler, struct gvm_device *device,
			const struct gvm_scheduler_config *config)
{
	bool busy;
	int status;

	if (config->policy == GVM_SCHED_TIMESLICES || !config->interval_ns)
		return -EINVAL;
	gvm_spin_lock(&device->lock);
	busy = device->scheduler;
	/* A scheduler that runs already stays as it is. */
	if (device->scheduler != scheduler)
		memset(scheduler, 0, sizeof(*scheduler));
	if (!busy) {
		gvm_waitqueue_init(&scheduler->wait);
		scheduler->device = device;
		scheduler->config = *config;
		device->scheduler = scheduler;
	}
	gvm_spin_unlock(&device->lock);
	if (busy)
		return -EBUSY;
	status = gvm_worker_start(&scheduler->worker, "gvm scheduler", scheduler_worker,
				  scheduler);
	if (!status)
		return 0;
	scheduler_unpublish(device);
	scheduler->device = NULL;
	return status;
}

/* CONTEXT: process. */
void gvm_scheduler_stop(struct gvm_scheduler *scheduler)
{
	struct gvm_device *device = scheduler->device;
	struct gvm_container *container;

	if (!device)
		return;
	gvm_worker_stop(&scheduler->worker);
	sched_lock(scheduler);
	list_for_each_entry(container, &device->compute, compute_node)
		memset(&container->share, 0, sizeof(container->share));
	/* If the device is quiesced, its resume makes the RPCs. */
	if (gvm_activity_begin(device, GVM_ACTIVITY_SCHEDULER)) {
		sched_apply(scheduler);
		gvm_activity_end(device, GVM_ACTIVITY_SCHEDULER);
	}
	gvm_mutex_unlock(&device->tsg_mutex);
	/* Last, since no other scheduler may decide while the mutex is released. */
	scheduler_unpublish(device);
	scheduler->device = NULL;
}

static void scheduler_kick_locked(struct gvm_device *device)
{
	struct gvm_scheduler *scheduler = device->scheduler;

	if (scheduler && !scheduler->kicked) {
		scheduler->kicked = true;
		gvm_wake_up_one(&scheduler->wait);
	}
}

/* CONTEXT: atomic. */
void gvm_scheduler_kick(struct gvm_device *device)
{
	gvm_spin_lock(&device->lock);
	scheduler_kick_locked(device);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
void gvm_scheduler_kick_launch(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	u64 now_ns = gvm_ktime_ns();

	gvm_spin_lock(&device->lock);
	if (now_ns >= container->kick_ns) {
		container->kick_ns = now_ns + GVM_SCHED_QUIET_NS;
		scheduler_kick_locked(device);
	}
	gvm_spin_unlock(&device->lock);
}
