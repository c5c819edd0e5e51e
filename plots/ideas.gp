# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Bars of six statistics, one for each idea. Run by "gvmsim figure ideas", which sets every variable
# that is used here and not set here. Rows of the file are panel by panel, five bars each; columns
# are addressed by name.

page_width = 1720
page_height = 1000
load style_file

c_ghost = 0x999999
c_idea = 0x0072B2
c_all = 0x009E73
bars = 5

# --- What all panels have in common -------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set xrange [-0.6:bars - 0.4]
set xtics scale 0 font font_number
set xtics ("Ghost" 0, "clean\ndrop" 1, "priority\nbatches" 2, "hint\nfaults" 3, "all\nthree" 4)
set boxwidth 0.66
set style fill solid 1.0 noborder
unset key

# Three columns of panels, two rows.
left(i) = 0.055 + i * 0.325
right(i) = left(i) + 0.277
top(j) = 0.838 - j * 0.450
bottom(j) = top(j) - 0.325

# The bar's place in its panel, its value if it belongs to the panel and has one, and its colour.
place(i) = int(i) % bars
ours(panel) = strcol("panel") eq panel && strcol("ours") ne "" ? column("ours") : NaN
missing(panel) = strcol("panel") eq panel && strcol("ours") eq ""
colour(i) = place(i) == 0 ? c_ghost : place(i) == bars - 1 ? c_all : c_idea

number(x) = x >= 9999.5 ? sprintf("%.1fk", x / 1000) \
	: x >= 99.95 ? sprintf("%.0f", x) : sprintf("%.1f", x)

set multiplot
headline = "Three ideas beyond the papers: what each brings to Ghost alone, and all of them"
subline = scenario . " on " . gpu . ", simulated: nothing of this has been measured; times to first token on logarithmic axes"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set"
}
set label 10 headline at screen 0.055,0.960 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.055,0.922 left font font_subline textcolor rgb c_text

panel_keys = "image_s.mean ttft_ms.p50 ttft_ms.p99 itl_ms.p99 in_gib out_gib"
array panel_title[6] = ["Diffusion: mean image latency (s)", \
	"vLLM: median time to first token (ms)", "vLLM: P99 time to first token (ms)", \
	"vLLM: P99 inter-token latency (ms)", "Copied from host to device (GiB)", \
	"Copied from device to host (GiB)"]

do for [i = 1:6] {
	set lmargin at screen left((i - 1) % 3)
	set rmargin at screen right((i - 1) % 3)
	set tmargin at screen top((i - 1) / 3)
	set bmargin at screen bottom((i - 1) / 3)
	set label 1 panel_title[i] at graph 0,1.095 left font font_panel textcolor rgb c_text
	low = value(sprintf("low_%d", i))
	high = value(sprintf("high_%d", i))
	if (i == 2 || i == 3) {
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
	} else {
		unset logscale y
		set format y "%g"
		set ytics autofreq
		floor_y = 0
		set yrange [0:high > 0 ? 1.12 * high : 1]
	}
	panel = word(panel_keys, i)
	plot numbers_csv using (place($0)):(ours(panel)):(colour($0)) with boxes \
			linecolor rgb variable, \
		numbers_csv using (place($0)):(ours(panel)):(number(ours(panel))) with labels \
			center offset 0,0.6 font font_number textcolor rgb c_text, \
		numbers_csv using (place($0)):(missing(panel) ? floor_y : NaN):("none") \
			with labels center offset 0,0.6 font font_number textcolor rgb c_text
	unset label 10
	unset label 11
}
unset multiplot
set output
