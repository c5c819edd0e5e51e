// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Compute settings: the RPCs that apply a container's settings to its TSGs.
 *
 * Layer: service. Sleeps in RPCs and holds the device's tsg_mutex, so that the RPCs of a TSG
 * and their record change together. A write to a container applies its setting TSG by TSG, and
 * releases the mutex after each. So other threads wait for at most three RPCs, however many
 * TSGs there are. A round of the scheduler has the same bound: see service/scheduler.c. The
 * RPCs of a TSG apply all settings as they are at that moment. So when two writers meet, the
 * later one applies both settings, and a TSG that is attached in between gets them as well.
 *
 * An RPC depends on the firmware and on no tenant. A frozen TSG leaves the GPU only when its
 * faults are serviced, which its tenant can delay. So the writer of a freeze starts the
 * preemption under tsg_mutex and then polls without it, for a bounded time. If the RPC waited,
 * a tenant that always has a fault outstanding would keep all writers, new TSGs and exits of
 * the device waiting.
 *
 * A setting is written under tsg_mutex and the leaf lock. So a read of its file needs the leaf
 * lock only.
 *
 * -ENODEV is success: a TSG that is gone runs nothing, so each setting holds for it. Its
 * context detaches it later.
 */
#include "gvm/sched.h"
#include "gvm/activity.h"
#include "gvm/tsg.h"

/* The status of an RPC: -ENODEV is success, and -ENXIO means that the GPU is lost. */
static int tsg_rpc_status(struct gvm_device *device, int status)
{
	if (status == -ENXIO) {
		gvm_device_set_lost(device);
		return -ENODEV;
	}
	return status == -ENODEV ? 0 : status;
}

/*
 * Carry out the plan for one TSG: off the runlist first, back onto it last. After a failed step
 * the other steps are still tried. Only a preempt needs a successful disable: the runlist would
 * put the TSG right back. Returns the first error.
 */
static int tsg_apply_locked(struct gvm_tsg *tsg)
{
	struct gvm_tsg_plan plan = gvm_tsg_plan_locked(tsg);
	struct gvm_device *device = tsg->container->device;
	const struct gvm_gpu_ops *ops = device->ops;
	int off = 0, timeslice = 0, on = 0;

	if (gvm_device_is_lost(device))
		return -ENODEV;
	if (plan.disable) {
		off = tsg_rpc_status(device,
				     ops->tsgs_disable(device->gpu, &tsg->id, 1, false));
		if (!off)
			tsg->disabled = true;
	}
	if (plan.preempt && !off) {
		off = tsg_rpc_status(device, ops->tsg_preempt(device->gpu, tsg->id));
		if (!off) {
			tsg->preempted = true;
			tsg->left = false;
		}
	}
	if (plan.set_timeslice) {
		timeslice = tsg_rpc_status(device, ops->tsg_set_timeslice(device->gpu, tsg->id,
									  plan.timeslice_us));
		if (!timeslice)
			tsg->timeslice_us = plan.timeslice_us;
	}
	if (plan.enable) {
		on = tsg_rpc_status(device, ops->tsgs_enable(device->gpu, &tsg->id, 1));
		if (!on) {
			tsg->disabled = false;
			tsg->preempted = false;
		}
	}
	return off ? off : timeslice ? timeslice : on;
}

/*
 * The next TSG of a pass over a container's TSGs. A TSG that has had its turn goes to the end
 * of the list, so the pass is over when the first one has had it. Returns NULL then.
 */
static struct gvm_tsg *tsgs_next_locked(struct gvm_container *container, u64 pass)
{
	struct gvm_tsg *tsg;

	if (list_empty(&container->tsgs))
		return NULL;
	tsg = list_first_entry(&container->tsgs, struct gvm_tsg, node);
	return tsg->apply_pass < pass ? tsg : NULL;
}

