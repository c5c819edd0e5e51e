#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# "gvmsim scenario import" makes a scenario of a results folder of gvmcollect. A co-run of an H200 runs at once;
# other folders are made of it: settings that change, processes that come and go, cards, hosts without a driver.
. "$(dirname "$0")/common.inc"
measured=$source/plots/reference/hardware/h200-corun/shim-launches

# The whole: both applications are named.
"$gvmsim" scenario import "$measured" mine.json --app llm=corun-llama-3.2-3b --app diffusion=corun-sd3.5-medium >said 2>.err ||
	fail "import: $(cat .err)"
[ ! -s .err ] && ! grep -q TODO said mine.json || fail "something is left to do: $(cat said .err)"
grep -q '^GPU  *h200-141g, for NVIDIA H200$' said || fail "the card: $(cat said)"
grep -q '^trace  *mine-llm.trace: 394 requests; 8 without a complete answer left out$' said || fail "the trace: $(cat said)"
grep -q '^estimate  *containers.llm.app.gpu_memory_utilization: its peak of 43.2 GB over' said || fail "an estimate: $(cat said)"
"$gvmsim" trace import "$measured/requests.csv" same.trace --container llm >/dev/null
cmp same.trace mine-llm.trace || fail "the trace is that of trace import"
# get FILTER: of mine.json
get() {
	jq -c "$1" mine.json
}
[ "$(get '[.name, .duration, .gpu.profile, .system.name]')" = '["mine","32s","h200-141g","stock"]' ] || fail "$(cat mine.json)"
[ "$(get '.containers.llm | [.start, ."compute.timeslice", .app.type, .app.client.start, .app.boot]')" = \
	'["10s","131072us","llm-server","141.499475ms","10s"]' ] || fail "llm: $(get .containers.llm)"
[ "$(get '([.containers[] | has("gmem.limit.high")] | any), has("events")')" = "$(printf 'false\nfalse')" ] ||
	fail "no limit and no change: $(cat mine.json)"
# The pipeline had made images: it makes one within the lead, and its first one of the results costs no warm-up.
[ "$(get '.containers.diffusion.app | [.warm_images, .boot, .warmup]')" = '[1,"10s","0s"]' ] || fail "warm: $(cat mine.json)"
"$gvmsim" run mine.json --out sim --quiet 2>.err || fail "run: $(cat .err)"
awk -F, '$1 == "diffusion" && $NF == "completed" { print $6 - $4 }' sim/requests.csv >lengths
awk 'NR == 1 { first = $1 } { sum += $1 } END { exit NR < 3 || first > 1.02 * sum / NR }' lengths || fail "cold: $(cat lengths)"
"$gvmsim" validate results "$measured" sim >table || fail "validate: $(cat table)"
# The first request arrives as it did, 10 s later. It is request 0 of both.
[ "$(sed -n 2p sim/requests.csv | cut -d, -f1,4,7,8)" = "llm,10141499475,835,637" ] || fail "$(sed -n 2p sim/requests.csv)"
[ "$(sed -n 2p "$measured/requests.csv" | cut -d, -f1,4,7,8)" = "llm,141499475,835,637" ] || fail "the measured one"
[ "$(jq .sim_seconds sim/summary.json)" = 32 ] || fail "length"

# Without names: the keys are in the file and on the terminal, and gvmsim run says which one is missing.
"$gvmsim" scenario import "$measured" todo.json --lead 20s >said 2>.err || fail "import without names: $(cat .err)"
[ "$(grep -c '^TODO  *containers\.[a-z]*\.app\.profile: which application it was; --app [a-z]*=PROFILE$' said)" = 2 ] ||
	fail "TODO: $(cat said)"
tail -n 1 said | grep -qx 'todo.json does not run yet: 2 TODO' || fail "$(cat said)"
[ "$(jq -c '[.duration, .containers.llm.start, .containers.llm.app.client.start, .containers.llm.app.profile]' todo.json)" = \
	'["42s","20s","141.499475ms","TODO"]' ] || fail "$(cat todo.json)"
