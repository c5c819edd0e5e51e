/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Samples of the control files of a real host. Containers come and go; files may be missing or
 * hold nonsense. A value that is not known at a date stays unknown. The user is told once, and
 * sampling goes on.
 */
#ifndef SIM_COLLECT_SAMPLER_H
#define SIM_COLLECT_SAMPLER_H

#include "collect/samples.h"

struct sim_error;

/*
 * Look below @root only; NULL: where gvm.ko and the public GVM driver have their files. The
 * caller then sets news and note.
 */
void sampler_init(struct sampler *sampler, const char *root);
void sampler_destroy(struct sampler *sampler);

/*
 * Name a container: process group @tgid on @gpu or SAMPLER_ANY_GPU. @name is copied. Without
 * any call, all containers that appear are sampled, named "<tgid>-<gpu>". Returns 0 or a
 * negative enum sim_exit.
 */
int sampler_add(struct sampler *sampler, const char *name, u64 tgid, u64 gpu,
		struct sim_error *err);

/*
 * Take a sample of every container, dated @time_ns since the beginning, and look for new ones.
 * Calls sampler.news and sampler.note. Returns 0 or -SIM_EXIT_RUNTIME (memory); earlier samples
 * are kept.
 */
int sampler_take(struct sampler *sampler, u64 time_ns, struct sim_error *err);

/*
 * Have all containers gone? Named containers must have appeared before; without names, one must
 * have.
 */
bool sampler_is_over(const struct sampler *sampler);

/*
 * The last value of a file, by its name in the core's table; NULL: the file was never seen.
 * Borrowed.
 */
const struct sampler_file *sampler_last(const struct sampler_container *container,
					const char *name);

#endif
