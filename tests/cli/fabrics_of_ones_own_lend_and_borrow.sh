#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Fabrics of a user's own: the one of docs/lending.md, three hosts in a ring, each a lender and a borrower, in any order of
# containers, stopped and restarted. What such a fabric cannot do is one line before the run.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

# scenario FILTER: "transfer" over the ring a, b, c, each with two GPUs, by the containers that the filter of jq makes.
scenario() {
	jq -n 'def add(f): reduce f as $entry ({}; . + $entry);
		def fabric: {
			hosts: add("a", "b", "c" | {(.): {memory: "64M"}}),
			elements: add("a", "b", "c" | {(. + ".switch"): {kind: "switch", below: ., link: "4x16"},
				(. + ".gpu"): {kind: "device", below: (. + ".switch"), link: "4x16", memory: "16M"},
				(. + ".own"): {kind: "device", below: (. + ".switch"), link: "4x16", memory: "16M"},
				(. + ".to"): {kind: "ntb", below: (. + ".switch"), link: "4x16", window: "4G", segments: 64},
				(. + ".from"): {kind: "ntb", below: (. + ".switch"), link: "4x16", window: "4G", segments: 64}}),
			cables: {"a.to": {to: "b.from", link: "4x16"}, "b.to": {to: "c.from", link: "4x16"},
				"c.to": {to: "a.from", link: "4x16"}}};
		def driver($borrower; $device; $more): {app: ({type: "transfer", profile: "lending-figure5", borrower: $borrower,
			device: $device, fabric: fabric} + $more)};
		{name: "ring", duration: "3ms", gpu: {profile: "h200-141g"}, system: {name: "exclusive"}} + ('"$1"')' >ring.json
}

# run ARGUMENTS...: it makes no mistake, and each container makes rounds.
run() {
	timeout 60 "$gvmsim" run ring.json --quiet --out out "$@" >.out 2>.err || fail "$*: $(cat .err)"
	jq -e '[.containers[] | .status == "ok" and .rounds > 0] | all' out/summary.json >.out ||
		fail "$*: $(jq -c '.containers | map_values([.status, .rounds])' out/summary.json)"
}

# The fabric of the page.
awk '/^```json/ { told = 1; next } /^```/ { told = 0 } told' "$source/docs/lending.md" >page.json
jq -n --slurpfile fabric page.json '{name: "page", duration: "3ms", gpu: {profile: "h200-141g"},
	containers: {driver: {app: {type: "transfer", profile: "lending-figure5", borrower: "desk", device: "rack.gpu",
		fabric: $fabric[0]}}}}' >ring.json
run --set containers.driver.app.operation=read
run --set containers.driver.app.virtual=true --set containers.driver.app.iommu=true

# Each host borrows from the next one.
for iommu in false true; do
	scenario '{containers: {x: driver("a"; "b.gpu"; {iommu: '$iommu'}), y: driver("b"; "c.gpu"; {iommu: '$iommu'}),
		z: driver("c"; "a.gpu"; {iommu: '$iommu'})}}'
	run
done

# A host uses a device of its own, and lends another one: its IOMMU is on for both, whichever comes first.
more='{iommu: true, bytes: "64K"}'
scenario '{containers: {own: driver("b"; "b.own"; '"$more"'), other: driver("a"; "b.gpu"; '"$more"')}}'
run
first=$(jq '.containers.own.round_ms.p50' out/summary.json)
scenario '{containers: {other: driver("a"; "b.gpu"; '"$more"'), own: driver("b"; "b.own"; '"$more"')}}'
run
last=$(jq '.containers.own.round_ms.p50' out/summary.json)
[ "$first" = "$last" ] || fail "a device of a host that lends: $first ms, and $last ms if the loan comes first"
more='{iommu: true, operation: "ping-pong", peer: "a.own"}'
scenario '{containers: {own: driver("b"; "b.own"; '"$more"'), other: driver("a"; "b.gpu"; {iommu: true})}}'
run

# A driver that an event stops and starts again goes on, whatever it does.
for more in '{}' '{operation: "command"}' '{operation: "ping-pong", peer: "b.own"}' \
	'{operation: "ping-pong", peer: "b.own", target: "b.own"}'; do
	scenario '{containers: {x: driver("a"; "b.gpu"; '"$more"')},
		events: [{at: "1ms", container: "x", stop: true}, {at: "2ms", container: "x", restart: true}]}'
	run
	awk -F, 'NR > 1 && $6 > 2000000 { found = 1 } END { exit !found }' out/requests.csv ||
		fail "$more: no round has ended after the restart"
done

# The tables of a run and of two have times that people can read, and nothing of a GPU that takes no part.
"$gvmsim" run lending --out short --set containers.driver.app.operation=read --set containers.driver.app.bytes=8 \
	--set containers.driver.app.round_trips=0 --set containers.driver.app.start=0s >.table 2>.err || fail "$(cat .err)"
