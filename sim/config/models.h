/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Models: a config.json of Hugging Face's format, one that comes with gvmsim or a user's. */
#ifndef SIM_CONFIG_MODELS_H
#define SIM_CONFIG_MODELS_H

#include <jansson.h>

#include "config/config.h"
#include "engine/guess.h"

struct sim_error;

#define CFG_MODELS_MAX 700

/*
 * What may stand in place of the wrong name @wrong: the nearest model of gvmsim, or all, and how
 * to give another one.
 */
void cfg_describe_models(const char *wrong, char *text, size_t size);

/* The model of gvmsim with a name near @wrong. False: none. */
bool cfg_guess_model(const char *wrong, char ret_name[GUESS_NAME_MAX]);

/* Read the object in the config.json @file. On success the caller owns *ret_root. */
int cfg_load_model(const char *file, json_t **ret_root, struct sim_error *err);

/*
 * Find the model @name that a command line names, as --set app.model does: a config.json or a
 * folder with one, from the current folder on, or a model of gvmsim. Writes its path and reads
 * it. On success the caller owns *ret_root. Returns 0 or a negative enum sim_exit.
 */
int config_read_model(const char *name, char ret_file[CFG_TEXT_MAX], json_t **ret_root,
		      struct sim_error *err);

#endif
