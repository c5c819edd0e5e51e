// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler's thread: it looks which TSGs have work, lets policy/sched.c decide,
 * and makes the RPCs.
 *
 * Layer: service. Holds tsg_mutex through a whole round, RPCs included, as a write to a control
 * file does. So a freeze and a hold cannot cross, no TSG is attached or detached in between,
 * and the record of a TSG has the settings that its RPCs confirmed. A writer may wait for a
 * round of a few RPCs.
 *
 * An RPC that failed is tried again in the next round.
 *
 * First the held TSGs leave the runlist and the GPU, all with one RPC. Then released TSGs come
 * back, with one RPC as well. Timeslices come last.
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

/* Count an RPC. Returns its error; -ENODEV (the TSG is gone) is none. */
static int sched_rpc_done(struct gvm_scheduler *scheduler, int status)
{
	scheduler->rpcs++;
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

/* Is a TSG of a held container still on the runlist or the GPU? */
static bool sched_has_to_leave(const struct gvm_scheduler *scheduler, const struct gvm_tsg *tsg)
{
	return gvm_tsg_plan_locked(tsg).disable ||
	       (sched_preempts(scheduler) && !tsg->preempted && !gvm_tsg_is_shared(tsg));
}

/*
 * @disable: take all TSGs of held containers off the runlist; else put the released ones back.
 * Returns the first error. A failed freeze is not repeated here: the next write of it does
 * that.
 */
static int sched_move_tsgs(struct gvm_scheduler *scheduler, bool disable)
{
	struct gvm_container *container;
	struct gvm_tsg *tsg;
	int first = 0, status;

	list_for_each_entry(container, &scheduler->device->compute, compute_node) {
		if (disable && !container->share.held)
			continue;
		list_for_each_entry(tsg, &container->tsgs, node) {
			if (disable ? !sched_has_to_leave(scheduler, tsg) :
				      !gvm_tsg_plan_locked(tsg).enable)
				continue;
			status = sched_add_to_batch(scheduler, tsg, disable);
			first = first ? first : status;
		}
	}
	status = sched_send_batch(scheduler, disable);
	return first ? first : status;
}

static int sched_set_timeslices(struct gvm_scheduler *scheduler)
{
	const struct gvm_device *device = scheduler->device;
	struct gvm_container *container;
	struct gvm_tsg *tsg;
	int first = 0;

	list_for_each_entry(container, &device->compute, compute_node) {
		list_for_each_entry(tsg, &container->tsgs, node) {
			struct gvm_tsg_plan plan = gvm_tsg_plan_locked(tsg);
			int status;

			if (!plan.set_timeslice)
				continue;
			status = sched_rpc_done(
				scheduler, device->ops->tsg_set_timeslice(device->gpu, tsg->id,
									  plan.timeslice_us));
			if (!status)
				tsg->timeslice_us = plan.timeslice_us;
			first = first ? first : status;
		}
	}
	return first;
}

static int sched_apply_locked(struct gvm_scheduler *scheduler)
{
	int first, status;

	first = sched_move_tsgs(scheduler, true);
	status = sched_move_tsgs(scheduler, false);
	first = first ? first : status;
	status = sched_set_timeslices(scheduler);
	return first ? first : status;
}

/* CONTEXT: process. */
int gvm_scheduler_round(struct gvm_scheduler *scheduler)
{
	struct gvm_device *device = scheduler->device;
	int status;

	if (!gvm_activity_begin(device, GVM_ACTIVITY_SCHEDULER))
		return gvm_device_is_lost(device) ? -ENODEV : 0;
	gvm_mutex_lock(&device->tsg_mutex);
	sched_look_locked(scheduler);
	gvm_sched_decide_locked(device, scheduler->config.policy, gvm_ktime_ns());
	status = sched_apply_locked(scheduler);
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
	scheduler_unpublish(device);
	gvm_worker_stop(&scheduler->worker);
	gvm_mutex_lock(&device->tsg_mutex);
	list_for_each_entry(container, &device->compute, compute_node)
		memset(&container->share, 0, sizeof(container->share));
	if (!gvm_device_is_lost(device))
		sched_apply_locked(scheduler);
	gvm_mutex_unlock(&device->tsg_mutex);
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
