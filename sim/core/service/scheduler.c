// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler's thread: look which TSGs have work, let policy/sched.c decide, make the RPCs.
 *
 * Layer: service. Holds tsg_mutex through a whole round, RPCs included, as a write to a control
 * file does: a freeze and a hold cannot cross, no TSG comes or goes in between, and what is
 * recorded of a TSG is what RPCs said. A writer waits for a round, which is a few RPCs.
 *
 * An RPC that failed is tried again in the next round.
 *
 * First the held TSGs leave the runlist and the GPU, all with one RPC. Then released TSGs come back,
 * with one RPC as well. Timeslices come last.
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

/* Ask the device about all TSGs of a container. True: one of them has work. */
static bool sched_look_at_tsgs(struct gvm_container *container)
{
	const struct gvm_device *device = container->device;
	struct gvm_tsg *tsg;
	bool busy = false;

	list_for_each_entry(tsg, &container->tsgs, node) {
		struct gvm_tsg_sample sample = { .runtime_ns = tsg->runtime_ns };

		/* The work of a shared TSG belongs to no one container. */
		if (gvm_tsg_is_shared(tsg))
			continue;
		device->ops->tsg_sample(device->gpu, tsg->id, &sample);
		container->share.ran_ns += sample.runtime_ns - tsg->runtime_ns;
		tsg->runtime_ns = sample.runtime_ns;
		busy |= sample.busy;
	}
	return busy;
}

static void sched_look_locked(struct gvm_scheduler *scheduler)
{
	bool by_events = scheduler->config.tracking == GVM_TRACK_EVENTS;
	struct gvm_container *container;

	list_for_each_entry(container, &scheduler->device->compute, compute_node) {
		bool busy = sched_look_at_tsgs(container);

		if (by_events)
			busy = sched_pending_kernels(container);
		container->share.work = busy && !container->frozen;
	}
}

/* RPCs. */

/* Count an RPC. Returns its error, if it was one. */
static int sched_rpc_done(struct gvm_scheduler *scheduler, int error)
{
	scheduler->rpcs++;
	if (!error || error == -ENODEV)
		return 0;
	if (error == -ENXIO)
		gvm_device_set_lost(scheduler->device);
	scheduler->failures++;
	return error;
}

/*
 * Is a held TSG also taken off the GPU? Low priority is, at once. A debtor may finish its timeslice,
 * since it gains a part of one timeslice at most.
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
	u32 i;
	int error;

	scheduler->batch_count = 0;
	if (!count)
		return 0;
	if (disable)
		error = device->ops->tsgs_disable(device->gpu, scheduler->batch_ids, count,
						  sched_preempts(scheduler));
	else
		error = device->ops->tsgs_enable(device->gpu, scheduler->batch_ids, count);
	error = sched_rpc_done(scheduler, error);
	for (i = 0; i < count && !error; i++) {
		scheduler->batch[i]->disabled = disable;
		scheduler->batch[i]->preempted = disable && sched_preempts(scheduler);
	}
	return error;
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
 * Take all that are held off the runlist, or put back those that are not. Returns the first error.
 * A freeze that failed is for its writer to repeat.
 */
static int sched_move_tsgs(struct gvm_scheduler *scheduler, bool disable)
{
	struct gvm_container *container;
	struct gvm_tsg *tsg;
	int first = 0, error;

	list_for_each_entry(container, &scheduler->device->compute, compute_node) {
		if (disable && !container->share.held)
			continue;
		list_for_each_entry(tsg, &container->tsgs, node) {
			if (disable ? !sched_has_to_leave(scheduler, tsg) :
				      !gvm_tsg_plan_locked(tsg).enable)
				continue;
			error = sched_add_to_batch(scheduler, tsg, disable);
			first = first ? first : error;
		}
	}
	error = sched_send_batch(scheduler, disable);
	return first ? first : error;
}

static int sched_set_timeslice(struct gvm_scheduler *scheduler, struct gvm_tsg *tsg)
{
	const struct gvm_device *device = scheduler->device;
	struct gvm_tsg_plan plan = gvm_tsg_plan_locked(tsg);
	int error;

	if (!plan.set_timeslice)
		return 0;
	error = sched_rpc_done(scheduler, device->ops->tsg_set_timeslice(device->gpu, tsg->id,
									 plan.timeslice_us));
	if (!error)
		tsg->timeslice_us = plan.timeslice_us;
	return error;
}

static int sched_set_timeslices(struct gvm_scheduler *scheduler)
{
	struct gvm_container *container;
	struct gvm_tsg *tsg;
	int first = 0, error;

	list_for_each_entry(container, &scheduler->device->compute, compute_node) {
		list_for_each_entry(tsg, &container->tsgs, node) {
			error = sched_set_timeslice(scheduler, tsg);
			first = first ? first : error;
		}
	}
	return first;
}

static int sched_apply_locked(struct gvm_scheduler *scheduler)
{
	int first, error;

	first = sched_move_tsgs(scheduler, true);
	error = sched_move_tsgs(scheduler, false);
	first = first ? first : error;
	error = sched_set_timeslices(scheduler);
	return first ? first : error;
}

/* A row of failures is logged once. */
static void sched_report(struct gvm_scheduler *scheduler, int error)
{
	if (error && !scheduler->failing)
		gvm_warn("%s: scheduler: an RPC failed (%d), and is tried again",
			 scheduler->device->name, error);
	scheduler->failing = error;
}

/* CONTEXT: process. */
int gvm_scheduler_round(struct gvm_scheduler *scheduler)
{
	struct gvm_device *device = scheduler->device;
	int error;

	if (!gvm_activity_begin(device, GVM_ACTIVITY_SCHEDULER))
		return gvm_device_is_lost(device) ? -ENODEV : 0;
	gvm_mutex_lock(&device->tsg_mutex);
	sched_look_locked(scheduler);
	gvm_sched_decide_locked(device, scheduler->config.policy, gvm_ktime_ns());
	error = sched_apply_locked(scheduler);
	scheduler->rounds++;
	sched_report(scheduler, error);
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_activity_end(device, GVM_ACTIVITY_SCHEDULER);
	return error;
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

	/* From look to look: the RPCs between them count. */
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

/* From here on it can be kicked. Under the lock, since it may be one that runs already. */
static bool scheduler_publish_locked(struct gvm_scheduler *scheduler, struct gvm_device *device)
{
	if (device->scheduler == scheduler)
		return false;
	memset(scheduler, 0, sizeof(*scheduler));
	if (device->scheduler)
		return false;
	gvm_waitqueue_init(&scheduler->wait);
	scheduler->device = device;
	device->scheduler = scheduler;
	return true;
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
	bool published;
	int status;

	if (config->policy == GVM_SCHED_TIMESLICES || !config->interval_ns)
		return -EINVAL;
	gvm_spin_lock(&device->lock);
	published = scheduler_publish_locked(scheduler, device);
	if (published)
		scheduler->config = *config;
	gvm_spin_unlock(&device->lock);
	if (!published)
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

/* CONTEXT: atomic. */
void gvm_scheduler_kick(struct gvm_device *device)
{
	struct gvm_scheduler *scheduler;

	gvm_spin_lock(&device->lock);
	scheduler = device->scheduler;
	if (scheduler && !scheduler->kicked) {
		scheduler->kicked = true;
		gvm_wake_up_all(&scheduler->wait);
	}
	gvm_spin_unlock(&device->lock);
}
