// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler: who is held off the runlist, and how long a timeslice is.
 *
 * Layer: policy. Never waits, never calls back; the caller holds tsg_mutex.
 *
 *
 * Two levers, and why they are used so little
 *
 * The hardware takes turns by itself, at no cost but the context switch, and gives a turn that is
 * not wanted to the next at once. The driver cannot do that as well: it looks every few
 * milliseconds, and an RPC to change anything takes 100 us. So both policies say as little as they
 * can and let the hardware do the rest. They have two levers: the length of a TSG's timeslice, and
 * whether it is on the runlist at all ("held": it is not).
 *
 *
 * Priority
 *
 * While a container has work, all that come after it (larger compute.priority) are held, whether
 * they have work or not: one that starts to work later would be seen only after it had run. In the
 * gaps they are let go. A gap begins when there has been no work for GVM_SCHED_QUIET_NS, so a pause
 * between two kernels is none, and there is a bound on RPCs: a hold and its release are two, and
 * there is no more than one of each in that time.
 *
 *	high  ####...####____________________########________
 *	low   _______________############____________________###
 *	             |quiet |let go     |held
 *
 * A kernel of the high one that comes in a gap waits for a look and for the RPC that takes all the
 * others off the runlist and whoever is on the GPU off that; or, if it comes earlier, for the end
 * of the turns that were ahead of it.
 *
 *
 * Weighted
 *
 * Timeslices in proportion to weights are weighted shares, once somebody always wants his turn, and
 * they need no RPC after they are set. The smallest weight gets the device's default slice,
 * others their multiple of it, up to GVM_SCHED_SLICE_MAX_US.
 *
 * What that cannot do (weights further apart than slices, TSGs that overstay because they wait for
 * page faults, several TSGs in a container), credit does. The GPU time that passed is paid out
 * by weight to all who wanted some or owe some, and everyone pays for what he used:
 *
 *	credit += passed * weight / weights of all who are paid  -  used
 *
 * so all credits together are zero: a debt is always owed to somebody. A container without work
 * wants nothing: its credit lapses, as in deficit round robin, and with it as much of the
 * debts. Who owes more than GVM_SCHED_OVERDRAFT_NS is held until he owes nothing.
 *
 * Three things follow. The GPU is never left idle by a hold: who is held owes, so somebody is owed,
 * and that one has work and is not held. Nobody starves: a debtor is paid his share of the time
 * that passes, and so comes back. And who works in bursts is not held for them: what he leaves to
 * others between two of them pays off his debts.
 *
 *
 * How it differs from the papers (GVM 4.4, Ghost A.2)
 *
 *   1. The papers detach or shrink the timeslice, and do not say when which. A slice that is
 *      shrunk costs the high-priority container a context switch for each turn in between, forever.
 *      We detach.
 *   2. In the papers "any container with positive credit is scheduled for a bounded timeslice":
 *      attached and detached all the time. Here the slices' lengths do that, and credit only
 *      what they cannot.
 *   3. There credit accumulates. Here what is owed is bounded, and lapses when it is not wanted.
 *   4. A frozen container has no work, and holds nobody.
 */
#include "gvm/sched.h"

/* Priority. */

/* Is it to be waited for? Also sets for how long it will be after this. */
static bool sched_is_active(struct gvm_container *container, u64 now_ns)
{
	struct gvm_share *share = &container->share;

	if (share->work)
		share->quiet_ns = now_ns + GVM_SCHED_QUIET_NS;
	if (container->frozen)
		share->quiet_ns = 0;
	return now_ns < share->quiet_ns;
}

static void sched_decide_priority(struct gvm_device *device, u64 now_ns)
{
	struct gvm_container *container;
	u32 top = GVM_PRIORITY_MAX;

	list_for_each_entry(container, &device->compute, compute_node) {
		if (sched_is_active(container, now_ns))
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

/* Is it paid for the time since the last look? */
static bool sched_is_paid(const struct gvm_share *share)
{
	return share->work || share->ran_ns || share->credit_ns < 0;
}

/* Pay out the time that passed, to the last nanosecond, and have everyone pay for his own. */
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

/* What is not wanted lapses, and what is too long ago is forgotten. */
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

/* What a container has of debts (@sign -1) or of credit (+1). */
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

/* Take @excess of the @total that all have on one side: from each its part, then what is left. */
static void sched_write_off(struct gvm_device *device, s64 sign, u64 total, u64 excess)
{
	u64 ratio = div64_u64(excess << 20, total);
	struct gvm_container *container;
	u32 pass;

	for (pass = 0; pass < 2 && excess; pass++) {
		list_for_each_entry(container, &device->compute, compute_node) {
			u64 amount = sched_amount(&container->share, sign);
			u64 part = pass ? amount : amount * ratio >> 20;

			part = min(part, excess);
			container->share.credit_ns -= (s64)part * sign;
			excess -= part;
		}
	}
}

/* Debts and credits are the same things from two sides: the smaller side says how much there is. */
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
