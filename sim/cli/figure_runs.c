// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/figure_runs.h"

#include <stdio.h>

#include "figures/run_cache.h"
#include "terminal/progress.h"
#include "terminal/signals.h"

static void print_ready(size_t count, size_t made, double seconds)
{
	progress_end();
	if (made)
		fprintf(stderr, "gvmsim: made %zu of %zu runs in %.1f s%s\n", made, count,
			seconds,
			made < count ? ", the others come from " RUN_CACHE_FOLDER : "");
	else
		fprintf(stderr, "gvmsim: made no run, all %zu come from " RUN_CACHE_FOLDER "\n",
			count);
	progress_start(true); /* more runs may follow */
}

void figure_runs_begin(struct run_cache_use *use, struct signals *signals)
{
	signals_take(signals);
	use->signals = signals;
	use->ready = print_ready;
	progress_start(true);
}

void figure_runs_end(struct signals *signals)
{
	progress_end();
	signals_release(signals);
}
