# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A panel of lines over the points of each series, ours; published points are open. Loaded by figure.gp
# for panel p.

series = value(sprintf("series_count_%d", p))
set datafile missing NaN # rows of other series do not interrupt a line
points_min = value(sprintf("low_x_%d", p))
points_max = value(sprintf("high_x_%d", p))
if (value(sprintf("log_x_%d", p))) {
	set logscale x 2
	set xrange [0.75 * points_min:1.4 * points_max]
	# Powers of four are enough numbers for an axis from 1 to 1000.
	set xtics () font font_number
	do for [i = 0:12] {
		set xtics add (sprintf("%g", points_min * 4 ** i) points_min * 4 ** i)
	}
} else {
	room = points_max > points_min ? 0.05 * (points_max - points_min) : 1
	set xrange [points_min - room:points_max + room]
	if (points_max == points_min) { set xtics points_min, 1, points_max }
	set format x "%g" . (value(sprintf("xunit_%d", p)) eq " %" ? " %%" : value(sprintf("xunit_%d", p)))
}
at(s, name) = strcol("run") eq value(sprintf("series_%d_%d", p, s)) ? of_panel(name) : NaN
drawn = "NaN notitle"
do for [s = 1:series] {
	colour = colour_of(value(sprintf("series_colour_%d_%d", p, s)))
	if (value(sprintf("series_ours_%d_%d", p, s))) {
		drawn = drawn . sprintf(", numbers_csv using \"x\":(at(%d, \"ours\")) with linespoints", s) \
			. sprintf(" linewidth 2 pointtype p_filled[%d] pointsize point_size", colour) \
			. sprintf(" linecolor rgb c_series[%d] notitle", colour)
	}
	if (value(sprintf("series_published_%d_%d", p, s))) {
		drawn = drawn . sprintf(", numbers_csv using \"x\":(at(%d, \"published\")) with points linewidth 1.6", s) \
			. sprintf(" pointtype p_open[%d] pointsize 1.7 * point_size", colour) \
			. sprintf(" linecolor rgb c_series[%d] notitle", colour)
	}
}
eval "plot " . drawn
unset datafile
set datafile separator comma
set datafile columnheaders
