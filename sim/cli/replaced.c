// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/replaced.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/error.h"
#include "trace/trace_file.h"

/* Is it a JSON object with an object @key? */
static bool has_object(const char *path, const char *key)
{
	json_t *root = json_load_file(path, 0, NULL);
	bool has = json_is_object(json_object_get(root, key));

	json_decref(root);
	return has;
}

static bool is_application(const char *path)
{
	return has_object(path, "app");
}

static bool is_scenario(const char *path)
{
	return has_object(path, "containers");
}

const struct replaced_kind replaced_trace = { "trace", "a", trace_file_is };
const struct replaced_kind replaced_application = { "application", "an", is_application };
const struct replaced_kind replaced_scenario = { "scenario", "a", is_scenario };

/* The hash of a file's bytes. Returns 0 or a negative enum sim_exit. */
static int hash_file(const char *path, char ret_hash[CFG_HASH_MAX], struct sim_error *err)
{
	XXH3_state_t *state = XXH3_createState();
	int status;

	if (!state)
		return sim_runtime_error(err, "out of memory");
	XXH3_128bits_reset(state);
	status = cfg_hash_file(state, path, err);
	cfg_hash_finish(state, ret_hash, CFG_HASH_MAX);
	XXH3_freeState(state);
	return status;
}

int replaced_check(struct replaced *replaced, const char *path,
		   const struct replaced_kind *kind, struct sim_error *err)
{
	struct stat now;

	*replaced = (struct replaced){ .path = path, .kind = kind };
	/* A folder or a device is refused later, when it is opened. */
	if (stat(path, &now) || !S_ISREG(now.st_mode) || !now.st_size)
		return 0;
	if (!kind->is(path))
		return sim_user_error(err,
				      "%s: is no %s of gvmsim and would be replaced, allowed: "
				      "another file",
				      path, kind->name);
	return hash_file(path, replaced->hash, err);
}

void replaced_note(const struct replaced *replaced)
{
	struct sim_error ignored = { 0 };
	char hash[CFG_HASH_MAX];

	if (*replaced->hash && !hash_file(replaced->path, hash, &ignored) &&
	    strcmp(hash, replaced->hash) != 0)
		fprintf(stderr, "gvmsim: note: %s: replaces %s %s that differed\n",
			replaced->path, replaced->kind->article, replaced->kind->name);
}
