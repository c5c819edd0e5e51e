/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The documents of docs/reference, in Markdown, made from the tables of the program. */
#ifndef SIM_CLI_REFERENCE_PAGES_H
#define SIM_CLI_REFERENCE_PAGES_H

/* A document, or a list of words. */
struct reference {
	const char *name;
	const char *summary;
	int (*print)(void); /* to stdout; 0 or a negative errno */
};

/* The documents, with a name of NULL at the end. */
extern const struct reference reference_pages[];

#endif
