#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A report's page in a browser: light is light and dark is dark, it is as wide as a laptop's and a telephone's
# window and no wider, and it is printed. With axe-core (its file in GVMSIM_AXE, or fetched by npm), no rule of
# WCAG 2.1 AA is broken. Pictures go to GVMSIM_SHOTS, if it is set. Exit code 77: there is no chromium.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
command -v chromium >/dev/null || exit 77
shots=${GVMSIM_SHOTS:-$work/.shots}
mkdir -p "$shots"

cat >.small.json <<'END'
{
	"title": "A page in a browser",
	"headline": [{"label": "ms a token", "figure": "prefill", "panel": "slope", "run": "40g"}],
	"sections": [{"title": "All kinds", "figures": ["prefill", "gvtg-scale", "gvtg-shares", "fault-breakdown", "memory-contention"]}]
}
END
"$gvmsim" report .small.json --out . >/dev/null 2>.err || fail "$(cat .err)"

# look NAME OPTIONS...: chromium on the page, in silence
look() {
	name=$1
	shift
	timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/.browser" \
		--allow-file-access-from-files "$@" >".$name.out" 2>".$name.err" || fail "chromium: $(tail -n 3 ".$name.err")"
}

# shot NAME SCHEME WIDTH: 0 is dark, 1 is light
shot() {
	look "$1" "--blink-settings=preferredColorScheme=$2" "--window-size=$3,900" "--screenshot=$shots/$1.png" "file://$work/report.html"
	[ -s "$shots/$1.png" ] || fail "no picture $1"
}
shot light 1 1280
shot dark 0 1280
shot narrow 1 500

# The share of light and of coloured points: a page that has not been drawn has neither bars nor texts.
cat >.points.py <<'END'
import struct
import sys
import zlib

data = open(sys.argv[1], "rb").read()
at, chunks = 8, b""
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at : at + 8])
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", data[at + 8 : at + 18])
    if kind == b"IDAT":
        chunks += data[at + 8 : at + 8 + length]
    at += length + 12
size = {2: 3, 6: 4}[colour]
raw, stride = zlib.decompress(chunks), width * size
lines, last = [], bytearray(stride)
for y in range(height):
    filtered, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
    for x in range(stride):
        a, b = line[x - size] if x >= size else 0, last[x]
        c = last[x - size] if x >= size else 0
        if filtered == 1:
            line[x] = (line[x] + a) & 255
        elif filtered == 2:
            line[x] = (line[x] + b) & 255
        elif filtered == 3:
            line[x] = (line[x] + (a + b) // 2) & 255
        elif filtered == 4:
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[x] = (line[x] + nearest) & 255
    lines.append(line)
    last = line
light = sum(sum(line[0::size]) for line in lines) / (255 * width * height)
points = [tuple(line[x : x + 3]) for line in lines[::4] for x in range(0, stride, 4 * size)]
coloured = sum(max(p) - min(p) > 60 for p in points) / len(points)
print(width, round(100 * light), round(1000 * coloured))
END
for name in light dark narrow; do
	python3 .points.py "$shots/$name.png" >".$name.points"
done
read -r width light coloured <.light.points
if [ "$width" != 1280 ] || [ "$light" -le 85 ] || [ "$coloured" -le 5 ]; then fail "light: $(cat .light.points)"; fi
read -r width light coloured <.dark.points
if [ "$light" -ge 30 ] || [ "$coloured" -le 5 ]; then fail "dark: $(cat .dark.points)"; fi

look print "--print-to-pdf=$shots/print.pdf" "file://$work/report.html"
[ "$(head -c 5 "$shots/print.pdf")" = %PDF- ] || fail "not printed"

# frame SCRIPT WIDTH: run a script over the page in a frame of that width; what it writes is the text of the body
frame() {
	cat >.frame.html <<-END
		<body><iframe id="f" src="report.html" style="width:$2px;height:1500px;border:0"></iframe><script>
		document.getElementById("f").onload = async (e) => {
			const page = e.target.contentWindow;
			$1
		};</script></body>
	END
	look frame --virtual-time-budget=20000 --dump-dom "file://$work/.frame.html"
}
for width in 1280 400; do
	frame 'document.body.textContent = "wide " + page.document.documentElement.scrollWidth;' $width
	grep -q "wide $width" .frame.out || fail "the page is not $width wide: $(grep -o 'wide [0-9]*' .frame.out)"
done

axe=${GVMSIM_AXE:-}
if [ -z "$axe" ] && command -v npm >/dev/null && npm install --prefix .npm --no-save --silent axe-core >/dev/null 2>&1; then
	axe=$work/.npm/node_modules/axe-core/axe.min.js
fi
if [ -s "$axe" ]; then
	cp "$axe" .axe.js
	sed 's#</body>#<script src=".axe.js"></script></body>#' report.html >.with.html
	mv .with.html report.html
	frame 'const found = await page.axe.run(page.document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]});
		document.body.textContent = "passes " + found.passes.length + " violations "
			+ found.violations.map((v) => v.id + ": " + v.nodes[0].html).join("; ") + " end";' 1280
	grep -q 'passes [1-9][0-9]* violations  *end' .frame.out || fail "axe: $(tr '\n' ' ' <.frame.out | grep -o 'violations.*end')"
else
	echo "axe-core is not here: its rules were not checked"
fi
