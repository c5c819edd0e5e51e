#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# What a new user types: a path relative to the current folder, a slip in a name, a size with a unit.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# A relative path of --set begins in the current folder, one of a scenario beside that scenario.
header="Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
mkdir scenario here
printf '%s\n%s\n' "$header" "0,ChatGPT,100,10,110,Conversation log" >here/mine.csv
printf '%s\n%s\n%s\n' "$header" "0,ChatGPT,100,10,110,Conversation log" \
	"1,ChatGPT,100,10,110,Conversation log" >scenario/mine.csv
sed 's/burstgpt1_gvm3256_served.trace/mine.csv/' "$source/scenarios/vllm-diffusion-80g.json" >scenario/s.json
grep -q mine.csv scenario/s.json || fail "the scenario has no trace to replace"
run_of() {
	"$gvmsim" run ../scenario/s.json --quiet --out ../out --set duration=90s --set containers.vllm.app.trace.divide=1 \
		--set containers.diffusion.enabled=false "$@" || fail "$*"
	jq .containers.vllm.requests.arrived ../out/summary.json
}
cd here
[ "$(run_of)" = 2 ] || fail "the trace beside the scenario was not read: $(run_of)"
[ "$(run_of --set containers.vllm.app.trace.file=mine.csv)" = 1 ] ||
	fail "the trace in the current folder was not read"
[ "$(run_of --set containers.vllm.app.trace.file=../scenario/mine.csv)" = 2 ] ||
	fail "the path from the current folder was not read"
cmp "$(cd / && realpath "$(jq -r .containers.vllm.app.trace.file "$work/out/config.json")")" \
	../scenario/mine.csv || fail "config.json does not name the trace absolutely"
cd ..
expect 2 'app.trace.file: "here" is a folder, allowed: a file' \
	run scenario/s.json --set containers.vllm.app.trace.file=here
expect 2 "no file \"none.csv\", allowed: one in $work, $work/scenario, " \
	run scenario/s.json --set containers.vllm.app.trace.file=none.csv
(cd scenario && expect 2 "no file \"none.csv\", allowed: one in $work/scenario, [^,]*$" \
	run s.json --set containers.vllm.app.trace.file=none.csv) || fail "a folder is named twice"
sed 's/mine.csv/..\/here/' scenario/s.json >scenario/folder.json
expect 2 '"../here" is a folder, allowed: a file' run scenario/folder.json
for command in sweep report; do
	expect 2 "here: is a folder, allowed: a file" $command here
done

# A sweep that comes with gvmsim has a name, with or without its ending. A folder does not hide it, a file does.
mkdir diffusion-limit
for name in diffusion-limit diffusion-limit.json; do
	"$gvmsim" sweep $name --out swept --slurm 2 >script 2>.err || fail "sweep $name: $(cat .err)"
	grep -q "sweep '.*/scenarios/sweeps/diffusion-limit.json'" script || fail "sweep $name: $(cat script)"
done
printf '{"scenario": "scenario/s.json", "grid": {"duration": ["1s"]}}' >diffusion-limit.json
"$gvmsim" sweep diffusion-limit.json --out swept --slurm 2 >script 2>.err || fail "a file: $(cat .err)"
grep -q "sweep '$work/diffusion-limit.json'" script || fail "the sweep in the current folder: $(cat script)"

# One slip, one suggestion.
expect 2 "unknown command 'rum', did you mean 'run'?" rum
expect 2 "unknown command '--verison', did you mean '--version'?" --verison
expect 2 "trace: unknown command '--hlep', did you mean '--help'?" trace --hlep
expect 2 "trace: unknown command 'improt', did you mean 'import'?" trace improt
expect 2 "option '--sytem=ghost' is not valid here, did you mean '--system'?" run "$scenario" --sytem=ghost
expect 2 "unknown figure 'ablatoin', did you mean 'ablation'?" figure ablatoin
expect 2 "validate: unknown command 'publishd', did you mean 'published'?" validate publishd
expect 2 "'kyes' is no topic, did you mean 'keys'?" help kyes
expect 2 "'runn' is no topic, did you mean 'run'?" help runn
expect 2 '^gvmsim: --set:system.name: "gmv" is not known, did you mean "gvm"?' run "$scenario" --set system.name=gmv
expect 2 'no profile "H100", did you mean "h100-80g"?' run "$scenario" --set gpu.profile=H100
expect 2 'no profile "vllm-lama-3.2-3b", did you mean "vllm-llama-3.2-3b"?' \
	run "$scenario" --set containers.vllm.app.profile=vllm-lama-3.2-3b
expect 2 'no model of gvmsim, did you mean "Qwen3-30B-A3B"?' run "$scenario" --set containers.vllm.app.model=qwen3
expect 2 'app.type: "llmserver" is not known, did you mean "llm-server"?' run "$scenario" --set containers.vllm.app.type=llmserver
expect 2 'containers.vlm: no such container, did you mean "vllm"?' run "$scenario" --set containers.vlm.app.slo_ttft=1s
expect 2 'unknown key, did you mean "containers.vllm.gmem.limit.high"?' run "$scenario" --set containers.vllm.gmem.limit.hgih=1G
expect 2 "reference: unknown document 'sytems', did you mean \"systems\"?" reference sytems
expect 2 '^gvmsim: --system: "gmv" is not known, did you mean "gvm"?' run "$scenario" --system gmv
expect 2 "run: option '--duration' is not valid here (a key of the scenario is set by '--set duration=VALUE'), usage" \
	run "$scenario" --duration 60s
