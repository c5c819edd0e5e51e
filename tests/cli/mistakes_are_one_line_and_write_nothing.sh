#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The user's mistakes: exit code 2, one line on stderr, no file. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

expect 2 "no command is given, allowed are run, figure, report, sweep, advise, explain, validate, trace"
expect 2 "unknown command 'walk', allowed are run, figure, report, sweep, advise, explain, validate, trace" walk
expect 2 "run: 0 scenarios, expected 1, usage: gvmsim run SCENARIO" run
expect 2 "run: 2 scenarios, expected 1" run a.json b.json
expect 2 "run: option '--frobnicate' is not valid here" run "$scenario" --frobnicate
expect 2 "run: option '-x' is not valid here" run "$scenario" -x
expect 2 "run: option '--out' needs a value" run "$scenario" --out
expect 2 "run: option '--out': is empty" run "$scenario" --out ""
expect 2 "no-such.json: no such scenario, .*, which has .*vllm-diffusion-40g" run no-such.json
# Control characters in a name neither break the line nor ring the bell.
expect 2 "^gvmsim: no?such?\[31mscenario: no such scenario" run "$(printf 'no\nsuch\033[31mscenario')"
expect 2 "^gvmsim: --system: \"no-such-system\" is not known" run "$scenario" --system no-such-system
expect 2 "no.such.key" run "$scenario" --set no.such.key=1
expect 2 "duration" run "$scenario" --set duration=soon
expect 2 "gpu.profile" run "$scenario" --set gpu.profile=no-such-gpu
expect 2 'gpu.profile: no profile "a100-40", did you mean "a100-40g"' run "$scenario" --set gpu.profile=a100-40
expect 2 'app.model: no config.json in "none"' run "$scenario" --set containers.vllm.app.model=none
echo '{"architectures": ["LlamaForCausalLM"]}' >.model.json
expect 2 "\.model.json:hidden_size: is missing, allowed: an integer" \
	run "$scenario" --set containers.vllm.app.model="$PWD/.model.json"
expect 2 "app.trace.file" run "$scenario" --set containers.vllm.app.trace.file=none.trace
# The scenario divides its trace; an override can take that back.
expect 2 "app.trace.rate: is given with trace.divide, allowed: one of them; a trace.divide of 1 is none" \
	run "$scenario" --set containers.vllm.app.trace.rate=2
"$gvmsim" run "$scenario" --set containers.vllm.app.trace.rate=2 --set containers.vllm.app.trace.divide=1 \
	--set duration=1s --quiet --out out
rm -r out

expect 2 "figure: no figure is named, allowed are ablation, .*, video, usage: gvmsim figure" figure
# A list that is too long for a line says that it goes on.
expect 2 "app: is not an object, allowed: an object with type, .*[.][.][.]$" run "$scenario" --set containers.vllm.app=7
expect 2 "figure: unknown figure 'vidoe', did you mean 'video'?" figure vidoe
expect 2 "figure: unknown figure 'pie', allowed are ablation, .*alone-vs-shared" figure pie a b
expect 2 "figure alone-vs-shared: 1 folders, expected 2, usage: gvmsim figure alone-vs-shared ALONE_DIR" \
	figure alone-vs-shared a
expect 2 "figure ablation: has no folders.*several figures are \"gvmsim figure all ablation prefill\", usage: gvmsim figure ablation" \
	figure ablation prefill
expect 2 "figure alone-vs-shared: option '--fresh' is not valid here" figure alone-vs-shared a b --fresh
expect 2 "figure ablation: option '--frobnicate' is not valid here" figure ablation --frobnicate
expect 2 "figure ablation: option '--set' needs a value" figure ablation --set
expect 2 "no-such.json: no such scenario" figure ablation --scenario no-such.json
expect 2 "--set:no.such.key" figure ablation --set no.such.key=1
expect 2 "--set:system.name: is set by figure ablation for each of its runs, allowed: any other key" \
	figure ablation --set system.name=ghost
