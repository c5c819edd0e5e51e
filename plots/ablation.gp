# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Bars of five statistics, ours beside the published ones. Run by "gvmsim figure ablation", which
# sets every variable that is used here and not set here. Rows of the file are panel by panel,
# five bars each; columns are addressed by name.

page_width = 1720
page_height = 1000
load style_file

c_ours = "#0072B2"
c_published = "#E69F00"
bars = 5
width = 0.38
apart = 0.055 # numbers stand a little further out than their bars

# --- What all panels have in common -------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set xrange [-0.6:bars - 0.4]
set xtics scale 0 font font_number
bar_names = "UVM +MemIso +ComIso +SwapOpt Ghost"
failed(i) = value(sprintf("failed_%d", i))
set xtics () # as a list, and empty
do for [i = 1:bars] {
	set xtics add (word(bar_names, i) . (failed(i) ? " *" : "") i - 1)
}
set boxwidth width
set style fill solid 1.0 noborder
unset key

# Three columns of panels, two rows.
left(i) = 0.055 + i * 0.325
right(i) = left(i) + 0.277
top(j) = 0.838 - j * 0.450
bottom(j) = top(j) - 0.325

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
headline = "GVM's mechanisms one after the other, and Ghost: vLLM beside diffusion"
subline = scenario . " on " . gpu . "; published: GVM paper, Figure 14; latencies on logarithmic axes"
if (changed) {
	subline = subline . ".  CHANGED by --scenario or --set: not the published set-up"
}
set label 10 headline at screen 0.055,0.960 left font font_headline textcolor rgb "black"
set label 11 subline at screen 0.055,0.922 left font font_subline textcolor rgb c_text

panel_keys = "ttft_ms.p50 itl_ms.p50 throughput ttft_ms.p99 itl_ms.p99"
array panel_index[5] = [1, 3, 5, 2, 4]
array panel_title[5] = ["vLLM: median time to first token (ms)", \
	"vLLM: median inter-token latency (ms)", \
	"Diffusion: throughput, 1 is that of UVM", \
	"vLLM: P99 time to first token (ms)", "vLLM: P99 inter-token latency (ms)"]

do for [i = 1:5] {
	set lmargin at screen left((i - 1) % 3)
	set rmargin at screen right((i - 1) % 3)
	set tmargin at screen top((i - 1) / 3)
	set bmargin at screen bottom((i - 1) / 3)
	set label 1 panel_title[i] at graph 0,1.095 left font font_panel textcolor rgb c_text
	low = value(sprintf("low_%d", panel_index[i]))
	high = value(sprintf("high_%d", panel_index[i]))
	if (i == 3) {
		unset logscale y
		set format y "%g"
		set ytics autofreq
		floor_y = 0
		set yrange [0:high > 0 ? 1.12 * high : 1]
		eval draw(word(panel_keys, i), "plain")
	} else {
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
		eval draw(word(panel_keys, i), "number")
	}
	unset label 10
	unset label 11
}

# --- The sixth place: what the colours are ------------------------------------------------------

set lmargin at screen left(2)
set rmargin at screen right(2)
set tmargin at screen top(1)
set bmargin at screen bottom(1)
unset label 1
unset logscale y
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key at graph 0.0,1.0 left top Left reverse samplen 2 spacing 1.35 textcolor rgb c_text
any_failed = sum [i = 1:bars] failed(i)
set label 20 "UVM: the stock driver\n+MemIso: gvm, memory isolation only\n" \
	. "+ComIso: with compute isolation, too\n+SwapOpt: with fast paging, too\n" \
	. "Ghost: not in the published figure\n\"none\": no value, the container" \
	. "\nfailed or completed nothing." \
	. (any_failed ? "\n* A container of this run died: the other one\nhad the GPU to itself, and its bars are of that." : "") at graph 0.015,0.68 left font font_number \
	textcolor rgb c_text
plot NaN notitle, keyentry with boxes linecolor rgb c_ours title "ours, simulated", \
	keyentry with boxes linecolor rgb c_published title "published, measured"

unset multiplot
set output
