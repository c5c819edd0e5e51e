/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * GVT-g's scheduler of vGPUs: whose workloads go to the GPU. Pure arithmetic on dates.
 *
 *     tick      Every ms. Also at the end of a workload and when one is queued: an event.
 *     budget    Every 100 ms a vGPU gets 100 ms x weight / sum of weights. Time on the GPU is
 *               taken from the budget, which may become negative. Every tenth balance resets it
 *               to the new share.
 *     choice    The vGPU that was chosen the longest time ago, of those that have workloads and
 *               a budget above zero. If there is none: the idle vGPU, which has no workloads.
 *     owner     The one that was chosen, as soon as no workload is in flight. Until then no
 *               further workload of the owner before it goes to the GPU.
 *     start     A vGPU that starts is the first choice for 2 s, whatever its budget.
 *
 * Source: Linux, drivers/gpu/drm/i915/gvt/sched_policy.c: tbs_sched_func() and what it calls. A
 * budget is there from the first balance on, at the first tick, and a vGPU that starts later
 * has none before the next tenth one: up to a second later, if its 2 s do not help it. The public
 * code divides the period by the sum before it multiplies by the weight, and loses up to a weight's
 * ns. Its weights are 16 at most. Weights of a scenario may be as large as the period.
 */
#ifndef SIM_SYSTEMS_GVTG_POLICY_H
#define SIM_SYSTEMS_GVTG_POLICY_H

#include "gvm/port.h"

/* A virtual GPU. */
struct gvtg_vgpu {
	struct list_head node; /* in gvtg_policy.order */
	u32 weight;
	u32 queued; /* workloads, with the one in flight */
	s64 left_ns;
	s64 budget_ns;
	u64 since_ns;	 /* its use is booked up to here */
	u64 first_until; /* it is the first choice until then */
};

struct gvtg_policy {
	u64 period_ns;		/* of balance */
	u32 stages;		/* balances from one forgetting to the next */
	u64 start_ns;		/* how long a vGPU that starts is the first choice */
	struct list_head order; /* of choice; gvtg_vgpu.node */
	struct gvtg_vgpu idle;
	struct gvtg_vgpu *owner; /* of the GPU; &idle: no one; NULL: it has left */
	struct gvtg_vgpu *next;	 /* NULL: none was chosen */
	bool stops;		 /* no further workload of the owner goes to the GPU */
	bool in_flight;		 /* a workload is; set by the caller */
	u64 balance_ns;		 /* the next one */
	u64 balances;
};

void gvtg_policy_init(struct gvtg_policy *policy, u64 period_ns, u32 stages, u64 start_ns);

/* A vGPU starts, with its weight set; or goes. Memory stays the caller's. */
void gvtg_policy_add(struct gvtg_policy *policy, struct gvtg_vgpu *vgpu, u64 now);
void gvtg_policy_remove(struct gvtg_policy *policy, struct gvtg_vgpu *vgpu);

/* A tick, or an event. The owner may have changed. */
void gvtg_policy_schedule(struct gvtg_policy *policy, u64 now, bool tick);

/* May a workload of the owner go to the GPU? */
bool gvtg_policy_may_dispatch(const struct gvtg_policy *policy);

#endif
