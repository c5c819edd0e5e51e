#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Without any control file gvmcollect runs, names the missing files once, and still records when each
# process was there. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/collect.inc"

sleep 60 &
process=$!
collect --root /nowhere/at/all --interval 10ms --container "vllm=$process" \
	--container "late=$nobody" --out hw --duration 300ms --system stock
wait_for "vllm: appeared, process $process"
kill "$process"
wait "$process" || true
wait_for "vllm: gone"
finish 0
[ "$(wc -l <.notes)" -eq 2 ] || fail "notes: $(cat .notes)"
for file in gmem.limit.high gmem.limit.low gmem.current gmem.peak gmem.events gmem.swap.current \
	gmem.clean.current hmem.limit compute.timeslice compute.priority compute.weight compute.freeze \
	gcgroup.stat; do
	grep -q "note: /nowhere/at/all: No such file .* missing .* $file" .notes ||
		fail "$file is not told: $(cat .notes)"
done
grep -q "note: late: no process $nobody yet" .notes || fail "late: $(cat .notes)"
[ "$(sed 1d hw/timeline.csv | cut -d, -f3- | sort -u)" = ",,,,,,,,,,,,," ] ||
	fail "made up: $(cat hw/timeline.csv)"
jq -e '.complete and .sim_seconds == 0.3 and .system == "stock"
	and .containers.late.status == "never appeared"
	and .containers.vllm.gmem == { "current": null, "mean": null, "peak": null, "swap": null }' \
	hw/summary.json >/dev/null || fail "$(cat hw/summary.json)"
jq -e '(.notes | length) == 2 and .containers.vllm.command == "sleep"
	and .containers.vllm.last_sample_ns > 0 and .containers.late.first_sample_ns == null' \
	hw/config.json >/dev/null || fail "$(cat hw/config.json)"

# No value is known, so none is written.
"$gvmcollect" sample --root /nowhere/at/all --duration 30ms --interval 10ms --quiet --out empty \
	>.news 2>.notes || fail "nothing: $(cat .notes)"
[ ! -s .news ] || fail "is not quiet"
[ "$(wc -l <empty/timeline.csv)" -eq 1 ] || fail "rows of nobody"
