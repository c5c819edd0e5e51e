// SPDX-License-Identifier: MIT OR GPL-2.0
/* The core's block layer as the manager of a simulated GPU's memory; see manager.h. */
#include "gpu/manager.h"

#include <stdlib.h>

#include "gvm/block.h"

static void *core_create(const struct sim_memory_config *config)
{
	struct gvm_memory *memory = malloc(sizeof(*memory));

	if (memory && gvm_memory_init(memory, config->device, config->mmu, config->gpu)) {
		free(memory);
		memory = NULL;
	}
	return memory;
}

static void core_destroy(void *memory)
{
	if (memory)
		gvm_memory_destroy(memory);
	free(memory);
}

const struct sim_memory_manager sim_manager_core = {
	.ops = &gvm_block_memory_ops,
	.create = core_create,
	.destroy = core_destroy,
};
