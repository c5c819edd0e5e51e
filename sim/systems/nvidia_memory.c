// SPDX-License-Identifier: MIT OR GPL-2.0
/* Memory as NVIDIA's driver manages it, for several systems; see system.h. */
#include "systems/system.h"

struct sim_memory_policy sim_system_nvidia_memory(const struct config *config)
{
	return (struct sim_memory_policy){
		.manager = &sim_manager_nvuvm,
		.host_fragmented = config->host.fragmented,
	};
}
