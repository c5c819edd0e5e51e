#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Measures the cost of a simulated second with 2 to 64 containers, for each scheduler. The containers
# always have work and never page. Prints the wall time of a simulated second in us, and this time
# divided by the number of containers, best of three. The number of switches and looks does not
# depend on the containers, but each of them looks at every container. So the cost is linear in
# containers once it outweighs the fixed cost of a run.
set -eu

gvmsim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Print a scenario of $1 containers. Their kernels of 1 ms come in rounds of a second.
scenario() {
	printf '{"name": "containers", "duration": "60s", "gpu": {"profile": "a100-40g"}, "containers": {'
	i=0
	while [ "$i" -lt "$1" ]; do
		[ "$i" -eq 0 ] || printf ','
		printf '"t%d": {"app": {"type": "pages", "bytes": "2M", "on_host": false,' "$i"
		printf '"kernels": 1024, "kernel_blocks": 1, "kernel_time": "1ms"},'
		printf '"compute.priority": %d, "compute.weight": %d}' $((i % 2 + 9)) $((i % 4 + 1))
		i=$((i + 1))
	done
	printf '}}\n'
}

printf '\n%-12s %-10s %10s %16s %12s\n' scheduler tracking containers 'us/simulated s' 'us each'
measure() {
	for containers in 2 4 8 16 32 64; do
		scenario "$containers" >"$work/containers.json"
		for _ in 1 2 3; do
			"$gvmsim" run "$work/containers.json" --system gvm --quiet --out "$work/out" \
				--set "system.scheduler=$1" --set "system.tracking=$2"
			sed -n 's/^  "wall_seconds": \([0-9.e+-]*\),*$/\1/p' "$work/out/summary.json"
		done | sort -g | head -n 1 | awk -v scheduler="$1" -v tracking="$2" -v n="$containers" '{
			us = $1 / 60 * 1e6
			printf "%-12s %-10s %10d %16.0f %12.1f\n", scheduler, tracking, n, us, us / n
		}'
	done
}

measure timeslices events
measure priority events
measure weighted events
measure weighted busy_bits
