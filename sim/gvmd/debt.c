// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * debt: each container pays for the GPU time that it costs, its faults included
 * ============================================================================
 *
 * A context with unserviced faults cannot be switched out. So a container that pages keeps the
 * GPU while its pages come, and a scheduler that counts kernels alone gives it that time for
 * nothing. Here an account pays for both:
 *
 *     cost     = time of its kernels + time in which it held the GPU for its faults
 *     credit  += cost of all x weight / sum of weights - cost       each step, of those with work
 *
 * A container whose debt is above "debt" is frozen until its credit is 0 again. Then the others
 * have paid off what they waited for. A container without work has no credit and no debt: the
 * others share what it had, by weight. So all credits add up to 0. While one container is frozen
 * the others gain debt, and none is frozen for ever. One in debt runs if no other has work: this
 * policy conserves work. A container that a user has frozen has no work here.
 *
 * With "faults" false only kernels cost, and the difference is what faults are given for
 * nothing.
 *
 * The costs are lines of gpu.stat. The simulator has that file of every container; gvm.ko does
 * not count these times yet, and there the policy ends with that reason. Under MPS and in a
 * fenced group others run beside a container that waits for its faults, so it pays too much.
 * Each GPU has accounts of its own: its containers share what they cost there.
 *
 * Ours: neither paper has it. GVT-g's budgets (timeshare.c) charge whole slices.
 */
#include <jansson.h>

#include "gvmd/policies.h"
#include "gvmd/weights.h"

#define NS_PER_US 1000

/* A container's account. By its index in the step. */
struct debt_account {
	bool known;  /* it has run at the last step */
	bool frozen; /* by this policy */
	bool works;  /* it has kernels, and shares in costs */
	u64 paid_us; /* its counters, at the last step */
	long long credit_ns;
};

struct debt {
	json_t *weights; /* NULL: all have 1 */
	u64 debt;
	bool faults;

	struct debt_account accounts[GVMD_CONTAINERS_MAX];
};

static const struct gvmd_setting debt_settings[] = {
	GVMD_SETTING("weights", JSON, struct debt, weights, 0, 0, "{}",
		     "an object of weights by container: { \"vllm\": 4 }; 1 to 10000"),
	GVMD_SETTING("debt", DURATION, struct debt, debt, 1000000, 3600000000000ull, "200ms",
		     "a container with more debt is frozen until it has none; ours"),
	GVMD_SETTING("faults", SWITCH, struct debt, faults, 0, 0, "true",
		     "time in which a container holds the GPU for its faults costs, too"),
};

static int debt_open(void *state, u64 period_ns, char why[GVMD_WHY_MAX])
{
	struct debt *debt = state;

	(void)period_ns;
	return weights_open(debt->weights, why);
}

static int debt_check(const void *state, const char *const *names, size_t count,
		      char why[GVMD_WHY_MAX])
{
	const struct debt *debt = state;

	return weights_check(debt->weights, names, count, why);
}

/* Are there kernels, and has no user frozen it? */
static bool has_work(const struct gvmd_container *container, const struct debt_account *account)
{
	bool users = !account->frozen && gvmd_value(container, GVMD_FREEZE, 0);

	return !users && gvmd_value(container, GVMD_PENDING, 1);
}

/* What a container's process has cost since it began. */
static u64 paid_us(const struct debt *debt, const struct gvmd_container *container)
{
	return gvmd_value(container, GVMD_BUSY_US, 0) +
	       (debt->faults ? gvmd_value(container, GVMD_STALLED_US, 0) : 0);
}

/*
 * Read the counters into @account, and return what the container has cost since the last step,
 * ns. Of a process that has ended the account is closed, and its credit added to *@ret_left_ns.
 * That of a new process is opened at the next step.
 */
static long long debt_cost(const struct debt *debt, const struct gvmd_container *container,
			   struct debt_account *account, long long *ret_left_ns)
{
	u64 before = account->paid_us, now = paid_us(debt, container);
	bool known = account->known;

	/* A new process counts from 0, and is not frozen. */
	if (!container->running || now < before) {
		*ret_left_ns += account->credit_ns;
		*account = (struct debt_account){ 0 };
		known = false;
	}
	account->known = container->running;
	account->paid_us = now;
	account->works = known && has_work(container, account);
	return known ? (long long)(now - before) * NS_PER_US : 0;
}

/*
 * Bring the accounts of a GPU up to date. Containers with work share "all": the cost of all, and
 * credits of containers whose work has ended. Returns 0, or an error: a counter is not known.
 */
static int debt_book(struct debt *debt, struct gvmd_step *step, u32 gpu)
{
	long long costs[GVMD_CONTAINERS_MAX] = { 0 }, all = 0;
	u64 weights = 0;

	for (u32 i = 0; i < step->container_count; i++) {
		const struct gvmd_container *container = &step->containers[i];
		struct debt_account *account = &debt->accounts[i];

		if (container->gpu != gpu)
			continue;
		if (container->running && (!gvmd_known(container, GVMD_BUSY_US) ||
					   !gvmd_known(container, GVMD_STALLED_US)))
			return gvmd_fail(step, -ENOTSUP,
					 "%.60s has no gpu.stat: this driver does not count "
					 "what containers cost",
					 container->name);
		costs[i] = debt_cost(debt, container, account, &all);
		if (!account->works && !costs[i]) {
			all += account->credit_ns;
			account->credit_ns = 0;
			continue;
		}
		all += costs[i];
		weights += weights_of(debt->weights, container->name);
	}
	for (u32 i = 0; i < step->container_count; i++) {
		struct debt_account *account = &debt->accounts[i];
		long long weight =
			(long long)weights_of(debt->weights, step->containers[i].name);

		if (step->containers[i].gpu == gpu && (account->works || costs[i]))
			account->credit_ns += all * weight / (long long)weights - costs[i];
	}
	return 0;
}

/* Is there work of a container on its GPU that is not frozen, beside number @index? */
static bool others_run(const struct debt *debt, const struct gvmd_step *step, u32 index)
{
	for (u32 i = 0; i < step->container_count; i++)
		if (i != index && step->containers[i].gpu == step->containers[index].gpu &&
		    debt->accounts[i].works && !debt->accounts[i].frozen)
			return true;
	return false;
}

static int debt_step(void *state, struct gvmd_step *step)
{
	struct debt *debt = state;
	int status = 0;

	for (u32 i = 0; !status && i < step->container_count; i++)
		if (gvmd_is_first_of_gpu(step, i))
			status = debt_book(debt, step, step->containers[i].gpu);
	for (u32 i = 0; !status && i < step->container_count; i++) {
		struct debt_account *account = &debt->accounts[i];
		const struct gvmd_container *container = &step->containers[i];
		bool freeze = account->frozen ? account->credit_ns < 0 :
						account->credit_ns < -(long long)debt->debt;

		freeze = freeze && account->works && others_run(debt, step, i);
		if (!container->running || freeze == account->frozen)
			continue;
		account->frozen = freeze;
		gvmd_write(step, container, "compute.freeze", freeze ? "1" : "0");
	}
	return status;
}

const struct gvmd_policy policy_debt = {
	.abi = GVMD_ABI,
	.name = "debt",
	.summary = "containers pay for the GPU time that they and their faults take",
	.settings = debt_settings,
	.setting_count = sizeof(debt_settings) / sizeof(debt_settings[0]),
	.bytes = sizeof(struct debt),
	.period_ns = 100000000,
	.open = debt_open,
	.check = debt_check,
	.step = debt_step,
};
