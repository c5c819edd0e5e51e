// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/seeds.h"

#include <stdlib.h>

#include "engine/error.h"
#include "figures/place.h"

void seeds_read(const struct place *root, size_t most, u64 **ret_seeds, size_t *ret_count)
{
	struct place place = place_member(root, "seeds");
	bool list = json_is_array(place.json);
	size_t count = list ? json_array_size(place.json) :
			      (size_t)place_integer(root, "seeds", 1, most, 0);
	u64 *seeds;

	if (list && place_is_array(&place) && count > most)
		place_fail(&place, "has %zu seeds, allowed: up to %zu", count, most);
	if (root->reader->status)
		count = 0;
	seeds = calloc(count + 1, sizeof(*seeds));
	*ret_seeds = seeds;
	*ret_count = seeds ? count : 0;
	if (!seeds && !root->reader->status)
		root->reader->status = sim_runtime_error(root->reader->err, "out of memory");
	for (size_t i = 0; seeds && i < count; i++) {
		struct place seed = place_element(&place, i);

		seeds[i] = list ? (u64)json_integer_value(seed.json) : i + 1;
		if (list && (!json_is_integer(seed.json) || json_integer_value(seed.json) < 0))
			place_fail(&seed, "is not a seed, allowed: an integer from 0");
		/* Equal runs would make intervals too narrow. */
		for (size_t k = 0; k < i; k++)
			if (seeds[k] == seeds[i])
				place_fail(&seed, "is there twice, allowed: each seed once");
	}
}
