// SPDX-License-Identifier: MIT OR GPL-2.0
/* The table of application types, made from list.h. */
#include "apps/app.h"

#include <stddef.h>

const struct cfg_keys *const sim_app_types[] = {
#define SIM_APP(name_) &name_##_app.keys,
#include "apps/list.h"
#undef SIM_APP
	NULL,
};

const struct app_report *app_report_at(size_t index)
{
	return sim_app_types[index] ? sim_app_of(sim_app_types[index])->report : NULL;
}
