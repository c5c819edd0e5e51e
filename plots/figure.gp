# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A figure: a page of panels. Run by "gvmsim figure", which sets every variable that is used here and
# not set here (sim/figures/draw.c). A panel is drawn by the script of its layout: bars.gp, stacked.gp,
# lines.gp or time.gp. All numbers come from CSV files whose columns are addressed by name.

load scripts . "/style.gp"

# --- The page, in pixels from the upper left corner -----------------------------------------------

left_px = 20
top_px = changes eq "" ? 112 : 136
has_bars = 0; has_stacked = 0; has_lines = 0; has_time = 0
has_x_label = 0; has_y_label = 0; has_published = 0; has_named = 0
# A page of panels over time whose file names no axis says what it is.
time_named = 0
do for [p = 1:panels] {
	time_named = time_named || (value(sprintf("layout_%d", p)) eq "time" && value(sprintf("xlabel_%d", p)) ne "")
}
xlabel_of(p) = !time_named && value(sprintf("layout_%d", p)) eq "time" ? "time (s)" : value(sprintf("xlabel_%d", p))
do for [p = 1:panels] {
	layout = value(sprintf("layout_%d", p))
	has_bars = has_bars || layout eq "bars"
	has_stacked = has_stacked || layout eq "stacked"
	has_lines = has_lines || layout eq "lines"
	has_time = has_time || layout eq "time"
	has_x_label = has_x_label || xlabel_of(p) ne ""
	has_y_label = has_y_label || value(sprintf("ylabel_%d", p)) ne ""
	has_named = has_named || (layout eq "lines" && value(sprintf("named_%d", p)))
	has_published = has_published || value(sprintf("published_%d", p))
}
char_px = 0.58 * size * px_of_size # of the widest usual text
columns = panels < columns ? panels : columns
rows = (panels + columns - 1) / columns
# The key stands in a free place of the grid, at the right, or above the panels.
free_place = rows * columns > panels
simple_key = !has_stacked && !has_lines
# Above the panels it must not meet the head: then it stands at the right.
head_px(text, scale) = strlen(text) * scale * 0.52 * size * px_of_size + left_px + 74
simple_key = simple_key && head_px(headline, 1.5) < page_width - 260 && head_px(subline, 1.08) < page_width - 260
# A page without a key and notes has no place for them.
no_key = !has_stacked && !has_lines && !has_published && !key_containers && !has_time && notes eq "" && !any_failed && !any_bounded
key_place = no_key ? "none" : own_keys ? "panels" : free_place ? "place" : simple_key ? "top" : "side"
# A key at the right is as wide as its longest entry, "SERIES, published" or what published values are called.
side_chars = 0
do for [s = 1:key_series] {
	chars = strlen(value(sprintf("key_series_%d", s))) + (value(sprintf("key_published_%d", s)) ? strlen(word_key) + 2 : has_published ? 6 : 0)
	side_chars = chars > side_chars ? chars : side_chars
}
side_px = key_place eq "side" ? (side_chars * char_px + 80 > 300 ? side_chars * char_px + 80 : 300) : key_place eq "panels" ? (key_chars * 10 > 270 ? key_chars * 10 + 60 : 330) : 0
notes_below = key_place eq "top" || key_place eq "panels"
if (any_failed) {
	notes = (notes eq "" ? "" : notes . "\n") . "* A container of this run died: the others had the" \
		. (notes_below ? " " : "\n") . "GPU to themselves."
}
if (any_bounded) {
	notes = (notes eq "" ? "" : notes . "\n") . "Not drawn: points of which the run tells only a lower bound."
}
notes_px = notes_below && notes ne "" ? 40 : 0
place_width = (page_width - left_px - 10 - side_px) / (1.0 * columns)
place_height = (page_height - top_px - 8 - notes_px) / (1.0 * rows)
column_of(p) = across ? (p - 1) % columns : (p - 1) / rows
row_of(p) = across ? (p - 1) / columns : (p - 1) % rows
left_of(p) = (left_px + column_of(p) * place_width + (has_y_label ? 104.0 : 74.0)) / page_width
right_of(p) = (left_px + (column_of(p) + 1) * place_width - 26.0) / page_width
top_of(p) = 1 - (top_px + row_of(p) * place_height + 44.0) / page_height
bottom_of(p) = 1 - (top_px + (row_of(p) + 1) * place_height - (has_x_label ? 78.0 : 54.0)) \
	/ page_height

# --- What all panels have in common ---------------------------------------------------------------

set border 3 linecolor rgb c_text linewidth 0.8
set tics nomirror scale 0.6 textcolor rgb c_text
set grid ytics linecolor rgb "#E4E6EA" linewidth 0.8 linetype 1
set style fill solid 1.0 noborder
unset key

