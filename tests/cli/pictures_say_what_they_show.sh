#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A picture of another scenario has no published bars, and names containers that are not there. All containers
# of a type have curves, of colours of their own. Overrides are on the picture and above the table. A tick above a
# second is in seconds. Tables fit the terminal. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# shows FILE TEXT...: the picture has each text
shows() {
	file=$1
	shift
	for text in "$@"; do
		grep -qF ">$text<" "$file" || grep -qF "$text" "$file" || fail "$file: no '$text'"
	done
}

# Another scenario: two LLM servers, no diffusion.
"$gvmsim" figure isolation --scenario two-models-80g --set duration=25s --out other >.out 2>.err ||
	fail "isolation: $(cat .err)"
[ "$(cut -d, -f7 other/isolation.csv | sort -u | tr '\n' ' ')" = " published " ] ||
	fail "published values stand beside another scenario: $(cat other/isolation.csv)"
shows other/isolation.svg "no diffusion in this scenario" \
	"CHANGED, without published values: --scenario two-models-80g duration=25s" \
	"of several containers of type llm-server: llama"
head -n 1 .out | grep -qx "CHANGED, without published values: --scenario two-models-80g duration=25s" ||
	fail "the table does not say what was changed: $(head -n 1 .out)"
grep -q 'isolation.*: no run has a container or an application "diffusion"$' .err || fail "isolation: no note: $(cat .err)"
"$gvmsim" figure "$source/docs/what-if/consolidation.json" --set duration=2s --out sums >.out 2>.err || fail "sums: $(cat .err)"
! grep "no run has a container" .err || fail "a sum over all containers needs none of that name"
grep -q ">none<" other/isolation.svg && fail "a container that is not there completed nothing"

# The figure's own scenario: published values stay, and the picture names what was changed.
"$gvmsim" figure alone --set seed=3 --out own >.out 2>.err || fail "alone: $(cat .err)"
shows own/alone.svg "CHANGED, not the published set-up: seed=3"
[ "$(head -n 1 .out)" = "CHANGED, not the published set-up: seed=3" ] || fail "table: $(head -n 1 .out)"
[ "$(cut -d, -f7 own/alone.csv | sort -u | wc -l)" -gt 2 ] || fail "no published values"
shows own/alone.svg "vllm-diffusion-40g on a100-40g, vllm-diffusion-80g on a100-80g; published"

# A note below the panels is a line of whole sentences.
"$gvmsim" figure "$source/docs/what-if/page-or-kill.json" --out dead >.out 2>.err || fail "page-or-kill: $(cat .err)"
shows dead/page-or-kill.svg ">* A container of this run died: the others had the GPU to themselves."

# No text runs off the page: a long note is broken, and a key is as wide as its longest entry.
cat >.long.json <<'END'
{ "title": "t", "scenario": "eviction-order", "layout": {"columns": 1, "width": 900, "height": 500}, "notes": "NOTE",
  "runs": [ { "label": "SERIES", "system": "ghost", "points": [
	{ "x": 1, "set": { "seed": 1 } }, { "x": 2, "set": { "seed": 2 } } ] } ],
  "panels": [ { "key": "faults", "label": "faults", "title": "Faults", "layout": "lines",
	"x_label": "seed", "value": "first.faults" } ] }
END
note="words that go on and on until no line of the page beside the panel has room for any more of them"
sed -e "s/NOTE/$note/" -e "s/SERIES/a series whose name is longer than others/" .long.json >long.json
"$gvmsim" figure ./long.json --out long >.out 2>.err || fail "long: $(cat .err)"
python3 - long/long.svg <<'END' || fail "text runs off the page"
import re, sys
svg = open(sys.argv[1], encoding="utf-8").read()
width = float(re.search(r'viewBox="0 0 ([0-9.]+)', svg).group(1))
texts = re.findall(r'translate\(([0-9.]+),[^>]*font-size="([0-9.]+)"[^>]*text-anchor="start">\s*<text>(.*?)</text>', svg)
assert any("and on until" in t or "a series whose" in t for _, _, t in texts), texts
off = [t for x, size, t in texts if float(x) + 0.5 * float(size) * len(re.sub("<[^>]*>", "", t)) > width]
sys.exit(str(off) if off else 0)
END

