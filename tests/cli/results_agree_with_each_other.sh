#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# summary.json, timeline.csv and requests.csv tell one story, also of an odd duration and of a
# container that dies: sums of the intervals are the totals, the last row is the end.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# column CONTAINER COLUMN: one column of the container's timeline, by its name
column() {
	awk -F, -v container="$1" -v name="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		NR > 1 && $column["container"] == container { print $column[name] }' out/timeline.csv
}

sum() {
	column "$1" "$2" | awk '{ total += $1 } END { printf "%.0f\n", total }'
}

value() {
	jq -r ".containers.$1.$2" out/summary.json
}

same() {
	[ "$2" = "$3" ] || fail "$1: timeline $2, summary $3"
}

check() {
	"$gvmsim" run "$@" --quiet --out out 2>.err || fail "$* failed"
	for name in vllm diffusion; do
		same "$name h2d" "$(sum $name h2d_bytes)" "$(value $name bytes_h2d)"
		same "$name busy" "$(sum $name gpu_busy_ns)" \
			"$(value $name gpu_seconds | awk '{ printf "%.0f\n", 1e9 * $1 }')"
		same "$name memory" "$(column $name resident_bytes | tail -n 1)" \
			"$(value $name gmem.current)"
	done
	same "vllm completed" "$(grep -c ',request,.*,completed$' out/requests.csv || true)" \
		"$(value vllm requests.completed)"
	same "vllm arrived" "$(grep -c ',request,' out/requests.csv || true)" \
		"$(value vllm requests.arrived)"
	same "images" "$(grep -c ',image,.*,completed$' out/requests.csv || true)" \
		"$(value diffusion images)"
}

check "$scenario" --set duration=67.123456789s
check "$scenario" --system exclusive --set duration=50ms
check vllm-diffusion-40g --system ghost --set duration=70s --set containers.vllm.gmem.limit.high=1M
[ "$(value vllm requests.completed)" -eq 0 ] || fail "a dead server completed requests"
[ "$(value vllm slo_attainment)" = 0 ] || [ "$(value vllm slo_attainment)" = 0.0 ] ||
	fail "SLO of a dead server: $(value vllm slo_attainment)"
