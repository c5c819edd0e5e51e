// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/papers_page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "figures/figure_read.h"
#include "figures/papers.h"

#define NAMES_MAX 256

/* Is a figure of ours named for any of the papers'? */
static bool is_in_papers(const struct papers *papers, const char *name)
{
	for (size_t i = 0; i < papers->count; i++) {
		const char **ours = papers->figures[i].ours;

		for (; ours && *ours; ours++)
			if (papers_name_length(*ours) == strlen(name) &&
			    !strncmp(*ours, name, strlen(name)))
				return true;
	}
	return false;
}

static int list_other(void *data, const struct figure *figure, struct sim_error *err)
{
	(void)err;
	if (!is_in_papers(data, figure->name))
		printf("  %-20s  %s\n", figure->name, figure->summary);
	return 0;
}

/* "isolation, dynamic" */
static void name_ours(const struct paper_figure *figure, char *text, size_t size)
{
	*text = '\0';
	for (const char **ours = figure->ours; ours && *ours; ours++)
		cfg_append(text, size, "%s%s", *text ? ", " : "", *ours);
}

int papers_print_list(struct sim_error *err)
{
	struct papers papers;
	char names[NAMES_MAX];
	int status = papers_read(&papers, err);

	if (status)
		return status;
	printf("In the papers:\n"
	       "  GVM   Ghost   figure                    shows\n");
	for (size_t i = 0; i < papers.count; i++) {
		const struct paper_figure *figure = &papers.figures[i];

		name_ours(figure, names, sizeof(names));
		printf("  %-4s  %-5s   %-24s  %s\n", figure->gvm ? figure->gvm : "-",
		       figure->ghost ? figure->ghost : "-", *names ? names : "none",
		       figure->shows);
	}
	printf("\nOur own:\n");
	status = figure_each(list_other, &papers, err);
	papers_destroy(&papers);
	return status;
}

/* `isolation`, `fault-breakdown` (panel stock) */
static void print_ours(const struct paper_figure *figure)
{
	if (!figure->ours)
		printf("none: %s", figure->why);
	for (const char **ours = figure->ours; ours && *ours; ours++) {
		size_t length = papers_name_length(*ours);

		printf("%s[`%.*s`](figures.md#%.*s)", ours > figure->ours ? ", " : "",
		       (int)length, *ours, (int)length, *ours);
		if ((*ours)[length])
			printf(" (panel `%s`)", *ours + length + 1);
	}
}

static int print_other(void *data, const struct figure *figure, struct sim_error *err)
{
	(void)err;
	if (!is_in_papers(data, figure->name))
		printf("| [`%s`](figures.md#%s) | %s |\n", figure->name, figure->name,
		       figure->summary);
	return 0;
}

/* "- GVM 12a, Ghost 11b: TEXT." */
static void print_remark(const struct paper_figure *figure, const char *text)
{
	if (!text)
		return;
	printf("- %s%s%s%s%s: %s.\n", figure->gvm ? "GVM " : "", figure->gvm ? figure->gvm : "",
	       figure->gvm && figure->ghost ? ", " : "", figure->ghost ? "Ghost " : "",
	       figure->ghost ? figure->ghost : "", text);
}

int papers_print_page(struct sim_error *err)
{
	struct papers papers;
	int status = papers_read(&papers, err);

	if (status)
		return status;
	printf("| GVM | Ghost | shows | ours |\n"
	       "|---|---|---|---|\n");
	for (size_t i = 0; i < papers.count; i++) {
		const struct paper_figure *figure = &papers.figures[i];

		printf("| %s | %s | %s | ", figure->gvm ? figure->gvm : "",
		       figure->ghost ? figure->ghost : "", figure->shows);
		print_ours(figure);
		printf(" |\n");
	}
	printf("\n## What ours leave out or assume\n\n");
	for (size_t i = 0; i < papers.count; i++)
		print_remark(&papers.figures[i], papers.figures[i].differs);
	printf("\n## Published values that the papers' own data contradict\n\n");
	for (size_t i = 0; i < papers.count; i++)
		print_remark(&papers.figures[i], papers.figures[i].contradicted);
	printf("\n## Figures of no paper\n\n"
	       "| ours | shows |\n"
	       "|---|---|\n");
	status = figure_each(print_other, &papers, err);
	papers_destroy(&papers);
	return status;
}
