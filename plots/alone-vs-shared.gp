# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Load and latency over time, alone and shared. Run by "gvmsim figure alone-vs-shared", which
# sets every variable that is used here and not set here; sim/results/series.h says what is in
# the files. Columns are addressed by name.

page_width = 1500
page_height = 1640
load style_file

c_alone = "#0072B2"
c_shared = "#D55E00"
c_load = "#C9CED6"
array c_container[6] = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#999999"]
p_alone = 7   # filled circle
p_shared = 9  # filled triangle
dot(n) = (n > 1000 ? 0.35 : 0.75) * (terminal eq "svg" ? 0.7 : 1)
key_dot = terminal eq "svg" ? 0.9 : 1.3

# --- What all panels have in common -------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid xtics ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set xrange [0:end_s]
set key at screen 0.805,graph 1.0 left top Left reverse samplen 1.6 spacing 1.25 \
	width 1 textcolor rgb c_text
set lmargin at screen 0.085
set rmargin at screen 0.740

# Four panels from top to bottom, all with the same time axis.
panels = 4
first_top = 0.922
height = 0.185
gap = 0.042
top(i) = first_top - (i - 1) * (height + gap)
bottom(i) = top(i) - height
middle(i) = top(i) - height / 2
title_y = 1.065 # of a panel, in its own coordinates
label_x = 0.022 # of the axes' labels, on the screen: in one line, however wide the numbers are

run_alone = word_alone . " (" . system_alone . ")"
run_shared = word_shared . " (" . system_shared . ")"

headline = scenario . " on " . gpu
if (scenario_alone ne "" || gpu_alone ne "") {
	headline = headline . "   (" . word_alone . ": " . (scenario_alone eq "" ? scenario : scenario_alone) \
		. " on " . (gpu_alone eq "" ? gpu : gpu_alone) . ")"
}
subline = word_alone . ": system " . system_alone . ",  " . word_shared . ": system " . system_shared
if (incomplete) {
	subline = subline . ",  INCOMPLETE: a run was interrupted"
}

# The longest TTFT: where requests failed, there is a decade above it for them.
ttft_max = 0
if (ttft_alone) {
	stats ttft_csv using "ttft_alone_s" name "alone" nooutput
	ttft_max = alone_max
}
if (ttft_shared) {
	stats ttft_csv using "ttft_shared_s" name "shared" nooutput
	ttft_max = shared_max > ttft_max ? shared_max : ttft_max
}

# Without any load its axes need a range of their own.
load_max = 0
if (llm ne "") {
	stats load_csv using "arrivals_shared_per_s" name "arrivals" nooutput
	stats load_csv using "in_flight_shared" name "open" nooutput
	load_max = arrivals_max < open_max ? arrivals_max : open_max
	if (llm_alone) {
		stats load_csv using "in_flight_alone" name "open" nooutput
		load_max = load_max < open_max ? load_max : open_max
	}
}

set multiplot
set label 10 headline at screen 0.085,0.981 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.085,0.958 left font font_subline textcolor rgb c_text

# --- 1: load ------------------------------------------------------------------------------------

set tmargin at screen top(1)
set bmargin at screen bottom(1)
set format x ""
set label 1 "Load of " . llm at graph 0,title_y left font font_panel textcolor rgb c_text
set label 3 "requests in flight" at screen label_x,middle(1) center rotate textcolor rgb c_text
set label 4 "arrivals (1/s)" at screen 0.785,middle(1) center rotate textcolor rgb c_text
set y2tics nomirror scale 0.6 textcolor rgb c_text
set border 11
set yrange [0:*]
set y2range [0:*]
if (load_max <= 0) {
	set yrange [0:1]
	set y2range [0:1]
}
set style fill solid 1.0 noborder
if (llm eq "") {
	set label 2 "no LLM server in these runs" at graph 0.5,0.5 center textcolor rgb c_text
	set yrange [0:1]
	plot NaN notitle
} else {
	load_runs = "load_csv using \"time_s\":\"arrivals_shared_per_s\" axes x1y2" \
		. " with boxes linecolor rgb c_load title \"arrivals (right axis)\""
	if (llm_alone) {
		load_runs = load_runs . ", load_csv using \"time_s\":\"in_flight_alone\"" \
			. " with lines linewidth 2 linecolor rgb c_alone title \"in flight, " . word_alone . "\""
	}
	load_runs = load_runs . ", load_csv using \"time_s\":\"in_flight_shared\"" \
		. " with lines linewidth 2 linecolor rgb c_shared title \"in flight, " . word_shared . "\""
	set boxwidth bin_s
	eval "plot " . load_runs
}
unset label 10
unset label 11
unset label 2
unset y2tics
unset label 4
set border 3

# --- 2: time to first token ---------------------------------------------------------------------

