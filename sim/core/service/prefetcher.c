// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The thread of GVM_OWNER_PREFETCH: it looks whose turn it is and whose comes next, and brings
 * in what the next one will touch. policy/predictor.c has the idea, the bounds and the
 * prediction.
 *
 * Layer: service. Looks under tsg_mutex, and copies without any lock of its own.
 */
#include "gvm/predictor.h"
#include "gvm/activity.h"
#include "gvm/evictor.h"
#include "gvm/tsg.h"

/* One block of this many that come in is a probe. */
#define PREFETCH_PROBE 16u

/* Looks in a slice: a switch of owners is noticed after this share of it. */
#define PREFETCH_LOOKS 8u

/* New measurements of a block's time count for this share. */
#define PREFETCH_MEAN 8u

/* What a look found. The containers are references, or NULL. */
struct prefetch_look {
	struct gvm_container *next;
	u64 slice_ns; /* of the present owner: the time until the next one's turn, at most */
	bool busy;    /* a container has work */
};

/* Has a TSG of the container work, and is one on the GPU? tsg_mutex held. */
static struct gvm_tsg_sample prefetch_sample_locked(const struct gvm_device *device,
						    const struct gvm_container *container,
						    u64 *ret_slice_us)
{
	struct gvm_tsg_sample all = { 0 };
	const struct gvm_tsg *tsg;

	*ret_slice_us = 0;
	list_for_each_entry(tsg, &container->tsgs, node) {
		struct gvm_tsg_sample sample = { 0 };

		if (gvm_tsg_is_shared(tsg) || tsg->disabled)
			continue;
		device->ops->tsg_sample(device->gpu, tsg->id, &sample);
		all.busy |= sample.busy;
		all.on_gpu |= sample.on_gpu;
		*ret_slice_us = max(*ret_slice_us, tsg->timeslice_us);
	}
	return all;
}

/*
 * The turn of the last owner is over when another one is on the GPU. An owner that is alone has
 * one turn after the other. tsg_mutex held.
 */
static void prefetch_note_owner(struct gvm_prefetcher *prefetcher,
				const struct gvm_container *owner, u64 slice_ns)
{
	struct gvm_container *container;
	u64 now_ns = gvm_ktime_ns();

	if (!owner || (owner == prefetcher->owner && now_ns - prefetcher->turn_ns < slice_ns))
		return;
	list_for_each_entry(container, &prefetcher->device->compute, compute_node) {
		if (container == prefetcher->owner)
			gvm_predictor_end_turn(container);
	}
	prefetcher->owner = owner;
	prefetcher->turn_ns = now_ns;
}

/*
 * The GPU takes the TSGs of a runlist in turn. So the next owner is the first container with
 * work after the present one, or else the first of all.
 */
static struct prefetch_look prefetch_look(struct gvm_prefetcher *prefetcher)
{
	struct gvm_device *device = prefetcher->device;
	struct prefetch_look look = { 0 };
	struct gvm_container *container, *first = NULL, *after = NULL, *owner = NULL;
	u64 slice_us, owner_us = 0;

	gvm_mutex_lock(&device->tsg_mutex);
	list_for_each_entry(container, &device->compute, compute_node) {
		struct gvm_tsg_sample sample =
			prefetch_sample_locked(device, container, &slice_us);

		look.busy |= sample.busy;
		if (sample.on_gpu && sample.busy && !owner) {
			owner = container;
			owner_us = slice_us;
		} else if (sample.busy && owner && !after) {
			after = container;
		} else if (sample.busy && !first) {
			first = container;
		}
	}
	look.next = after ? after : first ? first : owner;
	prefetch_note_owner(prefetcher, owner, look.next == owner ? owner_us * 1000 : U64_MAX);
	if (look.next)
		gvm_container_get(look.next);
	look.slice_ns = owner_us * 1000;
	gvm_mutex_unlock(&device->tsg_mutex);
	return look;
}

/* Blocks that can be copied in @ns, as the last ones were. One, as long as none was. */
static u32 prefetch_window(const struct gvm_prefetcher *prefetcher, u64 ns)
{
	if (!prefetcher->block_ns)
		return 1;
	return (u32)min(div64_u64(ns, prefetcher->block_ns), (u64)GVM_PREFETCH_MOST);
}

static void prefetch_measure(struct gvm_prefetcher *prefetcher, u64 ns, u32 blocks)
{
	u64 block_ns = max(div64_u64(ns, blocks), 1ull);

	if (!prefetcher->block_ns)
		prefetcher->block_ns = block_ns;
	prefetcher->block_ns += block_ns / PREFETCH_MEAN - prefetcher->block_ns / PREFETCH_MEAN;
}

