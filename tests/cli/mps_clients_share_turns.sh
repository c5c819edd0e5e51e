#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The clients of an MPS server (mps.server) share its turns by mps.limit; a container beside the server has
# turns of its own. A system with a GPU for each container has no server.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
. "$(dirname "$0")/three.inc"

client=', "mps.server": "pool", "mps.limit": 50'
three "$client" "$client" ''

# mistake TEXT OPTIONS...
mistake() {
	text=$1
	shift
	"$gvmsim" run three.json --quiet --out out "$@" 2>.err && fail "$* runs"
	grep -qF "$text" .err || fail "$*: no '$text' in: $(cat .err)"
}

for system in stock gvm ghost; do
	run --system $system
	shares 'a == b and a > 24 and a < 26 and c > 49 and c < 51'
	run --system $system --set containers.a.mps.limit=20 --set containers.b.mps.limit=80
	shares 'a > 9 and a < 11 and b > 39 and b < 41 and c > 49 and c < 51'
	# Without limits clients share the SMs equally; without a server there are three turns.
	run --system $system --set containers.a.mps.limit=100 --set containers.b.mps.limit=100
	shares 'a == b and a > 24 and c > 49'
	run --system $system --set containers.a.mps.server= --set containers.a.mps.limit=100 \
		--set containers.b.mps.server= --set containers.b.mps.limit=100
	shares 'a > 32 and a < 34 and b > 32 and b < 34 and c > 32 and c < 34'
done

# The driver has one TSG for both clients. So the timeslice of a client is refused, and the server keeps its own.
run --system gvm --set containers.a.compute.timeslice=100ms
shares 'a == b and a > 24 and a < 26 and c > 49 and c < 51'
run --system gvm --set containers.c.compute.timeslice=100ms
shares 'c > 97'

run --system exclusive
[ "$(jq -r '.ignored_keys | join(" ")' out/summary.json)" = \
	"containers.a.mps.server containers.b.mps.server" ] || fail "not ignored: $(jq -c .ignored_keys out/summary.json)"

mistake 'containers.c.mps.limit: has no mps.server beside it, allowed: 100' --set containers.c.mps.limit=50
mistake 'containers.a.mps.limit: ' --set containers.a.mps.limit=101
mistake 'containers.b.mps.server: "pool" has a client on another GPU, "a", allowed: one GPU' \
	--set gpus.second.profile=a100-40g --set containers.b.gpu=second
