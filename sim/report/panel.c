// SPDX-License-Identifier: MIT OR GPL-2.0
/* See panel.h. panel_bars.c and panel_curves.c draw. */
#include "report/panel.h"

#include "report/html.h"

void panel_print(FILE *out, const struct figure_data *data, size_t panel)
{
	const struct figure_panel *shown = &data->figure->panels[panel];
	bool bars = shown->layout == FIGURE_BARS || shown->layout == FIGURE_STACKED ||
		    shown->layout == FIGURE_TABLE;

	fprintf(out, "<svg role=\"img\" aria-label=\"");
	html_text(out, data->figure->title);
	fputs(": ", out);
	html_text(out, shown->title);
	fprintf(out, ". The numbers are in the table below.\" ");
	if (bars)
		panel_print_bars(out, data, panel);
	else
		panel_print_curves(out, data, panel);
	fprintf(out, "</svg>\n");
}
