// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler: which containers are off the runlist, and how long a timeslice is.
 *
 * Layer: policy. Never waits, never calls back; the caller holds tsg_mutex.
 *
 *
 * Two levers, used as little as possible
 *
 * The hardware switches between TSGs by itself, at no cost but the context switch, and an idle
 * TSG loses its turn at once. The driver is slower: it looks every few milliseconds, and an RPC
 * takes 100 us. So both policies change as little as they can and leave the rest to the
 * hardware. They have two levers: the length of a TSG's timeslice, and whether the TSG is on
 * the runlist ("held": it is not).
 *
 *
 * Priority
 *
 * While a container has work, all lower-priority containers (larger compute.priority) are
 * removed from the runlist. This includes containers without work: a kernel that they start
 * before the next look could not be stopped in time. They come back in gaps. A gap begins after
 * GVM_SCHED_QUIET_NS without work, so a pause between two kernels is no gap. This also bounds
 * the RPCs: at most one hold and one release in that time. It also bounds the looks that
 * launches ask for: one in that time for each container, since until then the container counts
 * as busy.
 *
 *	high  ####...####____________________########________
 *	low   _______________############____________________###
 *	             |quiet |let go     |held
 *
 * A high-priority kernel that arrives in a gap waits for the next look and for the RPC that
 * removes the others from the runlist and from the GPU, or for its turn on the runlist,
 * whichever is earlier.
 *
 *
 * Weighted
 *
 * Timeslices in proportion to weights give weighted shares while all containers have work, and
 * they need no RPC after they are set. The smallest weight gets the device's default slice,
 * others their multiple of it, up to GVM_SCHED_SLICE_MAX_US.
 *
 * Slices alone are not enough when weights are further apart than slices can be, when a TSG
 * stays on the GPU because it waits for page faults, or when a container has several TSGs.
 * Credit does the rest. The GPU time that passed is paid out by weight to all containers with
 * work or debts, and each container pays for the time that it used:
 *
 *	credit += passed * weight / weights of all that are paid  -  used
 *
 * All credits add up to zero, so a debt of one container is credit of others. A container
 * without work loses its credit, as in deficit round robin, and the same amount of debt is
 * written off. A container with a debt above GVM_SCHED_OVERDRAFT_NS is held until it has no
 * debt.
 *
 * Three things follow. A hold never leaves the GPU idle: a held container has debt, so another
 * one has credit, has work, and is not held. No container starves: a debtor is paid its share
 * of the passing time and comes back. A container that works in bursts is not held for them:
 * the time between two bursts pays off its debt.
 *
 *
 * How it differs from the papers (GVM 4.4, Ghost A.2)
 *
 *   1. The papers detach a TSG or shrink its timeslice, and do not say when they do which. A
 *      shrunk slice costs the high-priority container a context switch for each turn in
 *      between, forever. Here TSGs are detached.
 *   2. In the papers "any container with positive credit is scheduled for a bounded timeslice":
 *      TSGs are attached and detached all the time. Here the lengths of slices do most of the
 *      work, and credit only the rest.
 *   3. In the papers credit accumulates. Here it is bounded, and lapses when its container has
 *      no work.
 *   4. A frozen container has no work, so no other container is held for it.
 */
#include "gvm/sched.h"

/* Priority. */

/* Hold all containers of lower priority than the highest one that counts as busy. */
static void sched_decide_priority(struct gvm_device *device, u64 now_ns)
{
	struct gvm_container *container;
	u32 top = GVM_PRIORITY_MAX;

	list_for_each_entry(container, &device->compute, compute_node) {
		struct gvm_share *share = &container->share;

		if (share->work)
			share->quiet_ns = now_ns + GVM_SCHED_QUIET_NS;
		if (container->frozen)
			share->quiet_ns = 0;
		if (now_ns < share->quiet_ns)
			top = min(top, (u32)container->priority);
	}
	list_for_each_entry(container, &device->compute, compute_node) {
		container->share.held = container->priority > top;
		container->share.ran_ns = 0;
	}
}

/* Weighted. */

static void sched_set_slices(struct gvm_device *device)
{
	u64 most = max(device->default_timeslice_us, GVM_SCHED_SLICE_MAX_US);
	struct gvm_container *container;
	u32 least = GVM_WEIGHT_MAX;

	list_for_each_entry(container, &device->compute, compute_node)
		least = min(least, container->weight);
	list_for_each_entry(container, &device->compute, compute_node) {
		u64 slice = div64_u64(device->default_timeslice_us * container->weight, least);

		container->share.slice_us = min(slice, most);
	}
}

