// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/figure_runs.h"

#include <stdio.h>

#include "figures/run_cache.h"
#include "terminal/progress.h"
#include "terminal/signals.h"

static void print_ready(size_t count, size_t made, size_t read, double seconds)
{
	progress_end();
	if (made) {
		fprintf(stderr, "gvmsim: made %zu of %zu runs in %.1f s", made, count, seconds);
		if (read)
			fprintf(stderr, ", %zu come from " RUN_CACHE_FOLDER, read);
		if (made + read < count)
			fprintf(stderr, ", %zu are the same as others", count - made - read);
		fputc('\n', stderr);
	} else {
		fprintf(stderr, "gvmsim: made no run, all %zu come from " RUN_CACHE_FOLDER "\n",
			count);
	}
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
