#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Measures simulated seconds per wall second, best of three: for the runs of vllm-diffusion, and for
# a run whose link is never idle, and a million launches of guardian. The machine may be busy with other things: compare rows of one
# run of this script, and not its runs with each other.
set -eu

gvmsim=$1
scenarios=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# summary_value FILE KEY: a number at the top level of a summary.json
summary_value() {
	sed -n "s/^  \"$2\": \([0-9.e+-]*\),*\$/\1/p" "$1"
}

printf '%-22s %-10s %10s %10s %12s\n' scenario system 'sim s' 'wall s' 'sim s/wall s'
measure() {
	best=
	for _ in 1 2 3; do
		"$gvmsim" run "$scenarios/$1.json" --system "$2" --quiet --out "$work"
		wall=$(summary_value "$work/summary.json" wall_seconds)
		if [ -z "$best" ] || [ "$(printf '%s\n%s\n' "$wall" "$best" | sort -g | head -n 1)" = "$wall" ]; then
			best=$wall
			sim=$(summary_value "$work/summary.json" sim_seconds)
			speedup=$(summary_value "$work/summary.json" speedup)
		fi
	done
	printf '%-22s %-10s %10.1f %10.3f %12.0f\n' "$1" "$2" "$sim" "$best" "$speedup"
}

measure vllm-diffusion-40g exclusive
measure vllm-diffusion-40g stock
measure vllm-diffusion-40g gpreempt
measure vllm-diffusion-40g gvm
measure vllm-diffusion-40g ghost
measure vllm-diffusion-80g exclusive
measure vllm-diffusion-80g stock
measure vllm-diffusion-80g gpreempt

# link_use SCENARIO: the bytes that the link moved from 5 s on, in percent of what the profile allows
# in both directions together
link_use() {
	"$gvmsim" run "$scenarios/$1.json" --quiet --out "$work"
	both=$(sed -n 's/^ *"bandwidth_both": \([0-9]*\),*$/\1/p' "$work/config.json")
	awk -F, -v both="$both" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$1 <= 5e9 { from = $1; next }
		{ bytes += $column["h2d_bytes"] + $column["d2h_bytes"]; to = $1 }
		END { printf "%.2f", 100 * bytes / ((to - from) / 1e9 * both) }' "$work/timeline.csv"
}

measure saturation ghost
printf '\nLink of saturation under ghost, both directions: %s %% of what the profile allows\n' \
	"$(link_use saturation)"

# launches MODE: more than a million kernels of 1 us, each launched by itself
launches() {
	"$gvmsim" run "$scenarios/guardian-fence.json" --set "system.mode=$1" --set duration=5s \
		--set containers.tenant.app.kernel_time=1us --set containers.tenant.app.kernel_launch=3us \
		--quiet --out "$work"
	awk -v mode="$1" '
		/"wall_seconds"/ { wall = $2 + 0 }
		/"ended"/ { ended = $2 + 0 }
		END { printf "%-8s %10d launches, %6.0f ns each, %6.0f ns of wall time\n", mode, ended,
			5e9 / ended, 1e9 * wall / ended }' "$work/summary.json"
}

printf '\nLaunches of guardian, one kernel each:\n'
for mode in none noprot fence; do
	launches "$mode"
done
