#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# GPU instances of MIG: no container changes the results of another instance, to the byte, and a container
# alone on the largest instance has the results of the stock driver on a GPU with its SMs. Combinations
# that do not fit are refused.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
# shellcheck source=tests/cli/three.inc
. "$(dirname "$0")/three.inc"

# All page: memory is a thousandth of the GPU's. c and d share an instance.
pages() {
	printf '"%s": {"mig.profile": "%s"%s, "app": {"type": "pages", "bytes": "%s", "kernel_blocks": 3}}' "$@"
}
cat >all.json <<END
{"name": "all", "duration": "2s", "gpu": {"profile": "a100-40g", "memory": "256M", "context": 0},
 "output": {"evictions": true}, "containers": {
  $(pages a 3g.20gb ', "mig.start": 4' 180M), $(pages b 2g.10gb '' 100M),
  $(pages c 1g.5gb ', "mig.instance": "last", "mig.start": 2' 40M),
  $(pages d 1g.5gb ', "mig.instance": "last"' 30M)}}
END

"$gvmsim" run all.json --system mig --quiet --out all || fail "all"
for names in a b "c d"; do
	off=$(printf '%s' "a b c d" | tr ' ' '\n' | grep -vxF "$(printf '%s' "$names" | tr ' ' '\n')" |
		sed 's/.*/--set containers.&.enabled=false/')
	# shellcheck disable=SC2086
	"$gvmsim" run all.json --system mig --quiet --out alone $off || fail "alone: $names"
	for name in $names; do
		for file in timeline.csv evictions.csv; do
			grep -E "^([0-9]+,)?$name," "all/$file" >together || true
			grep -E "^([0-9]+,)?$name," "alone/$file" >single || true
			cmp together single || fail "$name: $file differs"
		done
		for result in all alone; do
			jq ".containers.$name" $result/summary.json >$result.summary
		done
		cmp all.summary alone.summary || fail "$name: summary.json differs"
		[ "$(jq .evictions all.summary)" -gt 0 ] || fail "$name: nothing was evicted"
	done
	rm -r alone
done
[ "$(jq -r '[.containers[].gpu] | join(" ")' all/summary.json)" = \
	"gpu0-3g.20gb-4 gpu0-2g.10gb-0 gpu0-1g.5gb-2 gpu0-1g.5gb-2" ] ||
	fail "instances: $(jq -c '[.containers[].gpu]' all/summary.json)"
[ "$(jq -r '.gpus | keys | join(" ")' all/summary.json)" = "gpu0-1g.5gb-2 gpu0-2g.10gb-0 gpu0-3g.20gb-4" ] ||
	fail "GPUs: $(jq -c '.gpus | keys' all/summary.json)"
# c and d take turns: with all of the time of their instance they have about half each.
jq -e '.containers | (.c.gpu_seconds / .d.gpu_seconds) | . > 0.5 and . < 2' all/summary.json >/dev/null ||
	fail "the containers of an instance do not share its time"

# By hand: rounds of 1024 kernels of 1 ms, in an instance of its own, beside instances that always have work.
# Two that share an instance have the rounds of the stock driver on a GPU with its clears, to the nanosecond.
two=', "mig.profile": "2g.10gb", "mig.instance": "two"'
three ', "mig.profile": "3g.20gb"' "$two" "$two"
rounds() {
	grep -E "^[$1],.*,completed" out/requests.csv
}
run --system mig
rounds a | awk -F, 'NR > 1 && $6 - $4 != 1024000000 { bad = 1 } END { exit bad || NR < 9 }' ||
	fail "rounds of 1024 ms: $(rounds a | head -3)"
rounds a >own
rounds bc >shared
run --set containers.a.enabled=false --set gpu.fault.zero_bandwidth=194.375e9
rounds bc | cmp - shared || fail "containers of an instance do not take turns as on a GPU"
run --set containers.b.enabled=false --set containers.c.enabled=false --set gpu.fault.zero_bandwidth=388.75e9
rounds a | cmp - own || fail "a container has other rounds in its instance than on a GPU"

# 98 of 108 SMs, everything else: the stock driver on a GPU with 98 SMs and 98/108 of the arithmetic.
one() {
	"$gvmsim" run "$scenario" --quiet --set duration=160s --set containers.diffusion.enabled=false "$@" || fail "$*"
}
one --system mig --out largest
one --system stock --set gpu.flops_bf16=283111111111111 --set gpu.sms=98 --out scaled
one --system stock --out whole
for file in requests.csv timeline.csv; do
	cmp largest/$file scaled/$file || fail "$file of 7g.80gb differs"
	! cmp -s whole/$file scaled/$file || fail "$file does not depend on the SMs"
done

mistake() {
	text=$1
	shift
	case $1 in
	*.json) ;;
	*) set -- all.json "$@" ;;
	esac
	"$gvmsim" run "$@" --system mig --quiet --out wrong 2>.err && fail "$* runs"
	[ "$(wc -l <.err)" -eq 1 ] || fail "$*: more than one line"
	grep -qF "$text" .err || fail "$*: no '$text' in: $(cat .err)"
	[ ! -e wrong ] || fail "$*: something was written"
}
mistake 'containers.b.mig.profile: a 4g.20gb needs memory slices 0 to 3, but taken are 0 to 3 by "a" (3g.20gb), allowed: ' \
	--set containers.b.mig.profile=4g.20gb --set containers.a.mig.start=0
mistake 'containers.c.mig.profile: a 1g.5gb needs memory slices 2, but taken are 4 to 7 by "a" (3g.20gb), 2 to 3 by "b" (2g.10gb)' \
	--set containers.b.mig.start=2
mistake 'containers.b.mig.profile: this GPU has no "2g.20gb", did you mean "4g.20gb"? It has 7g.40gb, 4g.20gb, 3g.20gb, 2g.10gb, 1g.10gb, 1g.5gb' \
	--set containers.b.mig.profile=2g.20gb
mistake 'containers.b.mig.start: a 2g.10gb cannot begin at memory slice 6, allowed: 0, 2, 4' \
	--set containers.b.mig.start=6
# Also of an equal part, of which the scenario names no profile.
jq 'del(.containers.b["mig.profile"])' all.json >.equal.json
mistake 'containers.b.mig.start: a 2g.10gb cannot begin at memory slice 6, allowed: 0, 2, 4' .equal.json \
	--set containers.b.mig.start=6
mistake 'containers.d.mig.profile: "c" is first in its instance and has 1g.5gb, allowed: the same' \
	--set containers.d.mig.profile=2g.10gb
mistake 'containers.d.mig.start: "c" is first in its instance, allowed: its start, 2' --set containers.d.mig.start=3
mistake 'containers.b.mps.server: "pool" has a client in another GPU instance, "a", allowed: one instance' \
	--set containers.a.mps.server=pool --set containers.b.mps.server=pool
mistake 'containers.c.mig.profile: a 1g.5gb has 2030363 bytes of memory, allowed: at least a chunk of 2097152' \
	--set gpu.memory=16M
mistake 'containers.a.gpu: has the gpu.product "other", allowed with system "mig": a GPU that has MIG' --set gpu.product=other
# The names of two instances would be the same if those of their GPUs differed further behind.
long=a-name-of-a-gpu-with-more-than-40-characters
jq --arg name $long '.gpus[$name] = {"profile": "a100-40g"} | .containers.a.gpu = $name' all.json >.long.json
mistake 'containers.a.gpu: has too long a name, allowed with system "mig": 40 characters' .long.json
# The layout belongs to this system only: others ignore it.
"$gvmsim" run all.json --quiet --out stock --set containers.b.mig.profile=none || fail "stock"
