// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * TSGs of user mode: the core's settings reach RM's control calls, which nvidia-uvm makes for
 * us. A TSG has channels, which nvidia-uvm registers one by one. RM takes a TSG's slice and its
 * preemption for the TSG, and disables channels.
 *
 *
 * Frozen TSGs stay off the GPU
 *
 * RM lets a channel run again that its process schedules, and a process schedules each channel
 * once it has registered it: so a channel that is made in a frozen container would run. RM also
 * lets a process enable its own channels. So while a TSG is frozen its channels are looked at 20
 * times a second, and those that may run are disabled again. A look is a read of a register,
 * from Ampere on. Before, there is none, and RM is asked each time.
 *
 * A process that undoes its freeze again and again runs for up to 50 ms each time: RM has no call
 * that forbids it.
 */
#include "gvm_nvidia.h"

#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "gvm/tsg.h"

/* NV_CHRAM_CHANNEL, from Ampere on. */
#define NVIDIA_CHANNEL_ENABLE BIT(1)
#define NVIDIA_CHANNEL_BUSY   BIT(3)
#define NVIDIA_CHANNEL_ON_ENG BIT(7)

/* Between two looks at frozen TSGs. */
#define FROZEN_MS 50

/*
 * A TSG. Its channels change under the device's tsg_mutex, so that the
 * core's calls see them stay.
 */
struct gvm_nvidia_tsg {
	struct gvm_tsg tsg;
	struct list_head channels; /* gvm_uvm_channel.node */
	u32 id;			   /* for the core */
};

static bool channel_may_run(const struct gvm_uvm_channel *channel)
{
	return !channel->state || READ_ONCE(*channel->state) & NVIDIA_CHANNEL_ENABLE;
}

static struct gvm_uvm_channel *tsg_channel(struct gvm_nvidia_tsg *tsg)
{
	return list_first_entry(&tsg->channels, struct gvm_uvm_channel, node);
}

/*
 * Put the next channels of a TSG, from @next on, into gpu->batch: as many as one call takes, and
 * of one client, whose handle of the GPU makes the call. @may_run_only: pass over those that may
 * not run. @next becomes the first channel of the next batch, or NULL. Returns their number.
 */
static u32 batch_fill(struct gvm_nvidia_gpu *gpu, struct gvm_nvidia_tsg *tsg, bool may_run_only,
		      struct gvm_uvm_channel **next)
{
	struct gvm_uvm_channel *channel = *next;
	u32 count = 0;

	*next = NULL;
	list_for_each_entry_from(channel, &tsg->channels, node)
	{
		if (may_run_only && !channel_may_run(channel))
			continue;
		if (count == ARRAY_SIZE(gpu->batch) ||
		    (count && (channel->client != gpu->batch[0]->client ||
			       channel->subdevice != gpu->batch[0]->subdevice))) {
			*next = channel;
			break;
		}
		gpu->batch[count++] = channel;
	}
	return count;
}

/*
 * One call for all channels of the batch. If RM does not know one of them, each gets a call of
 * its own: RM's firmware decides what such a list does, and its source is closed. Returns 0,
 * -ENODEV (all are gone) or another error. Some have changed then, and some have not.
 */
static int batch_disable(struct gvm_nvidia_gpu *gpu, u32 count, bool disable, bool preempt)
{
	const struct gvm_uvm_services *services = gpu->uvm->services;
	int status = services->channels_disable(gpu->batch, count, disable, preempt);

	if (status != -ENODEV || count == 1)
		return status;
	for (u32 i = 0; i < count; i++) {
		int one = services->channels_disable(&gpu->batch[i], 1, disable, preempt);

		if (one && one != -ENODEV)
			return one;
		if (!one)
			status = 0;
	}
	return status;
}

