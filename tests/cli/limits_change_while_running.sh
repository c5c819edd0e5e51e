#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Limits that are written in the middle of a run hold from then on, and the container lives on.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# most FROM TO: the most memory that diffusion had between two dates, in bytes
most() {
	awk -F, -v from="$1" -v to="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		NR > 1 && $column["container"] == "diffusion" && $1 >= from * 1e9 && $1 <= to * 1e9 {
			if ($column["resident_bytes"] > most) most = $column["resident_bytes"]
		}
		END { printf "%.0f\n", most }' out/timeline.csv
}

event() {
	echo "{\"at\": \"$1\", \"container\": \"diffusion\", \"file\": \"$2\", \"value\": \"$3\"}"
}

run() {
	"$gvmsim" run vllm-diffusion-40g --system "$1" --quiet --out out --set duration=50s \
		--set containers.vllm.enabled=false --set containers.diffusion.start=1s \
		--set "events=[$(event 500ms gmem.limit.high 1M), $(event 2s memory.limit max), \
			$(event 30s gmem.limit.high 4e9), $(event 40s gmem.limit.high 5e9)]" \
		2>.err || fail "$1: $(cat .err)"
}

# The published driver may exceed a limit by 65 chunks; ghost never exceeds it.
for system in ghost:0 gvm:136314880; do
	over=${system#*:}
	run "${system%:*}"
	[ "$(most 20 29)" -gt 20000000000 ] || fail "$system: the first limit was not lifted"
	[ "$(most 33 39)" -le $((4000000000 + over)) ] || fail "$system: $(most 33 39) B of 4e9"
	[ "$(most 41 49)" -le $((5000000000 + over)) ] || fail "$system: $(most 41 50) B of 5e9"
	[ "$(most 45 50)" -gt 4500000000 ] || fail "$system: the raised limit is not used"
	[ "$(jq -r .containers.diffusion.status out/summary.json)" = ok ] || fail "$system: died"
	# A write before the container starts is reported in one line.
	[ "$(wc -l <.err)" -eq 1 ] || fail "$system: $(cat .err)"
	grep -q "note: events.0: container diffusion is not running at 0.500 s, gmem.limit.high is not written" \
		.err || fail "$system: $(cat .err)"
done
