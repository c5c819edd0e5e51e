// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as a scenario file and as --set options. A zero byte comes before each
 * option. Either they load, and the resolved configuration loads again with the same hash. Or
 * there is an error of one line.
 */
#include "config/load.h"
#include "fuzz.h"
#include "machine/machine.h"

#include <jansson.h>
#include <string.h>

#define OVERRIDES_MAX 4u

static int load(const void *text, size_t size, const struct cfg_override *overrides,
		size_t count, struct config *ret_config)
{
	struct sim_error err = { 0 };
	struct fuzz_file file;
	int status;

	fuzz_file_open(&file, text, size);
	status = config_load(&machine_registry, file.path, overrides, count, ret_config, &err);
	if (status) {
		fuzz_check_mistake(status, &err);
		FUZZ_ASSERT(!ret_config->containers && !ret_config->resolved);
	}
	fuzz_file_close(&file);
	return status;
}

/* The configuration that a results folder keeps can be loaded again. */
static void check_resolved(const struct config *config)
{
	char *text = json_dumps(config->resolved, JSON_INDENT(1));
	struct config again;

	FUZZ_ASSERT(text);
	FUZZ_ASSERT(load(text, strlen(text), NULL, 0, &again) == 0);
	FUZZ_ASSERT(strcmp(config->hash, again.hash) == 0);
	config_destroy(&again);
	free(text);
}

/* Find the texts after the first one. Each ends in a zero byte. */
static size_t find_overrides(const char *text, size_t size, struct cfg_override *overrides)
{
	size_t at = strlen(text) + 1, count = 0;

	for (; at < size && count < OVERRIDES_MAX; at += strlen(text + at) + 1)
		overrides[count++].path_and_value = text + at;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfg_override overrides[OVERRIDES_MAX] = { 0 };
	char *text = malloc(size + 1);
	struct config config;
	size_t count;

	FUZZ_ASSERT(text);
	memcpy(text, data, size);
	text[size] = '\0';
	count = find_overrides(text, size, overrides);
	fuzz_accepted = !load(text, strlen(text), overrides, count, &config);
	if (fuzz_accepted) {
		check_resolved(&config);
		config_destroy(&config);
	}
	free(text);
	return 0;
}
