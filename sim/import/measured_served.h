/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The server that gvmcollect has seen in a container (collect/served.h), as keys of a scenario. */
#ifndef SIM_IMPORT_MEASURED_SERVED_H
#define SIM_IMPORT_MEASURED_SERVED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"

#define MEASURED_VLLM "vllm" /* the profile of a server whose model app.model names */

/*
 * The profile of a server of @model, "meta-llama/Llama-3.1-8B-Instruct": one of scenarios/apps
 * that has the model in its name, or MEASURED_VLLM and the model of gvmsim in ret_model, which is
 * empty else. A tuned model has the shape of the one that it was made of, so "-Instruct" does not
 * count. False: gvmsim has neither; then it is MEASURED_VLLM without a model.
 */
bool measured_served_profile(const char *model, char *ret_profile, char *ret_model,
			     size_t size);

/*
 * Put the options of @served into @app. What has another meaning in a scenario, or none, is
 * appended to @ret_left: "quantization awq". Returns 0 or -1: no memory.
 */
int measured_served_options(const json_t *served, json_t *app, char *ret_left, size_t size);

#endif
