/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Advice on sharing: which system, with which limits and priorities, on how few GPUs, keeps the
 * promises of a scenario's containers?
 *
 * A candidate is a way of sharing: keys that are set on top of the scenario. Candidates run in
 * stages. Each stage is a sweep file in the folder of the advice, which "gvmsim sweep" can run
 * again; all stages share one store of runs (sweep/sweep_runs.h), so a killed search goes on
 * where it stopped.
 *
 *     systems     every system as the scenario configures it; "exclusive" is the yardstick
 *     settings    the best systems with limits and priorities
 *     shares      the best candidates with servers that take less memory, if a promise is
 *                 broken or progress is lost; then every system with the best such shares
 *     gpus        the best systems with containers on two GPUs and more, if one cannot do
 *     nearer      the best candidate with limits and shares around its own, as long as this is
 *                 better
 *     seeds       the best candidates under other seeds: intervals of confidence
 *     hurts       the best one under more load, and with less memory, link and CPU
 *
 * A promise is kept if the share of requests that keep it is at least the target, with several
 * seeds the lower end of its interval. Candidates are ordered by the promises that they keep,
 * then by fewer GPUs, then by the progress of the container that has lost most of what it
 * would do on a GPU of its own.
 */
#ifndef SIM_ADVISE_ADVISE_H
#define SIM_ADVISE_ADVISE_H

#include "advise/types.h"

struct signals;

/*
 * Search. @tell gets a line for each stage. Returns 0 or a negative enum sim_exit; the caller
 * destroys *advise in any case. A scenario without a promise is a mistake.
 */
int advise_make(struct advise *advise, const struct advise_question *question,
		const struct signals *signals, void (*tell)(const char *line),
		struct sim_error *err);
void advise_destroy(struct advise *advise);

#endif