grep -q '^round p50  *[1-9][.][0-9][0-9][0-9] us$' .table || fail "a time of a microsecond: $(cat .table)"
grep -q '^6 ms simulated in ' .table || fail "a short run: $(cat .table)"
! grep -E 'GPU memory|faults|kernels|time went|gpu0|can use| 0 times' .table || fail "the table has more than it should"
cp -r short copy
"$gvmsim" compare short copy >.table 2>.err || fail "$(cat .err)"
grep -q 'system exclusive, 6 ms$' .table && ! grep 'GPU' .table || fail "compared: $(cat .table)"
# Beside an application that uses the GPU the rows are there, and empty for the driver.
jq '.containers.player = {app: {type: "pages", bytes: "16M", kernel_blocks: 8}}' "$source/scenarios/lending.json" >both.json
"$gvmsim" run both.json --out short >.table 2>.err || fail "$(cat .err)"
grep -Eq '^GPU memory peak  +[0-9.]+ MiB$' .table && grep -q '^gpu0: ' .table || fail "both: $(cat .table)"

# Its GPU is the borrowed one. So it has no context on the GPU of the machine, and takes none of its memory.
"$gvmsim" run lending --quiet --out short --system ghost >.table 2>.err || fail "$(cat .err)"
[ "$(jq -c '.containers.driver.gmem | [.current, .peak]' short/summary.json)" = "[0,0]" ] ||
	fail "a context: $(jq -c .containers.driver.gmem short/summary.json)"
# A limit is no limit of a context that it does not have.
"$gvmsim" run lending --out short --system ghost --set containers.driver.gmem.limit.high=64M >.table 2>.err || fail "$(cat .err)"
! grep context .err || fail "a limit below a context: $(cat .err)"

# Advice assumes nothing of its memory.
jq '.duration = "3s" | .containers.chat = {app: {type: "llm-server", profile: "vllm", model: "Qwen2.5-7B", boot: "1s",
	gpu_memory_utilization: 0.6, trace: {file: "azure2023_conv_first200.csv"}, slo_ttft: "2s"}}' \
	"$source/scenarios/lending.json" >advice.json
"$gvmsim" advise advice.json --runs 2 --seeds 1 --out advice >.table 2>.err || fail "advice: $(cat .err)"
grep -q '^Assumed: managed memory (app.memory), as the shim gives it, of chat[.]' .table || fail "advice: $(cat .table)"

# A minute of a driver with a fabric of its own takes seconds: equal rounds take place once. Where an event of the
# container could find one under way each takes place, and the records are the same.
timeout 60 "$gvmsim" run lending --quiet --out minute --set duration=60s >.out 2>.err || fail "a minute: $? $(cat .err)"
for more in '{}' '{operation: "read", iommu: true, bytes: "100001"}' '{operation: "command", device_time: "7us", bytes: "4K"}' \
	'{bytes: "777", round_trips: 3, start: "1ns"}'; do
	jq ".duration = \"20ms\" | .containers.driver.app += $more" "$source/scenarios/lending.json" >once.json
	jq '.events = [{at: "19ms", container: "driver", stop: true}]' once.json >each.json
	for run in once each; do
		"$gvmsim" run $run.json --quiet --out $run >.out 2>.err || fail "$run, $more: $(cat .err)"
		awk -F, 'NR > 1 && $6 < 19000000 && $6' $run/requests.csv >$run.csv
	done
	[ -s once.csv ] && cmp once.csv each.csv || fail "$more: rounds that take place once are others"
done

# wrong TEXT KEY=VALUE...: one line with TEXT, the code of a user's mistake, and no results.
rm -rf out
wrong() {
	text=$1
	shift
	for value in "$@"; do
		set -- "$@" --set "containers.x.app.$value"
		shift
	done
	status=0
	timeout 60 "$gvmsim" run ring.json --quiet --out none "$@" >.out 2>.err || status=$?
	[ $status = 2 ] && [ "$(wc -l <.err)" = 1 ] && grep -qF "$text" .err || fail "$text: $status, $(cat .err)"
	[ ! -e none ] || fail "$text: there are results"
}
scenario '{containers: {x: driver("a"; "b.gpu"; {})}}'
wrong 'app.target: "b.gpu" is app.device, allowed: "memory" or another device' target=b.gpu
wrong 'app.peer: "b.gpu" is app.device, allowed: another device' operation=ping-pong peer=b.gpu
wrong 'app.peer: is missing, allowed: the other device of a ping-pong' operation=ping-pong
wrong 'app.bytes: does not fit into "b.own", allowed: up to its 16777216 bytes' target=b.own bytes=17M
wrong 'app.bytes: does not fit into the memory of "a", allowed: up to 67104768 bytes' bytes=64M
wrong 'app.fence: is of reads, allowed: with app.operation "read"' fence=true in_flight=8
wrong 'd.kind: "gpu" is not known, allowed: "switch", "device", "ntb"' \
	fabric='{"hosts": {"a": {"memory": "1G"}}, "elements": {"d": {"kind": "gpu", "below": "a", "link": "4x16"}}}'
wrong 'app.fabric: d: has no kind' fabric='{"hosts": {"a": {"memory": "1G"}}, "elements": {"d": {"below": "a", "link": "4x16"}}}'
run --set containers.x.app.target=b.own --set containers.x.app.bytes=16M --set duration=20ms
run --set containers.x.app.bytes=67104768 --set duration=90ms