/* Disable the channels of a TSG that may run. Returns whether the GPU is there. */
static bool tsg_hold(struct gvm_nvidia_gpu *gpu, struct gvm_nvidia_tsg *tsg)
{
	struct gvm_uvm_channel *next = tsg_channel(tsg);
	bool lost = false;

	while (next) {
		u32 count = batch_fill(gpu, tsg, true, &next);

		if (count)
			lost |= batch_disable(gpu, count, true, true) == -ENXIO;
	}
	return !lost;
}

/*
 * Disable the channels of frozen TSGs that may run. Returns whether a TSG is frozen, on a GPU
 * that is still there.
 */
static bool tsgs_hold(struct gvm_nvidia_gpu *gpu)
{
	bool frozen = false, lost = false;
	struct gvm_nvidia_tsg *tsg;
	unsigned long id;

	mutex_lock(&gpu->tsgs_lock);
	gvm_mutex_lock(&gpu->device->tsg_mutex);
	xa_for_each(&gpu->tsgs, id, tsg) {
		if (!tsg->tsg.disabled)
			continue;
		frozen = true;
		lost |= !tsg_hold(gpu, tsg);
	}
	gvm_mutex_unlock(&gpu->device->tsg_mutex);
	mutex_unlock(&gpu->tsgs_lock);
	return frozen && !lost;
}

static void tsgs_watch_work(struct work_struct *work)
{
	struct gvm_nvidia_gpu *gpu =
		container_of(to_delayed_work(work), struct gvm_nvidia_gpu, tsgs_watch);

	if (tsgs_hold(gpu))
		gvm_nvidia_tsgs_watch(gpu);
}

void gvm_nvidia_tsgs_watch(struct gvm_nvidia_gpu *gpu)
{
	schedule_delayed_work(&gpu->tsgs_watch, msecs_to_jiffies(FROZEN_MS));
}

void gvm_nvidia_tsgs_unwatch(struct gvm_nvidia_gpu *gpu)
{
	cancel_delayed_work_sync(&gpu->tsgs_watch);
}

void gvm_nvidia_tsgs_init(struct gvm_nvidia_gpu *gpu)
{
	mutex_init(&gpu->tsgs_lock);
	xa_init_flags(&gpu->tsgs, XA_FLAGS_ALLOC1);
	INIT_DELAYED_WORK(&gpu->tsgs_watch, tsgs_watch_work);
}

void gvm_nvidia_tsgs_destroy(struct gvm_nvidia_gpu *gpu)
{
	gvm_nvidia_tsgs_unwatch(gpu);
	WARN_ON_ONCE(!xa_empty(&gpu->tsgs));
	xa_destroy(&gpu->tsgs);
}

/*
 * The core's calls. It holds tsg_mutex, and names no TSG after its detach.
 *
 * Channels of a TSG may have different handles of it. A process can free one, and keep the
 * channel registered. Then the next channel's handle is tried.
 */

static int nvidia_tsg_set_timeslice(void *data, u32 id, u64 timeslice_us)
{
	struct gvm_nvidia_gpu *gpu = data;
	struct gvm_nvidia_tsg *tsg = xa_load(&gpu->tsgs, id);
	struct gvm_uvm_channel *channel;
	int status = -ENODEV;

	if (!tsg)
		return -ENODEV;
	list_for_each_entry(channel, &tsg->channels, node) {
		status = gpu->uvm->services->tsg_set_timeslice(channel, timeslice_us);
		if (status != -ENODEV)
			break;
	}
	return status;
}

static int nvidia_tsg_preempt(void *data, u32 id)
{
	struct gvm_nvidia_gpu *gpu = data;
	struct gvm_nvidia_tsg *tsg = xa_load(&gpu->tsgs, id);
	struct gvm_uvm_channel *channel;
	int status = -ENODEV;

	if (!tsg)
		return -ENODEV;
	list_for_each_entry(channel, &tsg->channels, node) {
		status = gpu->uvm->services->tsg_preempt(channel);
		if (status != -ENODEV)
			break;
	}
	return status;
}