# One key for all panels: a series has one name and one colour on the page, also in a panel of its own.
cat >key.json <<'END'
{ "title": "t", "scenario": "eviction-order",
  "runs": [
	{ "label": "first of two", "tick": "gvm", "system": "gvm", "points": [ { "x": 1 } ] },
	{ "label": "second of two", "tick": "ghost", "system": "ghost", "points": [ { "x": 1 } ] },
	{ "label": "alone", "tick": "ghost", "system": "ghost", "points": [ { "x": 2 } ] },
	{ "label": "other", "system": "stock", "points": [ { "x": 2 } ] } ],
  "panels": [
	{ "key": "a", "label": "a", "title": "A", "layout": "lines", "runs": [ "first of two", "second of two" ],
	  "x_label": "x", "value": "first.faults" },
	{ "key": "b", "label": "b", "title": "B", "layout": "lines", "runs": [ "alone", "other" ],
	  "x_label": "x", "value": "first.faults" } ] }
END
"$gvmsim" figure ./key.json --out key >.out 2>.err || fail "key: $(cat .err)"
for name in gvm ghost other; do
	[ "$(grep -c ">$name<" key/key.svg)" = 1 ] || fail "key.svg: '$name' is not in the key once"
done

# A value that the run only bounds is "> 12.3 s" on its bar and in the table; a line has no point there, and says so. Points
# with names have these on the axis. Titles of panels end before the next panel; a key does not lie over the head.
cat >bound.json <<'END'
{ "title": "A title of a page that is as long as the page is wide: it leaves no room beside it", "scenario": "memory-contention",
  "defaults": { "duration": "60s" }, "layout": { "columns": 3, "width": 1000, "height": 620 },
  "runs": [
	{ "label": "bar", "system": "stock" },
	{ "label": "line", "system": "stock", "points": [ { "x": 1, "tick": "one" }, { "x": 3, "tick": "three" } ] } ],
  "panels": [
	{ "key": "p99", "label": "P99", "title": "A panel's title of many words (ms)", "unit": "ms", "log": true, "runs": [ "bar" ],
	  "value": "vllm.ttft_ms.p99" },
	{ "key": "itl", "label": "GPU", "title": "The next panel has a title of many words (s)", "unit": "s", "log": true, "runs": [ "line" ],
	  "layout": "lines", "value": "vllm.gpu_seconds" },
	{ "key": "over", "label": "over x", "title": "P99 (ms)", "unit": "ms", "runs": [ "line" ],
	  "layout": "lines", "value": "vllm.ttft_ms.p99" } ] }
END
"$gvmsim" figure ./bound.json --out bound >.out 2>.err || fail "bound: $(cat .err)"
"$gvmsim" figure ./bound.json --set duration=10s --out short >.out.short 2>.err || fail "short: $(cat .err)"
[ "$(head -n 1 .out.short)" = "CHANGED: duration=10s" ] || fail "no published set-up: $(head -n 1 .out.short)"
grep -qE "bar +> [0-9.]+ ms" .out || fail "the table has no bound: $(cat .out)"
grep -qE "^  three" .out || fail "the table has no name of a point: $(cat .out)"
grep -qE ">&gt; [0-9.]+ s ?<|>> [0-9.]+ s ?<" bound/bound.svg || fail "no bound on the bar: $(grep '<text>' bound/bound.svg)"
[ "$(head -1 bound/bound.csv | tr ',' '\n' | tail -3 | head -1)" = ours_at_least ] || fail "$(head -1 bound/bound.csv)"
grep -qE "^p99,bar,,,ms,,,,,,0,[0-9.]+,,$" bound/bound.csv || fail "no bound in the file: $(cat bound/bound.csv)"
shows bound/bound.svg "Not drawn: points of which" "three"
python3 - bound/bound.svg <<'END' || fail "texts of a head lie over each other"
import re, sys
svg = open(sys.argv[1], encoding="utf-8").read()
texts = re.findall(r'translate\(([0-9.]+),([0-9.]+)\)[^>]*font-size="([0-9.]+)"[^>]*text-anchor="start">\s*<text>(.*?)</text>', svg)
boxes = [(float(x), float(y), 0.52 * float(size) * len(re.sub("<[^>]*>", "", t)), t) for x, y, size, t in texts]
assert len(boxes) > 3, texts
for x, y, width, text in boxes:
    for x2, y2, _, text2 in boxes:
        assert not (abs(y - y2) < 8 and x < x2 < x + width), (text, text2)
