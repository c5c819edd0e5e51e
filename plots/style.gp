# SPDX-License-Identifier: MIT OR GPL-2.0
#
# What all figures have in common: fonts, terminal, input. Each loads it first, after it has set
# page_width and page_height, in pixels; "terminal", "output" and "style_file" come from gvmsim.
#
# Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart.

# An SVG's unit is smaller than a point.
size = terminal eq "svg" ? 18 : 13
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