/* The first error of the TSGs that a later pass has taken over. */
static int tsgs_later_error_locked(const struct gvm_container *container, u64 pass)
{
	const struct gvm_tsg *tsg;

	list_for_each_entry(tsg, &container->tsgs, node) {
		if (tsg->apply_pass > pass && tsg->apply_error)
			return tsg->apply_error;
	}
	return 0;
}

/*
 * Apply the settings to each TSG of the container. tsg_mutex is held before and after, and is
 * released between two TSGs. Returns the first error.
 */
static int tsgs_apply(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	u64 pass = ++device->apply_passes;
	struct gvm_tsg *tsg = tsgs_next_locked(container, pass);
	int first = 0;

	while (tsg) {
		list_move_tail(&tsg->node, &container->tsgs);
		tsg->apply_pass = pass;
		tsg->apply_error = tsg_apply_locked(tsg);
		first = first ? first : tsg->apply_error;
		tsg = tsgs_next_locked(container, pass);
		if (!tsg)
			break;
		gvm_mutex_unlock(&device->tsg_mutex);
		gvm_give_way();
		gvm_mutex_lock(&device->tsg_mutex);
		tsg = tsgs_next_locked(container, pass);
	}
	return first ? first : tsgs_later_error_locked(container, pass);
}

/*
 * Apply the settings to a TSG that comes or whose sharers change. If writers are stopped,
 * gvm_tsgs_apply() follows: service/quiesce.c.
 */
static int tsg_apply_unless_stopped_locked(struct gvm_tsg *tsg)
{
	struct gvm_device *device = tsg->container->device;
	int status;

	if (!gvm_activity_begin(device, GVM_ACTIVITY_WRITERS))
		return 0;
	status = tsg_apply_locked(tsg);
	gvm_activity_end(device, GVM_ACTIVITY_WRITERS);
	return status;
}

/* CONTEXT: process. */
int gvm_tsg_attach(struct gvm_container *container, struct gvm_tsg *tsg, u32 id)
{
	struct gvm_device *device = container->device;
	int status;

	gvm_container_get(container);
	INIT_LIST_HEAD(&tsg->step_node);
	INIT_LIST_HEAD(&tsg->shares);
	tsg->container = container;
	tsg->id = id;
	tsg->timeslice_us = device->default_timeslice_us;
	tsg->disabled = false;
	tsg->preempted = false;
	tsg->left = false;
	tsg->runtime_ns = 0;
	tsg->apply_error = 0;

	gvm_mutex_lock(&device->tsg_mutex);
	tsg->apply_pass = device->apply_passes;
	if (list_empty(&container->tsgs))
		list_add_tail(&container->compute_node, &device->compute);
	list_add_tail(&tsg->node, &container->tsgs);
	status = tsg_apply_unless_stopped_locked(tsg);
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_scheduler_kick(device);
	return status;
}

/*
 * Remove one sharer. The TSG's first container counts as a sharer as long as there are others.
 */
static void tsg_unshare_locked(struct gvm_tsg_share *share)
{
	struct gvm_tsg *tsg = share->tsg;

	list_del_init(&share->node);
	share->tsg = NULL;
	share->container->shared_tsgs--;
	if (!gvm_tsg_is_shared(tsg))
		tsg->container->shared_tsgs--;
}

/* CONTEXT: process. */
int gvm_tsg_share(struct gvm_tsg *tsg, struct gvm_container *container,
		  struct gvm_tsg_share *share)
{
	struct gvm_device *device = container->device;
	int status;

	gvm_container_get(container);
	gvm_mutex_lock(&device->tsg_mutex);
	GVM_ASSERT(tsg->container && tsg->container->device == device);
	if (!gvm_tsg_is_shared(tsg))
		tsg->container->shared_tsgs++;
	container->shared_tsgs++;
	share->tsg = tsg;
	share->container = container;
	list_add_tail(&share->node, &tsg->shares);
	status = tsg_apply_unless_stopped_locked(tsg);
	gvm_mutex_unlock(&device->tsg_mutex);
	return status;
}

