#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A figure is one data file: a user's own file is drawn, a file in plots/figures is listed and drawn, and
# mistakes in it are one line with file and key. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

cat >.mine.json <<'END'
{
	"title": "Images by system",
	"scenario": "vllm-diffusion-40g",
	"defaults": {"duration": "30s", "containers.vllm.enabled": false},
	"runs": [
		{"label": "stock", "system": "stock"},
		{"label": "half", "system": "ghost", "set": {"containers.diffusion.gmem.limit.high": "10G"}}
	],
	"panels": [
		{"key": "images", "value": "diffusion.images", "unit": "images", "digits": 0, "over": "stock"},
		{"key": "moved", "parts": [
			{"key": "in", "value": {"divide": ["*.bytes_h2d", 1e9]}},
			{"key": "both", "value": {"divide": [{"add": ["*.bytes_h2d", "*.bytes_d2h"]}, 1e9]}},
			{"key": "none", "value": "llm-server.ttft_ms.p50"}
		], "unit": "GB"}
	]
}
END

# A file of the user's, by its path.
"$gvmsim" figure .mine.json --out out >.table 2>.err || fail "own file: $(cat .err)"
grep -q "^gvmsim: made 2 of 2 runs" .err || fail "own file: $(cat .err)"
[ "$(ls -A out | tr '\n' ' ')" = ".mine.csv .mine.png .mine.svg " ] ||
	fail "own file: $(ls -A out)"
