// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/figure.h"

#include <stdlib.h>

const char *const figure_layouts[] = { "bars", "stacked", "lines", "time", "table", NULL };

static void free_texts(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

void figure_destroy(struct figure *figure)
{
	for (size_t i = 0; i < figure->run_count; i++) {
		free_texts(figure->runs[i].defaults);
		free_texts(figure->runs[i].sets);
	}
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
