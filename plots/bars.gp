# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A panel of bars, ours beside the published ones. Loaded by figure.gp for panel p.

bars = value(sprintf("bars_%d", p))
first = value(sprintf("first_%d", p))
beside = value(sprintf("published_%d", p))
by_run = value(sprintf("by_run_%d", p))
width = beside ? 0.38 : 0.66
side = beside ? width / 2 : 0

set boxwidth width
# Few bars stay slim: at most 150 pixels.
bar_px = width * (right_of(p) - left_of(p)) * page_width / (bars + 0.2)
room = bar_px > 150 ? (bar_px / 150 - 1) * (bars + 0.2) / 2 : 0
places = bars + 2 * room # as wide as this many bars
set xrange [-0.6 - room:bars - 0.4 + room]
# Each number has half of its place, or all of it where one bar stands alone, less a gap: then numbers
# overlap neither each other nor the bar beside theirs. The longest, "12.3 s" or "1234", is 3.1 or 2.6 em wide.
number_side = beside ? 0.25 : 0
number_px = (right_of(p) - left_of(p)) * page_width / places * (beside ? 0.5 : 1) - 5
number_size = number_px / (unit eq "ms" ? 3.1 : 2.6) / px_of_size
number_font = sprintf(",%.2f", number_size < 0.85 * size ? number_size : 0.85 * size)
set xtics scale 0 font font_number
set xtics () # as a list, and empty
# A name that is wider than its place is broken at a blank, or else behind a dash.
tick_chars = int((right_of(p) - left_of(p)) * page_width / (places + 0.2) / (0.85 * char_px))
# Names stand in a smaller font where a word is wider than its place.
widest = 1
do for [i = 1:bars] {
	name = value(sprintf("tick_%d_%d", p, i))
	start = 1; blank = 0; dash = 0
	do for [at = 1:2 * strlen(name)] {
		letter = name[at:at]
		if (letter eq "\n") { start = at + 1; blank = 0; dash = 0 }
		if (letter eq " ") { blank = at }
		if (at <= strlen(name) && at - start >= tick_chars && (blank || dash)) {
			cut = blank ? blank : dash
			name = name[1:blank ? cut - 1 : cut] . "\n" . name[cut + 1:*]
			start = cut + 1; blank = 0; dash = 0
		}
		if (letter eq "-" || letter eq "_" || letter eq "/") { dash = at }
	}
	start = 1
	do for [at = 1:strlen(name) + 1] {
		if (at > strlen(name) || name[at:at] eq "\n") {
			widest = at - start > widest ? at - start : widest
			start = at + 1
		}
	}
	set xtics add (name i - 1)
}
tick_px = (right_of(p) - left_of(p)) * page_width / (places + 0.2) - 4
tick_size = tick_px / (0.56 * px_of_size * widest)
if (tick_size < int(0.85 * size)) {
	tick_font = sprintf(",%.2f", tick_size > 0.5 * size ? tick_size : 0.5 * size)
	set xtics font tick_font
}

# The bar's place in its panel, and its value if it belongs to the panel and has one. A bar of ours that has
# no published one beside it stands in the middle.
place(row) = row - first
alone(row) = strcol("published") eq ""
beside_by(row, way) = alone(row) ? 0 : way
ours(row) = of_panel("ours") > 0 ? of_panel("ours") : NaN
published(row) = of_panel("published") > 0 ? of_panel("published") : NaN
lacks = value(sprintf("lacks_%d", p)) # a container that the runs do not have
if (lacks ne "") {
	set label 2 "no " . lacks . " in this scenario" at graph 0.5,0.5 center textcolor rgb c_text
}
# In place of a bar: "none", "0", a number below 0, or the lower bound of a value that the run does not tell.
no_bar(row) = lacks eq "" && strcol("panel") eq key && (strcol("ours") eq "" || of_panel("ours") <= 0) ? floor_y : NaN
why_none(row) = strcol("ours") ne "" ? (of_panel("ours") < 0 ? "-" . number(-of_panel("ours")) : "0") : of_panel("ours_at_least") > 0 ? "> " . number(of_panel("ours_at_least")) : "none"
parts = value(sprintf("parts_%d", p))
colour(row) = by_run ? c_run_number[(row >= first ? int((row - first) / parts) : 0) % 6 + 1] : c_ours_number

# gnuplot 5.4 crashes on a file of one row if all labels of a plot lack a place, so each has one.
label_y(y) = y == y ? y : floor_y
label_text(y) = y == y ? number(y) : ""

# The interval over seeds is an arrow whose heads are flat: error bars erase the bar around their point. On a
# logarithmic axis it ends at the axis. A bar without one has an arrow of no length, which is not seen.
has_interval(row) = strcol("ours_low") ne "" && of_panel("ours") > 0
low_end(row) = has_interval(row) ? (of_panel("ours_low") > floor_y ? of_panel("ours_low") : floor_y) : label_y(ours(row))
length(row) = has_interval(row) ? of_panel("ours_high") - low_end(row) : 0
# A number stands above its bar, or above the interval.
top(row) = ours(row) == ours(row) ? (length(row) > 0 ? low_end(row) + length(row) : ours(row)) : NaN

plot numbers_csv using (place($0) - beside_by($0, side)):(ours($0)):(colour($0)) with boxes linecolor rgb variable \
		title beside ? "ours, simulated" : "simulated", \
	numbers_csv using (place($0) + side):(published($0)) with boxes linecolor rgb c_published \
		title word_published, \
	numbers_csv using (place($0) - beside_by($0, side)):(low_end($0)):(0):(length($0)) with vectors heads size \
		screen 0.003,90 linewidth 1.2 linecolor rgb c_interval notitle, \
	numbers_csv using (place($0) - beside_by($0, number_side)):(label_y(top($0))):(label_text(ours($0))) with labels \
		center offset 0,0.6 font number_font textcolor rgb c_text notitle, \
	numbers_csv using (place($0) + number_side):(label_y(published($0))):(label_text(published($0))) with labels \
		center offset 0,0.6 font number_font textcolor rgb c_text notitle, \
	numbers_csv using (place($0) - beside_by($0, number_side)):(label_y(no_bar($0))):(no_bar($0) == no_bar($0) ? why_none($0) : "") with labels center offset 0,0.6 \
		font number_font textcolor rgb c_ours notitle
