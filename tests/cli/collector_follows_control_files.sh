#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvmcollect watches control files that change, until the process has gone; the folder has their
# contents, and nothing else. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/collect.inc"

# Settings are read before usage, so a sample with a new setting has no older usage.
put_all
mkdir hw
touch hw/evictions.csv hw/activity.csv hw/policy.csv.zst hw/timeline.pftrace hw/timeline.csv.zst # of a simulation, before
echo '{ "config_hash": "0", "version": "0.1.0" }' >hw/summary.json
collect --root "$tree" --interval 10ms --container "vllm=$nobody" --out hw
wait_for "vllm: appeared, process $nobody"
put gmem.current 6291456
put gmem.limit.high 6000000000
wait_for "vllm: gmem.limit.high is 6000000000"
put gmem.current 2097152
put gmem.swap.current 4194304
put gmem.peak 9000000
put gcgroup.stat "nr_submitted_kernels: 30\nnr_ended_kernels: 21\nnr_pending_kernels: 9"
put compute.priority 2
wait_for "vllm: compute.priority is 2"
rm -r "$tree/${nobody:?}"
finish 0
wait_for "vllm: gone"
[ "$(cat .notes)" = "gvmcollect: note: hw: replaces earlier results; --out DIR keeps both" ] ||
	fail "notes: $(cat .notes)"
[ "$(ls hw | tr '\n' ' ')" = \
	"config.json controls.csv requests.csv summary.json timeline.csv " ] ||
	fail "files: $(ls hw)"

# Dates of rows are multiples of the interval. Fields that no driver reports are empty.
awk -F, '
	NR == 1 { next }
	NF != 16 { print "fields: " $0; exit 1 }
	$1 % 10000000 || $1 <= last { print "date: " $0; exit 1 }
	{ last = $1 }
	$2 != "vllm" { print "who: " $0; exit 1 }
	{ for (i = 5; i < 16; i++) if ($i != "") { print "made up: " $0; exit 1 } }
' hw/timeline.csv || fail "timeline.csv"
for values in 4194304,0,5 6291456,0,5 2097152,4194304,9; do
	grep -q "^[0-9]*,vllm,${values%,*},,,,,,,,,,,,${values##*,}$" hw/timeline.csv ||
		fail "no row of $values: $(cat hw/timeline.csv)"
done

# Control files: their first values, then each change.
cut -d, -f2- hw/controls.csv >.controls
grep -q "^vllm,gmem.events,high 3 hmem 0 oom 0$" .controls || fail "events: $(cat .controls)"
[ "$(grep "gmem.limit.high" .controls | tr '\n' ' ')" = \
	"vllm,gmem.limit.high,max vllm,gmem.limit.high,6000000000 " ] || fail "$(cat .controls)"
[ "$(grep -c "compute.priority" .controls)" -eq 2 ] || fail "priority: $(cat .controls)"
! grep -q "gmem.current" .controls || fail "current is in the timeline"

jq -e '.complete and .source == "hardware" and .seed == null
	and (.containers.vllm | .type == "unknown" and .status == "ok"
		and .gmem.peak == 9000000 and .kernels.submitted == 30 and .kernels.ended == 21
		and .kernels.per_s > 0 and .faults == null and .stall_seconds == null)' \
	hw/summary.json >/dev/null || fail "$(cat hw/summary.json)"
jq -e --argjson tgid "$nobody" '.source == "hardware" and .notes == []
	and .sampling.interval == "10ms" and .sampling.taken > 2 and .clock.start_ns > 0
	and .containers.vllm.tgid == $tgid and .containers.vllm.gpu == 0' \
	hw/config.json >/dev/null || fail "$(cat hw/config.json)"

# Containers without a --container option are found. Other files of the driver are no containers.
put_all
mkdir -p "$tree/9000002/3"
echo 0 >"$tree/devices"
collect --root "$tree" --interval 10ms --out found
wait_for "$nobody-0: appeared"
wait_for "9000002-3: appeared"
put gmem.current many
rm -r "$tree/9000002"
wait_for "9000002-3: gone"
put gmem.limit.high 5
wait_for "gmem.limit.high is 5"
rm -r "$tree/${nobody:?}"
finish 0
grep -q "note: .*/$nobody/0/gmem.current: \"many\" is not known, allowed: bytes, or max$" .notes ||
	fail "nonsense is not told: $(cat .notes)"
jq -e '[.containers | keys[]] == ["9000001-0", "9000002-3"]' found/summary.json >/dev/null ||
	fail "$(cat found/summary.json)"

# The shim's folder of a user who is not root is looked into without an option, as gvmctl does.
put_all
GVM_SHIM_DIR=$tree collect --interval 10ms --duration 100ms --container "vllm=$nobody" --out shim
finish 0
grep -q "vllm: appeared, process $nobody" .news || fail "GVM_SHIM_DIR is not looked into: $(cat .news .notes)"
