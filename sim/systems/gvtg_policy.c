// SPDX-License-Identifier: MIT OR GPL-2.0
/* The scheduler of vGPUs; see gvtg_policy.h. */
#include "systems/gvtg_policy.h"

void gvtg_policy_init(struct gvtg_policy *policy, u64 period_ns, u32 stages, u64 start_ns)
{
	*policy = (struct gvtg_policy){
		.period_ns = period_ns,
		.stages = stages,
		.start_ns = start_ns,
		.owner = &policy->idle,
	};
	INIT_LIST_HEAD(&policy->order);
}

void gvtg_policy_add(struct gvtg_policy *policy, struct gvtg_vgpu *vgpu, u64 now)
{
	vgpu->first_until = now + policy->start_ns;
	/* One that is the first choice comes to the front. */
	if (policy->start_ns)
		list_add(&vgpu->node, &policy->order);
	else
		list_add_tail(&vgpu->node, &policy->order);
}

void gvtg_policy_remove(struct gvtg_policy *policy, struct gvtg_vgpu *vgpu)
{
	list_del_init(&vgpu->node);
	if (policy->next == vgpu)
		policy->next = NULL;
	if (policy->owner == vgpu) {
		policy->owner = NULL;
		policy->stops = true;
	}
}

/* Each vGPU's budget for the next period. At stage 0 what was left or owed is forgotten. */
static void policy_balance(struct gvtg_policy *policy, u64 now)
{
	bool forget = policy->balances++ % policy->stages == 0;
	struct gvtg_vgpu *vgpu;
	u64 weights = 0;

	policy->balance_ns = now + policy->period_ns;
	list_for_each_entry(vgpu, &policy->order, node)
		weights += vgpu->weight;
	list_for_each_entry(vgpu, &policy->order, node) {
		if (forget) {
			vgpu->budget_ns = (s64)(policy->period_ns * vgpu->weight / weights);
			vgpu->left_ns = 0;
		}
		vgpu->left_ns += vgpu->budget_ns;
	}
}

static void policy_book(struct gvtg_policy *policy, u64 now)
{
	struct gvtg_vgpu *owner = policy->owner;

	if (!owner)
		return;
	owner->left_ns -= (s64)(now - owner->since_ns);
	owner->since_ns = now;
}

/* The next owner. One that is chosen by its budget goes to the end of the order. */
static struct gvtg_vgpu *policy_choose(struct gvtg_policy *policy, u64 now)
{
	struct gvtg_vgpu *vgpu;

	list_for_each_entry(vgpu, &policy->order, node) {
		if (!vgpu->queued)
			continue;
		if (now < vgpu->first_until)
			return vgpu;
		if (vgpu->left_ns > 0) {
			list_del_init(&vgpu->node);
			list_add_tail(&vgpu->node, &policy->order);
			return vgpu;
		}
	}
	return &policy->idle;
}

void gvtg_policy_schedule(struct gvtg_policy *policy, u64 now, bool tick)
{
	if (list_empty(&policy->order))
		return;
	if (tick && now >= policy->balance_ns)
		policy_balance(policy, now);
	policy_book(policy, now);
	if (!policy->next)
		policy->next = policy_choose(policy, now);
	if (policy->next == policy->owner) {
		policy->next = NULL;
		return;
	}
	policy->stops = true;
	if (policy->in_flight)
		return;
	policy->next->since_ns = now;
	policy->owner = policy->next;
	policy->next = NULL;
	policy->stops = false;
}

bool gvtg_policy_may_dispatch(const struct gvtg_policy *policy)
{
	return policy->owner && policy->owner->queued && !policy->stops && !policy->in_flight;
}
