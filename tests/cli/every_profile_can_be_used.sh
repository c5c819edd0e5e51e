#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Each profile of a GPU and of an application has all keys that it needs, and no others.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

# An application whose profile, or the one that it extends, has tensors is one of phases; one with a fabric transfers.
count=0
for app in "$source"/scenarios/apps/*.json; do
	base=$app
	extended=$(jq -r '.extends // empty' "$base")
	while [ "$extended" ]; do
		base=$source/scenarios/apps/$extended.json
		extended=$(jq -r '.extends // empty' "$base")
	done
	tensors=$(jq '.app | has("tensors")' "$base")
	fabric=$(jq '.app | has("fabric")' "$base")
	name=${app##*/}
	jq --arg app "${name%.json}" --argjson tensors "$tensors" --argjson fabric "$fabric" \
		--arg trace "$source/traces/burstgpt1_gvm3256.trace" \
		'{ name: "one", duration: "1ms", gpu: { profile: "a100-40g" }, containers: { one: { app:
			({ profile: $app } + if $tensors
			then { type: "phases", trace: { file: $trace } }
			elif $fabric then { type: "transfer" }
			elif $app == "vllm"
			then { type: "llm-server", trace: { file: $trace }, model: "Qwen2.5-7B" }
			elif .app.kv_bytes_per_token
			then { type: "llm-server", trace: { file: $trace }, gpu_memory_utilization: 0.9 }
			else { type: "diffusion" } end) } } }' "$app" >one.json
	for gpu in "$source"/scenarios/gpus/*.json; do
		name=${gpu##*/}
		set -- --quiet --out out --set gpu.profile="${name%.json}"
		# A server's weights do not fit into each GPU, and it says so.
		case $gpu in
		*-1[26]g.json)
			if ! "$gvmsim" run one.json "$@" 2>.err; then
				grep -q 'does not hold weights and workspace' .err || fail "$gpu, $app: $(cat .err)"
				continue
			fi
			;;
		*)
			"$gvmsim" run one.json "$@" 2>.err || fail "$gpu, $app: $(cat .err)"
			;;
		esac
		[ ! -s .err ] || fail "$gpu, $app: $(cat .err)"
		rm -r out
		count=$((count + 1))
	done
done
[ "$count" -ge 45 ] || fail "only $count pairs of profiles"

# Each system runs on each GPU, but for what NVIDIA does not sell: its refusal is one line.
jq -n '{ name: "one", duration: "1ms",
	gpu: { profile: "a100-40g" }, containers: { one: { app: { type: "phases", profile: "caffe-lenet",
		memory: "unmanaged" } } } }' >one.json
systems=0
for system in $("$gvmsim" reference --words systems); do
	refused=0
	for gpu in "$source"/scenarios/gpus/*.json; do
		gpu=${gpu##*/}
		gpu=${gpu%.json}
		if "$gvmsim" run one.json --quiet --out out --system "$system" --set gpu.profile="$gpu" 2>.err; then
			[ ! -s .err ] || fail "$system, $gpu: $(cat .err)"
			rm -r out
		else
			grep -q "allowed with system \"$system\": a GPU" .err || fail "$system, $gpu: $(cat .err)"
			refused=$((refused + 1))
		fi
	done
	case $system in
	mig | vgpu) [ "$refused" -lt "$(find "$source/scenarios/gpus" -name '*.json' | wc -l)" ] ;;
	*) [ "$refused" -eq 0 ] ;;
	esac || fail "$system: refused on $refused GPUs"
	systems=$((systems + 1))
done
[ "$systems" -ge 13 ] || fail "only $systems systems"
# As much memory as a profile may have, and as little as this application needs.
for memory in 16T 1G; do
	"$gvmsim" run one.json --quiet --out out --system guardian --set gpu.memory_total=$memory \
		--set gpu.memory=$memory 2>.err || fail "guardian, $memory: $(cat .err)"
	rm -r out
done

# The message about too small a share names the least one that is enough.
share() {
	"$gvmsim" run vllm-diffusion-80g --set containers.vllm.app.model=Qwen2.5-7B \
		--set "containers.vllm.app.gpu_memory_utilization=$1" --set duration=1ms --quiet --out share 2>.err
}
! share 0.05 || fail "5 % of 80 GB hold a model of 15 GB"
least=$(sed -n 's/.*allowed: \(0[.][0-9]*\) and more.*/\1/p' .err)
[ "$least" ] || fail "the least share is not said: $(cat .err)"
share "$least" || fail "the least share is not enough: $(cat .err)"
! share "$(echo "$least" | awk '{ printf "%.2f", $1 - 0.01 }')" || fail "$least is not the least share"
! "$gvmsim" run vllm-diffusion-40g --set containers.vllm.app.model=Llama-3.3-70B --out share 2>.err || fail "70 B fit"
grep -q 'allowed: a GPU with [0-9]* % of that, or a smaller model' .err || fail "70 B: $(cat .err)"
