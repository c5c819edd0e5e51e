#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A container that has filled its gmem.limit.high and its hmem.limit dies at its next page; the
# others do not notice. The published driver has no hmem.limit and says so.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

run() {
	out=$1
	shift
	"$gvmsim" run vllm-diffusion-40g --quiet --out "$out" --set duration=90s "$@" >.out 2>.err ||
		fail "$out: $(cat .err)"
}

run ample --system ghost --set containers.diffusion.hmem.limit=20e9
run scarce --system ghost --set containers.diffusion.hmem.limit=4e9
run gvm --system gvm --set containers.diffusion.hmem.limit=4e9

status() {
	jq -r ".containers.$2.status" "$1/summary.json"
}

[ "$(status ample diffusion)" = ok ] || fail "with room on the host: $(status ample diffusion)"
case $(status scarce diffusion) in
"context died at "*) ;;
*) fail "without room on the host: $(status scarce diffusion)" ;;
esac
[ "$(status scarce vllm)" = ok ] || fail "the other one: $(status scarce vllm)"
jq -e '.containers.diffusion.gmem_events | .hmem > 0 and .oom > 0' scarce/summary.json >.out ||
	fail "gmem.events does not count it"
jq -e '.containers.vllm.gmem_events | .hmem == 0 and .oom == 0' scarce/summary.json >.out ||
	fail "gmem.events counts it of the other one"
most=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
	NR > 1 && $column["container"] == "diffusion" && $column["swapped_bytes"] > most {
		most = $column["swapped_bytes"]
	}
	END { printf "%.0f\n", most }' scarce/timeline.csv)
[ "$most" -gt 3900000000 ] && [ "$most" -le 4000000000 ] || fail "swapped $most B of 4e9"
jq -e '.ignored_keys | index("containers.diffusion.hmem.limit")' gvm/summary.json >.out ||
	fail "gvm does not say that it ignores hmem.limit"
[ "$(status gvm diffusion)" = ok ] || fail "gvm: $(status gvm diffusion)"
