#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The comparison: a table, CSV files, and pictures whose path is the last line. Also for runs
# without requests, images or containers. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# draw NAME: compare the folders alone and shared; gnuplot must print no warning
draw() {
	"$gvmsim" figure alone-vs-shared alone shared --out "$1" >.out 2>.err ||
		fail "$1: $(cat .err)"
	[ ! -s .err ] || fail "$1: $(cat .err)"
	[ "$(tail -n 1 .out)" = "$1/alone-vs-shared.png" ] || fail "$1: $(tail -n 1 .out)"
	[ "$(dd if="$1/alone-vs-shared.png" bs=1 skip=1 count=3 2>/dev/null)" = PNG ] ||
		fail "$1: no picture"
	grep -q "</svg>" "$1/alone-vs-shared.svg" || fail "$1: no SVG"
	[ "$(ls "$1" | wc -l)" -eq 4 ] || fail "$1: files: $(ls "$1")"
	grep -q "^container,metric,unit,alone,shared,shared_over_alone$" \
		"$1/alone-vs-shared.csv" || fail "$1: no header"
}

"$gvmsim" run "$scenario" --set duration=90s --quiet --system exclusive --out alone
"$gvmsim" run "$scenario" --set duration=90s --quiet --system stock --out shared
draw figures
grep -q "TTFT p99 .* ms .* ms" .out || fail "no TTFT in the table: $(cat .out)"
grep -q "^vllm,ttft_ms.p99,ms,[0-9]" figures/alone-vs-shared.csv || fail "no TTFT in the file"
cp figures/alone-vs-shared.csv .first
draw "a 'quoted\" \`name\` \$x"
cmp .first "a 'quoted\" \`name\` \$x/alone-vs-shared.csv" || fail "differs"

# First no diffusion in the run alone; then none in both, and hardly any time.
"$gvmsim" run "$scenario" --set duration=90s --quiet --system exclusive --out alone \
	--set containers.diffusion.enabled=false
draw half
grep -q "^diffusion,images,count,,[0-9]*,$" half/alone-vs-shared.csv || fail "half: images"
for folder in alone shared; do
	"$gvmsim" run "$scenario" --set duration=1s --quiet --out "$folder" \
		--set containers.diffusion.enabled=false
done
draw nothing
for folder in alone shared; do
	"$gvmsim" run "$scenario" --set duration=20s --quiet --out "$folder" \
		--set containers.vllm.enabled=false
done
draw images

# Without gnuplot: one line, and the numbers are kept.
mkdir empty
status=0
PATH=$work/empty "$gvmsim" figure alone-vs-shared alone shared --out bare >.out 2>.err || status=$?
[ "$status" -eq 1 ] || fail "without gnuplot: exit code $status"
[ "$(wc -l <.err)" -eq 1 ] || fail "without gnuplot: $(cat .err)"
grep -q "gnuplot: cannot be started: No such file or directory; .*gnuplot-nox" .err ||
	fail "without gnuplot: $(cat .err)"
[ "$(ls bare | wc -l)" -eq 2 ] || fail "without gnuplot: files: $(ls bare)"

rm shared/requests.csv
expect 2 "shared/requests.csv: cannot be read" figure alone-vs-shared alone shared --out none
[ ! -e none ] || fail "a mistake wrote something"
