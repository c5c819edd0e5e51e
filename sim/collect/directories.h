/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The directories of containers on a real host: <root>/<tgid>/<gpu>/. */
#ifndef SIM_COLLECT_DIRECTORIES_H
#define SIM_COLLECT_DIRECTORIES_H

#include "collect/samples.h"

/* Take in every container that has a directory below a root. Returns 0 or -ENOMEM. */
int directories_discover(struct sampler *sampler);

/* Open a container's directory and write its path. Returns a descriptor, or -1. */
int directories_open(const struct sampler *sampler, struct sampler_container *container,
		     char path[SAMPLER_PATH_MAX]);

/* Note once that no root exists, as under a stock driver. Returns 0 or -ENOMEM. */
int directories_note_no_roots(struct sampler *sampler);

#endif
