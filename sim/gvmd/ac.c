// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * ac: GhostAC, with the application's cooperation
 * ===============================================
 *
 * dyn (dyn.c) takes memory from a container that does not know of it: the driver copies the
 * pages out, and back in later. An application that listens for pressure events (Ghost 4.2)
 * can do better. It drops what it can make again: activations, free KV blocks, a batch. That
 * costs no copy in either direction. It only has to learn of it in time:
 *
 *     load rises --> limit, without a wait --> pressure event --> the application gives memory
 *                         |                                              |
 *                         '---- grace is over, usage is still above -----'--> the limit again,
 *                                                                            with a wait: the
 *                                                                            driver evicts the
 *                                                                            rest
 *
 * A lowered limit without a wait holds at once, and the event tells how much is wanted. The
 * application goes on meanwhile. It is stopped for a high load only when its memory is under
 * the limit, or when the grace is over: an application that is off the GPU frees nothing.
 * When the load is gone it gets all memory back, as under dyn.
 *
 *
 * How it differs from the paper (Ghost 6.3)
 *
 *   1. The paper says that GhostAC "incorporates application cooperation, allowing the LP task
 *      to proactively yield resources", and no more. The law of the load is that of dyn; grace
 *      and order are ours.
 *   2. The event comes from the driver: the write of the limit posts it. gvmd needs no
 *      descriptor of a container, and applications need not know gvmd. A container that does
 *      not listen is reclaimed after the grace, so the policy suits any application.
 */
#include "gvmd/load.h"
#include "gvmd/pair.h"
#include "gvmd/policies.h"

/* What the best-effort container has been told. */
enum ac_stage {
	AC_NEW,	  /* nothing yet */
	AC_FREE,  /* no limit */
	AC_ASKED, /* the limit holds; it may still give memory by itself */
	AC_TAKEN, /* its usage was under the limit, or was brought there */
};

struct ac {
	char high[GVMD_NAME_MAX];
	char low[GVMD_NAME_MAX];
	u64 limit;
	u64 cooldown_ns;
	u64 grace_ns;
	struct load load;

	enum ac_stage stage;
	bool stopped;
	u64 acted_ns; /* last change between a limit and none, or between stop and run */
	u64 asked_ns;
};

static const struct gvmd_setting ac_settings[] = {
	GVMD_SETTING("high", CONTAINER, struct ac, high, 0, 0, NULL,
		     "the container whose load decides"),
	GVMD_SETTING("low", CONTAINER, struct ac, low, 0, 0, NULL,
		     "the container that gives memory"),
	GVMD_SETTING("limit", BYTES, struct ac, limit, 0, GVMD_NO_LIMIT, "6e9",
		     "its gmem.limit.high under load; the published daemon's"),
	GVMD_SETTING("cooldown", DURATION, struct ac, cooldown_ns, 0, GVMD_PERIOD_MAX_NS, "3s",
		     "least time between two actions; the published daemon's"),
	GVMD_SETTING("grace", DURATION, struct ac, grace_ns, 0, GVMD_PERIOD_MAX_NS, "1s",
		     "in which it gives memory by itself, before the driver evicts; ours"),
	LOAD_SETTINGS(struct ac, load),
};

static int ac_open(void *state, u64 period_ns, char why[GVMD_WHY_MAX])
{
	struct ac *ac = state;
	int status = pair_check(ac->high, ac->low, why);

	(void)period_ns;
	return status ? status : load_check(&ac->load, why);
}

/* Lift the limit, or set it without a wait. */
static void ac_change(struct ac *ac, struct gvmd_step *step, struct gvmd_container *low,
		      bool limited)
{
	struct gvmd_write *write = gvmd_write_number(step, low, "gmem.limit.high",
						     limited ? ac->limit : GVMD_NO_LIMIT);

	write->no_wait = limited;
	ac->stage = limited ? AC_ASKED : AC_FREE;
	ac->asked_ns = step->now_ns;
	ac->acted_ns = step->now_ns;
	if (limited || !ac->stopped)
		return;
	gvmd_write(step, low, "compute.freeze", "0");
	ac->stopped = false;
}

/* The grace: has the application given what was asked for, or does the driver take it? */
static void ac_collect(struct ac *ac, struct gvmd_step *step, struct gvmd_container *low)
{
	if (gvmd_value(low, GVMD_GMEM_CURRENT, GVMD_NO_LIMIT) > ac->limit) {
		if (step->now_ns - ac->asked_ns < ac->grace_ns)
			return;
		gvmd_write_number(step, low, "gmem.limit.high", ac->limit);
	}
	ac->stage = AC_TAKEN;
}

static int ac_step(void *state, struct gvmd_step *step)
{
	struct ac *ac = state;
	enum load_level level = load_sample(&ac->load, gvmd_find(step, ac->high));
	struct gvmd_container *low = gvmd_find(step, ac->low);
	bool limited = level > LOAD_LOW || (level == LOAD_LOW && ac->stage != AC_FREE);
	bool stop = level == LOAD_HIGH || (level == LOAD_MIDDLE && ac->stopped);
	bool rested;

	if (!low) {
		/* The next one of its name has limits of its own. */
		ac->stage = AC_NEW;
		ac->stopped = false;
		return 0;
	}
	if (level == LOAD_UNKNOWN)
		return 0;
	rested = step->now_ns - ac->acted_ns >= ac->cooldown_ns;
	if (ac->stage == AC_NEW || (rested && limited != (ac->stage != AC_FREE)))
		ac_change(ac, step, low, limited);
	else if (ac->stage == AC_ASKED)
		ac_collect(ac, step, low);
	if (ac->stage != AC_TAKEN || stop == ac->stopped || (!stop && !rested))
		return 0;
	gvmd_write(step, low, "compute.freeze", stop ? "1" : "0");
	ac->stopped = stop;
	ac->acted_ns = step->now_ns;
	return 0;
}

const struct gvmd_policy policy_ac = {
	.abi = GVMD_ABI,
	.name = "ac",
	.summary = "GhostAC: as dyn, but the application may give memory by itself first",
	.settings = ac_settings,
	.setting_count = sizeof(ac_settings) / sizeof(ac_settings[0]),
	.bytes = sizeof(struct ac),
	.period_ns = 100000000, /* measured runs of GVM */
	.open = ac_open,
	.step = ac_step,
};
