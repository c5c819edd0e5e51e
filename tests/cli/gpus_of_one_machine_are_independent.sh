#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Two GPUs of different profiles in one machine: each container has the results of a machine that
# has its GPU only, to the byte, under every system.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

# Both containers have more memory than their GPU. The limit of "b" is lowered during the run.
cat >both.json <<END
{"name": "both", "duration": "2s",
 "gpu": {"profile": "a100-40g", "memory": "64M", "context": 0},
 "gpus": {"second": {"profile": "h100-80g", "memory": "96M", "context": 0}},
 "host": {"speed": 1},
 "output": {"controls": true, "evictions": true},
 "containers": {
  "a": {"app": {"type": "pages", "bytes": "100M", "kernel_blocks": 7}},
  "b": {"gpu": "second", "compute.priority": 3, "gmem.limit.high": "90M",
   "app": {"type": "pages", "bytes": "128M", "pattern": "random", "kernel_blocks": 5}}},
 "events": [{"at": "700ms", "container": "b", "file": "gmem.limit.high", "value": "60M"}]}
END
sed -e 's/"profile": "a100-40g", "memory": "64M", "context": 0/"profile": "h100-80g", "memory": "96M", "context": 0/' \
	-e '/"gpus"/d' -e 's/"gpu": "second", //' both.json >second.json

for system in $("$gvmsim" reference --words systems); do
	# gvtg does not page: more memory than there is would end both runs at once.
	set --
	if [ "$system" = gvtg ]; then
		set -- --set containers.a.app.bytes=40M --set containers.b.app.bytes=60M
	fi
	# Only virtual partitions are paged.
	if [ "$system" = guardian ]; then
		set -- --set system.partitions=virtual
	fi
	"$gvmsim" run both.json --system "$system" --quiet --out "both.$system" "$@" ||
		fail "both, $system"
	"$gvmsim" run both.json --system "$system" --quiet --out "a.$system" "$@" \
		--set containers.b.enabled=false --set events=[] || fail "a, $system"
	"$gvmsim" run second.json --system "$system" --quiet --out "b.$system" "$@" \
		--set containers.a.enabled=false || fail "b, $system"
	for name in a b; do
		for file in requests.csv timeline.csv controls.csv evictions.csv; do
			grep -E "^([0-9]+,)?$name," "both.$system/$file" >together || true
			grep -E "^([0-9]+,)?$name," "$name.$system/$file" >alone || true
			cmp together alone || fail "$system, $name: $file differs"
		done
		jq ".containers.$name | del(.gpu)" "both.$system/summary.json" >together
		jq ".containers.$name | del(.gpu)" "$name.$system/summary.json" >alone
		cmp together alone || fail "$system, $name: summary.json differs"
		# vgpu does not page: more memory than there is ends the container.
		if [ "$system" = vgpu ]; then
			jq -r ".containers.$name.status" "both.$system/summary.json" | grep -q 'frame buffer' ||
				fail "$system, $name: it has more memory than there is"
		elif [ "$system" != gvtg ] &&
			[ "$(jq ".containers.$name.evictions" "both.$system/summary.json")" -eq 0 ]; then
			fail "$system, $name: nothing was evicted"
		fi
	done
done

# A policy that lets containers of a GPU take turns, or pay each other, writes the same of each. gvmd writes one
# file after the other, so dates are not compared.
for policy in timeshare debt; do
	printf '{"policy": "%s"}' $policy >$policy.json
	set -- --system ghost --quiet --set policy.file=$policy.json
	"$gvmsim" run both.json --out both.$policy "$@" || fail "both, $policy"
	"$gvmsim" run both.json --out a.$policy "$@" --set containers.b.enabled=false --set events=[] || fail "a, $policy"
	"$gvmsim" run second.json --out b.$policy "$@" --set containers.a.enabled=false || fail "b, $policy"
	for name in a b; do
		grep ",$name," both.$policy/policy.csv | cut -d, -f2-4 >together || true
		grep ",$name," $name.$policy/policy.csv | cut -d, -f2-4 >alone || true
		cmp together alone || fail "$policy, $name: a container of another GPU changes what is written"
	done
done

# With several GPUs, results name the GPU of each container. The configuration can be run again.
[ "$(jq -r '[.containers[].gpu] | join(" ")' both.ghost/summary.json)" = "gpu0 second" ] ||
	fail "the GPUs are not named"
[ "$(jq '.containers.b.gpu' b.ghost/summary.json)" = null ] || fail "a single GPU is named"
reserved='[.gpu_reserved_bytes.gpu0, .gpu_reserved_bytes.second]'
total='[(.gpu.memory_total - .gpu.memory), (.gpus.second.memory_total - .gpus.second.memory)]'
[ "$(jq -c "$reserved" both.ghost/summary.json)" = "$(jq -c "$total" both.ghost/config.json)" ] ||
	fail "the memory that RM keeps of each GPU: $(jq -c .gpu_reserved_bytes both.ghost/summary.json)"
jq 'del(.gpus)' both.ghost/config.json | jq '.containers |= del(.b)' | jq '.events = []' >one.json
"$gvmsim" run one.json --quiet --out one || fail "one GPU"
[ "$(jq .gpu_reserved_bytes one/summary.json)" = "$(jq '.gpu.memory_total - .gpu.memory' one/config.json)" ] ||
	fail "one GPU: the memory that RM keeps is no number"
"$gvmsim" run both.ghost/config.json --quiet --out again || fail "config.json is no scenario"
jq .containers both.ghost/summary.json >first
jq .containers again/summary.json | cmp first - || fail "config.json gives other results"

"$gvmsim" run both.json --set containers.b.gpu=third 2>wrong && fail "a GPU that is not there"
grep -q 'containers.b.gpu: no GPU "third", allowed: "gpu0", "second"' wrong || fail "$(cat wrong)"
exit 0
