# SPDX-License-Identifier: MIT OR GPL-2.0
#
# One plot of a sweep: lines, a heat map or a Pareto front. Run by "gvmsim sweep", which sets every
# variable that is used here and not set here (sim/sweep/sweep_draw.c).

load scripts . "/style.gp"

# Before there are ranges. A logarithmic axis has no place for zeros alone.
stats numbers_csv using "y" name "Y" nooutput
# Of both columns at once gnuplot would fit a line, with warnings if points are the same. The place
# of a point without a value does not count.
stats numbers_csv using (column("x") + 0 * column("y")) name "X" nooutput
if (!(Y_max > 0)) { is_log = 0 }

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
has_key = kind eq "pareto" || (kind eq "line" && second_count > 1)
line_title(s) = label_series . " = " . value(sprintf("second_text_%d", s)) . (value(sprintf("drawn_%d", s)) > 0 ? "" : ": no value")
# The key is as wide as its longest entry.
key_chars = kind eq "pareto" ? 21 : 18
if (kind eq "line" && second_count > 1) {
	do for [s = 1:second_count] {
		chars = strlen(line_title(s))
		key_chars = chars > key_chars ? chars : key_chars
	}
}
key_at = 1 - (key_chars * 0.53 * size * px_of_size + 55) / page_width
set lmargin at screen 0.11
set rmargin at screen (kind eq "heat" ? 0.84 : has_key ? key_at - 0.02 : 0.96)
set tmargin at screen 0.84
set bmargin at screen 0.13
set label 10 headline at screen 0.02,0.95 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.02,0.89 left font font_number textcolor rgb c_text
set xlabel label_x textcolor rgb c_text
# At the same distance from the axis, whatever the width of its numbers.
set label 12 (is_log && kind ne "heat" ? label_y . "   [log]" : label_y) at screen 0.02,0.485 center rotate \
	textcolor rgb c_text
set key at screen key_at,0.82 left top Left reverse samplen 2 spacing 1.35 textcolor rgb c_text
set format y "%g"
set format x "%g"
# A number in at most five characters.
short(v) = abs(v) >= 1e6 ? sprintf("%.3g", v) : abs(v) >= 1000 ? sprintf("%.0f", v) : sprintf("%.3g", v)
if (kind ne "pareto" && !many_ticks) {
	set xtics () font font_number
	do for [i = 1:x_count] {
		set xtics add (value(sprintf("x_text_%d", i)) value(sprintf("x_at_%d", i)))
	}
}

if (kind eq "line") {
	if (is_log) { set logscale y } else { set yrange [0:*] }
	if (!is_log && Y_max == 0) { set yrange [0:1] }
	if (is_log && Y_min == Y_max) { set yrange [0.5 * Y_min:2 * Y_max] }
	# Lines of one point need a range around it. Gnuplot would make one, with a warning.
	if (X_min == X_max) {
		x_room = X_min == 0 ? 1 : 0.01 * abs(X_min)
		set xrange [X_min - x_room:X_min + x_room]
	}
	set offsets graph 0.04, graph 0.04, graph 0.06, 0
	lines = second_count > 0 ? second_count : 1
	set datafile missing NaN # rows of other series do not interrupt a line
	drawn = "NaN notitle"
	do for [s = 1:lines] {
		title = second_count > 1 ? sprintf("title line_title(%d)", s) : "notitle"
		# A colour and a shape for each; from the seventh line on they come again.
		c = (s - 1) % 6 + 1
		if (second_count > 1 && value(sprintf("drawn_%d", s)) == 0) {
			drawn = drawn . sprintf(", keyentry with points pointtype p_filled[%d] pointsize 1.3 * point_size", c) \
				. sprintf(" linecolor rgb c_series[%d] %s", c, title)
			continue
		}
		drawn = drawn . sprintf(", numbers_csv using \"x\":(column(\"second\") == %d ? column(\"y\") : NaN)", s - 1) \
			. sprintf(" smooth unique with lines linewidth 2 linecolor rgb c_series[%d] notitle", c) \
			. sprintf(", numbers_csv using \"x\":(column(\"second\") == %d ? column(\"y\") : NaN):\"low\":\"high\"", s - 1) \
			. sprintf(" with yerrorbars linewidth 1.2 pointtype p_filled[%d] pointsize 1.3 * point_size", c) \
			. sprintf(" linecolor rgb c_series[%d] %s", c, title)
	}
	if (lines > 1) { set key font font_number }
	eval "plot " . drawn
}

