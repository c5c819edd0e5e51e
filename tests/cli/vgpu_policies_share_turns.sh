#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# vGPUs: best effort gives the time of an idle vGPU to the others, equal share keeps it, fixed share keeps also
# that of vGPUs that do not exist. An allocation beyond the frame buffer ends its container only, and nothing
# is paged.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
# shellcheck source=tests/cli/three.inc
. "$(dirname "$0")/three.inc"
three ', "vgpu.type": "10C"' ', "vgpu.type": "10C"' ', "vgpu.type": "10C"'

# of_time PERCENT FILTER: of the run's time, in percent, a jq test of the containers' GPU time
of_time() {
	jq -e ".sim_seconds as \$all | [.containers[] | .gpu_seconds / \$all * 100] |
		. as \$share | def a: \$share[0]; def b: \$share[1]; def c: \$share[2]; $1" out/summary.json >.told ||
		fail "not $1: $(jq -c '[.containers[].gpu_seconds]' out/summary.json)"
}
# policy NAME OPTIONS...
policy() {
	name=$1
	shift
	run --system vgpu --set system.policy="$name" "$@"
}

# A turn of 2083333 ns begins with a switch: 385 us, and the state of the kernels that leave and come.
policy equal-share
of_time 'a > 24 and a < 28 and (a - b | fabs) < 0.1 and (a - c | fabs) < 0.1'
policy fixed-share
of_time 'a > 18 and a < 21 and (a - b | fabs) < 0.1 and (a - c | fabs) < 0.1'
policy best-effort
of_time 'a > 24 and (a - b | fabs) < 0.1'

# c starts at 5 s: until then, equal share is among two, and fixed share among four as ever.
late='--set containers.c.start=5s --set duration=5s'
# shellcheck disable=SC2086
policy equal-share $late
of_time 'a > 37 and a < 42 and c == 0'
# shellcheck disable=SC2086
policy fixed-share $late
of_time 'a > 18 and a < 21 and c == 0'
# Alone, a vGPU has everything under best effort and equal share, and a quarter under fixed share.
alone='--set containers.b.enabled=false --set containers.c.enabled=false'
for each in best-effort equal-share; do
	# shellcheck disable=SC2086
	policy $each $alone
	of_time 'a > 99.9'
done
# shellcheck disable=SC2086
policy fixed-share $alone
of_time 'a > 18 and a < 21'
cp -r out first
# shellcheck disable=SC2086
policy fixed-share $alone --set system.frequency=63
of_time 'a > 23.5 and a < 24.5'
# shellcheck disable=SC2086
policy fixed-share $alone --set system.frequency=7
of_time 'a > 23.5 and a < 24.5'

# Under fixed share, no neighbour changes a container's results, to the byte.
policy fixed-share
grep -E '^([0-9]+,)?a,' out/timeline.csv >together
grep -E '^([0-9]+,)?a,' first/timeline.csv | cmp - together || fail "a neighbour changes the timeline"
jq .containers.a out/summary.json >together
jq .containers.a first/summary.json | cmp - together || fail "a neighbour changes the results"

# A frame buffer of 32 MB takes 32 MB, with both of them full, and not 34.
full='--set gpu.memory=64M --set gpu.context=0 --set containers.c.enabled=false
	--set containers.a.vgpu.type=20C --set containers.b.vgpu.type=20C --set containers.a.app.bytes=32M'
for each in best-effort equal-share fixed-share; do
	# shellcheck disable=SC2086
	policy $each $full --set containers.b.app.bytes=32M
	jq -e '[.containers[] | .status == "ok" and .evictions == 0 and .faults == 0 and
		.gmem.current == 33554432] | all' out/summary.json >/dev/null ||
		fail "$each: full frame buffers: $(jq -c '.containers' out/summary.json)"
	# shellcheck disable=SC2086
	policy $each $full --set containers.b.app.bytes=34M
	[ "$(jq -r '[.containers[].status] | join("; ")' out/summary.json)" = \
		"ok; context died at 0.000 s: an allocation did not fit into its frame buffer" ] ||
		fail "$each: $(jq -c '[.containers[].status]' out/summary.json)"
	jq -e '[.containers[] | .evictions == 0 and .bytes_d2h == 0] | all' out/summary.json >/dev/null ||
		fail "$each: something was paged"
done

# Types of different sizes fit if their sum does, in any order: the largest one may come last.
policy best-effort --set containers.a.vgpu.type=4C --set containers.b.vgpu.type=5C --set containers.c.vgpu.type=20C
policy best-effort --set containers.a.vgpu.type=20C --set containers.b.vgpu.type=5C --set containers.c.vgpu.type=4C

mistake() {
	text=$1
	shift
	"$gvmsim" run three.json --system vgpu --quiet --out wrong "$@" 2>.err && fail "$* runs"
	[ "$(wc -l <.err)" -eq 1 ] || fail "$*: more than one line"
	grep -qF "$text" .err || fail "$*: no '$text' in: $(cat .err)"
	[ ! -e wrong ] || fail "$*: something was written"
}
mistake 'containers.b.vgpu.type: this GPU has no "16C", did you mean "10C"? It has 40C, 20C, 10C, 8C, 5C, 4C' \
	--set containers.b.vgpu.type=16C
mistake 'containers.c.vgpu.type: a 20C is one too many: with it 3 vGPUs have 60 GB, allowed: at most 2 of this type, and 40 GB' \
	--set containers.a.vgpu.type=20C --set containers.b.vgpu.type=20C --set containers.c.vgpu.type=20C
mistake 'containers.b.vgpu.type: "a" has a 10C beside this 20C, allowed with policy "fixed-share": one type' \
	--set containers.b.vgpu.type=20C --set system.policy=fixed-share
mistake 'containers.a.vgpu.type: a 10C has 10485760 bytes of frame buffer, allowed: at least a chunk of 2097152, and gpu.context, 314572800' \
	--set gpu.memory=40M
mistake 'containers.a.vgpu.type: a 10C has 0 bytes of frame buffer' --set gpu.memory=4M --set gpu.context=0
mistake 'system.frequency: 961 is out of range' --set system.frequency=961
mistake 'containers.a.gpu: has the gpu.product "other"' --set gpu.product=other
