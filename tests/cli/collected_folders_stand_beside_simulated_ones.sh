#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Folders of gvmcollect go into the same comparisons as folders of gvmsim. The logs are made for this
# test; nothing in them was measured. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/collect.inc"

put_all
mkdir -p "$tree/9000002/0"
echo 1073741824 >"$tree/9000002/0/memory.current" # as the public GVM driver names it
collect --root "$tree" --interval 10ms --out hw \
	--container "vllm=$nobody" --container diffusion=9000002
wait_for "vllm: appeared"
put gcgroup.stat "nr_submitted_kernels: 112\nnr_ended_kernels: 107\nnr_pending_kernels: 5"
put compute.priority 2
wait_for "vllm: compute.priority is 2" # the sample with it has the new count
sleep 0.2 # the second image below begins then
rm -r "$tree"
finish 0

# The sample log at dates within the collection; one request came before it.
start_ns=$(jq .clock.start_ns hw/config.json)
jq --argjson start "$start_ns" '.start_times = [1, 2, 3, -10]
	| .start_times |= map($start / 1e9 + . / 1e3)' \
	"$source/tests/collect/logs/vllm-bench.json" >bench.json
printf 'start_ns,end_ns\n%d,%d\n%d,%d\n' \
	$((start_ns + 10000000)) $((start_ns + 5010000000)) \
	$((start_ns + 150000000)) $((start_ns + 4150000000)) >images.csv
"$gvmcollect" logs hw --requests vllm=bench.json --images diffusion=images.csv \
	--slo vllm=200ms 2>.notes || fail "logs: $(cat .notes)"
grep -q "note: bench.json: 1 of 4 began before or after the collection and are left out" .notes ||
	fail "left out: $(cat .notes)"
[ "$(wc -l <hw/requests.csv)" -eq 6 ] || fail "$(cat hw/requests.csv)"
grep -q "^diffusion,0,image,10000000,,5010000000,,,,,,completed$" hw/requests.csv ||
	fail "images: $(cat hw/requests.csv)"
awk -F, '$1 == "vllm" { print $2 ":" $5 - $4 ":" $6 - $5 ":" $7 ":" $8 ":" $12 }' hw/requests.csv \
	>.requests
[ "$(tr '\n' ' ' <.requests)" = "0:100000000:50000000:10:3:completed \
1:200000000:0:20:1:completed 2:300000001:65000000:30:4:completed " ] ||
	fail "requests: $(cat .requests)"
jq -e '.complete
	and (.containers.vllm | .type == "llm-server" and .requests.arrived == 3
		and .ttft_ms.p50 == 200 and .itl_ms.p50 == 20 and .gmem.peak == 8388608
		and (.slo_attainment > 0.66) and (.slo_attainment < 0.67))
	and (.containers.diffusion | .type == "diffusion" and .images == 2
		and .latency_s.mean == 4.5 and .gmem.peak == 1073741824)' hw/summary.json >/dev/null ||
	fail "$(cat hw/summary.json)"

# The same logs again give the same files. Without one of the logs, its application is unknown again.
cp -r hw again
"$gvmcollect" logs again --requests vllm=bench.json --images diffusion=images.csv \
	--slo vllm=200ms 2>.notes
diff -r hw again || fail "twice is not the same"
"$gvmcollect" logs again --images diffusion=images.csv 2>.notes
jq -e '.containers.vllm | .type == "unknown" and .ttft_ms == null' again/summary.json >/dev/null ||
	fail "$(cat again/summary.json)"
! grep -q "^vllm" again/requests.csv || fail "$(cat again/requests.csv)"

"$gvmsim" run "$scenario" --set duration=90s --quiet --system stock --out simulated
"$gvmsim" validate results hw simulated >.out 2>.err || fail "validate: $(cat .err)"
grep -q "^measured   .* system hardware, [0-9.]* s$" .out || fail "$(cat .out)"
grep -q "^vllm TTFT p50 *200.0 ms .* %$" .out || fail "$(cat .out)"
grep -q "^diffusion image latency p50 *4.500 s .* %$" .out || fail "$(cat .out)"
grep -q "^diffusion GPU memory mean *1.00 GiB .* %$" .out || fail "$(cat .out)"
tail -n 1 .out | grep -q "^[0-9]* compared: median error [0-9.]* %, worst [0-9.]* % (.*)$" ||
	fail "$(cat .out)"
grep -q "^vllm kernel launches *[0-9.]* /s *[0-9.]* /s *[0-9.]* %$" .out || fail "$(cat .out)"
! grep -q "^diffusion kernel launches" .out || fail "no shim counted there: $(cat .out)"
# Pressure: the host's container met its limit. A count has no error, and is not among those that are compared.
grep -q "^vllm refused at gmem.limit.high *3 *0 *-$" .out || fail "$(cat .out)"
! grep -q "refused at hmem.limit\|^diffusion refused" .out || fail "nothing was refused there: $(cat .out)"
# Values that hardware does not report have no row.
! grep -q "fault\|stall\|share" .out || fail "made up: $(cat .out)"

# A folder beside itself has no error at all.
"$gvmsim" validate results simulated simulated >.out
tail -n 1 .out | grep -q "median error 0.0 %, worst 0.0 %" || fail "$(cat .out)"

# Pictures in both orders, and of a folder without logs.
for pair in "hw simulated" "simulated hw" "again hw"; do
	# shellcheck disable=SC2086
	"$gvmsim" figure alone-vs-shared $pair --out figures >.out 2>.err ||
		fail "$pair: $(cat .err)"
	[ ! -s .err ] || fail "$pair: $(cat .err)"
	[ "$(dd if=figures/alone-vs-shared.png bs=1 skip=1 count=3 2>/dev/null)" = PNG ] ||
		fail "$pair: no picture"
done
"$gvmsim" figure alone-vs-shared hw simulated --out figures >.out
grep -q "^vllm (llm-server) *measured *simulated *simulated/measured$" .out || fail "$(cat .out)"
grep -q "^  GPU share *- .* %  *-$" .out || fail "hardware has a GPU share: $(cat .out)"
grep -q "^vllm,gpu_share,share,,[0-9.]*,$" figures/alone-vs-shared.csv || fail "share in the file"

expect 2 "validate results: 1 folders, expected 2, usage: gvmsim validate results" validate results hw
expect 2 "validate: no command is given, allowed are hardware, published, results and --help" validate
expect 2 "none/summary.json: cannot be read" validate results none simulated
mv hw/summary.json .whole
jq '.containers = {}' .whole >hw/summary.json
head -n 1 hw/requests.csv >.rows && mv .rows hw/requests.csv
head -n 1 hw/timeline.csv >.rows && mv .rows hw/timeline.csv
expect 2 "hw and simulated have nothing in common, allowed: folders with a container of the same" \
	validate results hw simulated