[ "$(tail -n 1 .table)" = out/.mine.png ] || fail "own file: $(cat .table)"
images() {
	jq -r "select(.system == \"$1\") | .containers.diffusion.$2" results/cache/*/summary.json
}
for system in stock ghost; do
	label=$system
	[ "$system" = stock ] || label=half
	count=$(images $system images)
	[ "$count" -gt 0 ] || fail "no images: $(cat out/.mine.csv)"
	grep -q "^images,$label,,,images,$count,,,,,0,,,$" out/.mine.csv || fail "$(cat out/.mine.csv)"
	in=$(images $system bytes_h2d) both=$(($(images $system bytes_h2d) + $(images $system bytes_d2h)))
	grep -q "^moved,$label,,in,GB,$(awk "BEGIN { printf \"%.12g\", $in / 1e9 }")," out/.mine.csv ||
		fail "bytes in: $(cat out/.mine.csv)"
	grep -q "^moved,$label,,both,GB,$(awk "BEGIN { printf \"%.12g\", $both / 1e9 }")," out/.mine.csv ||
		fail "bytes both: $(cat out/.mine.csv)"
	grep -q "^moved,$label,,none,GB,,,,,,0,,,$" out/.mine.csv || fail "none: $(cat out/.mine.csv)"
done
grep -q "^  half  *[0-9]* images  *[0-9.]*$" .table || fail "no ratio: $(cat .table)"
"$gvmsim" figure ./.mine.json --help >.help 2>.err || fail "help: $(cat .err)"
grep -q "Images by system" .help || fail "help: $(cat .help)"

# wrong PATTERN JQ_FILTER: the file with this change is one line of mistake, and nothing is run
wrong() {
	jq "$2" .mine.json >.wrong.json
	expect 2 "^gvmsim: .wrong.json:$1" figure .wrong.json --out none
	[ ! -e none ] || fail "$2: wrote something"
}
# A single bar: gnuplot crashed on it.
jq '.runs = [.runs[0]] | .panels = [.panels[0]]' .mine.json >.one.json
"$gvmsim" figure .one.json --out one >/dev/null 2>.err || fail "one bar: $(cat .err)"
[ -s one/.one.png ] && [ -s one/.one.svg ] || fail "one bar is not drawn"

# Published values of a file beside the figure, which is not replaced.
printf 'bar,value\nstock,1\nhalf,2\n' >.own.csv
jq '.panels = [.panels[0]] | .reference = {"file": "./.own.csv", "run": "bar", "published": "value"}' \
	.mine.json >.own.json
mkdir elsewhere
(cd elsewhere && "$gvmsim" figure ../.own.json --out out >.table 2>.err) || fail "own values: $(cat elsewhere/.err)"
grep -q '^images,half,,,images,[0-9]*,2,' elsewhere/out/.own.csv || fail "own values: $(cat elsewhere/out/.own.csv)"
expect 2 '^gvmsim: ./.own.csv: has the published values of .own.json, which the figure.s numbers would replace' \
	figure .own.json --out .
[ "$(cat .own.csv)" = "$(printf 'bar,value\nstock,1\nhalf,2')" ] || fail "own values: $(cat .own.csv)"
jq '.reference.file = "./none.csv"' .own.json >.wrong.json
expect 2 '^gvmsim: .wrong.json: there is no file ./none.csv$' figure .wrong.json --out none
rm -rf elsewhere

# A number that no run has is named, with one that is near.
jq '.panels[0].value = {"add": ["diffusion.images", "diffusion.fautls"]}' .mine.json >.unknown.json
"$gvmsim" figure .unknown.json --out none >.out 2>.err && fail "a number that no run has: $(cat .out)"
tail -n 1 .err | grep -qF '.unknown.json:panels[0].value: no run has the number "diffusion.fautls", did you mean "diffusion.faults"?' ||
	fail "a number that no run has: $(cat .err)"
[ ! -s .out ] && [ ! -e none ] || fail "a number that no run has: wrote $(ls none) $(cat .out)"

rm -rf results out one
wrong "runs\[1\].label: \"stock\" is the name of two runs" '.runs[1].label = "stock"'
jq '.runs[1].system = "gost"' .mine.json >.wrong.json
expect 2 '^gvmsim: figure .wrong, run half: --set:system.name: "gost" is not known, did you mean "ghost"' figure .wrong.json --out none
# So it is where the user sets another key. A mistake of the user is none of the figure's.
expect 2 '^gvmsim: figure .wrong, run half: --set:system.name: "gost" is not known' \
	figure .wrong.json --out none --set duration=1s
jq '.runs[1].set."policy.file" = "none.json"' .mine.json >.wrong.json
expect 2 '^gvmsim: figure .wrong, run half: --set:policy.file: no file "none.json"' figure .wrong.json --out none --set duration=1s
expect 2 '^gvmsim: --set:durtion: unknown key' figure .mine.json --out none --set durtion=1s
wrong "colour: unknown key, allowed: title, " '.colour = 1'
wrong "panels\[1\].parts\[0\].valu: unknown key, did you mean \"value\"?" '.panels[1].parts[0].valu = 1'
wrong "title: is missing" 'del(.title)'
wrong "runs: is missing" 'del(.runs)'
wrong "runs\[0\]: has no scenario" 'del(.scenario)'
wrong "runs\[1\].label: has a comma" '.runs[1].label = "a,b"'
wrong "panels\[0\].layout: is not known, allowed: bars, stacked, lines, time, table" '.panels[0].layout = "pie"'
wrong "panels\[0\].value: is not a path" '.panels[0].value = "images"'
wrong "panels\[0\].value: is not an expression" '.panels[0].value = {"root": 2}'
wrong "panels\[1\].parts\[0\].value.divide: is wrong" '.panels[1].parts[0].value.divide = [1]'
wrong "panels\[0\].value.run: no run has this" '.panels[0].value = {"of": "diffusion.images", "run": "none"}'
wrong "panels\[0\].over: no run has the label \"none\"" '.panels[0].over = "none"'
wrong "panels\[0\].value: is given together with parts" '.panels[0].parts = .panels[1].parts'
wrong "layout.columns: is out of range" '.layout.columns = 0'
wrong "reference: .* file" '.reference = 3'
expect 2 "nothing.json: cannot be read" figure nothing.json
printf '{ "title": ' >.wrong.json
expect 2 ".wrong.json:[0-9]*:" figure .wrong.json
jq '.reference = {"file": "ablation.csv", "panel": "key", "published": "value"}' .mine.json >.wrong.json
expect 2 \
	"ablation.csv:[0-9]*: no value of the figure .wrong.json has this row's keys" figure .wrong.json
jq '.scenario = "no-such"' .mine.json >.wrong.json
expect 2 "no-such: no such scenario" figure .wrong.json
expect_nothing_written

# A new file in plots/figures: it is in the list, in the help, and can be drawn by its name.
DESTDIR="$work" cmake --install "$(dirname "$gvmsim")" --prefix /usr >/dev/null
installed=$work/usr/bin/gvmsim
cp .mine.json usr/share/gvmsim/plots/figures/mine.json
"$installed" figure --help >.help || fail "help"
grep -q "^  mine  *Images by system$" .help || fail "not in the list: $(cat .help)"
for file in usr/share/gvmsim/plots/figures/*.json; do
	name=$(basename "$file" .json)
	grep -q "^  $name  *[A-Za-z]" .help || fail "not in the list: $name"
	"$installed" figure "$name" --help | grep -q "^Usage: gvmsim figure $name" || fail "no help: $name"
done
"$installed" figure mine --out out >.table 2>.err || fail "by name: $(cat .err)"
[ "$(tail -n 1 .table)" = out/mine.png ] || fail "by name: $(cat .table)"