# A number in at most four digits, a count without decimals; long times in milliseconds become seconds.
number(x) = unit eq "ms" && x >= 99995 ? sprintf("%.0f s", x / 1000) \
	: unit eq "ms" && x >= 9999.5 ? sprintf("%.1f s", x / 1000) \
	: unit eq "ms" && x >= 999.5 ? sprintf("%.2f s", x / 1000) \
	: x >= 9999500 ? sprintf("%.3g", x) : x >= 9999.5 ? sprintf("%.1fk", x / 1000) \
	: x >= 99.95 || (is_count && x == floor(x)) || x == 0 ? sprintf("%.0f", x) : x >= 9.995 ? sprintf("%.1f", x) \
	: x >= 0.0995 ? sprintf("%.2f", x) : x >= 0.00995 ? sprintf("%.3f", x) : x >= 0.000095 ? sprintf("%.2g", x) : "0.00"
of_panel(name) = strcol("panel") eq key && strcol(name) ne "" ? column(name) : NaN

# Text of the head that is too long for the page ends in "...".
fits(text, scale) = strlen(text) * scale * 0.56 * size * px_of_size < page_width - 2 * left_px ? text \
	: text[1:int((page_width - 2 * left_px) / (scale * 0.56 * size * px_of_size)) - 3] . "..."
headline = fits(headline, 1.5)
subline = fits(subline, 1.08)
changes = fits(changes, 0.92)
# The text of a tick: times above a second are in seconds, as on the bars. Beside them, others have a unit, too.
tick(x) = unit eq "ms" && x >= 1000 ? sprintf("%g s", x / 1000) : unit eq "ms" && (is_log ? 2 : 1.12) * high >= 1000 && x > 0 ? sprintf("%g ms", x) \
	: x >= 1e7 ? sprintf("%g", x) : x >= 10000 ? sprintf("%gk", x / 1000) : sprintf("%g", x)
# Titles of panels have one size on a page, at which the longest ends before the next panel begins.
title_chars = 1
do for [p = 1:panels] {
	chars = strlen(value(sprintf("title_%d", p))) + (value(sprintf("log_%d", p)) ? 8 : 0)
	title_chars = chars > title_chars ? chars : title_chars
}
title_size = (place_width - 8) / (0.56 * px_of_size * title_chars)
font_panel = title_size < int(1.15 * size) ? sprintf(",%.2f", title_size) : font_panel

# --- The panels -----------------------------------------------------------------------------------

set multiplot
set label 10 headline at screen left_of(1),1 - 38.0 / page_height left font font_headline \
	textcolor rgb "black"
set label 11 subline at screen left_of(1),1 - 76.0 / page_height left font font_subline \
	textcolor rgb c_text
set label 12 changes at screen left_of(1),1 - 102.0 / page_height left font font_note \
	textcolor rgb c_text
do for [p = 1:panels] {
	set lmargin at screen left_of(p)
	set rmargin at screen right_of(p)
	set tmargin at screen top_of(p)
	set bmargin at screen bottom_of(p)
	key = value(sprintf("key_%d", p))
	unit = value(sprintf("unit_%d", p))
	is_count = unit ne "ms" && unit ne "x" && unit ne "s" && unit ne "%" && unit ne "GB" && unit ne "GiB"
	low = value(sprintf("low_%d", p))
	high = value(sprintf("high_%d", p))
	is_log = value(sprintf("log_%d", p))
	set label 1 value(sprintf("title_%d", p)) . (is_log ? "   [log]" : "") \
		at graph 0,1.0 left offset 0,1.1 font font_panel textcolor rgb c_text
	set xlabel xlabel_of(p) offset 0,0.3 font (columns > 2 ? font_number : font_text) \
		textcolor rgb c_text
	# At the same distance from all axes, whatever the width of their numbers.
	set label 4 value(sprintf("ylabel_%d", p)) at screen left_of(p) - 84.0 / page_width, \
		screen (top_of(p) + bottom_of(p)) / 2 center rotate textcolor rgb c_text
	unset logscale
	set format x "%g"
	set format y "%g"
	set xtics autofreq scale 0.6
	set ytics autofreq
	if (is_log) {
		# Half a decade of room below the shortest bar, so that it is one.
		set logscale y
		floor_y = high > 0 ? low / 2.5 : 1
		set yrange [floor_y:high > 0 ? 2 * high : 10]
		# An axis of hardly a decade needs numbers at its parts, too.
		parts = value(sprintf("layout_%d", p)) eq "time" ? 0 : high > 0 && high < 20 * low ? 3 : 1
		if (parts) { set ytics () }
		do for [decade = -3:8] {
			do for [part = 1:parts] {
				at = 10.0**decade * (part == 1 ? 1 : part == 2 ? 2 : 5)
				if (at >= floor_y && at <= 2 * high) { set ytics add (tick(at) at) }
			}
		}
		if (parts && !(high > 0)) { set ytics (1, 10) }
	} else {
		floor_y = 0
		set yrange [0:high > 0 ? 1.12 * high : 1]
		if (high >= (unit eq "ms" ? 1000 : 10000)) {
			# About five steps of 1, 2 or 5.
			step = 10.0**floor(log10(high / 5))
			step = high / 5 / step >= 5 ? 5 * step : high / 5 / step >= 2 ? 2 * step : step
			set ytics ()
			do for [i = 0:12] {
				if (i * step <= 1.12 * high) { set ytics add (tick(i * step) i * step) }
			}
		}
	}
	load scripts . "/" . value(sprintf("layout_%d", p)) . ".gp"
	unset label
	unset arrow
	unset key
}

