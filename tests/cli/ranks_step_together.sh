#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A server over two GPUs: each has half of its memory, to the byte; a neighbour of one rank delays both; they live and
# die together; and mistakes get one line.
# Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

# run FOLDER OPTIONS...: the first minute
run() {
	out=$1
	shift
	"$gvmsim" run "$source/scenarios/tensor-parallel-80g.json" --quiet --out "$out" --set duration=60s "$@" \
		2>.err || [ $? = 1 ] || fail "$*: $(cat .err)"
}
# of FOLDER CONTAINER KEY
of() {
	jq -r ".containers[\"$2\"]$3" "$1/summary.json"
}

# 3830 chunks of weights, 615 of workspace, 494 groups of 32 chunks of KV: 20253 chunks of 2 MiB.
# Weights are copied by pages of 64 KiB: 122533 of them.
run alone --set gpu.context=0 --set gpus.gpu1.context=0 --set containers.diffusion.enabled=false
for rank in llama llama-rank1; do
	[ "$(of alone $rank .gmem.current)" = 42473619456 ] || fail "$rank has $(of alone $rank .gmem.current) bytes"
	[ "$(of alone $rank .bytes_h2d)" = 8030322688 ] || fail "$rank copied $(of alone $rank .bytes_h2d) bytes"
done
# Nothing differs between them: the GPU time is the same to the nanosecond.
[ "$(of alone llama .gpu_seconds)" = "$(of alone llama-rank1 .gpu_seconds)" ] || fail "ranks worked for unequal times"

# A neighbour on the second GPU: the first GPU has no other container, and still it waits.
run alone --system stock --set duration=180s --set containers.diffusion.enabled=false
run beside --system stock --set duration=180s
jq -e --slurpfile alone alone/summary.json '
	(.containers.llama.itl_ms.p50 > 1.5 * $alone[0].containers.llama.itl_ms.p50) and
	(.containers.llama.waited_seconds == 0) and (.containers["llama-rank1"].waited_seconds > 1)' \
	beside/summary.json >.told || fail "the neighbour of a rank delays nobody: $(cat beside/summary.json)"

[ "$(of beside llama-rank1 .type)" = llm-rank ] || fail "a rank has another type: $(of beside llama-rank1 .type)"

# A rank that finds no memory ends the server, and the server its ranks, when they have loaded their weights.
own='--set containers.llama.app.memory=unmanaged --set containers.llama-rank1.app.memory=unmanaged'
for dying in llama llama-rank1; do
	other=$([ $dying = llama ] && echo llama-rank1 || echo llama)
	# shellcheck disable=SC2086
	run dead $own --set containers.$dying.gmem.limit.high=1G
	of dead "$dying" .status | grep -q 'died at 5.000 s: an allocation of unmanaged memory' ||
		fail "$dying: $(of dead "$dying" .status)"
	of dead "$other" .status | grep -q 'died at 5.[0-9]* s: another rank of its server died$' ||
		fail "$other beside $dying: $(of dead "$other" .status)"
	[ "$(of dead llama .requests.failed)" = "$(of dead llama .requests.arrived)" ] || fail "requests did not fail"
done

# So does a rank whose GPU has no room for its context.
for gpu in gpu gpus.gpu1; do
	dying=$([ $gpu = gpu ] && echo llama || echo llama-rank1)
	other=$([ $gpu = gpu ] && echo llama-rank1 || echo llama)
	run narrow --set containers.diffusion.enabled=false --set $gpu.context=100G
	of narrow "$dying" .status | grep -q 'died at 5.000 s: ' || fail "$dying: $(of narrow "$dying" .status)"
	of narrow "$other" .status | grep -q 'died at 5.[0-9]* s: another rank of its server died$' ||
		fail "$other beside $dying: $(of narrow "$other" .status)"
	[ "$(of narrow llama .requests.failed)" = "$(of narrow llama .requests.arrived)" ] || fail "requests did not fail"
done

# All ranks sleep, and wake: none has memory beside its context meanwhile.
run asleep --set gpu.context=0 --set gpus.gpu1.context=0 --set 'events=[{"at": "30s", "container": "llama", "sleep": 2}]'
for rank in llama llama-rank1; do
	[ "$(of asleep $rank .gmem.current)" = 0 ] || fail "$rank has $(of asleep $rank .gmem.current) bytes asleep"
