// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/cached_run.h"

#include "gvm/port.h"

const char *cached_run_set(const struct cached_run *run, size_t index)
{
	const char *const *lists[] = { run->defaults, NULL, run->own_sets };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		size_t count = 0;

		while (lists[i] && lists[i][count])
			count++;
		if (i == 1)
			count = run->set_count;
		if (index < count)
			return i == 1 ? run->sets[index] : lists[i][index];
		index -= count;
	}
	return NULL;
}