set tmargin at screen top(2)
set bmargin at screen bottom(2)
set label 1 "Time to first token of each request, by its arrival"
set label 3 "TTFT (s)" at screen label_x,middle(2)
set logscale y
set format y "%g"
set yrange [*:*]
# Requests without an answer have no time: they stand at the upper edge.
set y2range [0:1]
if (ttft_max > 0 && (failed_alone || failed_shared)) {
	set yrange [*:10 ** ceil(log10(3 * ttft_max))]
}
# Dots are small, so that thousands of them stay apart; in the key they are not.
ttft_runs = ""
if (ttft_alone) {
	ttft_runs = ttft_runs . "ttft_csv using \"time_s\":\"ttft_alone_s\" with points" \
		. " pointtype p_alone pointsize dot(ttft_alone) linecolor rgb c_alone notitle," \
		. " keyentry with points pointtype p_alone pointsize key_dot linecolor rgb c_alone" \
		. " title run_alone, "
}
if (ttft_shared) {
	ttft_runs = ttft_runs . "ttft_csv using \"time_s\":\"ttft_shared_s\" with points" \
		. " pointtype p_shared pointsize 1.1 * dot(ttft_shared) linecolor rgb c_shared notitle," \
		. " keyentry with points pointtype p_shared pointsize 1.1 * key_dot linecolor rgb c_shared" \
		. " title run_shared, "
}
if (failed_alone) {
	ttft_runs = ttft_runs . "ttft_csv using \"time_s\":(0.91 * column(\"failed_alone\"))" \
		. " axes x1y2 with points pointtype 2 pointsize 0.9 linecolor rgb c_alone" \
		. sprintf(" title \"%d failed, %s\", ", failed_alone, word_alone)
}
if (failed_shared) {
	ttft_runs = ttft_runs . "ttft_csv using \"time_s\":(0.96 * column(\"failed_shared\"))" \
		. " axes x1y2 with points pointtype 2 pointsize 0.9 linecolor rgb c_shared" \
		. sprintf(" title \"%d failed, %s\", ", failed_shared, word_shared)
}
if (!ttft_alone && !ttft_shared) {
	set label 2 "no completed request" at graph 0.5,0.5 center textcolor rgb c_text
	set yrange [0.01:10]
}
if (slo_s > 0) {
	ttft_runs = ttft_runs . "slo_s with lines linewidth 1.6 dashtype 2 linecolor rgb \"black\"" \
		. sprintf(" title \"SLO: %g s\", ", slo_s)
}
eval "plot " . ttft_runs . "NaN notitle"
unset label 2
unset logscale y

# --- 3: GPU share -------------------------------------------------------------------------------

set tmargin at screen top(3)
set bmargin at screen bottom(3)
set label 1 "GPU time, " . word_shared . ", stacked"
set label 3 "share (%)" at screen label_x,middle(3)
set yrange [0:100]
set ytics 25
# Painted from the whole stack down to the first container.
stack(n) = 100 * (sum [j = 1:n] column(j + 1))
if (containers && share_known) {
	plot keyentry with boxes fillcolor rgb "white" fillstyle solid 1.0 border rgb "#888888" \
			title "idle or switching", \
		for [i = containers:1:-1] share_csv using "time_s":(stack(i)) with filledcurves y1=0 \
			linecolor rgb c_container[(i - 1) % 6 + 1] title columnheader(i + 1)
} else {
	no_share = containers ? "not known: measured on hardware" : "no container"
	set label 2 no_share at graph 0.5,0.5 center textcolor rgb c_text
	plot NaN notitle
}
unset label 2
set ytics autofreq

# --- 4: images ----------------------------------------------------------------------------------

set tmargin at screen top(4)
set bmargin at screen bottom(4)
set label 1 "Latency of each image" . (diffusion eq "" ? "" : " of " . diffusion) . ", by its end"
set label 3 "latency (s)" at screen label_x,middle(4)
set yrange [0:1<*]
set format x "%g"
set xlabel "time (s)" textcolor rgb c_text
image_runs = ""
if (images_alone) {
	image_runs = image_runs . "images_csv using \"time_s\":\"latency_alone_s\" with points" \
		. " pointtype p_alone pointsize dot(images_alone) linecolor rgb c_alone notitle," \
		. " keyentry with points pointtype p_alone pointsize key_dot linecolor rgb c_alone" \
		. " title run_alone, "
}
if (images_shared) {
	image_runs = image_runs . "images_csv using \"time_s\":\"latency_shared_s\" with points" \
		. " pointtype p_shared pointsize 1.1 * dot(images_shared) linecolor rgb c_shared notitle," \
		. " keyentry with points pointtype p_shared pointsize 1.1 * key_dot linecolor rgb c_shared" \
		. " title run_shared, "
}
if (image_runs eq "") {
	set label 2 "no image was completed" at graph 0.5,0.5 center textcolor rgb c_text
	set yrange [0:1]
}
eval "plot " . image_runs . "NaN notitle"

unset multiplot
set output
