// SPDX-License-Identifier: MIT OR GPL-2.0
#include "report/html.h"

#include <math.h>
#include <string.h>

void html_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '"')
			fputs("&quot;", out);
		else if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t')
			putc(*text, out);
	}
}

void html_number(double value, const char *unit, char ret_text[HTML_NUMBER_MAX])
{
	double size = fabs(value);
	int digits;

	if (isnan(value)) {
		snprintf(ret_text, HTML_NUMBER_MAX, "none");
		return;
	}
	if (!strcmp(unit, "ms") && size >= 999.5) {
		value /= 1000;
		size /= 1000;
		unit = "s";
	}
	/* Beyond these, digits after or before the point say nothing. */
	if (size >= 1e9 || (size > 0 && size < 0.000995)) {
		snprintf(ret_text, HTML_NUMBER_MAX, "%.3g%s%.16s", value,
			 *unit && strcmp(unit, "x") != 0 ? " " : "",
			 strcmp(unit, "x") != 0 ? unit : "");
		return;
	}
	digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 || size <= 0 ? 2 : 3;
	snprintf(ret_text, HTML_NUMBER_MAX, "%.*f%s%.16s", digits, value,
		 *unit && strcmp(unit, "x") != 0 ? " " : "",
		 strcmp(unit, "x") != 0 ? unit : "");
}
