# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Shared by all figures: fonts, colours, terminal, input. figure.gp loads it first;
# page_width, page_height (pixels), "terminal" and "output" come from gvmsim.
#
# Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart.

# An SVG's unit is smaller than a point.
size = terminal eq "svg" ? 18 : 13
px_of_size = terminal eq "svg" ? 1.0 : 96.0 / 72
font_text = sprintf("DejaVu Sans,%d", size)
font_number = sprintf(",%d", size * 0.85)
font_note = sprintf(",%d", size * 0.92)
font_panel = sprintf(",%d", size * 1.15)
font_subline = sprintf(",%d", size * 1.08)
font_headline = sprintf(",%d", size * 1.5)
if (terminal eq "svg") {
	set terminal svg size page_width,page_height dynamic noenhanced background rgb "white" \
		font font_text linewidth 1.5
} else {
	set terminal pngcairo size page_width,page_height noenhanced background rgb "white" \
		font font_text linewidth 1.5
}
set output output
set encoding utf8
set datafile separator comma
set datafile columnheaders

c_text = "#333333"
c_ours = "#0072B2"
c_published = "#E69F00"
c_load = "#C9CED6"
c_interval = "#222222" # over seeds, on bars
array c_run[8] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999", "#000000"]
array c_series[6] = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#999999"]
array c_part[6] = ["#C9CED6", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#F0E442"]
array c_container[8] = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#999999", "#0072B2", "#D55E00"]
# Bars that are coloured by run: the first is what the others are compared with.
c_ours_number = 0x0072B2
array c_run_number[6] = [0x999999, 0x0072B2, 0x56B4E9, 0xE69F00, 0x009E73, 0xCC79A7]
# Triangle, circle, square, diamond, filled and open.
array p_filled[6] = [9, 7, 5, 13, 11, 15]
array p_open[6] = [8, 6, 4, 12, 10, 14]
# The place of series number s in these: they begin anew after the last one.
colour_of(s) = (int(s) - 1) % 6 + 1
array p_run[8] = [7, 9, 5, 13, 11, 15, 6, 8]
point_size = terminal eq "svg" ? 0.8 : 1.2
