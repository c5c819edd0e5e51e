#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Settings that are allowed and seldom meant are told before the run, which takes place. --quiet tells none,
# and the shipped scenarios give no reason. Two initial settings that contradict are refused.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
base=vllm-diffusion-40g

# advised LINE ARGUMENTS...: the run of a second says exactly this line; - : it says nothing
advised() {
	line=$1
	shift
	rm -rf out # results of other settings would be one more note
	"$gvmsim" run "$@" --out out >.out 2>.err || fail "$*: $(cat .err)"
	grep '^gvmsim: note: ' .err | grep -v ' events\.' >.notes || true
	if [ "$line" = - ]; then
		[ ! -s .notes ] || fail "$*: $(cat .notes)"
	else
		grep -qxF "gvmsim: note: $line" .notes || fail "$*: no '$line' in: $(cat .err)"
		[ "$(wc -l <.notes)" -eq 1 ] || fail "$*: more notes: $(cat .notes)"
	fi
}

short="--set duration=1s --set containers.vllm.start=0s --set containers.diffusion.start=0s"
# shellcheck disable=SC2086 # lists of words
{
	advised "gpu0: the limits of 2 containers add up to 50.0 GiB, of 39.3 GiB: within them, they can evict each other" \
		$base --system gvm $short --set containers.vllm.gmem.limit.high=30G --set containers.diffusion.gmem.limit.high=20G
	advised - $base --system gvm $short --set containers.vllm.gmem.limit.high=30G \
		--set containers.diffusion.gmem.limit.high=9G
	# stock does not honour the limits.
	advised - $base --system stock $short --set containers.vllm.gmem.limit.high=30G \
		--set containers.diffusion.gmem.limit.high=20G
	advised "gpu0: the protected memory of 2 containers adds up to 60.0 GiB, of 39.3 GiB: not all of it can be protected" \
		$base --system ghost $short --set containers.vllm.gmem.limit.low=30G --set containers.diffusion.gmem.limit.low=30G \
		--set containers.diffusion.gmem.limit.high=max
	advised "containers.diffusion.gmem.limit.low: 8.0 GiB are protected, above its gmem.limit.high of 4.0 GiB" \
		$base --system ghost $short --set containers.diffusion.gmem.limit.low=8G --set containers.diffusion.gmem.limit.high=4G \
		--set containers.vllm.gmem.limit.high=20G
	advised "containers.diffusion.gmem.limit.high: 1.0 MiB are less than the context of its process, which takes 300.0 MiB" \
		$base --system gvm $short --set containers.diffusion.gmem.limit.high=1M
	advised "containers.diffusion.gmem.limit.high: 1.0 KiB are less than the context of its process, which takes 300.0 MiB" \
		$base --system gvm $short --set containers.diffusion.gmem.limit.high=1K
	advised "containers.diffusion.app.read_mostly: has no effect, as app.memory is unmanaged" \
		$base --system stock $short --set containers.diffusion.app.memory=unmanaged \
		--set containers.diffusion.app.read_mostly=true
	advised "containers.vllm.app.max_model_len: 16 tokens are less than 2 of 2 prompts have, which fail as too long" \
		$base --system gvm $short --set duration=60s --set containers.diffusion.enabled=false --set containers.vllm.app.max_model_len=16 \
		--set containers.vllm.app.trace.file=fixed_32_128.trace --set containers.vllm.app.trace.divide=1 --set containers.vllm.app.client.stop=2s
	advised "containers.vllm.app.trace.rate: has no effect, as the users of app.client.users send when they have their answers" \
		closed-loop-8b --set duration=1s --set containers.vllm.app.trace.rate=2
	advised "containers.vllm.app.trace.divide: has no effect, as the users of app.client.users send when they have their answers" \
		closed-loop-8b --set duration=1s --set containers.vllm.app.trace.divide=2
	advised "containers.vllm.app.client.users: 100 of 1100 users send nothing, as the trace has 1000 requests" \
		closed-loop-8b --set duration=1s --set containers.vllm.app.client.users=1100
	advised "containers.diffusion.start: is not before the end of the run, so it never starts" \
		$base --system gvm $short --set containers.diffusion.start=1s --set containers.diffusion.gmem.limit.high=1G
}

# An event after the end is refused, and one at the end would be applied to no time at all. Its number is that
# of the scenario, which need not have events in the order of time.
"$gvmsim" run closed-loop-8b --system gvm --out out --set duration=1s --set 'events=[
	{"at": "1s", "container": "vllm", "file": "gmem.limit.high", "value": "38G"},
	{"at": "0.999s", "container": "vllm", "file": "gmem.limit.high", "value": "39G"}]' >.out 2>.err || fail "$(cat .err)"
