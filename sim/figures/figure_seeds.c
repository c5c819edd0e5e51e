// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/figure_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures/figure.h"
#include "figures/place.h"
#include "figures/seeds.h"

/* Does a setting of a run, "KEY=VALUE", set the seed? */
static bool sets_seed(char **sets)
{
	for (size_t i = 0; sets && sets[i]; i++)
		if (!strncmp(sets[i], "seed=", strlen("seed=")))
			return true;
	return false;
}

static void read_interval(const struct place *root, enum estimate_kind standard,
			  struct figure *figure)
{
	static const char *const keys[] = { "of", NULL };
	struct place interval = place_member(root, "interval");

	figure->interval_of = standard;
	if (interval.json && place_is_object(&interval, keys))
		figure->interval_of = (enum estimate_kind)place_choice(
			&interval, "of", estimate_kinds, standard);
}

void figure_read_seeds(const struct place *root, struct figure *figure)
{
	struct place seeds = place_member(root, "seeds");
	size_t count = 0;

	read_interval(root, ESTIMATE_OF_MEAN, figure);
	seeds_read(root, FIGURE_SEEDS_MAX, &figure->seeds, &count);
	figure->seed_sets = calloc(count + 1, sizeof(*figure->seed_sets));
	if (!figure->seed_sets) {
		place_out_of_memory(root->reader);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (asprintf(&figure->seed_sets[i], "seed=%llu",
			     (unsigned long long)figure->seeds[i]) < 0) {
			place_out_of_memory(root->reader);
			return;
		}
		figure->seed_count++;
	}
	if (count && figure->folder_count)
		place_fail(&seeds, "is of no use, allowed: in a figure that makes its runs");
	for (size_t i = 0; count && i < figure->run_count; i++)
		if (sets_seed(figure->runs[i].defaults) || sets_seed(figure->runs[i].sets))
			place_fail(&seeds,
				   "run \"%.60s\" sets the seed, too, allowed: one of them",
				   figure->runs[i].name);
}

/* Put jitter before the defaults of a run. Returns 0 or -1: no memory. */
static int add_jitter(struct figure_run *run)
{
	static const char *const jitter[] = { "jitter.arrivals=gaps",
					      "jitter.start=" FIGURE_JITTER_START };
	size_t count = 0;
	char **grown;

	while (run->defaults && run->defaults[count])
		count++;
	grown = calloc(count + 3, sizeof(*grown));
	if (!grown)
		return -1;
	for (size_t i = 0; i < 2; i++)
		grown[i] = strdup(jitter[i]);
	if (!grown[0] || !grown[1]) {
		free(grown[0]);
		free(grown[1]);
		free(grown);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		grown[i + 2] = run->defaults[i];
	free(run->defaults);
	run->defaults = grown;
	return 0;
}

int figure_take_seeds(struct figure *figure, size_t count, struct sim_error *err)
{
	struct place_reader reader = { .file = figure->file, .err = err };
	struct place root = { .reader = &reader, .json = figure->root };
	bool own = figure->seed_count;

	figure_forget_seeds(figure);
	if (json_object_set_new(figure->root, "seeds", json_integer((json_int_t)count)))
		place_out_of_memory(&reader);
	else
		figure_read_seeds(&root, figure);
	if (!own)
		read_interval(&root, ESTIMATE_OF_RUNS, figure);
	for (size_t i = 0; !own && !reader.status && i < figure->run_count; i++)
		if (add_jitter(&figure->runs[i]))
			place_out_of_memory(&reader);
	return reader.status;
}
