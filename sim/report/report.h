/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A report: one HTML page that needs nothing else. Its contents come from
 * plots/report.json, its looks from the template plots/report.html, in which "{{PART}}"
 * stands for a part of the page.
 */
#ifndef SIM_REPORT_REPORT_H
#define SIM_REPORT_REPORT_H

#include <stddef.h>

struct figure_request;
struct sim_error;

#define REPORT_FILE "report.html" /* in the output folder */

/*
 * Make the report of the file @path (NULL: plots/report.json) into request->out. Runs
 * come from the cache or are made; request->use says how. With @seeds, published values
 * have the spread of their predictions over so many further runs, see published.h.
 * @hardware is what "validate hardware" says, NULL: nothing. Returns 0 or a negative
 * enum sim_exit; then no file is written.
 */
int report_make(const char *path, const struct figure_request *request, size_t seeds,
		const char *hardware, struct sim_error *err);

#endif
