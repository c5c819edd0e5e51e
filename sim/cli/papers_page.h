/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The figures of the papers and ours: "gvmsim figure list" and the document "papers". */
#ifndef SIM_CLI_PAPERS_PAGE_H
#define SIM_CLI_PAPERS_PAGE_H

struct papers;
struct sim_error;

/* Print for people which figure is whose, then our figures that are in no paper. */
int papers_print_list(struct sim_error *err);

/* The same as a document in Markdown, with what differs and which claims are contradicted. */
int papers_print_page(struct sim_error *err);

#endif
