#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# From a host to a simulation in two commands: gvmcollect keeps which model a vLLM server has, and "gvmsim scenario
# import" makes an application of it. The server is a stand-in: a script named vllm whose child uses the GPU, as vLLM's
# engine does.
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/collect.inc"

cat >vllm <<'END'
#!/bin/sh
sleep 600 &
echo $! >engine
wait
END
chmod +x vllm

# serve ARGUMENTS...: start the server, watch its engine for some samples, end both. The folder is hw.
serve() {
	rm -f engine
	./vllm "$@" &
	server=$!
	tries=0
	until [ -s engine ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || fail "no server"
		sleep 0.05
	done
	nobody=$(cat engine)
	put_all
	put gmem.peak 43000000000
	put gmem.limit.high 60000000000
	put compute.priority 2
	collect --root "$tree" --interval 10ms --container "chat=$nobody" --system gvm --out hw
	wait_for "chat: appeared"
	sleep 0.1
	rm -r "$tree/${nobody:?}"
	kill "$nobody" # its server ends with it
	wait "$server" || :
	finish 0
}

serve serve meta-llama/Llama-3.1-8B-Instruct --api-key secret-word --gpu_memory_utilization=0.6 --max-model-len 8192 \
	--max-num-seqs 128 --quantization fp8 --port 8000
[ "$(jq -c .containers.chat.served hw/config.json)" = '{"program":"vllm","options":{"gpu-memory-utilization":"0.6","max-model-len":"8192",'\
'"max-num-seqs":"128","quantization":"fp8"},"model":"meta-llama/Llama-3.1-8B-Instruct"}' ] ||
	fail "served: $(jq -c .containers.chat hw/config.json)"
grep -rq secret-word hw && fail "a key of the command line is in the folder"
start_ns=$(jq .clock.start_ns hw/config.json)
jq --argjson start "$start_ns" '.start_times = [1, 2, 3, 4] | .start_times |= map($start / 1e9 + . / 1e3)' \
	"$source/tests/collect/logs/vllm-bench.json" >bench.json
"$gvmcollect" logs hw --requests chat=bench.json --slo chat=2s 2>.notes || fail "logs: $(cat .notes)"

# The second command, with a card that the host of this test does not have. It runs at once.
"$gvmsim" scenario import hw mine.json --gpu a100-80g >said 2>.err || fail "import: $(cat .err)"
grep -q TODO said mine.json && fail "something is left to do: $(cat said)"
grep -q '^server  *containers.chat: vLLM with meta-llama/Llama-3.1-8B-Instruct$' said || fail "$(cat said)"
grep -q estimate said && fail "the command line has the share of the memory: $(cat said)"
[ "$(jq -c '.containers.chat.app | [.type, .profile, .model, .gpu_memory_utilization, .max_model_len, .max_sequences, .quantization, .slo_ttft]' mine.json)" = \
	'["llm-server","vllm","Llama-3.1-8B",0.6,8192,128,"fp8","2s"]' ] || fail "app: $(jq .containers.chat.app mine.json)"
[ "$(jq -c '.containers.chat | [."gmem.limit.high", ."compute.priority"]' mine.json)" = '["60000000000","2"]' ] || fail "$(cat mine.json)"
# Its end is an event; without it all requests are answered.
"$gvmsim" run mine.json --quiet --out short 2>.err || fail "run: $(cat .err)"
"$gvmsim" run mine.json --set 'events=[]' --set duration=60s --quiet --out sim 2>.err || fail "run: $(cat .err)"
[ "$(jq .containers.chat.requests.completed sim/summary.json)" = 3 ] || fail "requests: $(jq .containers.chat sim/summary.json)"

# What the user says goes before: another profile has a model of its own.
"$gvmsim" scenario import hw other.json --gpu a100-80g --app chat=vllm-llama-3.2-3b >said 2>.err || fail "--app: $(cat .err)"
[ "$(jq -c '.containers.chat.app | [.profile, .model, .gpu_memory_utilization]' other.json)" = '["vllm-llama-3.2-3b",null,0.6]' ] ||
	fail "--app: $(jq .containers.chat.app other.json)"

# Without a log the server is known, and its requests are what is missing. A model that only a profile has; options that
# have no key.
serve serve --model /models/Llama-3.2-3B --quantization awq --max-model-len auto
"$gvmsim" scenario import hw todo.json --gpu a100-80g >said 2>.err || fail "no log: $(cat .err)"
[ "$(jq -c '.containers.chat.app | [.type, .profile, .model, .trace.file]' todo.json)" = '["llm-server","vllm-llama-3.2-3b",null,"TODO"]' ] ||
	fail "no log: $(jq .containers.chat.app todo.json)"
grep -q '^left_out  *containers.chat: options without a key: max-model-len auto, quantization awq$' said || fail "$(cat said)"
grep -q '^estimate  *containers.chat.app.gpu_memory_utilization' said || fail "$(cat said)"
tail -n 1 said | grep -qx 'todo.json does not run yet: 1 TODO' || fail "$(cat said)"
expect 2 'todo.json:containers.chat.app.trace.file: no file "TODO"' run todo.json --out none
"$gvmsim" run todo.json --set containers.chat.app.trace.file=mine-chat.trace --set 'events=[]' --set duration=60s --quiet --out sim 2>.err ||
	fail "with a trace: $(cat .err)"

# A model that gvmsim does not have, by vLLM's older way, on two GPUs. The key is named.
serve -m vllm.entrypoints.openai.api_server --model=mistralai/Mistral-7B-v0.3 -tp 2
"$gvmsim" scenario import hw todo.json --gpu a100-80g >said 2>.err || fail "unknown: $(cat .err)"
grep -q '^TODO  *containers.chat.app.model: gvmsim has no model of that name; a folder with its config.json of Hugging Face$' said ||
	fail "unknown: $(cat said)"
[ "$(jq -c '.containers.chat.app | [.profile, .model, .tensor_parallel]' todo.json)" = '["vllm","TODO",2]' ] || fail "$(jq .containers.chat.app todo.json)"
expect 2 'todo.json:containers.chat.app.model: .*"TODO"' run todo.json --out none

# No server: nothing is said of one.
serve bench --model x
[ "$(jq -c .containers.chat.served hw/config.json)" = null ] || fail "vllm bench is no server: $(jq -c .containers.chat hw/config.json)"