expect 2 "--set:system: is set by figure ablation for each of its runs, allowed: any other key" \
	figure ablation --set 'system={"name": "ghost"}'
expect 2 "--set:system: advise tries all systems itself, allowed: any other key" \
	advise vllm-diffusion-40g --set 'system={"name": "ghost"}'
expect 2 "a/summary.json: cannot be read: No such file or directory" \
	figure alone-vs-shared a b
expect_nothing_written

# The help of "run" lists the scenarios.
"$gvmsim" run --help >.out
for file in "$source"/scenarios/*.json; do
	grep -q "$(basename "$file" .json)" .out || fail "run --help: no $file"
done

expect 2 'app.page_trace: is missing, allowed: a trace of pages, as app.pattern is "trace"' \
	run interference --set containers.faulter.app.pattern=trace
printf 'kernel,page,pages,write\n0,0,1,0\n1,4294967296,1,0\n' >.pages.csv
expect 2 'app.page_trace: is given, allowed with app.pattern "trace" only' \
	run interference --set containers.faulter.app.page_trace="$PWD/.pages.csv"
expect 2 ".pages.csv:3: column 'page': '4294967296' is out of range, allowed are whole numbers from 0 to" \
	run interference --set containers.faulter.app.pattern=trace --set containers.faulter.app.page_trace="$PWD/.pages.csv"
expect 2 "interference.json:containers.faulter.app.prefetch_back: ghost cannot prefetch, allowed: false, or a system" \
	run interference --system ghost --set containers.faulter.app.prefetch_back=true
expect 2 "vllm-diffusion-40g.json:containers.diffusion.app.offload: needs managed memory, allowed: none, or" \
	run vllm-diffusion-40g --set containers.diffusion.app.offload=all --set containers.diffusion.app.memory=unmanaged
expect_nothing_written

# A bad row is found when the trace is read; then the results folder is removed again.
printf '%s\n%s\n%s\n' "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type" \
	"5,ChatGPT,472,18,490,Conversation log" "oops,ChatGPT,1,1,2,Conversation log" >.bad.csv
expect 2 "bad.csv:3:" run "$scenario" --set containers.vllm.app.trace.file="$PWD/.bad.csv"
expect_nothing_written

# So is a draw that takes no request: two of them, 100 s apart, in blocks of a second.
printf '%s\n' "Timestamp,Request tokens,Response tokens" 0,3,4 100,3,4 >.two.csv
expect 2 "two.csv: jitter.arrivals draws none of its 2 requests, allowed: a longer jitter.block" \
	run "$scenario" --set containers.vllm.app.trace.file="$PWD/.two.csv" \
	--set containers.vllm.app.trace.divide=1 --set jitter.arrivals=requests --set jitter.block=1s
expect_nothing_written

# phases PHASE KEYS: a scenario whose one application does a phase b, with more keys of its own.
phases() {
	jq -n --argjson phase "$1" --argjson keys "$2" '{ name: "n", duration: "1s",
		gpu: { profile: "a100-40g" }, containers: { p: { app: ({ type: "phases", tensors: {},
		phases: [{ name: "b", kernels: 1 } + $phase], efficiency: 0.5, memory_efficiency: 0.8,
		kernel_launch: "0s" } + $keys) } } }' >.phases.json
}
for field in '{ "flops_per_token": 9 }' '{ "traffic_per_token": 9 }' '{ "repeat": "response" }' \
	'{ "small": { "flops_per_token": 9 } }'; do
	phases "$field" '{}'
	expect 2 "app.trace.file: is missing, allowed: a trace, as phases count tokens" run .phases.json
	phases "$field" "{ \"trace\": { \"file\": \"$PWD/.two.csv\" } }"
	expect 2 'app.phases: count tokens of no samples, allowed: "samples" in a phase or group, or' \
		run .phases.json
done
phases '{ "repeat": 0 }' '{}'
expect 2 ".phases.json:containers.p.app: an iteration takes no time, so the run would never end" \
	run .phases.json --quiet --out .never
rm -rf .never

# A scenario of one's own, and a trace.
# own FILTER: .own.json with this change
own() {
	jq -n "{ name: \"own\", duration: \"2s\", gpu: { profile: \"a100-40g\" }, containers: { p: { app: {
		type: \"phases\", profile: \"lora-llama-3.2-3b\" } } } } | $1" >.own.json
}
own 'del(.gpu)'
expect 2 '.own.json:gpu.profile: is missing, allowed: the name of a GPU, such as "a100-40g"' run .own.json
own '.containers.p.app.tensors = {}'
expect 2 'no tensor "weights", app.tensors has none$' run .own.json
own '.output = { timeline: "trace", trace_from: "1s", trace_to: "1s" }'
expect 2 '.own.json:output.trace_from: is not before output.trace_to, allowed: an earlier time' run .own.json
own '.policy.file = ".policy.json"'
echo '{ "policy": "ruls" }' >.policy.json
expect 2 '.policy.json:policy: "ruls" is not known, did you mean "rules"' run .own.json
echo '{ "policy": 7 }' >.policy.json
expect 2 '.policy.json:policy: is no text, allowed: "rules", .*, or "plugin"$' run .own.json
echo '{ "policy": "rules" }' >.policy.json
expect 2 '.policy.json:rules: missing, and without a default$' run .own.json
mkdir gpus
own '.gpu.profile = "mine"'
echo '{ "extends": "a100-40g", "gpu": { "memory": { "value": "4G", "source": "Assumption.", "unit": "B" } } }' >gpus/mine.json
expect 2 'gpus/mine.json:gpu.memory: has more than a value and its source' run .own.json
rm -r gpus
printf '%s\n' "Timestamp,Request tokens" 0,3 >.lacks.csv
expect 2 ".lacks.csv:1: column 'Response tokens' is missing, needed beside 'Timestamp'" trace info .lacks.csv
# Editors put a byte order mark in front.
own .
{ printf '\357\273\277' && cat .own.json; } >.mark.json
"$gvmsim" run .mark.json --quiet --out out || fail "a byte order mark"
rm -r out

# What takes minutes is not begun if its result has no place.
echo text >.text.md
expect 2 "none.md: cannot be read: No such file" validate published --deviations none.md
expect 2 ".text.md: has no table to rewrite, allowed: lines <!-- gvmsim validate published: FIGURE -->" \
	validate published --deviations .text.md
expect 2 "none: cannot be read: No such file" validate hardware none
expect 1 ".text.md: cannot write results there: Not a directory" report --out .text.md
expect 2 "help: 2 words after 'keys', expected 1 at most" help keys gpu link
expect 2 "help: 1 words after 'schema', expected none" help schema gpu
expect_nothing_written

# A compressed file that is cut off.
own '.output = { activity: true, compress: "zstd" }'
"$gvmsim" run .own.json --quiet --out .cut
head -c 40 .cut/activity.csv.zst >.part
mv .part .cut/activity.csv.zst
expect 1 ".cut/activity.csv: cannot be read: its .zst is damaged or cut off" explain .cut worst

# Help goes to stdout and is no mistake.
for words in "--help" "run --help" "figure --help" "figure ablation --help" \
	"figure alone-vs-shared --help" "figure --help memory-contention" \
	"figure throughput-vs-memory --help" "figure fault-breakdown --help" "figure ideas --help" \
	"figure isolation --help" "figure compute --help" "figure interference --help" "--version" "run x.json --help" \
	"validate --help" "validate hardware --help" "validate results --help" "trace --help"; do
	# shellcheck disable=SC2086
	"$gvmsim" $words >.out 2>.err || fail "gvmsim $words"
	[ -s .out ] && [ ! -s .err ] || fail "gvmsim $words: help goes to stdout"
done
expect_nothing_written
