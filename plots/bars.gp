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
set xrange [-0.6:bars - 0.4]
# Each number has half of its place, or all of it where one bar stands alone, less a gap: then numbers
# overlap neither each other nor the bar beside theirs. The longest, "12.3 s" or "1234", is 3.1 or 2.6 em wide.
number_side = beside ? 0.25 : 0
number_px = (right_of(p) - left_of(p)) * page_width / bars * (beside ? 0.5 : 1) - 5
number_size = number_px / (unit eq "ms" ? 3.1 : 2.6) / px_of_size
number_font = sprintf(",%.2f", number_size < 0.85 * size ? number_size : 0.85 * size)
set xtics scale 0 font font_number
set xtics () # as a list, and empty
do for [i = 1:bars] {
	set xtics add (value(sprintf("tick_%d_%d", p, i)) i - 1)
}

# The bar's place in its panel, and its value if it belongs to the panel and has one.
place(row) = row - first
ours(row) = of_panel("ours") > 0 ? of_panel("ours") : NaN
published(row) = of_panel("published") > 0 ? of_panel("published") : NaN
lacks = value(sprintf("lacks_%d", p)) # a container that the runs do not have
if (lacks ne "") {
	set label 2 "no " . lacks . " in this scenario" at graph 0.5,0.5 center textcolor rgb c_text
}
none(row) = lacks eq "" && strcol("panel") eq key && strcol("ours") eq "" ? floor_y : NaN
colour(row) = by_run ? c_run_number[(row >= first ? int(row - first) : 0) % 6 + 1] : c_ours_number

plot numbers_csv using (place($0) - side):(ours($0)):(colour($0)) with boxes linecolor rgb variable, \
	numbers_csv using (place($0) + side):(published($0)) with boxes linecolor rgb c_published, \
	numbers_csv using (place($0) - number_side):(ours($0)):(number(ours($0))) with labels \
		center offset 0,0.6 font number_font textcolor rgb c_text, \
	numbers_csv using (place($0) + number_side):(published($0)):(number(published($0))) with labels \
		center offset 0,0.6 font number_font textcolor rgb c_text, \
	numbers_csv using (place($0) - number_side):(none($0)):("none") with labels center offset 0,0.6 \
		font number_font textcolor rgb c_ours
