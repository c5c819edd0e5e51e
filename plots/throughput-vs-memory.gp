# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Throughput of diffusion over its memory: lines of ours, points of the published ones. Run by
# "gvmsim figure throughput-vs-memory", which sets every variable that is used here and not set
# here. Columns are addressed by name; the file has curve after curve.

page_width = 1280
page_height = 880
load style_file

systems = "ghost gvm stock"
array c_system[3] = ["#009E73", "#0072B2", "#D55E00"]
array p_ours[3] = [5, 7, 9]       # filled square, circle, triangle
array p_published[3] = [4, 6, 8]  # the same, open
size_ours = terminal eq "svg" ? 0.8 : 1.2
size_published = 1.7 * size_ours

# --- The picture --------------------------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set lmargin at screen 0.085
set rmargin at screen 0.965
set tmargin at screen 0.865
set bmargin at screen 0.095
set xrange [5:103]
set xtics 10
set format x "%g %%"
set yrange [0:1.05 * high]
set xlabel sprintf("memory, of a working set of %.2f GiB", working_set_gib) textcolor rgb c_text
set ylabel "throughput, 1 is without a limit" textcolor rgb c_text
set key at graph 0.985,0.03 right bottom Left reverse samplen 2.4 spacing 1.3 textcolor rgb c_text

subline = scenario . " on " . gpu . ", diffusion alone; published: GVM paper, Figure 17"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set"
}
set label 10 "Diffusion with less and less memory" at screen 0.085,0.955 left font font_headline \
	textcolor rgb "black"
set label 11 subline at screen 0.085,0.910 left font font_subline textcolor rgb c_text

# A number of a curve; other curves' rows and empty cells are none.
here(i, name) = strcol("system") eq word(systems, i) && strcol(name) ne "" ? column(name) : NaN

plot for [i = 1:3] numbers_csv using "memory_percent":(here(i, "ours")) with linespoints \
		linewidth 2 pointtype p_ours[i] pointsize size_ours linecolor rgb c_system[i] \
		title word(systems, i) . ", ours, simulated", \
	for [i = 2:3] numbers_csv using "memory_percent":(here(i, "published")) with points \
		linewidth 1.6 pointtype p_published[i] pointsize size_published \
		linecolor rgb c_system[i] title word(systems, i) . ", published, measured"

set output