/* Bring in one batch for the next owner. Returns the blocks that came. */
static u32 prefetch_batch(struct gvm_prefetcher *prefetcher, struct gvm_container *container,
			  u32 window)
{
	struct gvm_device *device = prefetcher->device;
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];
	u64 begin_ns = gvm_ktime_ns();
	u32 count, came = 0;
	u32 every = max(min(window / 2, PREFETCH_PROBE), 1u);

	count = gvm_predictor_next(container, window, blocks, GVM_PREFETCH_BATCH);
	if (!count)
		return 0;
	for (u32 i = 0; i < count; i++)
		blocks[i].probe = ++prefetcher->since_probe % every == 0;
	if (device->memory_ops->prefetch(device->memory, container, blocks, count) == -ENODEV)
		gvm_device_set_lost(device);
	for (u32 i = 0; i < count; i++)
		came += blocks[i].done;
	gvm_predictor_expect(container, blocks, count);
	if (came) {
		prefetch_measure(prefetcher, gvm_ktime_ns() - begin_ns, came);
		gvm_evictors_kick(container, came);
	}
	return came;
}

/* CONTEXT: process. */
u32 gvm_prefetcher_round(struct gvm_prefetcher *prefetcher)
{
	struct gvm_device *device = prefetcher->device;
	struct prefetch_look look;
	u32 came = 0;

	if (!gvm_activity_begin(device, GVM_ACTIVITY_EVICTORS)) {
		/* Nothing to look at: the thread sleeps until the next faults. */
		prefetcher->busy = false;
		return 0;
	}
	look = prefetch_look(prefetcher);
	prefetcher->busy = look.busy;
	prefetcher->slice_ns = look.slice_ns;
	if (look.next) {
		u32 window = prefetch_window(prefetcher, look.slice_ns);

		if (window) {
			came = prefetch_batch(prefetcher, look.next, window);
		} else {
			prefetcher->too_short++;
			/* The link may be less busy by now: try again after a while. */
			prefetcher->block_ns -= prefetcher->block_ns / PREFETCH_MEAN;
		}
		gvm_container_put(look.next);
	}
	prefetcher->rounds += came > 0;
	gvm_activity_end(device, GVM_ACTIVITY_EVICTORS);
	return came;
}

static bool prefetcher_take_kick(struct gvm_prefetcher *prefetcher)
{
	bool kicked;

	gvm_spin_lock(&prefetcher->device->lock);
	kicked = prefetcher->kicked;
	prefetcher->kicked = false;
	gvm_spin_unlock(&prefetcher->device->lock);
	return kicked;
}

/* A switch of owners is no event, so the thread looks while there is work. */
static void prefetcher_worker(void *data)
{
	struct gvm_prefetcher *prefetcher = data;
	int status = 0;

	while (!gvm_worker_should_stop() && status != -EINTR) {
		if (gvm_prefetcher_round(prefetcher)) {
			if (gvm_give_way())
				break;
			continue;
		}
		if (prefetcher->busy && prefetcher->slice_ns)
			status = gvm_wait_event_timeout_ns(
				&prefetcher->wait, prefetcher_take_kick(prefetcher),
				prefetcher->slice_ns / PREFETCH_LOOKS);
		else
			status = gvm_wait_event_interruptible(&prefetcher->wait,
							      prefetcher_take_kick(prefetcher));
	}
}

/* CONTEXT: process. */
int gvm_prefetcher_start(struct gvm_prefetcher *prefetcher, struct gvm_device *device)
{
	bool busy;
	int status;

	if (!device->predictor || !device->memory_ops->prefetch)
		return -EOPNOTSUPP;
	gvm_spin_lock(&device->lock);
	busy = device->prefetcher;
	if (device->prefetcher != prefetcher)
		memset(prefetcher, 0, sizeof(*prefetcher));
	if (!busy) {
		gvm_waitqueue_init(&prefetcher->wait);
		prefetcher->device = device;
		device->prefetcher = prefetcher;
	}
	gvm_spin_unlock(&device->lock);
	if (busy)
		return -EBUSY;
	status = gvm_worker_start(&prefetcher->worker, "gvm prefetch", prefetcher_worker,
				  prefetcher);
	if (!status)
		return 0;
	gvm_spin_lock(&device->lock);
	device->prefetcher = NULL;
	gvm_spin_unlock(&device->lock);
	prefetcher->device = NULL;
	return status;
}

/* CONTEXT: process. */
void gvm_prefetcher_stop(struct gvm_prefetcher *prefetcher)
{
	struct gvm_device *device = prefetcher->device;

	if (!device)
		return;
	/* No new kick can reach the thread after this, so it can end. */
	gvm_spin_lock(&device->lock);
	device->prefetcher = NULL;
	gvm_spin_unlock(&device->lock);
	gvm_worker_stop(&prefetcher->worker);
	prefetcher->device = NULL;
}

/* CONTEXT: atomic. */
void gvm_prefetcher_kick(struct gvm_device *device)
{
	if (!device->predictor)
		return;
	gvm_spin_lock(&device->lock);
	if (device->prefetcher && !device->prefetcher->kicked) {
		device->prefetcher->kicked = true;
		gvm_wake_up_one(&device->prefetcher->wait);
	}
	gvm_spin_unlock(&device->lock);
}
