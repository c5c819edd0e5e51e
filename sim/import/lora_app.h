/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The application profile of a LoRA trainer, with the structure of
 * scenarios/apps/lora-llama-3.2-3b.json, or -remat. Each number has its arithmetic as source.
 */
#ifndef SIM_IMPORT_LORA_APP_H
#define SIM_IMPORT_LORA_APP_H

#include <stdio.h>

#include "import/lora.h"

/* What it is made of. Borrowed. */
struct lora_app {
	const char *model; /* its name, for sources */
	const char *trace; /* as app.trace.file names it */
	const struct hf_config *config;
	const struct lora_options *options;
	const struct lora *lora; /* the numbers of these */
};

/*
 * Write the profile to @stream. Returns 0 or a negative enum sim_exit: a name is not in UTF-8, or
 * no memory.
 */
int lora_app_write(const struct lora_app *app, FILE *stream, struct sim_error *err);

#endif
