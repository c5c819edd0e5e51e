#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The system mps: the stock driver with one MPS server for all containers of a GPU, to the byte.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
# shellcheck source=tests/cli/three.inc
. "$(dirname "$0")/three.inc"
three '' ', "mps.limit": 20' ''

run --system mps
shares 'b > 19 and b < 21 and a == c and a > 39 and a < 41'
cp -r out one
[ "$(jq .gpus.gpu0.switches one/summary.json)" = 1 ] || fail "clients switch: $(jq -c .gpus one/summary.json)"
# A client whose kernels run with a part of the GPU has work: it is not idle.
jq -e '[.containers[] | .idle_seconds < 0.01 * .gpu_seconds and .slow_seconds > .gpu_seconds] | all' \
	one/summary.json >/dev/null || fail "idle clients: $(jq -c '.containers[] | [.gpu_seconds, .slow_seconds, .idle_seconds]' one/summary.json)"
servers='--set containers.a.mps.server=pool --set containers.b.mps.server=pool --set containers.c.mps.server=pool'
# shellcheck disable=SC2086
run --system stock $servers
cmp one/timeline.csv out/timeline.csv || fail "timeline.csv differs"
jq '.containers, .gpus' one/summary.json >expected
jq '.containers, .gpus' out/summary.json | cmp - expected || fail "summary.json differs"

# Beside another server the common one has half of the turns.
run --system mps --set containers.c.mps.server=own --set containers.b.mps.limit=100
shares 'c > 49 and c < 51 and a == b'
# Each GPU has a server of its own.
run --system mps --set gpus.second.profile=a100-40g --set containers.b.gpu=second --set containers.c.gpu=second \
	--set gpus.second.limited_speed=0 --set containers.b.mps.limit=50
shares 'a > 49 and a < 51 and b == c'
# Without the system a limit needs a server.
"$gvmsim" run three.json --quiet --out wrong 2>.err && fail "a limit without a server"
grep -q 'containers.b.mps.limit: has no mps.server beside it, allowed: 100' .err || fail "$(cat .err)"
