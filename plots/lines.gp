# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A panel of lines over the points of each series, ours; published points are open. Loaded by figure.gp
# for panel p.

series = value(sprintf("series_count_%d", p))
set datafile missing NaN # rows of other series do not interrupt a line
points_min = value(sprintf("low_x_%d", p))
points_max = value(sprintf("high_x_%d", p))
places = value(sprintf("places_%d", p))
named = value(sprintf("named_%d", p)) # points have names, and no line leads from one to the next
is_log_x = !named && value(sprintf("log_x_%d", p))
# The place of a value of x: that of its name, or the value.
place_x(x) = !named ? x : (sum [i = 1:places] (value(sprintf("x_%d_%d", p, i)) == x ? i : 0))
if (is_log_x) {
	set logscale x 2
	set xrange [0.75 * points_min:1.4 * points_max]
} else {
	if (named) { points_min = 1; points_max = places }
	room = points_max > points_min ? 0.05 * (points_max - points_min) : 1
	set xrange [points_min - room:points_max + room]
	if (points_max == points_min) { set xtics points_min, 1, points_max }
	set format x "%g" . (value(sprintf("xunit_%d", p)) eq " %" ? " %%" : value(sprintf("xunit_%d", p)))
}
if (named || is_log_x) {
	# A number at each point, or at each power of four if they are too many.
	set xtics () font font_number
	do for [i = 1:places <= 8 || named ? places : 0] {
		x = value(sprintf("x_%d_%d", p, i))
		name = value(sprintf("x_tick_%d_%d", p, i))
		set xtics add (name ne "" ? name : sprintf("%g", x) place_x(x))
	}
	do for [i = 0:places <= 8 || named ? -1 : 12] {
		set xtics add (sprintf("%g", points_min * 4 ** i) points_min * 4 ** i)
	}
}
# After as many series as there are colours, lines are dashed.
style(s) = named ? "points" : sprintf("linespoints linewidth 2 dashtype %d", s > 6 ? 2 : 1)
# Ends of the intervals over seeds; a point without one has none. They are arrows, as in bars.gp.
low_at(s) = strcol("ours_low") ne "" ? at(s, "ours_low") : NaN
high_at(s) = strcol("ours_high") ne "" ? at(s, "ours_high") : NaN
at(s, name) = strcol("run") eq value(sprintf("series_%d_%d", p, s)) ? of_panel(name) : NaN
drawn = "NaN notitle"
do for [s = 1:series] {
	in_key = value(sprintf("series_colour_%d_%d", p, s))
	colour = colour_of(in_key)
	if (value(sprintf("series_ours_%d_%d", p, s))) {
		drawn = drawn . sprintf(", numbers_csv using (place_x(column(\"x\"))):(at(%d, \"ours\")) with ", s) . style(in_key) \
			. sprintf(" pointtype p_filled[%d] pointsize %g * point_size", colour, named ? 1.4 : 1) \
			. sprintf(" linecolor rgb c_series[%d] notitle", colour)
	}
	if (value(sprintf("series_intervals_%d_%d", p, s))) {
		drawn = drawn . sprintf(", numbers_csv using (place_x(column(\"x\"))):(low_at(%d)):(0):(high_at(%d) - low_at(%d))", s, s, s) \
			. sprintf(" with vectors heads size screen 0.003,90 linewidth 1.2 linecolor rgb c_series[%d] notitle", colour)
	}
	if (value(sprintf("series_published_%d_%d", p, s))) {
		drawn = drawn . sprintf(", numbers_csv using (place_x(column(\"x\"))):(at(%d, \"published\")) with points linewidth 1.6", s) \
			. sprintf(" pointtype p_open[%d] pointsize 1.7 * point_size", colour) \
			. sprintf(" linecolor rgb c_series[%d] notitle", colour)
	}
}
eval "plot " . drawn
unset datafile
set datafile separator comma
set datafile columnheaders
