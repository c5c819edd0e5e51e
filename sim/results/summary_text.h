/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Statistics as text for people. */
#ifndef SIM_RESULTS_SUMMARY_TEXT_H
#define SIM_RESULTS_SUMMARY_TEXT_H

#include "results/summary.h"

/*
 * "412.3 ms", "17.2 GiB", "99.1 %", "3250", "> 12.5 s" for a bound, or "-" for a value that is
 * not known.
 */
void summary_format(const struct summary_value *value, const struct metric *metric, char *text,
		    size_t size);

/* The length of a run: "640.0 s", "6 ms", "0.2 us". */
void summary_format_run(double seconds, char *text, size_t size);

/* "17.25 GiB", "512.00 MiB"; "0" for none. */
void summary_format_bytes(u64 bytes, char *text, size_t size);

#endif