END

# A stack may stand behind another panel and without published values. A number below 0 is told. A headline that
# is too long is cut. Curves of several runs have a key, and their axis has a unit.
cat >odd.json <<'END'
{ "title": "HEADLINE", "scenario": "eviction-order",
  "runs": [ { "label": "gvm", "system": "gvm" }, { "label": "ghost", "system": "ghost" } ],
  "panels": [
	{ "key": "below", "title": "Below 0", "value": { "subtract": [ { "multiply": [ "first.faults", 0 ] }, 3.5 ] } },
	{ "key": "huge", "title": "Huge", "layout": "table", "value": 1e300 },
	{ "key": "stack", "title": "Stack", "layout": "stacked", "runs": [ "gvm" ], "parts": [
		{ "key": "low", "label": "low part", "value": 1 }, { "key": "high", "label": "high part", "value": 2 } ] },
	{ "key": "other", "title": "Other", "layout": "stacked", "runs": [ "gvm" ], "parts": [
		{ "key": "low", "label": "low part", "value": 1 }, { "key": "high", "label": "other part", "value": 2 } ] } ] }
END
sed -i "s/HEADLINE/$note $note/" odd.json
"$gvmsim" figure ./odd.json --out odd >.out 2>.err || fail "odd: $(cat .err)"
grep -q "^  gvm  *1e+300" .out || fail "a huge number fills the table: $(cat .out)"
shows odd/odd.svg "-3.50" "low part" "high part" "other part" "..."
[ "$(grep -c '>low part<' odd/odd.svg)" = 1 ] || fail "a part is in the key twice"
grep -q ">published" odd/odd.svg && fail "a published bar without published values"
cat >curves.json <<'END'
{ "title": "t", "scenario": "eviction-order",
  "runs": [ { "label": "gvm", "system": "gvm" }, { "label": "ghost", "system": "ghost" } ],
  "panels": [ { "key": "memory", "title": "Memory", "layout": "time",
	"curves": [ { "container": "first", "file": "timeline", "y": "resident_bytes" } ] } ] }
END
"$gvmsim" figure ./curves.json --out curves >.out 2>.err || fail "curves: $(cat .err)"
shows curves/curves.svg "time (s)" ">gvm<" ">ghost<"

# Without a key and notes the panels have the whole page. Names below bars do not overlap: a long word is smaller.
cat >names.json <<'END'
{ "title": "t", "subtitle": "a line of words that is nearly as long as the page is wide, with no room for a key beside it",
  "scenario": "eviction-order", "layout": {"columns": 3, "width": 1300, "height": 520}, "runs": [
	{ "label": "a", "tick": "beside,\none", "system": "gvm" }, { "label": "b", "tick": "beside,\ntwo", "system": "gvm" },
	{ "label": "c", "tick": "uninterrupted", "system": "gvm" }, { "label": "d", "tick": "uninterruptible", "system": "gvm" } ],
  "panels": [ { "key": "a", "title": "A", "value": "first.faults" }, { "key": "b", "title": "B", "value": "first.faults" },
	{ "key": "c", "title": "C", "value": "first.faults" } ] }
