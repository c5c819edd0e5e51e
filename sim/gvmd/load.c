// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/load.h"

int load_check(const struct load *load, char why[GVMD_WHY_MAX])
{
	if (load->lower <= load->upper)
		return 0;
	snprintf(why, GVMD_WHY_MAX, "lower: %llu is above upper, %llu", load->lower,
		 load->upper);
	return -EINVAL;
}

enum load_level load_sample(struct load *load, const struct gvmd_container *container)
{
	u64 submitted = 0, pending = 0, sum = 0;

	if (container) {
		if (!gvmd_known(container, GVMD_SUBMITTED) ||
		    !gvmd_known(container, GVMD_PENDING))
			return LOAD_UNKNOWN;
		submitted = container->value[GVMD_SUBMITTED];
		pending = container->value[GVMD_PENDING];
	}
	load->quiet = submitted == load->submitted ? load->quiet + 1 : 0;
	load->submitted = submitted;
	load->pending[load->next] = pending;
	load->next = (load->next + 1) % load->window;
	load->count += load->count < load->window;
	for (u64 i = 0; i < load->count; i++)
		sum += load->pending[i];
	/* As many samples are the same, the one before the first quiet one included. */
	if (load->quiet + 1 >= load->idle_samples)
		return LOAD_IDLE;
	if (sum > load->upper * load->count)
		return LOAD_HIGH;
	return sum < load->lower * load->count ? LOAD_LOW : LOAD_MIDDLE;
}
