# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Where the time of diffusion goes, stacked, ours beside the published bars. Run by "gvmsim figure
# fault-breakdown", which sets every variable that is used here and not set here. Columns are
# addressed by name; a row is a part of a bar and says what stands below it.

page_width = 1400
page_height = 900
load style_file

part_keys = "compute cpu d2h h2d"
array part_names[4] = ["compute", "CPU page-fault\nhandling", "device-to-host\ncopies", \
	"host-to-device\ncopies"]
array c_part[4] = ["#C9CED6", "#E69F00", "#56B4E9", "#009E73"]
half = 0.31 # of a bar's width

# --- What both panels have in common ------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set style fill solid 1.0 border rgb "white"
set xrange [-0.5:1.5]
set xtics scale 0 ("ours, simulated" 0, "published, measured" 1)
set tmargin at screen 0.810
set bmargin at screen 0.070
left(j) = 0.065 + j * 0.415
right(j) = left(j) + 0.345
unset key

systems = "stock gvm"
array panel_titles[2] = ["stock, 3 GiB of memory (Figure 4)", \
	"gvm, 40 % of the working set (Figure 16)"]
ours_sum(j) = value(sprintf("ours_%d", j))
published_sum(j) = value(sprintf("published_%d", j))
high(j) = ours_sum(j) > published_sum(j) ? ours_sum(j) : published_sum(j)

# A number of one part in one panel; other rows and empty cells are none.
here(j, i, name) = strcol("system") eq word(systems, j) && strcol("part") eq word(part_keys, i) \
	&& strcol(name) ne "" ? column(name) : NaN
middle(j, i, name) = here(j, i, name . "_below") + here(j, i, name) / 2
# Where there is no room for a number there is none.
number(x, high) = x > 0.025 * high ? sprintf("%.2f", x) : ""

set multiplot
headline = "Where diffusion's time goes when it pages, in units of what it computes"
subline = scenario . " on " . gpu . ", diffusion alone; published: GVM paper, Figures 4 and 16"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set"
}
set label 10 headline at screen 0.065,0.955 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.065,0.912 left font font_subline textcolor rgb c_text
set label 12 "time, 1 is computing" at screen 0.016,0.44 center rotate textcolor rgb c_text

# The parts' names, in the bars' order, beside the right panel.
do for [i = 1:4] {
	y = 0.47 + 0.085 * (i - 2.5)
	set object i rectangle at screen 0.845,y size screen 0.018,0.028 front \
		fillcolor rgb c_part[i] fillstyle solid noborder
	set label 20 + i part_names[i] at screen 0.862,(y + (i > 1 ? 0.011 : 0)) left \
		textcolor rgb c_text
}

do for [j = 1:2] {
	set lmargin at screen left(j - 1)
	set rmargin at screen right(j - 1)
	set label 1 panel_titles[j] at graph 0,1.055 left font font_panel textcolor rgb c_text
	unset label 2
	unset label 3
	if (high(j) > 0) {
		set yrange [0:1.08 * high(j)]
	} else {
		set yrange [0:1]
	}
	set label 2 ours_sum(j) > 0 ? sprintf("%.2f", ours_sum(j)) : "none" at 0,ours_sum(j) \
		center offset 0,0.7 textcolor rgb c_text
	set label 3 published_sum(j) > 0 ? sprintf("%.2f", published_sum(j)) : "none" \
		at 1,published_sum(j) center offset 0,0.7 textcolor rgb c_text
	plot NaN notitle, \
		for [i = 1:4] numbers_csv using (0):(here(j, i, "ours")):(-half):(half): \
			(here(j, i, "ours_below")): \
			(here(j, i, "ours_below") + here(j, i, "ours")) \
			with boxxyerror fillcolor rgb c_part[i], \
		for [i = 1:4] numbers_csv using (1):(here(j, i, "published")):(1 - half):(1 + half): \
			(here(j, i, "published_below")): \
			(here(j, i, "published_below") + here(j, i, "published")) \
			with boxxyerror fillcolor rgb c_part[i], \
		for [i = 1:4] numbers_csv using (0):(middle(j, i, "ours")): \
			(number(here(j, i, "ours"), high(j))) with labels center \
			textcolor rgb "black", \
		for [i = 1:4] numbers_csv using (1):(middle(j, i, "published")): \
			(number(here(j, i, "published"), high(j))) with labels center \
			textcolor rgb "black"
	unset label 10
	unset label 11
	unset label 12
	unset object
	do for [i = 1:4] {
		unset label 20 + i
	}
}

unset multiplot
set output