END
"$gvmsim" figure ./names.json --out names >.out 2>.err || fail "names: $(cat .err)"
python3 - names/names.svg <<'END' || fail "names below bars"
import re, sys
svg = open(sys.argv[1], encoding="utf-8").read()
texts = re.findall(r'translate\(([0-9.]+),([0-9.]+)\)[^>]*font-size="([0-9.]+)"[^>]*text-anchor="middle">\s*<text>(.*?)</text>', svg)
names = [(float(x), float(y), 0.5 * float(size) * len(t)) for x, y, size, t in texts if re.match("beside|uninter", t)]
assert len(names) == 12, texts
assert max(x for x, _, _ in names) > 1100, "the page has an empty side"
for x, y, width in names:
    for x2, y2, width2 in names:
        assert x2 <= x or abs(y - y2) > 5 or x + width / 2 <= x2 - width2 / 2, (x, x2, width, width2)
END

# A sweep's series are lines, also if there are several: rows of one interrupted those of another.
cat >lines.json <<'END'
{ "scenario": "eviction-order", "metrics": ["first.faults"],
  "grid": { "containers.first.gmem.limit.high": ["16M", "24M", "32M"], "system.name": ["gvm", "ghost"] },
  "plots": [ { "type": "line", "x": "containers.first.gmem.limit.high", "y": "first.faults", "series": "system.name" } ] }
END
"$gvmsim" sweep lines.json --out lines >.out 2>.err || fail "lines: $(cat .err)"
python3 - lines/lines-1.svg <<'END' || fail "a series has no line"
import re, sys
svg = open(sys.argv[1], encoding="utf-8").read()
for colour in (r"213,\s*94,\s*0", r"0,\s*114,\s*178"):
    paths = re.findall(r"<path stroke='rgb\(\s*%s\)'\s+d='([^']*)'" % colour, svg)
    # A piece that is drawn, "L", from one point to the next.
    points = [re.findall(r"([ML])([0-9.]+),", path) for path in paths]
    assert any(b[0] == "L" and abs(float(b[1]) - float(a[1])) > 300 for p in points for a, b in zip(p, p[1:])), paths
END

# A series that has no value at all is in the key and says so, and gnuplot says nothing. An application as a value of a
# key is its words.
cat >apps.json <<'END'
{ "scenario": "vllm-diffusion-40g", "set": {"duration": "90s"}, "metrics": ["vllm.ttft_ms.p99"],
  "grid": { "containers.diffusion.app": [{"type": "diffusion", "profile": "sd3.5-medium"},
		{"type": "phases", "profile": "lora-llama-3.2-3b"}],
	"containers.vllm.start": ["70s", "89s"] },
  "plots": [ { "type": "line", "x": "containers.diffusion.app", "y": "vllm.ttft_ms.p99", "series": "containers.vllm.start" } ] }
END
"$gvmsim" sweep apps.json --out apps >.out 2>.err || fail "apps: $(cat .err)"
[ "$(grep -c '  89s  *> [0-9]' .out)" = 2 ] || fail "at 89 s there are bounds only: $(cat .out)"
grep -q warning .err && fail "gnuplot's words: $(cat .err)"
shows apps/apps-1.svg "vllm.start = 70s" "vllm.start = 89s: no value" "diffusion sd3.5-medium" "phases lora-llama-3.2-3b"
python3 - apps/apps-1.svg <<'END' || fail "the key runs off the page"
import re, sys
svg = open(sys.argv[1], encoding="utf-8").read()
page = float(re.search(r'viewBox="0 0 ([0-9.]+)', svg).group(1))
keys = re.findall(r'translate\(([0-9.]+),[^>]*font-size="([0-9.]+)"[^>]*>\s*<text>(vllm.start = .*?)</text>', svg)
assert len(keys) == 2 and all(float(x) + 0.5 * float(size) * len(text) < page for x, size, text in keys), (page, keys)
END
grep -Eq '^1 +diffusion sd3.5-medium +70s ' .out || fail "the table: $(cat .out)"
grep -q '^1,,runs/[0-9a-f]*,,"{""type"":""diffusion"",' apps/sweep.csv || fail "sweep.csv: $(cut -c 1-160 apps/sweep.csv)"

