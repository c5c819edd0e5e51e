# SPDX-License-Identifier: MIT OR GPL-2.0
#
# How long a short kernel takes beside a process that faults: three statistics over how much each
# faulting kernel misses, a curve for each system, and below them the same loop as on hardware. Run by
# "gvmsim figure interference", which sets every variable that is used here and not set here.
# Columns are addressed by name.

page_width = 1720
page_height = 1000
load style_file
set datafile missing NaN # rows of other curves do not interrupt one

c_ours = "#0072B2"
c_published = "#E69F00"
array c_system[3] = ["#D55E00", "#0072B2", "#009E73"]
systems = "stock gvm ghost"
keys = "p50 p99 max" # of what was measured
curves = "mean p99 max"
cases = "nothing compute fault"
width = 0.38
apart = 0.03

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set boxwidth width
set style fill solid 1.0 noborder
unset key

left(i) = 0.055 + i * 0.325
right(i) = left(i) + 0.277

number(ms) = ms >= 99.5 ? sprintf("%.0f", ms) : ms >= 9.95 ? sprintf("%.1f", ms) : sprintf("%.2f", ms)
at(name, system, key) = strcol("case") eq "sweep" && strcol("system") eq system \
	&& strcol("key") eq key && strcol(name) ne "" ? column(name) : NaN

# Where a bar stands: three cases of three statistics. A row that is no bar stands nowhere.
place(c, k) = int((strstrt(cases, c) - 1) / 8.0 + 0.01) * 3.6 + (strstrt(keys, k) - 1) / 4
bar(name) = strcol("case") ne "sweep" && strstrt(keys, strcol("key")) && strcol(name) ne "" \
	? column(name) : NaN
where(side) = place(strcol("case"), strcol("key")) + side * width / 2

set multiplot
headline = "Page faults of one process keep the GPU from another: time of a 100 us kernel"
subline = scenario . " on " . gpu . ", simulated; all axes logarithmic, in ms"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set"
}
set label 10 headline at screen 0.055,0.960 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.055,0.922 left font font_subline textcolor rgb c_text

array panel_title[3] = ["Mean (ms)", "P99 (ms)", "Longest (ms)"]
set tmargin at screen 0.838
set bmargin at screen 0.530
set logscale y
set format y "%g"
floor_y = 0.05
set yrange [floor_y:high > 0 ? 2 * high : 10]
set logscale x 2
set xrange [3:1400]
set xtics (4, 16, 64, 256, 1024) font font_number
set xlabel "2 MB blocks that each kernel of the other misses" offset 0,0.3 font font_number \
	textcolor rgb c_text
do for [i = 1:3] {
	set lmargin at screen left(i - 1)
	set rmargin at screen right(i - 1)
	set label 1 panel_title[i] at graph 0,1.095 left font font_panel textcolor rgb c_text
	if (i == 1) {
		set key at graph 0.04,0.97 left top Left reverse samplen 2 spacing 1.25 textcolor rgb c_text
	} else {
		unset key
	}
	plot for [s = 1:3] numbers_csv \
		using "blocks":(at("ours", word(systems, s), word(curves, i))) with linespoints \
		pointtype 7 pointsize 0.8 linewidth 1.6 linecolor rgb c_system[s] title word(systems, s)
	unset label 10
	unset label 11
}

# --- As on hardware -----------------------------------------------------------------------------

unset logscale x
unset xlabel
unset xtics
set lmargin at screen left(0)
set rmargin at screen right(1)
set tmargin at screen 0.388
set bmargin at screen 0.063
set label 1 "Simulated H100 beside a measured one, NVIDIA's driver (ms)" at graph 0,1.095 left font font_panel \
	textcolor rgb c_text
set xrange [-0.7:9.9]
set xtics scale 0 font font_number
set xtics ()
array case_title[3] = ["alone", "beside 5 ms kernels", "beside faults on 512 MiB"]
do for [c = 0:2] {
	do for [k = 0:2] {
		set xtics add (word(keys, k + 1) . (k == 1 ? "\n" . case_title[c + 1] : "") c * 3.6 + k)
	}
}
set key at screen left(2),0.388 left top Left reverse samplen 2 spacing 1.35 textcolor rgb c_text
set label 20 "The neighbour touches no managed memory. Its kernel waits for\n" \
	. "its turn: a context that has page faults outstanding cannot be\n" \
	. "switched out. It keeps the GPU for as long as its driver takes\n" \
	. "to serve all that one of its kernels misses.\n\n" \
	. "Measured: hardware/h100-580-detail.txt, on another H100 than the\n" \
	. "simulated one: 512 MiB by faults take 26 to 61 ms there, 46 ms on\n" \
	. "the one that is simulated (hardware/h100-580.txt)." \
	at screen left(2),0.250 left font font_number textcolor rgb c_text
plot numbers_csv using (where(-1)):(bar("ours")) with boxes linecolor rgb c_ours \
		title "ours, simulated", \
	numbers_csv using (where(1)):(bar("measured")) with boxes linecolor rgb c_published \
		title "measured", \
	numbers_csv using (where(-1) - apart):(bar("ours")):(number(bar("ours"))) with labels center \
		offset 0,0.6 font font_number textcolor rgb c_text notitle, \
	numbers_csv using (where(1) + apart):(bar("measured")):(number(bar("measured"))) with labels center \
		offset 0,0.6 font font_number textcolor rgb c_text notitle

unset multiplot
set output
