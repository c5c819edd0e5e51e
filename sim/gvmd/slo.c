// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * slo: keeps an objective that users feel
 * =======================================
 *
 * dyn guesses from kernels whether an LLM server is in trouble. The server knows: it sees the
 * times to first token. This policy takes the application's report (report.ttft_us) and an
 * objective, and moves a best-effort container along a ladder:
 *
 *     rung       0        1      ...      n - 1        n
 *     memory    free    less     ...      least      least
 *     priority  first   less     ...                  last
 *     weight    100      50      ...
 *                                                   stopped
 *
 *     report > objective             two rungs up: the promise is being broken
 *     report > 80 % of objective     one rung up
 *     report < 50 % for 10 s         one rung down
 *
 * Up fast and down slowly: a broken promise costs more than a slow image. A request that still
 * waits counts with its age, so the report rises while a queue builds up, before the first
 * late token. Each rung moves three controls, as far as they are switched on and the system
 * honours them: gmem.limit.high from the memory that the container has used down to "least",
 * compute.priority by one, compute.weight by half.
 *
 * Rung 0 is written as soon as the container runs.
 *
 * The papers have no such policy: GVM 7.4 reports attained objectives, and its daemon does not
 * see them. All constants are ours.
 */
#include "gvmd/pair.h"
#include "gvmd/policies.h"

struct slo {
	char high[GVMD_NAME_MAX];
	char low[GVMD_NAME_MAX];
	u64 objective_ns;
	u64 raise_ppm;
	u64 calm_ppm;
	u64 calm_ns;
	u64 pause_ns;
	u64 rungs;
	u64 most;
	u64 least;
	u64 priority;
	bool limits;
	bool priorities;
	bool weights;
	bool stop;

	bool begun; /* a rung was written to the container that runs */
	u64 rung;
	u64 top;      /* memory of rung 0; 0: not known yet */
	u64 moved_ns; /* last change of the rung */
	bool calm;    /* the report has been low since calm_since_ns */
	u64 calm_since_ns;
};

#define PPM 1000000ull

static const struct gvmd_setting slo_settings[] = {
	GVMD_SETTING("high", CONTAINER, struct slo, high, 0, 0, NULL,
		     "the container with the objective; it reports"),
	GVMD_SETTING("low", CONTAINER, struct slo, low, 0, 0, NULL,
		     "the container that makes room"),
	GVMD_SETTING("objective", DURATION, struct slo, objective_ns, 1000000,
		     GVMD_PERIOD_MAX_NS, NULL, "longest time to first token"),
	GVMD_SETTING("raise", SHARE, struct slo, raise_ppm, 0, PPM, "0.8",
		     "of the objective: above it, one rung up"),
	GVMD_SETTING("calm", SHARE, struct slo, calm_ppm, 0, PPM, "0.5",
		     "of the objective: below it, one rung down after a while"),
	GVMD_SETTING("calm_for", DURATION, struct slo, calm_ns, 0, GVMD_PERIOD_MAX_NS, "10s",
		     "that while"),
	GVMD_SETTING("pause", DURATION, struct slo, pause_ns, 0, GVMD_PERIOD_MAX_NS, "1s",
		     "least time between two moves"),
	GVMD_SETTING("rungs", NUMBER, struct slo, rungs, 1, 12, "6", "the last one stops it"),
	GVMD_SETTING("most", BYTES, struct slo, most, 0, GVMD_NO_LIMIT, "max",
		     "its memory on rung 0; max: no limit, and the next rungs go down from "
		     "gmem.peak"),
	GVMD_SETTING("least", BYTES, struct slo, least, 0, GVMD_NO_LIMIT, "6e9",
		     "its memory on the last rungs"),
	GVMD_SETTING("priority", NUMBER, struct slo, priority, 0, 16, "4",
		     "its compute.priority on rung 0; one more on each rung, up to 16"),
	GVMD_SETTING("limits", SWITCH, struct slo, limits, 0, 0, "true",
		     "move gmem.limit.high"),
	GVMD_SETTING("priorities", SWITCH, struct slo, priorities, 0, 0, "true",
		     "move compute.priority"),
	GVMD_SETTING("weights", SWITCH, struct slo, weights, 0, 0, "false",
		     "move compute.weight, for the weighted scheduler"),
	GVMD_SETTING("stop", SWITCH, struct slo, stop, 0, 0, "true",
		     "freeze it on the last rung"),
};

