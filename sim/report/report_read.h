/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Reading and checking the file of a report: plots/report.json, or the user's own. */
#ifndef SIM_REPORT_REPORT_READ_H
#define SIM_REPORT_REPORT_READ_H

#include <jansson.h>
#include <limits.h>
#include <stddef.h>

struct sim_error;

/* A number at the top of the page: a value of a figure, or its ratio to another run's. */
struct report_headline {
	const char *label;
	const char *figure, *panel, *run;
	const char *over;  /* label of the run whose value is 1; NULL: the value itself */
	const char *claim; /* what the papers' text says of it; NULL: nothing */
};

struct report_section {
	const char *title, *text; /* text NULL: none */
	size_t first, count;	  /* in report.figures */
};

/* Texts are borrowed from the file. Owned by the caller: report_read(), report_destroy(). */
struct report {
	json_t *root;
	char file[PATH_MAX];
	const char *title, *lead;
	struct report_headline *headlines;
	size_t headline_count;
	struct report_section *sections;
	size_t section_count;
	const char **figures; /* names or paths, section by section */
	size_t figure_count;
};

/*
 * Read the file @path, or plots/report.json if it is NULL. A mistake names the file and the
 * key. Returns 0 or a negative enum sim_exit; on failure *report is empty.
 */
int report_read(struct report *report, const char *path, struct sim_error *err);
void report_destroy(struct report *report);

#endif
