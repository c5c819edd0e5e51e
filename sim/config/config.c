// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void destroy_keys(char **keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(keys[i]);
	free(keys);
}

size_t config_gpu_index(const struct config *config, const struct cfg_container *container)
{
	for (size_t i = 0; i < config->gpu_count; i++) {
		if (!strcmp(config->gpus[i].name, container->gpu))
			return i + 1;
	}
	return 0;
}

bool config_is_on(const struct config *config, const struct cfg_container *container,
		  size_t gpu)
{
	return container->enabled && config_gpu_index(config, container) == gpu;
}

const struct cfg_gpu *config_gpu(const struct config *config,
				 const struct cfg_container *container)
{
	size_t index = config_gpu_index(config, container);

	return index ? &config->gpus[index - 1] : &config->gpu;
}

void config_destroy(struct config *config)
{
	for (size_t i = 0; i < config->container_count; i++) {
		free(config->containers[i].controls);
		free(config->containers[i].app);
	}
	free(config->containers);
	free(config->system_keys);
	free(config->gpus);
	free(config->events);
	destroy_keys(config->unused_keys, config->unused_count);
	destroy_keys(config->foreign_keys, config->foreign_count);
	json_decref(config->resolved);
	*config = (struct config){ 0 };
}