done
run awake --set gpu.context=0 --set gpus.gpu1.context=0 --set 'events=[{"at": "30s", "container": "llama", "sleep": 1},
	{"at": "40s", "container": "llama", "wake": true}]'
for rank in llama llama-rank1; do
	[ "$(of awake $rank .gmem.current)" = 42473619456 ] || fail "$rank has $(of awake $rank .gmem.current) bytes awake"
done

# Experts and a latent cache over two GPUs. Each rank reads half of the experts' bytes, and both touch the same ones:
# with a limit below the weights they page alike.
for model in Qwen3-30B-A3B DeepSeek-V2-Lite; do
	run experts --set containers.diffusion.enabled=false --set containers.llama.app.model=$model \
		--set containers.llama.app.gpu_memory_utilization=0.6 --set containers.llama.gmem.limit.high=34G \
		--set containers.llama-rank1.gmem.limit.high=34G --set duration=60s
	for count in .evictions .bytes_h2d .kernels.ended; do
		[ "$(of experts llama $count)" = "$(of experts llama-rank1 $count)" ] ||
			fail "$model: $count of ranks: $(of experts llama $count) and $(of experts llama-rank1 $count)"
	done
	[ "$(of experts llama .requests.completed)" -gt 0 ] || fail "$model answers nothing"
done
[ "$(of experts llama .evictions)" -gt 0 ] || fail "$model does not page: a test of nothing"

# refuse PATTERN OPTIONS...
refuse() {
	pattern=$1
	shift
	expect 2 "$pattern" run "$source/scenarios/tensor-parallel-80g.json" "$@"
}
refuse 'llama.app.tensor_parallel: it does not divide kv_bytes_per_token' --set containers.llama.app.tensor_parallel=2 \
	--set containers.llama.app.kv_bytes_per_token=65537
# A rank has a part of the heads, and these models have 8 and 4 of keys and values. The bytes could be divided.
refuse 'llama.app.tensor_parallel: 16 does not divide the heads of keys and values, allowed: a divisor of 8' \
	--set containers.llama.app.tensor_parallel=16
refuse 'llama.app.tensor_parallel: 7 does not divide the heads of keys and values, allowed: a divisor of 4' \
	--set containers.llama.app.tensor_parallel=7 --set containers.llama.app.model=Qwen2.5-7B
refuse 'llama.app.tensor_parallel: 0 containers with app.type "llm-rank" name it as app.server, allowed: 1' \
	--set containers.llama-rank1.enabled=false
refuse 'llama.app.tensor_parallel: app.pressure is true' --set containers.llama.app.pressure=true
refuse 'llama.app.tensor_parallel: 3 does not divide the heads, allowed: a divisor of 16' \
	--set containers.llama.app.tensor_parallel=3 --set containers.llama.app.model=DeepSeek-V2-Lite
refuse 'llama.app.tensor_parallel: with two all-reduces a layer a step has more than 1000000 kernels, allowed: 1' \
	--set containers.llama.app.layers=500000 --set containers.llama.app.kernel_launch=1s
refuse 'llama-rank1.gpu: is the GPU of "llama", too' --set 'containers.llama-rank1.gpu=""'
# All processes of a server allocate in the same way.
refuse 'llama-rank1.app.memory: its server "llama" has unmanaged memory, allowed: unmanaged' \
	--set containers.llama.app.memory=unmanaged
refuse 'llama-rank1.app.memory: its server "llama" has managed memory, allowed: managed' \
	--set containers.llama-rank1.app.memory=unmanaged
refuse 'llama-rank1.app.server: "llama" has no ranks' --set containers.llama.app.tensor_parallel=1
refuse 'llama-rank1.gpu: is too small for a rank of "llama"' --set gpus.gpu1.memory=7G --set gpus.gpu1.memory_total=8G
refuse 'events.0.stop: its container is a part of a server with tensor_parallel' \
	--set 'events=[{"at": "20s", "container": "llama-rank1", "stop": true}]'
