// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reads the JSON file of a scenario, a profile or a model. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/json_read.h"
#include "config/steps.h"
#include "config/message.h"
#include "config/value.h"
#include "engine/error.h"

/*
 * A mistake is reported as "file:LINE:COLUMN: what", as compilers do. A key that is given twice
 * is named instead.
 */
int cfg_load_json(const char *file, json_t **ret_root, struct sim_error *err)
{
	FILE *stream = fopen(file, "rb");
	char key[CFG_PATH_MAX];
	json_error_t bad;
	char where[32];
	bool twice;

	if (!stream)
		return cfg_error(err, file, "", "cannot be read: %s", strerror(errno));
	*ret_root = cfg_json_read(stream, &bad);
	fclose(stream);
	if (*ret_root)
		return 0;
	if (!*bad.text)
		return sim_runtime_error(err, "%s: out of memory", file);
	twice = cfg_value_twice(&bad, key, sizeof(key));
	if (twice && *key)
		return cfg_error(err, file, key,
				 "is given twice (line %d, column %d), allowed: once", bad.line,
				 bad.column);
	snprintf(where, sizeof(where), "%d:%d", bad.line, bad.column);
	return cfg_error(err, file, where, "%s",
			 twice ? "a key is given twice, allowed: once" : bad.text);
}

const char *cfg_keep_origin(struct cfg_load *load, const char *file)
{
	char **origins =
		realloc(load->origins, (load->origin_count + 1) * sizeof(*load->origins));
	char *copy = strdup(file);

	if (origins)
		load->origins = origins;
	if (!origins || !copy) {
		free(copy);
		sim_runtime_error(load->err, "out of memory");
		return NULL;
	}
	origins[load->origin_count++] = copy;
	return copy;
}
