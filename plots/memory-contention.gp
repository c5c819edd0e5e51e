# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Memory of two processes over time, ours beside the published log. Run by "gvmsim figure
# memory-contention", which sets every variable that is used here and not set here. Columns are
# addressed by name; the file has curve after curve.

page_width = 1500
page_height = 1000
load style_file

c_ours = "#0072B2"
c_published = "#E69F00"

# --- What both panels have in common ------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set xrange [0:end_s]
set yrange [0:1.02 * memory_gib]
set ytics 10
set lmargin at screen 0.075
set rmargin at screen 0.975
set key at screen 0.975,0.995 right top Right samplen 2.4 spacing 1.2 textcolor rgb c_text
top(j) = 0.830 - j * 0.405
bottom(j) = top(j) - 0.325

headline = "GPU memory of two applications that want more than there is"
subline = scenario . " on " . gpu . ", system " . system . "; published: GVM paper, Figure 3"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set"
}

value_of(process, source) = strcol("process") eq process && strcol("source") eq source \
	? column("gib") : NaN

# Where a stage begins, as far as it is in the picture.
stage(x) = x > 0 && x < end_s
if (stage(diffusion_s)) {
	set arrow 1 from diffusion_s, graph 0 to diffusion_s, graph 1 nohead \
		linecolor rgb "#888888" dashtype 2 linewidth 1
}
if (stage(requests_s)) {
	set arrow 2 from requests_s, graph 0 to requests_s, graph 1 nohead \
		linecolor rgb "#888888" dashtype 2 linewidth 1
}

set multiplot
set label 10 headline at screen 0.075,0.962 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.075,0.925 left font font_subline textcolor rgb c_text
set label 12 "resident (GiB)" at screen 0.018,0.465 center rotate textcolor rgb c_text

process_names = "vLLM Diffusion"
array process_titles[2] = ["vLLM", "Diffusion"]
array process_notes[2] = [status_llm, status_diffusion]

do for [j = 0:1] {
	set tmargin at screen top(j)
	set bmargin at screen bottom(j)
	name = word(process_names, j + 1)
	note = process_notes[j + 1]
	set label 1 process_titles[j + 1] . (note eq "" ? "" : "   (ours: " . note . ")") \
		at graph 0,1.07 left font font_panel textcolor rgb c_text
	if (j == 0) {
		set format x ""
		if (stage(diffusion_s)) {
			set label 2 "diffusion starts" at diffusion_s, graph 0.06 left offset 0.5,0 \
				font font_note textcolor rgb c_text
		}
		if (stage(requests_s)) {
			set label 3 "requests come" at requests_s, graph 0.06 left offset 0.5,0 \
				font font_note textcolor rgb c_text
		}
	} else {
		set format x "%g"
		set xlabel "time (s)" textcolor rgb c_text
		unset key
	}
	plot NaN notitle, \
		numbers_csv using "time_s":(value_of(name, "published")) with lines linewidth 2.4 \
			linecolor rgb c_published title "published, measured", \
		numbers_csv using "time_s":(value_of(name, "ours")) with lines linewidth 1.6 \
			linecolor rgb c_ours title "ours, simulated"
	unset label
}

unset multiplot
set output
