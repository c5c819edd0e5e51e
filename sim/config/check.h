/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How the checks of an application's and of a system's keys report a mistake. See struct
 * cfg_keys.
 */
#ifndef SIM_CONFIG_CHECK_H
#define SIM_CONFIG_CHECK_H

#include <stddef.h>

struct cfg_container;
struct cfg_load;

/*
 * Report a mistake in the key @leaf of @container, in its key "app.LEAF", or in the key @leaf
 * of event @index. The message names the layer that set the key. All return -SIM_EXIT_USER.
 */
int cfg_reject_container(struct cfg_load *load, const struct cfg_container *container,
			 const char *leaf, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int cfg_reject_app(struct cfg_load *load, const struct cfg_container *container,
		   const char *leaf, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int cfg_reject_event(struct cfg_load *load, size_t index, const char *leaf, const char *wrong,
		     const char *allowed);

#endif
