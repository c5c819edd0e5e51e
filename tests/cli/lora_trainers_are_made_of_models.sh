#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvmsim app lora: trainers of models run, alone and beside a server; mistakes are one line each and
# leave no file. Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

expect 2 "app lora: 1 names, expected a model and a file, usage: gvmsim app lora MODEL OUT" app lora Qwen2.5-7B
expect 2 'Qwen2.5: no config.json there and no model of gvmsim, did you mean "Qwen2.5-7B"' app lora Qwen2.5 out.json
expect 2 "^gvmsim: : no config.json there" app lora "" out.json
expect 2 "Qwen3-30B-A3B: has experts, whose trainer is not modelled, allowed: a model without experts" \
	app lora Qwen3-30B-A3B out.json
for option in rank micro-batch accumulate; do
	for value in 0 -1 1.5 many 1000000000; do
		expect 2 "app lora: option '--$option': \"$value\", allowed: an integer from 1 to " \
			app lora Qwen2.5-7B out.json --$option $value
	done
done
expect 2 "app lora: option '--trace': no file \"none\", allowed: one in the current folder or in .*traces" \
	app lora Qwen2.5-7B out.json --trace none
echo '{"architectures": ["LlamaForCausalLM"]}' >.model.json
expect 2 "\.model.json:hidden_size: is missing, allowed: an integer" app lora .model.json out.json
echo '[]' >.model.json
expect 2 "\.model.json:1:1: is not an object, allowed: a model's config" app lora .model.json out.json
printf '%s\n' "Timestamp,Request tokens,Response tokens" oops,3,4 >.bad.csv
expect 2 "\.bad.csv:2:" app lora Qwen2.5-7B out.json --trace .bad.csv
mkdir .folder
expect 2 "\.folder: no config.json there" app lora .folder out.json
expect 1 "none/out.json" app lora Qwen2.5-7B none/out.json
expect_nothing_written

# A folder with a config.json, and a trace in the current folder: the profile names both for any folder.
mkdir mine apps
cp "$source/scenarios/models/Qwen2.5-7B/config.json" mine
printf '%s\n' "Timestamp,Request tokens,Response tokens" 0,30,40 1,100,23 >mine.csv
cp -r mine mine.csv apps
for file in mine/config.json mine.csv; do
	expect 2 "$file: cannot write: is the model or the trace$" app lora mine $file --trace mine.csv
	cmp "$file" "apps/$file" || fail "$file has changed"
done
rm -r apps/mine apps/mine.csv
"$gvmsim" app lora mine apps/mine.json --rank 16 --micro-batch 2 --accumulate 3 --remat --trace mine.csv >.out
grep -q '^model  *mine, 7615616512 parameters' .out || fail "$(cat .out)"
grep -q '^LoRA  *rank 16, 40370176 parameters' .out || fail "$(cat .out)"
grep -q '^step  *3 micro-batches of 2 examples, up to 123 tokens each' .out || fail "$(cat .out)"
jq -e --arg trace "$PWD/mine.csv" '.app | .["trace.file"].value == $trace
	and (.tensors.value.activations | .life == "recomputed" and (.bytes.source | contains("2 x 123")))
	and .phases.value[0].repeat.value == 3 and .phases.value[0].samples.value == 2' apps/mine.json >/dev/null ||
	fail "$(cat apps/mine.json)"

# beside MODEL PROFILE OUT: the trainer beside a server on an H200.
cat >beside.json <<'END'
{
	"name": "beside", "description": "A trainer beside a server.", "duration": "40s",
	"gpu": { "profile": "h200-141g" }, "system": { "name": "ghost" },
	"containers": {
		"vllm": { "start": "0s", "app": { "type": "llm-server", "profile": "vllm-llama-3.2-3b",
			"gpu_memory_utilization": 0.3, "trace": { "file": "burstgpt1_gvm3256.trace" } } },
		"lora": { "start": "0s", "app": { "type": "phases", "profile": "lora" } }
	}
}
END
for model in Qwen2.5-7B Llama-3.1-8B; do
	"$gvmsim" app lora $model apps/lora.json >.out
	"$gvmsim" run beside.json --quiet --out "run-$model"
	jq -e '.containers | .lora.iterations > 0 and .lora.status == "ok" and .vllm.status == "ok"
		and .vllm.requests.completed > 0' "run-$model/summary.json" >/dev/null || fail "$model: $(cat "run-$model/summary.json")"
done
# The trainer has the memory that its profile says, and page tables. A longer step takes longer.
"$gvmsim" app lora Qwen2.5-7B apps/lora.json >.out
"$gvmsim" run beside.json --quiet --out alone --set containers.vllm.enabled=false
bytes=$(jq '[.app.tensors.value[].bytes.value] | add' apps/lora.json)
jq -e --argjson bytes "$bytes" '.containers.lora.gmem.peak / $bytes | . >= 1 and . < 1.01' alone/summary.json >/dev/null ||
	fail "$bytes: $(cat alone/summary.json)"
"$gvmsim" app lora Qwen2.5-7B apps/lora.json --accumulate 2 >.out
"$gvmsim" run beside.json --quiet --out short --set containers.vllm.enabled=false
iterations() { jq .containers.lora.iterations "$1/summary.json"; }
[ "$(iterations short)" -gt "$((2 * $(iterations alone)))" ] ||
	fail "$(iterations short) steps of 2 micro-batches, $(iterations alone) of 8"
"$gvmsim" run beside.json --quiet --out mine.run --set containers.lora.app.profile=mine --set duration=20s
jq -e '.containers.lora | .iterations > 0 and .status == "ok"' mine.run/summary.json >/dev/null ||
	fail "mine: $(cat mine.run/summary.json)"

# A full disk: the line names the file, and nothing is left of it.
if (
	ulimit -f 1
	trap '' XFSZ
	"$gvmsim" app lora Qwen2.5-7B full.json >.out 2>.err
); then
	fail "a full disk is no success"
fi
grep -q "^gvmsim: full.json: .*: File too large$" .err || fail "a full disk: $(cat .err)"
[ -z "$(find . -name 'full.json*')" ] || fail "a full disk left $(find . -name 'full.json*')"
