// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Any bytes as a scenario file. Either they are one, and then the resolved configuration is one
 * as well, with the same hash; or there is a mistake in them, told in one line.
 */
#include "config/config.h"
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

const char *const config_known_systems[] = { "exclusive", "stock", "gvm", "ghost", NULL };

static int load(const void *text, size_t size, struct config *ret_config)
{
	struct sim_error err = { 0 };
	struct fuzz_file file;
	int status;

	fuzz_file_open(&file, text, size);
	status = config_load(file.path, NULL, 0, ret_config, &err);
	if (status) {
		fuzz_check_mistake(status, &err);
		FUZZ_ASSERT(!ret_config->containers && !ret_config->resolved);
	}
	fuzz_file_close(&file);
	return status;
}

/* What a results folder keeps can be run again. */
static void check_resolved(const struct config *config)
{
	char *text = json_dumps(config->resolved, JSON_INDENT(1));
	struct config again;

	FUZZ_ASSERT(text);
	FUZZ_ASSERT(load(text, strlen(text), &again) == 0);
	FUZZ_ASSERT(strcmp(config->hash, again.hash) == 0);
	config_destroy(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config;

	if (load(data, size, &config))
		return 0;
	check_resolved(&config);
	config_destroy(&config);
	return 0;
}
