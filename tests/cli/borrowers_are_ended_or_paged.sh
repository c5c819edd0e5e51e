#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Two containers that do not fit: MPS's memory limits refuse one or end one; where memory is managed both go on.
# Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

# container NAME START KEYS
container() {
	printf '"%s": {"start": "%s", "app": {"type": "pages", "bytes": "24G", "on_host": false, ' "$1" "$2"
	printf '"kernels": 16, "kernel_blocks": 8, "kernel_time": "1ms"}}'
}
cat >two.json <<-END
	{"name": "two", "duration": "4s", "gpu": {"profile": "a100-40g"}, "containers": {
		$(container first 0s), $(container second 2s)}}
END

# run OPTIONS...: then statuses are in .told
run() {
	"$gvmsim" run two.json --quiet --out out "$@" 2>.err || [ $? = 1 ] || fail "$*: $(cat .err)"
	jq -r '.containers[].status' out/summary.json >.told
}
# status LINE PATTERN
status() {
	sed -n "$1p" .told | grep -q "$2" || fail "container $1: no '$2' in: $(cat .told)"
}

own='--set containers.first.app.memory=unmanaged --set containers.second.app.memory=unmanaged'
# shellcheck disable=SC2086
run --system mps $own
status 1 '^ok$'
status 2 'of unmanaged memory found no room$'
# shellcheck disable=SC2086
run --system mps $own --set containers.first.mps.memory_hard=20G --set containers.second.mps.memory_hard=25G
status 1 'context died at 0.000 s: an allocation exceeded its mps.memory_hard'
status 2 '^ok$'
# shellcheck disable=SC2086
run --system mps $own --set containers.first.mps.memory_soft=15G --set containers.second.mps.memory_soft=25G
status 1 'context died at 2.000 s: MPS ended it: it was above its mps.memory_soft'
status 2 '^ok$'
grep -q '^first,.*,killed' out/requests.csv || fail "not killed: $(tail -1 out/requests.csv)"
# shellcheck disable=SC2086
run --system ghost $own --set containers.first.gmem.limit.high=8G
status 1 'context died at 0.000 s: an allocation of unmanaged memory found no room below its gmem.limit.high$'
status 2 '^ok$'
for system in vgpu gvtg; do
	# shellcheck disable=SC2086
	run --system $system $own
	status 1 'context died at 0.000 s: an allocation did not fit into its frame buffer$'
	status 2 'context died at 2.000 s: an allocation did not fit into its frame buffer$'
done
for system in mps stock gvm ghost; do
	run --system $system
	status 1 '^ok$'
	status 2 '^ok$'
done
expect 2 'containers.first.mps.memory_soft: has no mps.server beside it, allowed: 0' run two.json \
	--set containers.first.mps.memory_soft=1G
expect 2 'containers.first.mps.memory_soft: 2147483648 is too much, allowed: at most mps.memory_hard, 1073741824' run two.json \
	--system mps --set containers.first.mps.memory_soft=2G --set containers.first.mps.memory_hard=1G
