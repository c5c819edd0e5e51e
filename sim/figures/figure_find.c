// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/figure_find.h"

#include <stdio.h>
#include <string.h>

#include "config/paths.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "gvm/port.h"

#define FIGURE_ENDING	 ".json"
#define FIGURE_FOLDER	 "figures" /* in plots */
#define REFERENCE_FOLDER "reference"

int figure_find(struct figure *figure, const char *name, struct sim_error *err)
{
	size_t length = strlen(name), ending = strlen(FIGURE_ENDING);
	char inside[PATH_MAX], known[FIGURE_NAMES_MAX];
	struct sim_error ignored = { 0 };
	struct guess guess;

	if (length > ending && !strcmp(name + length - ending, FIGURE_ENDING)) {
		const char *slash = strrchr(name, '/');
		const char *base = slash ? slash + 1 : name;

		snprintf(figure->file, sizeof(figure->file), "%s", name);
		snprintf(figure->name, sizeof(figure->name), "%.*s",
			 (int)min(strlen(base) - ending, (size_t)FIGURE_NAME_MAX - 1), base);
		return 0;
	}
	snprintf(inside, sizeof(inside), FIGURE_FOLDER "/%s" FIGURE_ENDING, name);
	snprintf(figure->name, sizeof(figure->name), "%.*s", FIGURE_NAME_MAX - 1, name);
	if (!strchr(name, '/') &&
	    !config_find_data("plots", inside, figure->file, sizeof(figure->file), &ignored))
		return 0;
	figure_list_names(known, sizeof(known));
	guess_begin(&guess, name);
	guess_offer_list(&guess, known);
	if (*guess.name)
		return sim_user_error(err, "figure: unknown figure '%.80s', did you mean '%s'?",
				      name, guess.name);
	return sim_user_error(err,
			      "figure: unknown figure '%.80s', allowed are %s and a file that "
			      "ends in " FIGURE_ENDING,
			      name, known);
}

int figure_find_reference(const struct figure *figure, const char *name, char *ret_path,
			  size_t size, struct sim_error *err)
{
	char folder[PATH_MAX], inside[PATH_MAX];

	if (!strchr(name, '/')) {
		snprintf(inside, sizeof(inside), REFERENCE_FOLDER "/%s", name);
		return config_find_data("plots", inside, ret_path, size, err);
	}
	if (cfg_path_folder(figure->file, folder, sizeof(folder)) &&
	    cfg_path_find(folder, name, "", ret_path, size))
		return 0;
	return sim_user_error(err, "%s: there is no file %.200s", figure->file, name);
}

void figure_list_names(char *text, size_t size)
{
	struct sim_error ignored = { 0 };
	char folder[PATH_MAX];

	*text = '\0';
	if (!config_find_data("plots", FIGURE_FOLDER, folder, sizeof(folder), &ignored))
		cfg_path_list_json(folder, text, size);
}
