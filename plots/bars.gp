# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Panels of bars, one for each statistic, ours beside the published ones. Run by "gvmsim figure"
# (figure_bars.c), which sets every variable that is used here and not set here. Rows of the file are
# panel by panel, as many as there are bars; columns are addressed by name.

page_width = 1720
page_height = 1000
load style_file

c_ours = "#0072B2"
c_published = "#E69F00"
width = 0.38
apart = 0.055 # numbers stand a little further out than their bars

# --- What all panels have in common -------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set xrange [-0.6:bars - 0.4]
set xtics scale 0 font font_number
failed(i) = value(sprintf("failed_%d", i))
set xtics () # as a list, and empty
do for [i = 1:bars] {
	set xtics add (value(sprintf("bar_%d", i)) . (failed(i) ? " *" : "") i - 1)
}
set boxwidth width
set style fill solid 1.0 noborder
unset key

# Three columns of panels, two rows; the first panel above the second.
left(i) = 0.055 + i * 0.325
right(i) = left(i) + 0.277
top(j) = 0.838 - j * 0.450
bottom(j) = top(j) - (panels < 6 ? 0.325 : 0.315)

# The bar's place in its panel, and its value if it belongs to the panel and has one.
place(i) = int(i) % bars
here(panel, value) = strcol("panel") eq panel && value > 0 ? value : NaN
ours(panel) = here(panel, strcol("ours") eq "" ? NaN : column("ours"))
published(panel) = here(panel, strcol("published") eq "" ? NaN : column("published"))
missing(panel, name) = strcol("panel") eq panel && strcol(name) eq ""

# Milliseconds in at most four digits; long ones as seconds, and saying so.
number(ms) = ms >= 9999.5 ? sprintf("%.0f s", ms / 1000) \
	: ms >= 999.5 ? sprintf("%.1f s", ms / 1000) \
	: ms >= 99.95 ? sprintf("%.0f", ms) : sprintf("%.1f", ms)
plain(x) = sprintf("%.2f", x)

# A panel's bars with their numbers; a bar without a value of ours says so.
draw(panel, text) = "plot numbers_csv using (place($0) - width / 2):(ours(\"" . panel . "\"))" \
	. " with boxes linecolor rgb c_ours," \
	. " numbers_csv using (place($0) + width / 2):(published(\"" . panel . "\"))" \
	. " with boxes linecolor rgb c_published," \
	. " numbers_csv using (place($0) - width / 2 - apart):(ours(\"" . panel . "\")):(" . text \
	. "(ours(\"" . panel . "\"))) with labels center offset 0,0.6 font font_number" \
	. " textcolor rgb c_text," \
	. " numbers_csv using (place($0) + width / 2 + apart):(published(\"" . panel . "\")):(" . text \
	. "(published(\"" . panel . "\"))) with labels center offset 0,0.6 font font_number" \
	. " textcolor rgb c_text," \
	. " numbers_csv using (place($0) - width / 2):(missing(\"" . panel . "\", \"ours\")" \
	. " ? floor_y : NaN):(\"none\") with labels center offset 0,0.6 font font_number" \
	. " textcolor rgb c_ours"

set multiplot
subline = scenario . " on " . gpu . "; published: " . source . "; latencies on logarithmic axes"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set: not the published set-up"
}
set label 10 headline at screen 0.055,0.960 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.055,0.922 left font font_subline textcolor rgb c_text

do for [i = 1:panels] {
	column = (i - 1) / 2
	row = (i - 1) % 2
	set lmargin at screen left(column)
	set rmargin at screen right(column)
	set tmargin at screen top(row)
	set bmargin at screen bottom(row)
	set label 1 value(sprintf("title_%d", i)) at graph 0,1.095 left font font_panel \
		textcolor rgb c_text
	low = value(sprintf("low_%d", i))
	high = value(sprintf("high_%d", i))
	if (value(sprintf("is_ms_%d", i))) {
		# Half a decade of room below the shortest bar, so that it is one.
		set logscale y
		set format y "%.0f"
		floor_y = high > 0 ? low / 2.5 : 1
		set yrange [floor_y:high > 0 ? 2 * high : 10]
		# Where there is hardly a decade, its parts need numbers, too.
		if (high > 0 && high < 20 * low) {
			set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5)
		} else {
			set ytics autofreq
		}
		eval draw(value(sprintf("panel_%d", i)), "number")
	} else {
		unset logscale y
		set format y "%g"
		set ytics autofreq
		floor_y = 0
		set yrange [0:high > 0 ? 1.12 * high : 1]
		eval draw(value(sprintf("panel_%d", i)), "plain")
	}
	unset label 10
	unset label 11
}

# --- What the colours and the bars are: in the sixth place, or below ----------------------------

in_place = panels < 6
set lmargin at screen in_place ? left(2) : 0.840
set rmargin at screen 0.990
set tmargin at screen in_place ? top(1) : 0.975
set bmargin at screen in_place ? bottom(1) : 0.900
unset label 1
unset logscale y
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key at graph 0.0,1.0 left top Left reverse samplen 2 spacing 1.35 textcolor rgb c_text
any_failed = sum [i = 1:bars] failed(i)
notes = notes . "\n\"none\": no value, the container failed or completed nothing."
if (any_failed) {
	notes = notes . "\n* A container of this run died: the other one had\nthe GPU to itself, and its bars are of that."
}
if (in_place) {
	set label 20 notes at graph 0.015,0.68 left font font_number textcolor rgb c_text
} else {
	# One line, if they are not too many.
	do for [i = 1:strlen(notes)] {
		if (notes[i:i] eq "\n") {
			notes = notes[1:i - 1] . (notes[i - 1:i - 1] eq "." ? " " : "; ") . notes[i + 1:*]
		}
	}
	set label 20 notes at screen 0.055,0.016 left font font_number textcolor rgb c_text
}
plot NaN notitle, keyentry with boxes linecolor rgb c_ours title "ours, simulated", \
	keyentry with boxes linecolor rgb c_published title "published, measured"

unset multiplot
set output