/* Is the container paid a share of the time since the last look? */
static bool sched_is_paid(const struct gvm_share *share)
{
	return share->work || share->ran_ns || share->credit_ns < 0;
}

/* Pay out all of the time that passed. Each container pays for the time that it used. */
static void sched_pay(struct gvm_device *device)
{
	struct gvm_container *container;
	u64 passed = 0, weights = 0;

	list_for_each_entry(container, &device->compute, compute_node) {
		passed += container->share.ran_ns;
		weights += sched_is_paid(&container->share) ? container->weight : 0;
	}
	list_for_each_entry(container, &device->compute, compute_node) {
		struct gvm_share *share = &container->share;
		u64 pay;

		if (!sched_is_paid(share))
			continue;
		pay = div64_u64(passed * container->weight, weights);
		passed -= pay;
		weights -= container->weight;
		share->credit_ns += (s64)pay - (s64)share->ran_ns;
		share->ran_ns = 0;
	}
}

/*
 * Credit of containers without work lapses; credit and debt beyond the maximum are forgotten.
 */
static void sched_lapse(struct gvm_device *device)
{
	struct gvm_container *container;

	list_for_each_entry(container, &device->compute, compute_node) {
		struct gvm_share *share = &container->share;
		s64 most = share->work ? GVM_SCHED_CREDIT_MAX_NS : 0;

		share->credit_ns = min(share->credit_ns, most);
		share->credit_ns = max(share->credit_ns, -GVM_SCHED_CREDIT_MAX_NS);
	}
}

/* The debt (@sign -1) or the credit (+1) of a container. */
static u64 sched_amount(const struct gvm_share *share, s64 sign)
{
	return share->credit_ns * sign > 0 ? (u64)(share->credit_ns * sign) : 0;
}

static u64 sched_total(const struct gvm_device *device, s64 sign)
{
	const struct gvm_container *container;
	u64 total = 0;

	list_for_each_entry(container, &device->compute, compute_node)
		total += sched_amount(&container->share, sign);
	return total;
}

/*
 * Take @excess off the @total of one side: from each container in proportion, then the
 * remainder.
 */
static void sched_write_off(struct gvm_device *device, s64 sign, u64 total, u64 excess)
{
	u64 ratio = div64_u64(excess << 20, total);
	struct gvm_container *container;

	for (u32 pass = 0; pass < 2 && excess; pass++) {
		list_for_each_entry(container, &device->compute, compute_node) {
			u64 amount = sched_amount(&container->share, sign);
			u64 part = pass ? amount : amount * ratio >> 20;

			part = min(part, excess);
			container->share.credit_ns -= (s64)part * sign;
			excess -= part;
		}
	}
}

/* Make debts and credits equal again: the larger side shrinks to the smaller. */
static void sched_balance(struct gvm_device *device)
{
	u64 credit = sched_total(device, 1);
	u64 debt = sched_total(device, -1);

	if (debt > credit)
		sched_write_off(device, -1, debt, debt - credit);
	else if (credit > debt)
		sched_write_off(device, 1, credit, credit - debt);
}

static void sched_hold_debtors(struct gvm_device *device)
{
	struct gvm_container *container;

	list_for_each_entry(container, &device->compute, compute_node) {
		struct gvm_share *share = &container->share;

		if (share->credit_ns < -GVM_SCHED_OVERDRAFT_NS)
			share->held = true;
		else if (share->credit_ns >= 0)
			share->held = false;
	}
}

static void sched_decide_weighted(struct gvm_device *device)
{
	sched_set_slices(device);
	sched_pay(device);
	sched_lapse(device);
	sched_balance(device);
	sched_hold_debtors(device);
}

/* CONTEXT: process, tsg_mutex held. */
void gvm_sched_decide_locked(struct gvm_device *device, enum gvm_sched_policy policy,
			     u64 now_ns)
{
	gvm_mutex_assert_held(&device->tsg_mutex);
	if (policy == GVM_SCHED_PRIORITY)
		sched_decide_priority(device, now_ns);
	else
		sched_decide_weighted(device);
}