/* CONTEXT: process. */
void gvm_tsg_unshare(struct gvm_tsg_share *share, struct gvm_device *device)
{
	gvm_mutex_lock(&device->tsg_mutex);
	if (share->tsg) {
		struct gvm_tsg *tsg = share->tsg;

		tsg_unshare_locked(share);
		(void)tsg_apply_unless_stopped_locked(tsg);
	}
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_container_put(share->container);
	share->container = NULL;
}

/*
 * The GPU has either what the record says, or the default. A record becomes the one of the two
 * that is not wished for, so that an RPC follows. 0 is no timeslice.
 */
static void tsg_forget_locked(struct gvm_tsg *tsg)
{
	if (tsg->timeslice_us != tsg->container->device->default_timeslice_us)
		tsg->timeslice_us = 0;
	/* Off the runlist, and wished back: put it back even if it is there. */
	if (gvm_tsg_plan_locked(tsg).enable)
		return;
	tsg->disabled = false;
	tsg->preempted = false;
}

/* CONTEXT: process. */
void gvm_tsgs_forget(struct gvm_device *device)
{
	struct gvm_container *container;
	struct gvm_tsg *tsg;

	gvm_mutex_lock(&device->tsg_mutex);
	list_for_each_entry(container, &device->compute, compute_node) {
		list_for_each_entry(tsg, &container->tsgs, node)
			tsg_forget_locked(tsg);
	}
	gvm_mutex_unlock(&device->tsg_mutex);
}

/* CONTEXT: process. */
int gvm_tsgs_apply(struct gvm_device *device)
{
	struct gvm_container *container;
	struct gvm_tsg *tsg;
	int first = 0;

	gvm_mutex_lock(&device->tsg_mutex);
	list_for_each_entry(container, &device->compute, compute_node) {
		list_for_each_entry(tsg, &container->tsgs, node) {
			int status = tsg_apply_locked(tsg);

			first = first ? first : status;
		}
	}
	gvm_mutex_unlock(&device->tsg_mutex);
	return first;
}

/* CONTEXT: process. */
void gvm_tsg_detach(struct gvm_tsg *tsg)
{
	struct gvm_container *container = tsg->container;

	gvm_mutex_lock(&container->device->tsg_mutex);
	while (gvm_tsg_is_shared(tsg))
		tsg_unshare_locked(list_first_entry(&tsg->shares, struct gvm_tsg_share, node));
	list_del_init(&tsg->step_node);
	list_del_init(&tsg->node);
	if (list_empty(&container->tsgs)) {
		list_del_init(&container->compute_node);
		memset(&container->share, 0, sizeof(container->share));
	}
	gvm_mutex_unlock(&container->device->tsg_mutex);
	gvm_scheduler_kick(container->device);
	tsg->container = NULL;
	gvm_container_put(container);
}

/*
 * Take tsg_mutex to change a setting of the container. Returns 0, -EINTR, -EOPNOTSUPP or
 * gvm_device_error().
 */
static int compute_lock(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	int status = 0;

	if (gvm_mutex_lock_killable(&device->tsg_mutex))
		return -EINTR;
	if (gvm_device_is_lost(device))
		status = gvm_device_error(device);
	else if (container->shared_tsgs)
		status = -EOPNOTSUPP;
	if (status)
		gvm_mutex_unlock(&device->tsg_mutex);
	return status;
}

/* CONTEXT: process. */
int gvm_compute_set_priority(struct gvm_container *container, u32 priority)
{
	struct gvm_device *device = container->device;
	int status = compute_lock(container);

	if (status)
		return status;
	gvm_spin_lock(&device->lock);
	WRITE_ONCE(container->priority, (u8)priority);
	container->timeslice_us = gvm_priority_to_timeslice_us(priority);
	gvm_spin_unlock(&device->lock);
	status = tsgs_apply(container);
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_scheduler_kick(device);
	return status;
}

