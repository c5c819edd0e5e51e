// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/figure.h"

#include <stdlib.h>

#include "gvm/port.h"

const char *const figure_layouts[] = { "bars", "stacked", "lines", "time", "table", NULL };

static void free_texts(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

size_t figure_made_runs(const struct figure *figure)
{
	return figure->run_count * max(figure->seed_count, (size_t)1);
}

void figure_forget_seeds(struct figure *figure)
{
	for (size_t i = 0; i < figure->seed_count; i++)
		free(figure->seed_sets[i]);
	free(figure->seed_sets);
	free(figure->seeds);
	figure->seed_sets = NULL;
	figure->seeds = NULL;
	figure->seed_count = 0;
}

void figure_destroy(struct figure *figure)
{
	for (size_t i = 0; i < figure->run_count; i++) {
		free_texts(figure->runs[i].defaults);
		free_texts(figure->runs[i].sets);
	}
	figure_forget_seeds(figure);
	for (size_t i = 0; i < figure->panel_count; i++) {
		free(figure->panels[i].runs);
		free(figure->panels[i].parts);
		free(figure->panels[i].curves);
		free(figure->panels[i].levels);
	}
	free(figure->runs);
	free(figure->panels);
	free(figure->marks);
	free(figure->reference.panels);
	free(figure->examples);
	json_decref(figure->root);
	*figure = (struct figure){ 0 };
}
