# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A panel of our bar and the published one, if there is one, of parts that stand on each other. Loaded by
# figure.gp for panel p. A row is a part and says what stands below it.

parts = value(sprintf("parts_%d", p))
sum_ours = value(sprintf("sum_ours_%d", p))
sum_published = value(sprintf("sum_published_%d", p))
beside = value(sprintf("published_%d", p))
half = 0.31 # of a bar's width

# A bar of ours without a published one stands in the middle.
set xrange [beside ? -0.5 : -1:beside ? 1.5 : 1]
set xtics scale 0 ("ours, simulated" 0)
if (beside) { set xtics add (word_published 1) }
part(i, name) = strcol("part") eq value(sprintf("part_%d_%d", p, i)) ? of_panel(name) : NaN
middle(i, name) = part(i, name . "_below") + part(i, name) / 2
# A number is left out if there is no room for it.
in_digits(x) = sprintf(x >= 1e7 ? "%.3g" : "%.2f", x)
fitting(x) = x > 0.025 * high ? in_digits(x) : ""
total(x) = x > 0 ? in_digits(x) : "none"

set label 2 total(sum_ours) at 0,sum_ours center offset 0,0.7 textcolor rgb c_text
if (beside) { set label 3 total(sum_published) at 1,sum_published center offset 0,0.7 textcolor rgb c_text }
set style fill solid 1.0 border rgb "white"
plot NaN notitle, \
	for [i = 1:parts] numbers_csv using (0):(part(i, "ours")):(-half):(half):(part(i, "ours_below")): \
		(part(i, "ours_below") + part(i, "ours")) with boxxyerror fillcolor rgb c_part[i], \
	for [i = 1:parts] numbers_csv using (1):(part(i, "published")):(1 - half):(1 + half): \
		(part(i, "published_below")):(part(i, "published_below") + part(i, "published")) \
		with boxxyerror fillcolor rgb c_part[i], \
	for [i = 1:parts] numbers_csv using (0):(middle(i, "ours")):(fitting(part(i, "ours"))) \
		with labels center textcolor rgb "black", \
	for [i = 1:parts] numbers_csv using (1):(middle(i, "published")):(fitting(part(i, "published"))) \
		with labels center textcolor rgb "black"
set style fill solid 1.0 noborder
