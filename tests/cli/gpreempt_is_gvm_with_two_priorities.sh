#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gpreempt is the GVM driver with priorities 0 and 15 and without memory limits, to the byte; the
# scenario's limits are listed as ignored. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# run OUT OPTIONS...: memory under pressure, from the server's start on
run() {
	out=$1
	shift
	"$gvmsim" run vllm-diffusion-40g --quiet --out "$out" --set duration=50s \
		--set containers.vllm.start=20s "$@" 2>.err || fail "$out: $(cat .err)"
}

for paging in true false; do
	run preempt --system gpreempt --set system.mechanisms.fast_paging=$paging
	run gvm --system gvm --set system.mechanisms.fast_paging=$paging \
		--set containers.vllm.compute.priority=0 --set containers.diffusion.compute.priority=15 \
		--set containers.vllm.gmem.limit.high=max --set containers.diffusion.gmem.limit.high=max
	for file in requests.csv timeline.csv; do
		cmp "preempt/$file" "gvm/$file" || fail "$file of gpreempt is not that of gvm"
	done
	cp preempt/timeline.csv ".timeline-$paging"
done
cmp -s .timeline-true .timeline-false && fail "fast_paging does nothing"

# Priorities say who is first, also under the other systems with two classes.
for system in gpreempt tgs xsched; do
	run preempt --system $system
	[ "$(jq -c '.ignored_keys | sort' preempt/summary.json)" = \
		'["containers.diffusion.gmem.limit.high","containers.vllm.gmem.limit.high"]' ] ||
		fail "$system ignores $(jq -c .ignored_keys preempt/summary.json)"
done
run preempt --system gpreempt

# The scenario says which container is important. Events do not change it.
run turned --system gpreempt --set containers.vllm.compute.priority=11 \
	--set 'events=[{"at": "21s", "container": "vllm", "file": "compute.priority", "value": 0}]'
cmp -s preempt/timeline.csv turned/timeline.csv && fail "the other one is first, and nothing changes"
jq -e '.ignored_keys | index("events.0.file")' turned/summary.json >/dev/null ||
	fail "event: $(jq -c .ignored_keys turned/summary.json)"