/* CONTEXT: process. */
int gvm_compute_set_timeslice_us(struct gvm_container *container, u64 timeslice_us)
{
	struct gvm_device *device = container->device;
	int status = compute_lock(container);

	if (status)
		return status;
	gvm_spin_lock(&device->lock);
	container->timeslice_us = timeslice_us;
	gvm_spin_unlock(&device->lock);
	status = tsgs_apply(container);
	gvm_mutex_unlock(&device->tsg_mutex);
	return status;
}

/* CONTEXT: process. */
int gvm_compute_set_weight(struct gvm_container *container, u32 weight)
{
	struct gvm_device *device = container->device;
	int status = compute_lock(container);

	if (status)
		return status;
	gvm_spin_lock(&device->lock);
	container->weight = weight;
	gvm_spin_unlock(&device->lock);
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_scheduler_kick(device);
	return 0;
}

static int compute_set_frozen(struct gvm_container *container, bool frozen)
{
	struct gvm_device *device = container->device;
	int status = compute_lock(container);

	if (status)
		return status;
	container->frozen = frozen;
	status = tsgs_apply(container);
	gvm_mutex_unlock(&device->tsg_mutex);
	gvm_scheduler_kick(device);
	return status;
}

/* CONTEXT: process. */
int gvm_compute_freeze(struct gvm_container *container)
{
	return compute_set_frozen(container, true);
}

/* CONTEXT: process. */
int gvm_compute_thaw(struct gvm_container *container)
{
	return compute_set_frozen(container, false);
}

/*
 * Is a preempted TSG off the GPU? A quiesced GPU may sleep, and a look would read its registers.
 * A TSG that has left does not come back by itself, so the last look holds then.
 */
static bool tsg_has_left_locked(struct gvm_tsg *tsg)
{
	struct gvm_device *device = tsg->container->device;
	struct gvm_tsg_sample sample = { .on_gpu = false };

	if (!gvm_activity_begin(device, GVM_ACTIVITY_WRITERS))
		return tsg->left || gvm_device_is_lost(device);
	device->ops->tsg_sample(device->gpu, tsg->id, &sample);
	gvm_activity_end(device, GVM_ACTIVITY_WRITERS);
	tsg->left = !sample.on_gpu;
	return tsg->left;
}

/* CONTEXT: process, tsg_mutex held. */
bool gvm_tsgs_frozen_locked(struct gvm_container *container)
{
	struct gvm_tsg *tsg;

	gvm_mutex_assert_held(&container->device->tsg_mutex);
	if (container->share.held && !container->frozen)
		return false;
	list_for_each_entry(tsg, &container->tsgs, node) {
		if (!tsg->disabled || !tsg->preempted || !tsg_has_left_locked(tsg))
			return false;
	}
	return true;
}

/*
 * Have a frozen container's TSGs left the GPU, or was it thawed? Returns 0; -EAGAIN: not yet;
 * or an error that ends the wait.
 */
static int compute_look_frozen(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	int status = compute_lock(container);

	if (status)
		return status;
	if (container->frozen && !gvm_tsgs_frozen_locked(container))
		status = -EAGAIN;
	gvm_mutex_unlock(&device->tsg_mutex);
	return status;
}

/* CONTEXT: process. */
int gvm_compute_await_frozen(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	u64 end_ns = gvm_ktime_ns() + GVM_PREEMPT_TIMEOUT_NS;
	u64 pause_ns = GVM_PREEMPT_PAUSE_NS;
	int status;

	while ((status = compute_look_frozen(container)) == -EAGAIN) {
		u64 now_ns = gvm_ktime_ns();

		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		status = gvm_wait_event_killable_timeout_ns(
			&device->activity,
			gvm_activity_should_end(device, GVM_ACTIVITY_WRITERS),
			min(pause_ns, end_ns - now_ns));
		if (!status)
			return gvm_device_is_lost(device) ? gvm_device_error(device) : -EAGAIN;
		if (status == -EINTR)
			return status;
		pause_ns = min(2 * pause_ns, GVM_PREEMPT_PAUSE_MAX_NS);
	}
	return status;
}
