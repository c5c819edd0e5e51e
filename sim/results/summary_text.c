// SPDX-License-Identifier: MIT OR GPL-2.0
/* Statistics as text for people, see summary_text.h. */
#include "results/summary_text.h"

#include <stdio.h>
#include <string.h>

#include "gvm/port.h"

#define KIB 1024.0

void summary_format_bytes(u64 bytes, char *text, size_t size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double number = (double)bytes / KIB;
	size_t unit = 0;

	if (!bytes) {
		snprintf(text, size, "0");
		return;
	}
	while (number >= KIB && unit + 1 < ARRAY_SIZE(units)) {
		number /= KIB;
		unit++;
	}
	snprintf(text, size, "%.2f %s", number, units[unit]);
}

void summary_format_run(double seconds, char *text, size_t size)
{
	if (seconds >= 0.1)
		snprintf(text, size, "%.1f s", seconds);
	else if (seconds >= 1e-3)
		snprintf(text, size, "%.3g ms", seconds * 1e3);
	else
		snprintf(text, size, "%.3g us", seconds * 1e6);
}

/* A round of a page player takes microseconds, and a small access over a fabric a few. */
static void format_ms(double ms, char *text, size_t size)
{
	if (ms > 0 && ms < 0.1)
		snprintf(text, size, "%.3f us", ms * 1e3);
	else
		snprintf(text, size, ms > 0 && ms < 1 ? "%.3f ms" : "%.1f ms", ms);
}

void summary_format(const struct summary_value *value, const struct metric *metric, char *text,
		    size_t size)
{
	if (!value->known) {
		snprintf(text, size, "-");
		return;
	}
	if (value->bound && size > 2) {
		strcpy(text, "> ");
		text += 2;
		size -= 2;
	}
	switch (metric->unit) {
	case METRIC_COUNT:
		snprintf(text, size, "%llu", value->count);
		return;
	case METRIC_BYTES:
		summary_format_bytes(value->count, text, size);
		return;
	case METRIC_MS:
		format_ms(value->real, text, size);
		return;
	case METRIC_S:
		snprintf(text, size, "%.3f s", value->real);
		return;
	case METRIC_SHARE:
		snprintf(text, size, "%.2f %%", value->real * 100);
		return;
	case METRIC_PER_S:
		snprintf(text, size, "%.3f /s", value->real);
		return;
	case METRIC_UNITS:
		return;
	}
}