static int slo_open(void *state, u64 period_ns, char why[GVMD_WHY_MAX])
{
	struct slo *slo = state;

	(void)period_ns;
	if (pair_check(slo->high, slo->low, why))
		return -EINVAL;
	if (slo->calm_ppm > slo->raise_ppm)
		snprintf(why, GVMD_WHY_MAX, "calm: is above \"raise\"");
	else if (slo->least > slo->most)
		snprintf(why, GVMD_WHY_MAX, "least: is above \"most\"");
	else
		return 0;
	return -EINVAL;
}

/* The memory of a rung: from the top in equal parts down to "least" on the last but one. */
static u64 slo_limit(const struct slo *slo, u64 rung)
{
	u64 parts = slo->rungs > 1 ? slo->rungs - 1 : 1;

	if (!rung)
		return slo->most;
	if (rung >= parts || slo->top <= slo->least)
		return slo->least;
	return slo->top - (slo->top - slo->least) / parts * rung;
}

/* Ask for the writes of @rung. Going up it is stopped first, going down it runs again last. */
static void slo_move(struct slo *slo, struct gvmd_step *step, struct gvmd_container *low,
		     u64 rung)
{
	u64 priority = slo->priority + rung;
	bool stopped = slo->stop && slo->rung == slo->rungs;
	bool stops = slo->stop && rung == slo->rungs;

	if (!slo->rung)
		slo->top = slo->most == GVMD_NO_LIMIT ? gvmd_value(low, GVMD_GMEM_PEAK, 0) :
							slo->most;
	if (stops && !stopped)
		gvmd_write(step, low, "compute.freeze", "1");
	if (slo->limits && (!slo->begun || slo_limit(slo, rung) != slo_limit(slo, slo->rung)))
		gvmd_write_number(step, low, "gmem.limit.high", slo_limit(slo, rung));
	if (slo->priorities)
		gvmd_write_number(step, low, "compute.priority", priority < 16 ? priority : 16);
	if (slo->weights)
		gvmd_write_number(step, low, "compute.weight",
				  100ull >> rung ? 100ull >> rung : 1);
	if (stopped && !stops)
		gvmd_write(step, low, "compute.freeze", "0");
	slo->begun = true;
	slo->rung = rung;
}

static int slo_step(void *state, struct gvmd_step *step)
{
	struct slo *slo = state;
	const struct gvmd_container *high = gvmd_find(step, slo->high);
	struct gvmd_container *low = gvmd_find(step, slo->low);
	/* In ns times ppm, of which 64 bits hold five hours. */
	unsigned __int128 ttft = 0, objective = slo->objective_ns;
	u64 rung = slo->rung;

	if (!low) {
		/* The next one of its name begins at the bottom. */
		slo->begun = false;
		slo->rung = 0;
		return 0;
	}
	if (!slo->begun) {
		slo_move(slo, step, low, 0);
		return 0;
	}
	/* Without a server there is nothing to protect. Without a report nothing moves. */
	if (high && !gvmd_known(high, GVMD_TTFT_US))
		return 0;
	if (high)
		ttft = (unsigned __int128)high->value[GVMD_TTFT_US] * 1000 * PPM;
	if (ttft >= objective * slo->calm_ppm) {
		slo->calm = false;
	} else if (!slo->calm) {
		slo->calm = true;
		slo->calm_since_ns = step->now_ns;
	}
	if (ttft > objective * PPM)
		rung += 2;
	else if (ttft > objective * slo->raise_ppm)
		rung++;
	else if (rung && slo->calm && step->now_ns - slo->calm_since_ns >= slo->calm_ns)
		rung--;
	rung = rung < slo->rungs ? rung : slo->rungs;
	if (rung == slo->rung ||
	    (slo->moved_ns && step->now_ns - slo->moved_ns < slo->pause_ns))
		return 0;
	if (rung < slo->rung)
		slo->calm_since_ns = step->now_ns;
	slo_move(slo, step, low, rung);
	slo->moved_ns = step->now_ns;
	return 0;
}

const struct gvmd_policy policy_slo = {
	.abi = GVMD_ABI,
	.name = "slo",
	.summary = "keeps a time to first token by moving limits, priorities and weights",
	.settings = slo_settings,
	.setting_count = sizeof(slo_settings) / sizeof(slo_settings[0]),
	.bytes = sizeof(struct slo),
	.period_ns = 100000000,
	.open = slo_open,
	.step = slo_step,
};
