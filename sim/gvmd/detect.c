// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * detect: wild accesses of fenced containers are looked for
 * =========================================================
 *
 * Tenants of one CUDA context are fenced (docs/guardian.md): an access outside of a tenant's own
 * memory is led inside, and nobody notices. So a program with such a mistake computes wrong
 * numbers in silence. A launch in mode count finds it, and costs more than the others. This
 * policy spends little of that on all, and more on those that are known to need it:
 *
 *     fence.stat of a container         its fence.sample
 *     no new wild access                "every": one launch of so many is counted
 *     a new one in the last "hold"      "alarm"
 *
 * A mistake that all launches of a kernel make is found after "every" of its launches, as a
 * mean. One that few launches make takes longer: with a share w of wild launches, every / w.
 * What it costs is the growth of a counted launch over that of a fenced one, divided by "every".
 *
 *
 * Where this comes from
 *
 *   Guardian (4.4) names address checking as an alternative that detects, and says that a manager
 *   could switch. Its check ends the context of all tenants. Sampling, and a mode that ends
 *   nobody, are ours, and so is this policy. No paper has its constants.
 */
#include "gvmd/policies.h"

/* What is known of one container. */
struct detect_container {
	char name[GVMD_NAME_MAX]; /* empty: the place is free */
	u64 found;		  /* its fence.stat.found, at the last step */
	u64 until_ns;		  /* end of the alarm; 0: there is none */
};

struct detect {
	u64 every;
	u64 alarm;
	u64 hold_ns;
	struct detect_container containers[GVMD_CONTAINERS_MAX];
};

#define DETECT_EVERY_MAX 1000000000ull

static const struct gvmd_setting detect_settings[] = {
	GVMD_SETTING("every", NUMBER, struct detect, every, 0, DETECT_EVERY_MAX, "1000",
		     "one launch of so many is counted; 0: none. Ours"),
	GVMD_SETTING("alarm", NUMBER, struct detect, alarm, 0, DETECT_EVERY_MAX, "10",
		     "likewise, of a container that had wild accesses; ours"),
	GVMD_SETTING("hold", DURATION, struct detect, hold_ns, 0, GVMD_PERIOD_MAX_NS, "10s",
		     "how long after the last new wild access; ours"),
};

/* The place of a container; a new one if it has none. There are as many as containers. */
static struct detect_container *detect_find(struct detect *detect, const char *name)
{
	struct detect_container *place = NULL;

	for (u32 i = 0; i < GVMD_CONTAINERS_MAX; i++) {
		struct detect_container *one = &detect->containers[i];

		if (!strcmp(one->name, name))
			return one;
		if (!place && !*one->name)
			place = one;
	}
	if (place)
		snprintf(place->name, sizeof(place->name), "%s", name);
	return place;
}

static int detect_step(void *state, struct gvmd_step *step)
{
	struct detect *detect = state;

	for (u32 i = 0; i < step->container_count; i++) {
		struct gvmd_container *container = &step->containers[i];
		struct detect_container *known = detect_find(detect, container->name);
		u64 found = gvmd_value(container, GVMD_FENCE_FOUND, 0), every;

		if (!known || !container->running || !gvmd_known(container, GVMD_FENCE_SAMPLE))
			continue;
		/* A smaller count is of a new process: all that it has found is new. */
		if (found != known->found && found)
			known->until_ns = step->now_ns + detect->hold_ns;
		known->found = found;
		every = step->now_ns < known->until_ns ? detect->alarm : detect->every;
		if (container->value[GVMD_FENCE_SAMPLE] != every)
			gvmd_write_number(step, container, "fence.sample", every);
	}
	return 0;
}

static const char *detect_writes(const void *state, u32 index, char place[GVMD_NAME_MAX])
{
	(void)state;
	snprintf(place, GVMD_NAME_MAX, "every");
	return index ? NULL : "fence.sample";
}

const struct gvmd_policy policy_detect = {
	.abi = GVMD_ABI,
	.name = "detect",
	.summary = "wild accesses of fenced containers are looked for, in a share of launches",
	.settings = detect_settings,
	.setting_count = sizeof(detect_settings) / sizeof(detect_settings[0]),
	.bytes = sizeof(struct detect),
	.period_ns = 100000000, /* as often as gvmfenced looks at its files */
	.step = detect_step,
	.writes = detect_writes,
};