if (kind eq "heat") {
	set ytics () font font_number
	do for [i = 1:second_count] {
		set ytics add (value(sprintf("second_text_%d", i)) value(sprintf("second_at_%d", i)))
	}
	unset grid
	stats numbers_csv using "y" nooutput # before there are ranges
	set xrange [-0.5:x_count - 0.5]
	set yrange [-0.5:second_count - 0.5]
	if (is_log) { set logscale cb }
	# Cells of one value need a range around it. Gnuplot would make one, with a warning.
	if (STATS_min == STATS_max) {
		room = STATS_min == 0 ? 1 : 0.5 * abs(STATS_min)
		set cbrange [STATS_min - room:STATS_min + room]
	}
	set format cb "%g"
	set label 13 (is_log ? label_value . "   [log]" : label_value) at screen 0.98,0.485 center rotate \
		textcolor rgb c_text
	# From light to dark in equal steps of lightness, for any colour vision and in grey (cividis).
	set palette defined (0 "#FDE737", 0.25 "#BBAF71", 0.5 "#7D7C78", 0.75 "#414D6B", 1 "#00204D")
	dark(v) = STATS_max > STATS_min && (is_log ? (log(v) - log(STATS_min)) / (log(STATS_max) - log(STATS_min)) \
		: (v - STATS_min) / (STATS_max - STATS_min)) > 0.45
	plot numbers_csv using "x":"second":(0.48):(0.48):"y" with boxxyerror fillstyle solid linecolor palette notitle, \
		numbers_csv using "x":"second":(short(column("y"))):(dark(column("y")) ? 0xFFFFFF : 0x222222) \
			with labels font font_number textcolor rgb variable notitle
}

if (kind eq "pareto") {
	# The axes end near the points, and not below 0 where no point is: no rate and no time is negative.
	if (is_log) { set logscale y }
	set autoscale xfix
	set autoscale yfix
	set offsets graph 0.05, graph 0.15, graph 0.08, graph 0.05
	if (is_log && Y_min > 0 && Y_max < 20 * Y_min) {
		# An axis of hardly a decade needs numbers at its parts, too.
		set ytics ()
		do for [decade = floor(log10(Y_min)) - 1:ceil(log10(Y_max)) + 1] {
			do for [part = 1:3] {
				at = 10.0**decade * (part == 1 ? 1 : part == 2 ? 2 : 5)
				if (at > 0.8 * Y_min && at < 1.3 * Y_max) { set ytics add (sprintf("%g", at) at) }
			}
		}
	}
	# Points with one value need a range around it. Gnuplot would make one, with a warning.
	if (X_min == X_max) {
		x_room = X_min == 0 ? 1 : 0.01 * abs(X_min)
		set xrange [X_min - x_room:X_min + x_room]
	}
	if (Y_min == Y_max) {
		y_room = Y_min == 0 ? 1 : 0.5 * abs(Y_min)
		set yrange [Y_min - y_room:Y_min + y_room]
	}
	x_room = 0.05 * (X_max - X_min)
	if (X_min >= 0 && X_min < x_room) {
		set xrange [0:*]
		set offsets 0, graph 0.15, graph 0.08, graph 0.05
	}
	set grid xtics
	# The front comes first in the file, from left to right. Names that fit are marked there.
	on_front(v) = column("front") == 1 ? v : NaN
	beaten(v) = column("front") == 1 ? NaN : v
	# A name is above the line of its point (1) or below it (2), or there is no room for it (0).
	name_of(point, place) = column("name") == place ? value(sprintf("point_%d", point)) : ""
	plot numbers_csv using (on_front(column("x"))):"y" with lines linewidth 1.6 dashtype 2 \
			linecolor rgb c_ours notitle, \
		numbers_csv using (beaten(column("x"))):"y":"x_low":"x_high":"low":"high" with xyerrorbars \
			linewidth 1 pointtype 6 pointsize 1.2 * point_size linecolor rgb "#999999" \
			title "beaten by another", \
		numbers_csv using (on_front(column("x"))):"y":"x_low":"x_high":"low":"high" with xyerrorbars \
			linewidth 1.2 pointtype 7 pointsize 1.4 * point_size linecolor rgb c_ours \
			title "on the front", \
		numbers_csv using "x":"y":(name_of(int(column("point")), 1)) with labels left offset 0.9,0.5 \
			font font_number textcolor rgb c_text notitle, \
		numbers_csv using "x":"y":(name_of(int(column("point")), 2)) with labels left offset 0.9,-0.5 \
			font font_number textcolor rgb c_text notitle
}
set output
