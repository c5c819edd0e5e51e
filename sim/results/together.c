// SPDX-License-Identifier: MIT OR GPL-2.0
/* How much slower containers are together than alone; see together.h. */
#include "results/together.h"

#include "gvm/port.h"

#define MEDIAN 50

/* The median of the time from arrival to end, over all that arrived; NULL: it has none. */
static const struct metric *median_time(const struct summary_container *container,
					const struct summary_value **ret_value)
{
	const struct metric *metric;

	for (size_t i = 0; (metric = summary_metric(container, i, ret_value)); i++)
		if (metric->source == METRIC_TO_END && metric->view == METRIC_OF_ARRIVED &&
		    metric->statistic == MEDIAN && !metric->of)
			return metric;
	return NULL;
}

/* How much slower the container is in @run than alone, where its median is @alone_value. */
static struct summary_value slowdown_in(const struct summary *run,
					const struct summary_container *alone,
					const struct metric *metric,
					const struct summary_value *alone_value)
{
	const struct summary_container *shared = summary_find(run, alone->name);
	struct summary_value slowdown = { 0 };
	const struct summary_value *value;

	if (!shared || summary_has_failed(shared) ||
	    summary_find_metric(shared, metric->key, &value) != metric || !value->known)
		return slowdown;
	slowdown.real = summary_number(value, metric) / summary_number(alone_value, metric);
	slowdown.known = true;
	slowdown.bound = value->bound;
	return slowdown;
}

void together_compute(const struct summary *run, const struct summary *alone,
		      struct together *ret_together)
{
	struct together together = { 0 };
	double sum = 0, worst = 0, speed = 0, squares = 0, count;
	bool known = true, bound = false;

	for (size_t i = 0; i < alone->container_count; i++) {
		const struct summary_container *container = &alone->containers[i];
		const struct summary_value *value;
		const struct metric *metric = median_time(container, &value);
		struct together_slowdown *slowdown = &together.slowdowns[together.count];

		if (!metric || !value->known || value->bound || !(value->real > 0))
			continue;
		*slowdown = (struct together_slowdown){
			.container = container,
			.metric = metric,
			.value = slowdown_in(run, container, metric, value),
		};
		together.count++;
		known = known && slowdown->value.known;
		bound = bound || slowdown->value.bound;
		sum += slowdown->value.real;
		worst = max(worst, slowdown->value.real);
		speed += 1 / slowdown->value.real;
		squares += 1 / (slowdown->value.real * slowdown->value.real);
	}
	count = (double)together.count;
	if (known && together.count) {
		together.antt = (struct summary_value){ true, bound, 0, sum / count };
		together.worst = (struct summary_value){ true, bound, 0, worst };
		together.stp = (struct summary_value){ true, bound, 0, speed };
		together.jain = (struct summary_value){ !bound, false, 0,
							speed * speed / (count * squares) };
	}
	*ret_together = together;
}