# --- What the colours mean, and notes -------------------------------------------------------------

unset logscale
unset border
unset tics
unset grid
unset xlabel
set xrange [0:1]
set yrange [0:1]
key_left = key_place eq "place" ? left_of(panels + 1) : 1 - (side_px - 6.0) / page_width
key_top = key_place eq "place" ? top_of(panels + 1) : top_of(1)
key_rows = 0
key_plot = "NaN notitle"
if (key_place ne "panels") {
	set lmargin at screen 0
	set rmargin at screen 1
	set tmargin at screen 1
	set bmargin at screen 0
	if (has_bars || has_time) {
		shape = has_bars ? "boxes" : "lines linewidth 2.4"
		if (has_bars && has_published || has_time && !key_containers) {
			key_plot = key_plot . ", keyentry with " . shape . " linecolor rgb c_ours title \"ours, simulated\"" \
				. ", keyentry with " . shape . " linecolor rgb c_published title word_published"
			key_rows = key_rows + 2
		}
	}
	do for [i = 1:key_containers] {
		key_plot = key_plot . sprintf(", keyentry with lines linewidth 2.4 linecolor rgb c_run[%d] title key_container_%d", \
			(int(value(sprintf("key_colour_%d", i))) - 1) % 8 + 1, i)
		key_rows = key_rows + 1
	}
	if (has_stacked) {
		# The parts of all stacks, once each.
		listed = "|"
		do for [p = 1:panels] {
			stack = value(sprintf("layout_%d", p)) eq "stacked" ? value(sprintf("parts_%d", p)) : 0
			do for [i = stack:1:-1] {
				part_label = value(sprintf("part_label_%d_%d", p, i))
				if (!strstrt(listed, sprintf("|%d:%s|", i, part_label))) {
					listed = listed . sprintf("%d:%s|", i, part_label)
					key_plot = key_plot . sprintf(", keyentry with boxes linecolor rgb c_part[%d] title part_label_%d_%d", \
						i, p, i)
					key_rows = key_rows + 1
				}
			}
		}
	}
	if (has_lines) {
		do for [s = 1:key_series] {
			if (value(sprintf("key_ours_%d", s))) {
				key_plot = key_plot . ", keyentry with " . (has_named ? "points" : sprintf("linespoints linewidth 2 dashtype %d", s > 6 ? 2 : 1)) \
					. sprintf(" pointtype p_filled[%d] linecolor rgb c_series[%d]", colour_of(s), colour_of(s)) \
					. sprintf(" title key_series_%d", s) . (has_published ? " . \", ours\"" : "")
				key_rows = key_rows + 1
			}
		}
		do for [s = 1:key_series] {
			if (value(sprintf("key_published_%d", s))) {
				key_plot = key_plot . sprintf(", keyentry with points linewidth 1.6 pointtype p_open[%d]", colour_of(s)) \
					. sprintf(" pointsize 1.7 * point_size linecolor rgb c_series[%d]", colour_of(s)) \
					. sprintf(" title key_series_%d . \", \" . word_key", s)
				key_rows = key_rows + 1
			}
		}
	}
	if (key_place eq "top") {
		set key at screen 1 - 20.0 / page_width,1 - 18.0 / page_height right top Right samplen 2 \
			spacing 1.3 textcolor rgb c_text
	} else {
		set key at screen key_left,key_top left top Left reverse samplen 2 spacing 1.35 \
			textcolor rgb c_text
	}
}
if (notes_below) {
	# One line, if they are not too many.
	do for [i = 1:strlen(notes)] {
		if (notes[i:i] eq "\n") {
			notes = notes[1:i - 1] . (notes[i - 1:i - 1] eq "." ? " " : "; ") . notes[i + 1:*]
		}
	}
	set label 20 notes at screen left_of(1),18.0 / page_height left font font_number \
		textcolor rgb c_text
} else {
	# A line that is wider than the place is broken between words.
	note_px = key_place eq "place" ? place_width - 70 : side_px - 10
	note_chars = int(note_px / (0.85 * char_px))
	line_start = 1; blank = 0
	do for [i = 1:strlen(notes)] {
		letter = notes[i:i]
		if (letter eq "\n") { line_start = i + 1; blank = 0 }
		if (letter eq " ") { blank = i }
		if (i - line_start >= note_chars && blank) {
			notes = notes[1:blank - 1] . "\n" . notes[blank + 1:*]
			line_start = blank + 1; blank = 0
		}
	}
	set label 20 notes at screen key_left + 4.0 / page_width,key_top - (40.0 + 26 * key_rows) / page_height \
		left font font_number textcolor rgb c_text
}
eval "plot " . key_plot

unset multiplot
set output
