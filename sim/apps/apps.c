// SPDX-License-Identifier: MIT OR GPL-2.0
/* The table of application types. A new one is a file of its own and a line here. */
#include "apps/app.h"

#include <stddef.h>

const struct cfg_keys *const sim_app_types[] = {
	&llm_server_app.keys,
	&diffusion_app.keys,
	&pages_app.keys,
	NULL,
};
