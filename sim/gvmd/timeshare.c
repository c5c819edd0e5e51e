// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * timeshare: the scheduler of GVT-g, from outside of the driver
 * =============================================================
 *
 * GVT-g (Intel's mediated pass-through) gives a GPU to one virtual machine at a time, the
 * render owner. Its scheduler is a round robin with budgets. Here the owner is the one
 * container that is not frozen:
 *
 *     slice     |  1  |  2  |  3  |  4  |  5  |  6  |      10 to 100 ms each: "period"
 *     owner     | vllm| sd  | vllm| sd  | vllm|  -  |
 *     budgets   | 40      40      ...   | 0 left: it waits for the next balance
 *
 * Every "balance" slices each container gets budget in proportion to its weight. A slice is
 * charged to its owner. The next owner is the one that ran longest ago, of those that have
 * kernels pending and budget left. If there is none, the GPU is idle: this scheduler does not
 * conserve work, by design. So a weight is a hard cap, which is what a bill needs. A budget may
 * become negative, and what is left of it is kept. Every "stages" balances all budgets begin
 * anew.
 *
 * Each GPU has an owner of its own, and the sum of weights is that of its containers.
 *
 * The sum of weights counts each container that "weights" names, also while it does not run:
 * the cap of the others does not depend on it. A container without a weight has 1.
 *
 *
 * How it differs from GVT-g (Intel's design document; i915's gvt/sched_policy.c in Linux)
 *
 *   1. Its tick is 1 ms, its balance 100 ms, 10 stages. Here a slice is 10 to 100 ms, because
 *      freezing and thawing are RPCs, and a balance is 10 slices. Stages are as there.
 *   2. GVT-g never preempts a workload: long ones win, since negative budgets are forgotten. A
 *      freeze takes the container off the GPU at the end of its slice, so they do not.
 *   3. GVT-g prefers a new virtual machine for 2 s. Here a new container only comes first.
 *   4. "work_conserving" lets a container without budget run when no other can. Ours.
 */
#include <jansson.h>

#include "gvmd/policies.h"
#include "gvmd/weights.h"

#define SLICE_MIN_NS 10000000ull
#define SLICE_MAX_NS 100000000ull

/* A container's budget. By its index in the step. */
struct timeshare_budget {
	bool known; /* it runs, and is in the round */
	bool owns;  /* its GPU, in the present slice */
	long long rest_ns;
	u64 ran; /* number of the slice that it last began; 0: none yet */
};

struct timeshare {
	json_t *weights; /* NULL: all have 1 */
	u64 balance;
	u64 stages;
	bool work_conserving;

	u64 slice_ns;
	struct timeshare_budget budgets[GVMD_CONTAINERS_MAX];
	u64 slice;  /* number of the present one, from 1 */
	u64 now_ns; /* date of the last step */
};

static const struct gvmd_setting timeshare_settings[] = {
	GVMD_SETTING("weights", JSON, struct timeshare, weights, 0, 0, "{}",
		     "an object of weights by container: { \"vllm\": 4 }; 1 to 10000"),
	GVMD_SETTING("balance", NUMBER, struct timeshare, balance, 1, 10000, "10",
		     "slices between two balances; GVT-g: 100 ticks"),
	GVMD_SETTING("stages", NUMBER, struct timeshare, stages, 1, 10000, "10",
		     "balances after which all budgets begin anew; GVT-g"),
	GVMD_SETTING("work_conserving", SWITCH, struct timeshare, work_conserving, 0, 0,
		     "false", "run a container without budget when no other can run; ours"),
};

static int timeshare_open(void *state, u64 period_ns, char why[GVMD_WHY_MAX])
{
	struct timeshare *timeshare = state;

	timeshare->slice_ns = period_ns;
	if (period_ns < SLICE_MIN_NS || period_ns > SLICE_MAX_NS) {
		snprintf(why, GVMD_WHY_MAX, "period: allowed: a slice from 10ms to 100ms");
		return -EINVAL;
	}
	return weights_open(timeshare->weights, why);
}

static int timeshare_check(const void *state, const char *const *names, size_t count,
			   char why[GVMD_WHY_MAX])
{
	const struct timeshare *timeshare = state;

	return weights_check(timeshare->weights, names, count, why);
}

/* Of a GPU, the weights of all containers that "weights" names, and of the others that run. */
static u64 timeshare_sum(const struct timeshare *timeshare, const struct gvmd_step *step,
			 u32 gpu)
{
	u64 sum = 0;

	for (u32 i = 0; i < step->container_count; i++) {
		const struct gvmd_container *container = &step->containers[i];

		if (container->gpu == gpu &&
		    (container->running ||
		     json_object_get(timeshare->weights, container->name)))
			sum += weights_of(timeshare->weights, container->name);
	}
	return sum;
}

/* Take in new containers of a GPU, frozen and with a budget, and forget those that are gone. */
static void timeshare_meet(struct timeshare *timeshare, struct gvmd_step *step, u32 gpu,
			   u64 sum)
{
	u64 round_ns = timeshare->balance * timeshare->slice_ns;

	for (u32 i = 0; i < step->container_count; i++) {
		const struct gvmd_container *container = &step->containers[i];
		struct timeshare_budget *budget = &timeshare->budgets[i];
		u64 weight = weights_of(timeshare->weights, container->name);

		if (container->gpu != gpu)
			continue;
		if (container->running && !budget->known) {
			*budget = (struct timeshare_budget){
				.known = true,
				.rest_ns = (long long)(round_ns * weight / sum),
			};
			gvmd_write(step, container, "compute.freeze", "1");
		} else if (!container->running) {
			budget->known = false;
			budget->owns = false;
		}
	}
}

/* Add to the budgets of a GPU; at the first of all stages, set them anew. */
static void timeshare_balance(struct timeshare *timeshare, const struct gvmd_step *step,
			      u32 gpu, u64 sum)
{
	u64 round_ns = timeshare->balance * timeshare->slice_ns;
	u64 number = (timeshare->slice - 1) / timeshare->balance;
	bool anew = number % timeshare->stages == 0;

	for (u32 i = 0; i < step->container_count; i++) {
		struct timeshare_budget *budget = &timeshare->budgets[i];
		u64 weight = weights_of(timeshare->weights, step->containers[i].name);
		long long share_ns;

		/* While none is known the sum may be 0. */
		if (!budget->known || step->containers[i].gpu != gpu)
			continue;
		share_ns = (long long)(round_ns * weight / sum);
		budget->rest_ns = anew ? share_ns : budget->rest_ns + share_ns;
	}
}

/*
 * The container of a GPU with work that ran longest ago; with @funded, one that has budget left.
 */
static u32 timeshare_pick(const struct timeshare *timeshare, const struct gvmd_step *step,
			  u32 gpu, bool funded)
{
	u32 best = GVMD_CONTAINERS_MAX;

	for (u32 i = 0; i < step->container_count; i++) {
		const struct timeshare_budget *budget = &timeshare->budgets[i];

		if (step->containers[i].gpu != gpu || !budget->known ||
		    !gvmd_value(&step->containers[i], GVMD_PENDING, 1) ||
		    (funded && budget->rest_ns <= 0))
			continue;
		if (best == GVMD_CONTAINERS_MAX || budget->ran < timeshare->budgets[best].ran)
			best = i;
	}
	return best;
}

/* The owner of a GPU; GVMD_CONTAINERS_MAX: none. */
static u32 timeshare_owner(const struct timeshare *timeshare, const struct gvmd_step *step,
			   u32 gpu)
{
	for (u32 i = 0; i < step->container_count; i++)
		if (timeshare->budgets[i].owns && step->containers[i].gpu == gpu)
			return i;
	return GVMD_CONTAINERS_MAX;
}

/* The next slice of a GPU. */
static void timeshare_slice(struct timeshare *timeshare, struct gvmd_step *step, u32 gpu,
			    u64 passed_ns)
{
	u64 sum = timeshare_sum(timeshare, step, gpu);
	u32 before = timeshare_owner(timeshare, step, gpu), owner;

	if (before < GVMD_CONTAINERS_MAX)
		timeshare->budgets[before].rest_ns -= (long long)passed_ns;
	timeshare_meet(timeshare, step, gpu, sum);
	if (timeshare->slice > 1 && (timeshare->slice - 1) % timeshare->balance == 0)
		timeshare_balance(timeshare, step, gpu, sum);
	owner = timeshare_pick(timeshare, step, gpu, true);
	if (owner == GVMD_CONTAINERS_MAX && timeshare->work_conserving)
		owner = timeshare_pick(timeshare, step, gpu, false);
	if (owner < GVMD_CONTAINERS_MAX)
		timeshare->budgets[owner].ran = timeshare->slice;
	/* One that has ended owns nothing any more. */
	before = timeshare_owner(timeshare, step, gpu);
	if (owner == before)
		return;
	/* The one leaves before the other comes. */
	if (before < GVMD_CONTAINERS_MAX) {
		timeshare->budgets[before].owns = false;
		gvmd_write(step, &step->containers[before], "compute.freeze", "1");
	}
	if (owner < GVMD_CONTAINERS_MAX) {
		timeshare->budgets[owner].owns = true;
		gvmd_write(step, &step->containers[owner], "compute.freeze", "0");
	}
}

static int timeshare_step(void *state, struct gvmd_step *step)
{
	struct timeshare *timeshare = state;
	u64 passed_ns = step->now_ns - timeshare->now_ns;

	timeshare->now_ns = step->now_ns;
	timeshare->slice++;
	for (u32 i = 0; i < step->container_count; i++)
		if (gvmd_is_first_of_gpu(step, i))
			timeshare_slice(timeshare, step, step->containers[i].gpu, passed_ns);
	return 0;
}

const struct gvmd_policy policy_timeshare = {
	.abi = GVMD_ABI,
	.name = "timeshare",
	.summary = "one container at a time, by slices and budgets: GVT-g's scheduler",
	.settings = timeshare_settings,
	.setting_count = sizeof(timeshare_settings) / sizeof(timeshare_settings[0]),
	.bytes = sizeof(struct timeshare),
	.period_ns = 10000000,
	.open = timeshare_open,
	.check = timeshare_check,
	.step = timeshare_step,
};
