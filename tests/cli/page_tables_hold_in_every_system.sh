#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# With GVMSIM_CHECK the simulated GPU compares its page tables with the driver's books, and with who
# owns each chunk, as it runs. Every system passes, with the same results. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

scenario=$source/scenarios/vllm-diffusion-40g.json

# check SYSTEM [ARGUMENT...]: runs with and without checks give the same results.
check() {
	system=$1
	shift
	for run in checked plain; do
		[ "$run" = plain ] || export GVMSIM_CHECK=50
		"$gvmsim" run "$scenario" --system "$system" --set duration=140s "$@" --quiet \
			--out "$run" || fail "$system $*: $run run failed"
		unset GVMSIM_CHECK
	done
	cmp checked/timeline.csv plain/timeline.csv || fail "$system $*: other results"
}

systems=$("$gvmsim" reference --words systems)
[ "$(echo "$systems" | wc -l)" -ge 13 ] || fail "too few systems"
for system in $systems; do
	check "$system"
done
check ghost --set system.mechanisms.clean_drop=true --set system.mechanisms.hint_faults=true
check ghost --set system.mechanisms.clean_drop=true --set system.mechanisms.lirs=true
for system in stock ghost ghost-uvm; do
	check "$system" --set system.mechanisms.sub_chunks=true
done
