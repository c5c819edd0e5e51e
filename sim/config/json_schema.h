/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The keys of a scenario as a JSON Schema, for editors. */
#ifndef SIM_CONFIG_JSON_SCHEMA_H
#define SIM_CONFIG_JSON_SCHEMA_H

#include <jansson.h>

#include "config/schema.h"

/*
 * Make a JSON Schema (draft 7) of @schema. It knows types, units and bounds of each key, but no
 * relations between keys: a container may have the keys of every application type. It accepts
 * keys with dots where the names in them are fixed ("link.setup"), not across the name of a
 * container or a GPU. The caller owns the result. NULL: no memory.
 */
json_t *cfg_json_schema(const struct cfg_schema *schema);

#endif
