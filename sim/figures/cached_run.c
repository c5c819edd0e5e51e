// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/cached_run.h"

#include "gvm/port.h"

static size_t count_texts(const char *const *texts)
{
	size_t count = 0;

	while (texts && texts[count])
		count++;
	return count;
}

const char *cached_run_set(const struct cached_run *run, size_t index)
{
	const struct {
		const char *const *texts;
		size_t count;
	} lists[] = {
		{ run->defaults, count_texts(run->defaults) },
		{ run->sets, run->set_count },
		{ run->own_sets, count_texts(run->own_sets) },
		{ &run->seed_set, run->seed_set ? 1 : 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (index < lists[i].count)
			return lists[i].texts[index];
		index -= lists[i].count;
	}
	return NULL;
}