expect 2 'this GPU has no "20c", did you mean "20C"?' run "$scenario" --system vgpu --set containers.vllm.vgpu.type=20c
expect 2 'this GPU has no "3g.4gb", did you mean "3g.40gb"?' \
	run "$scenario" --system mig --set containers.vllm.mig.profile=3g.4gb
expect 2 '"V5-2" is not known, did you mean "V5_2"?' \
	run "$scenario" --system gvtg --set containers.vllm.vgpu.type=V5-2
rules() {
	printf '{ "policy": "rules", "rules": [ { "when": { "container": "%s", "metric": "gmem.current",
		"above": 1 }, "then": [ { "container": "%s", "file": "gmem.limit.high", "value": "6e9" } ] } ] }' "$@" >rules.json
}
rules vlm diffusion
expect 2 'rules.0.when.container: no container "vlm", did you mean "vllm"?$' run "$scenario" --set policy.file=rules.json
rules vllm difusion
expect 2 'rules.0.then.0.container: no container "difusion", did you mean "diffusion"?$' \
	run "$scenario" --set policy.file=rules.json

# An option for one value takes one: the last was the only one that counted.
expect 2 "^gvmsim: run: option '--system': is given twice, allowed: once$" run "$scenario" --system stock --system gvm
expect 2 "figure ablation: option '--out': is given twice" figure ablation --out a --out=b

printf '{"scenario": "%s", "gird": {"seed": [1]}}' vllm-diffusion-40g >sweep.json
expect 2 'sweep.json:gird: unknown key, did you mean "grid"?' sweep sweep.json
printf '{"scenario": "%s", "grid": {"system.name": ["gmv"]}}' vllm-diffusion-40g >sweep.json
expect 2 '"gmv" is not known, did you mean "gvm"?' sweep sweep.json
printf '{"title": "t", "runs": [{"label": "a", "sytem": "gvm"}]}' >figure.json
expect 2 'figure.json:runs.0..sytem: unknown key, did you mean "system"?' figure figure.json
expect 2 'none.json: cannot be read: No such file or directory, allowed: a figure file, or a name' figure none.json
expect 2 'none.json: no such sweep, allowed: a file, or one of diffusion-limit, root-tags, tensorrt-llm' sweep none.json

# "help COMMAND" is "COMMAND --help".
for words in run figure report sweep advise explain validate trace compare help reference "trace import" "figure ablation"; do
	# shellcheck disable=SC2086 # one or two words
	"$gvmsim" help $words >help.txt || fail "help $words: $?"
	# shellcheck disable=SC2086
	"$gvmsim" $words --help >own.txt || fail "$words --help: $?"
	cmp help.txt own.txt || fail "help $words is not $words --help"
done

# KB, MB and GB are decimal; a fraction of a unit is fine.
sizes() {
	"$gvmsim" run eviction-order --quiet --out sizes --set "containers.first.gmem.limit.high=$1" 2>.err ||
		fail "$(cat .err)"
	jq '.containers.first."gmem.limit.high"' sizes/config.json
}
[ "$(sizes 24GB)" = 24000000000 ] || fail "24GB is $(sizes 24GB)"
[ "$(sizes 24GiB)" = 25769803776 ] || fail "24GiB is $(sizes 24GiB)"
[ "$(sizes 24G)" = 25769803776 ] || fail "24G is $(sizes 24G)"
[ "$(sizes 0.04TB)" = 40000000000 ] || fail "0.04TB is $(sizes 0.04TB)"
expect 2 '"12QB" has an unknown suffix (there are K, M, G, T, KiB, MiB, GiB, TiB, KB, MB, GB, TB), allowed: a size' \
	run "$scenario" --set gpu.memory=12QB
expect 2 '"10x" has an unknown suffix (there are ns, us, ms, s, min, h), allowed: a duration' run "$scenario" --set duration=10x
[ "$(sizes 44.9G)" = 48211007897 ] || fail "44.9G is $(sizes 44.9G)"

# Numbers in config.json are numbers.
jq -e '.gpu.sched.timeslice_scale == 1.024 and .host.speed > 0 and
	([.events[] | select(.file == "gmem.limit.high" and .value != "max") | .value | type] | unique) == ["number"]' \
	sizes/config.json >/dev/null || fail "numbers are strings: $(cat sizes/config.json)"

# A GPU of 24 chunks: its other memory is not said to be the driver's.
"$gvmsim" run eviction-order --out table >.out 2>.err || fail "$(cat .err)"
grep -qx 'each GPU: containers can use 48.00 MiB of 39.49 GiB' .out || fail "$(cat .out)"

# A limit that cannot hold the first page is named.
"$gvmsim" run eviction-order --quiet --out limit --set containers.first.gmem.limit.high=1M 2>.err ||
	fail "$(cat .err)"
grep -q 'containers.first: context died at .* found no room below its gmem.limit.high' .err ||
	fail "the limit is not named: $(cat .err)"

# The main job is not what --help asks for.
"$source/run" --help >.out || fail "run --help: $?"
grep -q '^Usage: ./run' .out || fail "run --help: $(cat .out)"
if "$source/run" --fast >.out 2>.err; then fail "run --fast: $(cat .out)"; fi
grep -qx "run: unknown argument '--fast', allowed: --help" .err || fail "$(cat .err)"
