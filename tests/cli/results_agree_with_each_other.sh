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

# seconds WHAT NAME COLUMN KEY: nanoseconds of the timeline, seconds of the summary
seconds() {
	same "$2 $1" "$(sum "$2" "$3")" "$(value "$2" "$4" | awk '{ printf "%.0f\n", 1e9 * $1 }')"
}

# times_of NAME: the sum of compute, CPU, copies and others' faults is no more than the run
times_of() {
	seconds compute "$1" gpu_busy_ns gpu_seconds
	seconds CPU "$1" stall_cpu_ns stall_cpu_seconds
	seconds d2h "$1" stall_d2h_ns stall_d2h_seconds
	seconds h2d "$1" stall_h2d_ns stall_h2d_seconds
	seconds blocked "$1" blocked_ns blocked_seconds
	jq -e --arg name "$1" '. as $run | .containers[$name] |
		(.stall_cpu_seconds + .stall_d2h_seconds + .stall_h2d_seconds - .stall_seconds |
			fabs) < 1e-8 and
		.gpu_seconds + .stall_seconds + .blocked_seconds <= $run.sim_seconds + 1e-8' \
		out/summary.json >/dev/null || fail "$1: times do not add up"
}

# printed LABEL KEY: a line of the table's "where the time went"
printed() {
	line=$(jq -r --arg key "$2" '[.sim_seconds as $run | .containers[] | .[$key] |
		., 100 * . / $run] | @tsv' out/summary.json |
		awk '{ for (i = 1; i <= NF; i += 2) printf " %.3f s %.2f %%", $i, $(i + 1) }')
	sed -n '/^where the time went$/,$p' .out | tr -s ' ' | grep -q -x -F " $1$line" ||
		fail "the table has no line \"$1$line\": $(cat .out)"
}

check() {
	"$gvmsim" run "$@" --out out >.out 2>.err || fail "$* failed"
	printed compute gpu_seconds
	printed "CPU fault handling" stall_cpu_seconds
	printed "device-to-host copies" stall_d2h_seconds
	printed "host-to-device copies" stall_h2d_seconds
	printed "faults of others" blocked_seconds
	for name in vllm diffusion; do
		same "$name h2d" "$(sum $name h2d_bytes)" "$(value $name bytes_h2d)"
		same "$name d2h" "$(sum $name d2h_bytes)" "$(value $name bytes_d2h)"
		same "$name evictions" "$(sum $name evictions)" "$(value $name evictions)"
		same "$name swap" "$(column $name swapped_bytes | tail -n 1)" \
			"$(value $name gmem.swap)"
		times_of $name
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

check "$scenario" --set duration=77.123456789s
check "$scenario" --system exclusive --set duration=50ms
check vllm-diffusion-40g --system ghost --set duration=80s --set containers.vllm.gmem.limit.high=1M
[ "$(value vllm requests.completed)" -eq 0 ] || fail "a dead server completed requests"
[ "$(value vllm slo_attainment)" = 0 ] || [ "$(value vllm slo_attainment)" = 0.0 ] ||
	fail "SLO of a dead server: $(value vllm slo_attainment)"
