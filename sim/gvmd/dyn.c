// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * dyn: GVM-DYN and GhostFT
 * ========================
 *
 * A latency-critical container shares the GPU with a best-effort one. A fixed limit on the
 * best-effort one wastes memory whenever the other has little to do: its users sleep, and the
 * diffusion pipeline beside it pages all the same. So the limit follows the load. The policy
 * asks nothing of the applications. It looks at the kernels of the important container alone:
 *
 *     kernels of "high"                           what "low" gets
 *     the last 4 samples are the same             all memory, and it runs
 *     pending, mean of 15 samples:   < 32         it runs, with a limit or without one as before
 *                                   32 to 160     the limit; it runs or is stopped as before
 *                                   > 160         the limit, and it is stopped
 *
 * So an idle server takes the limit away, and a few kernels do not bring it back. Two bounds
 * with a gap between them are a hysteresis, and an action comes 3 s after the last one at the
 * earliest: each change of the limit may move gigabytes over the link.
 *
 * The GVM paper calls this daemon GVM-DYN. The Ghost paper runs it over its own
 * driver and calls it GhostFT.
 *
 *
 * How it differs from the papers (GVM 7.2 and 7.4, Ghost 6.3 and 6.4)
 *
 *   1. The papers say what the policy does and give no constant. Period, windows and bounds are
 *      those of the daemon of the published runs. They are settings here.
 *   2. "Stopped" is compute.freeze, which ends its turns at once: Ghost has the file. The
 *      published daemon (exp/vllm+diffusion/launch_scheduler.py of github.com/easonycliu/gvm)
 *      sends SIGSTOP: kernels that are queued run on, and the process launches no more. The law
 *      is this daemon's, also that an idle server thaws the other one
 *      straight from a high load.
 *   3. It is stopped before its limit falls, so that it does not fault while it is reclaimed,
 *      and its limit rises before it runs again.
 *   4. A write is made only if it changes something.
 */
#include "gvmd/load.h"
#include "gvmd/pair.h"
#include "gvmd/policies.h"

struct dyn {
	char high[GVMD_NAME_MAX];
	char low[GVMD_NAME_MAX];
	u64 limit;
	u64 cooldown_ns;
	struct load load;

	bool acted; /* on the present "low": the following say what it has */
	bool limited;
	bool stopped;
	u64 acted_ns;
};

static const struct gvmd_setting dyn_settings[] = {
	GVMD_SETTING("high", CONTAINER, struct dyn, high, 0, 0, NULL,
		     "the container whose load decides"),
	GVMD_SETTING("low", CONTAINER, struct dyn, low, 0, 0, NULL,
		     "the container that is limited and stopped"),
	GVMD_SETTING("limit", BYTES, struct dyn, limit, 0, GVMD_NO_LIMIT, "6e9",
		     "its gmem.limit.high under load; the published daemon's"),
	GVMD_SETTING("cooldown", DURATION, struct dyn, cooldown_ns, 0, GVMD_PERIOD_MAX_NS, "3s",
		     "least time between two actions; the published daemon's"),
	LOAD_SETTINGS(struct dyn, load),
};

static int dyn_open(void *state, u64 period_ns, char why[GVMD_WHY_MAX])
{
	struct dyn *dyn = state;
	int status = pair_check(dyn->high, dyn->low, why);

	(void)period_ns;
	return status ? status : load_check(&dyn->load, why);
}

/* Ask for the writes that lead from what "low" has to what it is to have. */
static void dyn_act(struct dyn *dyn, struct gvmd_step *step, struct gvmd_container *low,
		    bool limited, bool stopped)
{
	bool first = !dyn->acted;

	if (stopped && (first || !dyn->stopped))
		gvmd_write(step, low, "compute.freeze", "1");
	if (first || limited != dyn->limited)
		gvmd_write_number(step, low, "gmem.limit.high",
				  limited ? dyn->limit : GVMD_NO_LIMIT);
	if (!stopped && (first || dyn->stopped))
		gvmd_write(step, low, "compute.freeze", "0");
	dyn->acted = true;
	dyn->limited = limited;
	dyn->stopped = stopped;
	dyn->acted_ns = step->now_ns;
}

static int dyn_step(void *state, struct gvmd_step *step)
{
	struct dyn *dyn = state;
	enum load_level level = load_sample(&dyn->load, gvmd_find(step, dyn->high));
	struct gvmd_container *low = gvmd_find(step, dyn->low);
	bool limited = level > LOAD_LOW || (level == LOAD_LOW && (!dyn->acted || dyn->limited));
	bool stopped = level == LOAD_HIGH || (level == LOAD_MIDDLE && dyn->stopped);

	if (!low) {
		/* The next one of its name has limits of its own. */
		dyn->acted = false;
		dyn->stopped = false;
		return 0;
	}
	if (level == LOAD_UNKNOWN)
		return 0;
	if (!dyn->acted || ((limited != dyn->limited || stopped != dyn->stopped) &&
			    step->now_ns - dyn->acted_ns >= dyn->cooldown_ns))
		dyn_act(dyn, step, low, limited, stopped);
	return 0;
}

const struct gvmd_policy policy_dyn = {
	.abi = GVMD_ABI,
	.name = "dyn",
	.summary = "GVM-DYN and GhostFT: a limit that follows the load of another container",
	.settings = dyn_settings,
	.setting_count = sizeof(dyn_settings) / sizeof(dyn_settings[0]),
	.bytes = sizeof(struct dyn),
	.period_ns = 100000000, /* measured runs of GVM */
	.open = dyn_open,
	.step = dyn_step,
};
