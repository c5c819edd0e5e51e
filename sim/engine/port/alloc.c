// SPDX-License-Identifier: MIT OR GPL-2.0
/* Memory for both user-space worlds; see gvm_common.h. */
#include "gvm/port.h"

#include <stdlib.h>

const struct gvm_port_alloc_hook *gvm_port_alloc_hook;

void *gvm_alloc(size_t bytes)
{
	gvm_port_assert_may_sleep();
	if (gvm_port_alloc_hook)
		return gvm_port_alloc_hook->alloc(bytes);
	return calloc(1, bytes);
}

void gvm_free(void *memory)
{
	if (gvm_port_alloc_hook)
		gvm_port_alloc_hook->release(memory);
	else
		free(memory);
}
