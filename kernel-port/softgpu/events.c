// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the GPU did, in order, for tests to read; failures that tests asked for; and how long it
 * waits for UVM. The first two are counted in operations, never in time, so that a test gives
 * the same in every run.
 */
#include "softgpu.h"

#include <linux/delay.h>
#include <linux/vmalloc.h>

/* A hold ends after a minute, so that a test that fails can end. */
#define SOFTGPU_HOLD_MS	     10u
#define SOFTGPU_HOLDS_MAX    6000u

#define SOFTGPU_POLL_MOST_US 2000u

/*
 * UVM may be slow: its batch has many blocks, the kernel watches every access to memory, and a
 * host that is busy does not let the virtual machine run. The guest's clock goes on then, so
 * time alone does not tell a slow UVM from one that hangs. What it gives its channels to do does.
 * A UVM that works and does not get there, as one that evicts without an end, is waited for that
 * many spells: five minutes.
 */
#define SOFTGPU_SPELLS 10u

int softgpu_events_init(struct softgpu *gpu)
{
	spin_lock_init(&gpu->events_lock);
	gpu->events = vzalloc(SOFTGPU_EVENTS * sizeof(*gpu->events));
	return gpu->events ? 0 : -ENOMEM;
}

void softgpu_events_destroy(struct softgpu *gpu)
{
	vfree(gpu->events);
}

void softgpu_event(struct softgpu *gpu, const struct softgpu_event *event)
{
	spin_lock(&gpu->events_lock);
	gpu->events[gpu->events_head++ % SOFTGPU_EVENTS] = *event;
	if (gpu->events_head - gpu->events_tail > SOFTGPU_EVENTS)
		gpu->events_tail = gpu->events_head - SOFTGPU_EVENTS;
	spin_unlock(&gpu->events_lock);
}

bool softgpu_event_take(struct softgpu *gpu, struct softgpu_event *ret_event)
{
	bool some;

	spin_lock(&gpu->events_lock);
	some = gpu->events_tail != gpu->events_head;
	if (some)
		*ret_event = gpu->events[gpu->events_tail++ % SOFTGPU_EVENTS];
	spin_unlock(&gpu->events_lock);
	return some;
}

bool softgpu_fails(struct softgpu *gpu, enum softgpu_failure failure)
{
	if (!atomic_read(&gpu->fail_count[failure]) ||
	    atomic_add_unless(&gpu->fail_skip[failure], -1, 0) ||
	    !atomic_add_unless(&gpu->fail_count[failure], -1, 0))
		return false;
	gpu->stats.failures++;
	return true;
}

void softgpu_hold(struct softgpu *gpu, enum softgpu_failure failure)
{
	for (u32 i = 0; i < SOFTGPU_HOLDS_MAX && atomic_read(&gpu->fail_count[failure]); i++)
		msleep(SOFTGPU_HOLD_MS);
}

NV_STATUS softgpu_allocates(struct softgpu *gpu, enum softgpu_failure failure)
{
	if (READ_ONCE(gpu->lost))
		return NV_ERR_GPU_IS_LOST;
	return softgpu_fails(gpu, failure) ? NV_ERR_NO_MEMORY : NV_OK;
}

void softgpu_poll_sleep(u64 seen_ns, u32 least_us)
{
	u64 eighth = (ktime_get_ns() - seen_ns) / 8 / NSEC_PER_USEC;
	u32 us = clamp_t(u64, eighth, least_us, SOFTGPU_POLL_MOST_US);

	usleep_range(us, us + us / 2);
}

void softgpu_wait_begin(struct softgpu *gpu, struct softgpu_wait *wait)
{
	wait->since = jiffies;
	wait->pushes = READ_ONCE(gpu->stats.pushes);
	wait->spells = 0;
}

bool softgpu_wait_is_over(struct softgpu *gpu, struct softgpu_wait *wait)
{
	u64 pushes = READ_ONCE(gpu->stats.pushes);
	bool worked = pushes != wait->pushes;

	wait->pushes = pushes;
	if (worked && ++wait->spells < SOFTGPU_SPELLS)
		return false;
	pr_warn("softgpu: what waits for UVM ends after %u ms, UVM %s\n",
		jiffies_to_msecs(jiffies - wait->since),
		worked ? "works and gets nowhere" : "did nothing in the last of these");
	return true;
}