expect 2 'todo.json:containers.llm.app.profile: no profile "TODO"' run todo.json --out none
# A profile that needs more says so.
"$gvmsim" scenario import "$measured" model.json --app llm=vllm --app diffusion=sd3.5-medium >said 2>.err || fail "$(cat .err)"
grep -q '^TODO  *model.json: containers.llm.app\|^TODO  *model.json:containers.llm.app' said || fail "what a model needs: $(cat said)"
tail -n 1 said | grep -qx 'model.json does not run yet: 1 TODO' || fail "$(cat said)"

# change FILTER: of config.json, in a copy of the folder
change() {
	rm -rf host
	cp -r "$measured" host
	chmod -R u+w host
	jq "$1" "$measured/config.json" >host/config.json
}
import() {
	"$gvmsim" scenario import host mine.json --app llm=corun-llama-3.2-3b --app diffusion=corun-sd3.5-medium "$@" >said 2>.err ||
		fail "import $*: $(cat .err)"
}

# Cards by the name that the driver gives, NVIDIA's word order included; one that no profile has is left to the user.
while IFS=: read -r card profile; do
	change ".host.gpus[0] = {model: \"$card\"}"
	import
	[ "$(get .gpu.profile)" = "\"$profile\"" ] || fail "$card is $(get .gpu.profile), expected $profile: $(cat said)"
done <<'END'
NVIDIA A100-SXM4-40GB:a100-40g
NVIDIA A100-SXM4-80GB:a100-80g
NVIDIA A100-PCIE-40GB:a100-pcie-40g
NVIDIA A100 80GB PCIe:a100-pcie-80g
NVIDIA H100 80GB HBM3:h100-80g
NVIDIA H200:h200-141g
NVIDIA L40S:l40s-48g
NVIDIA B200:b200-180g
NVIDIA GeForce RTX 4090:rtx4090-24g
NVIDIA GeForce RTX 3080 Ti:rtx-3080ti-12g
NVIDIA RTX A4000:rtx-a4000-16g
NVIDIA H100 PCIe:TODO
NVIDIA H100 NVL:TODO
NVIDIA GH200 480GB:TODO
NVIDIA A100-SXM-64GB:TODO
NVIDIA GeForce RTX 3080:TODO
NVIDIA:TODO
END
grep -q '^TODO  *gpu.profile: no profile of scenarios/gpus is of NVIDIA; --gpu PROFILE$' said || fail "no card: $(cat said)"
import --gpu a100-80g
[ "$(get .gpu.profile)" = '"a100-80g"' ] && ! grep -q TODO said || fail "--gpu: $(cat said)"

# Settings and their changes: an event for each, at its date. A timeslice that was set by itself comes after the
# priority, which sets one, too. Counters are no settings. A process that came later starts then; one that left stops.
change '.containers.diffusion.first_sample_ns = 3000000000 | .containers.llm.first_sample_ns = 0
	| .containers.diffusion.last_sample_ns = 20000000000 | .system.name = "gvm"
	| .containers.llm.app.slo_ttft = "2s"'
jq '.system = "gvm"' "$measured/summary.json" >host/summary.json
cat >host/controls.csv <<'END'
time_ns,container,file,value
0,llm,memory.limit,40000000000
0,llm,gmem.limit.low,0
0,llm,hmem.limit,max
0,llm,compute.timeslice,131072us
0,llm,compute.priority,8
0,llm,compute.weight,100
0,llm,compute.freeze,0
0,llm,gmem.peak,43230823424
0,llm,gcgroup.stat,nr_submitted_kernels: 1 nr_ended_kernels: 1 nr_pending_kernels: 0
3000000000,diffusion,compute.timeslice,1024us
3000000000,diffusion,compute.priority,9
3000000000,diffusion,compute.weight,300
12000000000,llm,gmem.limit.high,max
12500000000,diffusion,compute.freeze,1
11000000000,diffusion,gmem.limit.high,8000000000
END
import
[ "$(get '.containers.llm | [."gmem.limit.high", ."compute.priority", has("compute.timeslice"), has("hmem.limit"), .app.slo_ttft]')" = \
	'["40000000000","8",false,false,"2s"]' ] || fail "llm: $(get .containers.llm)"
[ "$(get '.containers.diffusion | [.start, ."compute.timeslice", ."compute.priority", ."compute.weight", .app.load_bandwidth]')" = \
	'["13s",null,"9","300",null]' ] || fail "diffusion: $(get .containers.diffusion)"
