# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A panel of curves over simulated time. Loaded by figure.gp for panel p. The file has curve after
# curve, and a column with the curve's number.

curves = value(sprintf("curves_%d", p))
levels = value(sprintf("levels_%d", p))
top_value = value(sprintf("top_%d", p))
set xrange [0:end_s]
set grid xtics ytics
if (is_log) {
	set yrange [*:*]
} else {
	set yrange [0:*]
	if (value(sprintf("empty_%d", p))) {
		set yrange [0:1]
	}
	if (top_value > 0) {
		set yrange [0:1.02 * top_value]
	}
}
do for [m = 1:marks] {
	set arrow m from value(sprintf("mark_%d", m)), graph 0 to value(sprintf("mark_%d", m)), graph 1 \
		nohead linecolor rgb "#888888" dashtype 2 linewidth 1
	if (p == 1) {
		set label 30 + m value(sprintf("mark_title_%d", m)) at value(sprintf("mark_%d", m)), graph 0.06 \
			left offset 0.5,0 font font_note textcolor rgb c_text
	}
}
if (own_keys) {
	set key at screen right_of(p) + 74.0 / page_width,top_of(p) left top Left reverse samplen 1.6 \
		spacing 1.25 width 1 textcolor rgb c_text
}

# Thousands of dots are small, so that they stay apart. In the key they are large.
dot(n) = (n > 1000 ? 0.35 : 0.75) * (terminal eq "svg" ? 0.7 : 1)
key_dot = terminal eq "svg" ? 0.9 : 1.3
curve(n, name) = column("curve") == n ? column(name) : NaN
has_right = 0
drawn = "NaN notitle"
do for [pass = 1:2] {
do for [c = 1:curves] {
	i = sprintf("_%d_%d", p, c)
	draw = value("curve_draw" . i)
	# Bars and areas lie behind, the last area first.
	behind = draw eq "bars" || draw eq "area"
	if (behind == (pass == 1)) {
		if (draw eq "area") { i = sprintf("_%d_%d", p, curves - c + 1) }
		n = value("curve" . i)
		colour = (int(value("curve_colour" . i)) - 1) % 8 + 1
		# After eight colours, lines are dashed.
		dash = int(value("curve_colour" . i)) > 8 ? 2 : 1
		several = value("curve_several" . i)
		right = value("curve_right" . i)
		has_right = has_right || right
		file = sprintf(", curves_csv using \"time_s\":(curve(%d, \"value\"))", n) . (right ? " axes x1y2" : "")
		title = " title curve_title" . i
		if (draw eq "line") {
			drawn = drawn . file . sprintf(" with lines linewidth %g dashtype %d linecolor rgb c_run[%d]", own_keys ? 2 : 1.6, dash, colour) . title
		}
		if (draw eq "published") {
			drawn = drawn . file . " with lines linewidth 2.4 linecolor rgb c_published" . title
		}
		if (draw eq "bars") {
			# Boxes of several containers would hide each other.
			drawn = drawn . file . (several ? sprintf(" with steps linewidth 1 dashtype 3 linecolor rgb c_run[%d]", colour) \
				: " with boxes linecolor rgb c_load") . title
		}
		if (draw eq "area") {
			drawn = drawn . sprintf(", curves_csv using \"time_s\":(curve(%d, \"below\")):(curve(%d, \"below\") + curve(%d, \"value\"))", n, n, n) \
				. sprintf(" with filledcurves linecolor rgb c_container[%d]", colour) . title
		}
		if (draw eq "points") {
			drawn = drawn . file . sprintf(" with points pointtype p_run[%d] pointsize %g linecolor rgb c_run[%d] notitle", \
				colour, dot(value("curve_points" . i)), colour) \
				. sprintf(", keyentry with points pointtype p_run[%d] pointsize key_dot linecolor rgb c_run[%d]", colour, colour) . title
		}
		if (draw eq "marks") {
			drawn = drawn . sprintf(", curves_csv using \"time_s\":(curve(%d, \"value\") * %g) axes x1y2", n, 0.9 + 0.05 * colour / 2) \
				. sprintf(" with points pointtype 2 pointsize 0.9 linecolor rgb c_run[%d]", colour) . title
		}
	}
}
}
do for [l = 1:levels] {
	drawn = drawn . sprintf(", level_%d_%d with lines linewidth 1.6 dashtype 2 linecolor rgb \"black\"", p, l) \
		. sprintf(" title level_title_%d_%d . sprintf(\": %%g %s\", level_%d_%d)", p, l, unit, p, l)
}
set y2range [0:1]
if (has_right) {
	set border 11
	if (!value(sprintf("empty_right_%d", p))) {
		set y2range [0:*]
	}
	set y2tics nomirror scale 0.6 textcolor rgb c_text
	set y2label value(sprintf("y2label_%d", p)) offset -0.8,0 textcolor rgb c_text
}
set boxwidth bin_s
if (!curves) {
	set label 2 "nothing to show: no such container, or nothing completed or measured" \
		at graph 0.5,0.5 center textcolor rgb c_text
	unset logscale y
	set yrange [0:1]
}
eval "plot " . drawn
unset y2tics
unset y2label
set border 3
