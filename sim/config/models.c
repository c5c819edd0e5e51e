// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/models.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "config/paths.h"
#include "config/steps.h"
#include "engine/error.h"

/* The models that come with gvmsim are folders. */
static void list_models(char *text, size_t size)
{
	struct sim_error ignored = { 0 };
	char folder[PATH_MAX];

	*text = '\0';
	if (!config_find_data("scenarios", "models", folder, sizeof(folder), &ignored))
		cfg_path_list_folders(folder, text, size);
}

bool cfg_guess_model(const char *wrong, char ret_name[GUESS_NAME_MAX])
{
	struct guess guess;
	char known[512];

	list_models(known, sizeof(known));
	guess_begin(&guess, wrong);
	guess_offer_list(&guess, known);
	strcpy(ret_name, guess.name);
	return *ret_name;
}

void cfg_describe_models(const char *wrong, char *text, size_t size)
{
	static const char own[] = "the path of your model's config.json from Hugging Face";
	char known[512], name[GUESS_NAME_MAX];

	list_models(known, sizeof(known));
	if (cfg_guess_model(wrong, name))
		snprintf(text, size, "did you mean \"%s\"? Also allowed: %s", name, own);
	else
		snprintf(text, size, "allowed: %s%s%s", known, *known ? ", or " : "", own);
}

int cfg_load_model(const char *file, json_t **ret_root, struct sim_error *err)
{
	int status = cfg_load_json(file, ret_root, err);

	if (status || json_is_object(*ret_root))
		return status;
	json_decref(*ret_root);
	*ret_root = NULL;
	return cfg_error(err, file, "1:1", "is not an object, allowed: a model's config");
}

int config_read_model(const char *name, char ret_file[CFG_TEXT_MAX], json_t **ret_root,
		      struct sim_error *err)
{
	static const char ending[] = "/config.json";
	char right[CFG_MODELS_MAX];
	char folder[PATH_MAX];

	if ((*name && cfg_path_folder("./", folder, sizeof(folder)) &&
	     cfg_path_find(folder, name, ending, ret_file, CFG_TEXT_MAX)) ||
	    cfg_path_find_data("scenarios/models", name, ending, ret_file, CFG_TEXT_MAX))
		return cfg_load_model(ret_file, ret_root, err);
	cfg_describe_models(name, right, sizeof(right));
	return cfg_error(err, name, "", "no config.json there and no model of gvmsim, %s",
			 right);
}
