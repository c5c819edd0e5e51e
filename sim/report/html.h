/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Texts and numbers of the report's page. */
#ifndef SIM_REPORT_HTML_H
#define SIM_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

#define HTML_NUMBER_MAX 48

/* Print @text so that a browser shows it as it is, between tags or in an attribute. */
void html_text(FILE *out, const char *text);

/*
 * Write a number in at most four digits with its unit: "103 ms", "26.2 s", "0.23". A unit "x"
 * is a ratio and is left out. NAN is "none".
 */
void html_number(double value, const char *unit, char ret_text[HTML_NUMBER_MAX]);

#endif