/* The batches of a TSG before the one that begins with @end get their old state back. */
static void tsg_undo(struct gvm_nvidia_gpu *gpu, struct gvm_nvidia_tsg *tsg,
		     const struct gvm_uvm_channel *end, bool disable)
{
	struct gvm_uvm_channel *next = tsg_channel(tsg);

	while (next != end)
		(void)batch_disable(gpu, batch_fill(gpu, tsg, false, &next), disable, false);
}

/*
 * All channels of a TSG, or none: after an error all are as they were, those of the batch that
 * has met it, too. Returns 0, -ENODEV (all are gone) or another error.
 */
static int tsg_disable(struct gvm_nvidia_gpu *gpu, struct gvm_nvidia_tsg *tsg, bool disable,
		       bool preempt)
{
	struct gvm_uvm_channel *next = tsg_channel(tsg);
	int status = -ENODEV;

	while (next) {
		u32 count = batch_fill(gpu, tsg, false, &next);
		int one = batch_disable(gpu, count, disable, preempt);

		if (one && one != -ENODEV) {
			tsg_undo(gpu, tsg, next, !disable);
			return one;
		}
		if (!one)
			status = 0;
	}
	return status;
}

/* No scheduler of the core's runs on this device, so @count is 1. */
static int tsgs_disable(struct gvm_nvidia_gpu *gpu, const u32 *ids, u32 count, bool disable,
			bool preempt)
{
	struct gvm_nvidia_tsg *tsg;

	if (WARN_ON_ONCE(count != 1))
		return -EOPNOTSUPP;
	tsg = xa_load(&gpu->tsgs, ids[0]);
	return tsg ? tsg_disable(gpu, tsg, disable, preempt) : -ENODEV;
}

static int nvidia_tsgs_disable(void *data, const u32 *ids, u32 count, bool preempt)
{
	int status = tsgs_disable(data, ids, count, true, preempt);

	if (!status)
		gvm_nvidia_tsgs_watch(data);
	return status;
}

static int nvidia_tsgs_enable(void *data, const u32 *ids, u32 count)
{
	return tsgs_disable(data, ids, count, false, false);
}

/* RM does not tell the time on the GPU: the runtime stays 0. */
static void nvidia_tsg_sample(void *data, u32 id, struct gvm_tsg_sample *ret_sample)
{
	struct gvm_nvidia_gpu *gpu = data;
	struct gvm_nvidia_tsg *tsg = xa_load(&gpu->tsgs, id);
	const struct gvm_uvm_channel *channel;
	u32 state = 0;

	if (!tsg)
		return;
	list_for_each_entry(channel, &tsg->channels, node)
		if (channel->state)
			state |= READ_ONCE(*channel->state);
	*ret_sample = (struct gvm_tsg_sample){
		.busy = state & NVIDIA_CHANNEL_BUSY,
		.on_gpu = state & NVIDIA_CHANNEL_ON_ENG,
	};
}

/* Faults stay with nvidia-uvm's own handler. */
const struct gvm_gpu_ops gvm_nvidia_gpu_ops = {
	.tsg_set_timeslice = nvidia_tsg_set_timeslice,
	.tsg_preempt = nvidia_tsg_preempt,
	.tsgs_disable = nvidia_tsgs_disable,
	.tsgs_enable = nvidia_tsgs_enable,
	.tsg_sample = nvidia_tsg_sample,
};

/* Channels come and go. */

static int channel_disable(struct gvm_nvidia_gpu *gpu, const struct gvm_uvm_channel *channel,
			   bool disable)
{
	return gpu->uvm->services->channels_disable(&channel, 1, disable, false);
}

/*
 * The TSG of that channel, or NULL. By the hardware's numbers: a process may give another one a
 * handle of its TSG, and two TSGs may have had the same handle. tsgs_lock held.
 */