[ "$(grep -c "note: events" .err)" = 1 ] &&
	grep -qx "gvmsim: note: events.0.at: is the end of the run, so the event has no effect" .err || fail "at the end: $(cat .err)"

# Users go through the trace once. If that ends before the run, it is said after the run.
printf 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n' >three.csv
for second in 0 1 2; do echo "$second,ChatGPT,100,10,110,Conversation log"; done >>three.csv
users="closed-loop-8b --set containers.vllm.app.trace.file=three.csv --out out --set duration"
rm -rf out
# shellcheck disable=SC2086 # a list of words
"$gvmsim" run $users=100s >.out 2>.err || fail "three requests: $(cat .err)"
grep -qE '^gvmsim: note: containers.vllm.app.client.users: the users had all answers at [0-9]+[.][0-9]{3} s, and nothing more to ask: the trace has 3 requests$' .err ||
	fail "users without requests: $(cat .err)"
# shellcheck disable=SC2086 # a list of words
"$gvmsim" run $users=100s --quiet >.out 2>.err && [ ! -s .err ] || fail "--quiet: $(cat .err)"

# A rule that may never fire writes what the system does not have.
cat >rules.json <<'END'
{ "policy": "rules", "rules": [ {
	"when": { "container": "vllm", "metric": "gcgroup.stat.pending", "above": 100000000 },
	"then": [ { "container": "vllm", "file": "gmem.limit.high", "value": "6e9" },
		{ "container": "diffusion", "file": "compute.weight", "value": 50 } ] } ] }
END
# shellcheck disable=SC2086 # lists of words
advised "$PWD/rules.json: rules.0.then.1: gvm does not honour compute.weight, and refuses the write" \
	$base --system gvm $short --set containers.diffusion.gmem.limit.high=1e9 --set containers.vllm.gmem.limit.high=30e9 --set policy.file="$PWD/rules.json"

# Four times the requests need more than the GPU; as many as are recorded do not.
"$gvmsim" run vllm-diffusion-80g --system exclusive --set containers.vllm.app.trace.divide=1200 --set duration=170s \
	--out out >.out 2>.err || fail "$(cat .err)"
grep -qE '^gvmsim: note: containers.vllm: past saturation: the requests of [0-9.]+ s need [0-9.]+ s of GPU time or more$' .err ||
	fail "no saturation: $(cat .err)"
# A bound from below: that server answers fewer than come.
[ "$(jq '.containers.vllm.requests | .completed < .arrived' out/summary.json)" = true ] || fail "no saturation"

# The load that an event sets counts from then on.
load() {
	"$gvmsim" run vllm-diffusion-80g --system exclusive --set containers.vllm.app.trace.divide="$1" --set duration=170s \
		--set "events=[{\"at\": \"70s\", \"container\": \"vllm\", \"load\": $2}]" --out out >.out 2>.err || fail "$(cat .err)"
}
load 1200 0.1
grep 'past saturation' .err && fail "a load of a tenth is past saturation"
load 120 10
grep -q 'past saturation' .err || fail "a load of ten times is not past saturation"

"$gvmsim" run $base --system gvm --quiet --out out --set duration=1s --set containers.diffusion.gmem.limit.high=1M \
	2>.err || fail "$(cat .err)"
grep note: .err && fail "advice beside --quiet"
for file in "$source"/scenarios/*.json; do
	case ${file##*/} in
	limit-cut.json) ;;         # limits above the memory, one of which is cut
	memory-contention.json) ;; # a server that is flooded
	*) advised - "$file" ;;
	esac
done

expect 2 "containers.vllm.compute.timeslice: contradicts compute.priority, which sets a timeslice of its own, allowed: one of them, and null for the other" \
	run $base --set containers.vllm.compute.timeslice=2ms
"$gvmsim" run $base --system gvm --quiet --out out --set duration=1s --set containers.vllm.compute.timeslice=2ms \
	--set containers.vllm.compute.priority=null || fail "null takes nothing back"
[ "$(jq -c '.containers.vllm | [."compute.timeslice", ."compute.priority"]' out/config.json)" = '["2000us",null]' ] ||
	fail "$(jq .containers.vllm out/config.json)"
# At run time the last write wins, as in the driver.
"$gvmsim" run $base --system gvm --quiet --out out --set duration=1s --set 'events=[{"at": "0.5s",
	"container": "vllm", "file": "compute.timeslice", "value": "2ms"}]' || fail "a write at run time is refused"
