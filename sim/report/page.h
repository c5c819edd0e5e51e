/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The parts of a report's page. The template says where each stands: see report.h. */
#ifndef SIM_REPORT_PAGE_H
#define SIM_REPORT_PAGE_H

#include <stdio.h>

#include "figures/score.h"

struct figure_request;
struct figures;
struct papers;
struct report;
struct sim_error;

/* What the page is made of. */
struct page {
	const struct report *report;
	const struct figures *figures; /* with their numbers; in the order of the report's */
	const struct papers *papers;
	const struct figure_request *request; /* what the user changed */
	struct score_row *rows;		      /* all published values of the figures */
	size_t row_count;
	size_t seeds;	     /* further runs of all rows, with jitter; 0: none */
	const double *draws; /* of each row, its predictions under the seeds; NAN: none */
	const char *
		hardware; /* the verdicts on real GPUs, a line each; NULL: they were not asked for */
	const char *program; /* hash of this program */
};

/* Each prints one part. Returns 0, or a negative errno: out of memory. */
int page_print_headlines(FILE *out, const struct page *page);
int page_print_figures(FILE *out, const struct page *page);
int page_print_scores(FILE *out, const struct page *page);
int page_print_deviations(FILE *out, const struct page *page);
int page_print_runs(FILE *out, const struct page *page);
int page_print_title(FILE *out, const struct page *page);
int page_print_lead(FILE *out, const struct page *page);
int page_print_contents(FILE *out, const struct page *page);
int page_print_version(FILE *out, const struct page *page);

/*
 * Do the headlines name figures, panels and runs that the page has? 0 or a
 * negative enum sim_exit.
 */
int page_check(const struct page *page, struct sim_error *err);

#endif