static struct gvm_nvidia_tsg *tsg_find(struct gvm_nvidia_gpu *gpu,
				       const struct gvm_uvm_channel *like)
{
	struct gvm_nvidia_tsg *tsg;
	unsigned long id;

	xa_for_each(&gpu->tsgs, id, tsg) {
		const struct gvm_uvm_channel *channel = tsg_channel(tsg);

		if (channel->runlist == like->runlist && channel->tsg_id == like->tsg_id)
			return tsg;
	}
	return NULL;
}

/*
 * The first channel of a TSG: it gets the settings of its container. The TSG may have been here
 * before, so first it gets the slice that the core takes for granted. A channel that is refused
 * is not left disabled: its process may register it again, when the container has been thawed.
 */
static int tsg_new(struct gvm_nvidia_gpu *gpu, struct gvm_container *container,
		   struct gvm_uvm_channel *channel)
{
	const struct gvm_uvm_services *services = gpu->uvm->services;
	struct gvm_nvidia_tsg *tsg = kzalloc(sizeof(*tsg), GFP_KERNEL);
	int status;

	if (!tsg)
		return -ENOMEM;
	INIT_LIST_HEAD(&tsg->channels);
	list_add(&channel->node, &tsg->channels);
	channel->books = tsg;
	status = xa_alloc(&gpu->tsgs, &tsg->id, tsg, xa_limit_31b, GFP_KERNEL);
	if (status)
		goto err_free;
	status = services->tsg_set_timeslice(channel, gpu->device->default_timeslice_us);
	if (status)
		goto err_erase;
	status = gvm_tsg_attach(container, &tsg->tsg, tsg->id);
	if (status)
		goto err_detach;
	return 0;

err_detach:
	gvm_tsg_detach(&tsg->tsg);
	if (tsg->tsg.disabled)
		(void)channel_disable(gpu, channel, false);
err_erase:
	xa_erase(&gpu->tsgs, tsg->id);
err_free:
	kfree(tsg);
	return status;
}

/* One more channel. It is off the runlist if its TSG is. */
static int tsg_add(struct gvm_nvidia_gpu *gpu, struct gvm_nvidia_tsg *tsg,
		   struct gvm_uvm_channel *channel)
{
	int status = 0;

	gvm_mutex_lock(&gpu->device->tsg_mutex);
	if (tsg->tsg.disabled) {
		status = channel_disable(gpu, channel, true);
		gvm_nvidia_tsgs_watch(gpu);
	}
	if (!status) {
		channel->books = tsg;
		list_add_tail(&channel->node, &tsg->channels);
	}
	gvm_mutex_unlock(&gpu->device->tsg_mutex);
	return status;
}

int gvm_nvidia_channel_attach(struct gvm_uvm_channel *channel)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(channel->space->gpu);
	struct gvm_container *container = gvm_nvidia_space(channel->space)->own.container;
	struct gvm_nvidia_tsg *tsg;
	int status;

	mutex_lock(&gpu->tsgs_lock);
	tsg = tsg_find(gpu, channel);
	if (!tsg)
		status = tsg_new(gpu, container, channel);
	else if (tsg->tsg.container != container)
		status = -EPERM;
	else
		status = tsg_add(gpu, tsg, channel);
	mutex_unlock(&gpu->tsgs_lock);
	return status;
}

void gvm_nvidia_channel_detach(struct gvm_uvm_channel *channel)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(channel->space->gpu);
	struct gvm_nvidia_tsg *tsg = channel->books;

	mutex_lock(&gpu->tsgs_lock);
	if (list_is_singular(&tsg->channels)) {
		gvm_tsg_detach(&tsg->tsg);
		xa_erase(&gpu->tsgs, tsg->id);
		kfree(tsg);
	} else {
		gvm_mutex_lock(&gpu->device->tsg_mutex);
		list_del(&channel->node);
		gvm_mutex_unlock(&gpu->device->tsg_mutex);
	}
	mutex_unlock(&gpu->tsgs_lock);
}