# Bars of several parts and several runs have both names, and a colour for each run.
cat >parts.json <<'END'
{ "title": "t", "scenario": "eviction-order", "runs": [ { "label": "ours", "system": "gvm" }, { "label": "theirs", "system": "stock" } ],
  "panels": [ { "key": "a", "title": "A", "colour_by_run": true, "parts": [ { "key": "in", "value": "first.bytes_h2d" },
	{ "key": "faults", "value": "first.faults" } ] } ] }
END
"$gvmsim" figure ./parts.json --out parts >.out 2>.err || fail "parts: $(cat .err)"
for name in ours theirs in faults; do
	[ "$(grep -c "<text>$name<" parts/parts.svg)" = 2 ] || fail "$name is below two bars"
done
python3 - parts/parts.svg <<'END' || fail "colours of bars"
import re, sys
svg = open(sys.argv[1], encoding="utf-8").read()
fills = re.findall(r"<polygon fill = 'rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)'", svg)
bars = [fill for fill in fills if fill not in (("255", "255", "255"), ("0", "0", "0"))]
assert len(bars) >= 4 and len(set(bars[:4])) == 2 and bars[0] == bars[1] and bars[2] == bars[3], fills
END

# Two containers of one type: a curve each, and no colour twice.
"$gvmsim" run two-models-80g --set duration=25s --system stock --quiet --out one
"$gvmsim" run two-models-80g --set duration=25s --system ghost --quiet --out two \
	--set containers.llama.app.slo_ttft=3s --set gpu.memory=70G
"$gvmsim" figure alone-vs-shared one two --out two-of-a-type >.out 2>.err || fail "$(cat .err)"
picture=two-of-a-type/alone-vs-shared.svg
shows $picture "in flight, alone: llama" "in flight, alone: qwen" "in flight, shared: llama" \
	"in flight, shared: qwen" "containers.llama.app.slo_ttft: 5s | 3s" "gpu.memory: "
colours=$(sed -n '/Load of the LLM server/,/Time to first token/p' $picture | grep -o 'rgb([^)]*)' | tr -d ' ' | sort -u)
for colour in "rgb(0,114,178)" "rgb(213,94,0)" "rgb(0,158,115)" "rgb(204,121,167)"; do
	echo "$colours" | grep -qF "$colour" || fail "four curves lack the colour $colour: $colours"
done

# A time axis in ms has ticks in seconds where bars have labels in seconds.
for tick in "1 s" "100"; do
	grep -qE ">(<tspan[^>]*>)? *$tick ?<" own/alone.svg other/isolation.svg || fail "no tick $tick"
done
grep -qE "> *(1000|10000|100000) ?<" own/alone.svg other/isolation.svg && fail "a tick of thousands of ms"

# Overrides stand above the table, which fits the terminal.
COLUMNS=60 "$gvmsim" run two-models-80g --set duration=5s --set seed=4 --system ghost --out table >.out
head -2 .out | tail -1 | grep -qx "  with duration=5s" || fail "$(head -4 .out)"
sed -n '/^ /,/^gpu0/p' .out | grep -v '^gpu0' | awk 'length > 60' | grep . && fail "lines above 60"
[ "$(grep -c '^application' .out)" -eq 2 ] || fail "the table was not split: $(cat .out)"
COLUMNS=200 "$gvmsim" run two-models-80g --set duration=5s --system ghost --out table >.out
[ "$(grep -c '^application' .out)" -eq 1 ] || fail "the table was split at 200 columns"