[ "$(get '[.events[] | [.at, .container, .file, .value, .stop]]')" = '[["10s","llm","compute.timeslice","131072us",null],'\
'["21s","diffusion","gmem.limit.high","8000000000",null],["22s","llm","gmem.limit.high","max",null],'\
'["22.5s","diffusion","compute.freeze","1",null],["30s","diffusion",null,null,true]]' ] || fail "events: $(get .events)"
"$gvmsim" run mine.json --out events --quiet 2>.err || fail "run with events: $(cat .err)"
[ "$(jq -r .containers.diffusion.status events/summary.json)" = "stopped at 30.000 s" ] ||
	[ "$(jq -r .containers.diffusion.status events/summary.json | cut -c1-7)" = stopped ] ||
	fail "diffusion: $(jq -r .containers.diffusion.status events/summary.json)"

# A stock host: no settings, memory of cudaMalloc(). A process without a log has no type, and a server without
# requests no trace.
change '.containers.diffusion.app = {type: null}'
jq '.containers.diffusion.type = "unknown"' "$measured/summary.json" >host/summary.json
echo "time_ns,container,file,value" >host/controls.csv
head -n 1 "$measured/requests.csv" >host/requests.csv
"$gvmsim" scenario import host mine.json --app llm=corun-llama-3.2-3b >said 2>.err || fail "stock: $(cat .err)"
[ "$(get '[.containers[].app.memory]')" = '["unmanaged","unmanaged"]' ] || fail "memory: $(cat mine.json)"
for todo in 'containers.diffusion.app.type: no log says what it was; --app diffusion=TYPE:PROFILE' \
	'containers.diffusion.app.profile: which application it was' \
	'containers.llm.app.trace.file: requests.csv has no answered request of it; gvmcollect logs adds them'; do
	grep -q "^TODO  *$todo" said || fail "no TODO $todo: $(cat said)"
done
"$gvmsim" scenario import host mine.json --app diffusion=phases:wan2.1-1.3b >said 2>.err || fail "a type: $(cat .err)"
[ "$(get '.containers.diffusion.app | [.type, .profile]')" = '["phases","wan2.1-1.3b"]' ] || fail "a type: $(cat mine.json)"

# Mistakes: one line, and nothing is written.
rm -rf ./*.json ./*.trace host
mistake() {
	pattern=$1
	shift
	expect 2 "$pattern" scenario import "$@"
	[ -z "$(ls ./*.json ./*.trace 2>/dev/null)" ] || fail "$pattern: wrote $(ls)"
}
mistake "1 names, expected 2" "$measured"
mistake "none/summary.json: cannot be read" none mine.json
mistake "sim: is a simulation's, allowed: a folder that gvmcollect wrote" sim mine.json
mistake '--app: .*shim-launches has no container "vllm"' "$measured" mine.json --app vllm=vllm
mistake '--app: no profile "none", allowed: a file of scenarios/apps, or of apps beside mine.json' "$measured" mine.json --app llm=none
mistake "option '--app': 'llm' is wrong, allowed: NAME=PROFILE or NAME=TYPE:PROFILE" "$measured" mine.json --app llm
mistake '--gpu: no profile "none", allowed: a file of scenarios/gpus, or of gpus beside mine.json' "$measured" mine.json --gpu none
mistake "option '--app': 'vllm' is no application type, allowed: llm-server, diffusion, .*phases" "$measured" mine.json --app llm=vllm:vllm
mistake "option '--app': 'llm' is there twice" "$measured" mine.json --app llm=vllm --app llm=vllm
mistake "option '--lead': '5' is wrong, allowed: a duration up to 1h" "$measured" mine.json --lead 5
mistake "no/mine.json: cannot write: no such folder" "$measured" no/mine.json
cp -r "$measured" host
chmod -R u+w host
for file in config.json summary.json requests.csv timeline.csv controls.csv; do
	mistake "host/$file: cannot write: is a file of the results" host host/$file
	cmp host/$file "$measured/$file" || fail "$file is another one"
done
# Where the scenario cannot be written, no trace is.
mkdir folder
mistake "folder: cannot write: is not a regular file" "$measured" folder
rmdir folder
