#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Each of GVM's mechanisms does something, and with all of them off it is the stock driver to the byte.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# run OUT OPTIONS...: memory under pressure, from the server's start on
run() {
	out=$1
	shift
	"$gvmsim" run vllm-diffusion-40g --quiet --out "$out" --set duration=50s \
		--set containers.vllm.start=20s "$@" 2>.err || fail "$out: $(cat .err)"
}

off() {
	for mechanism in "$@"; do
		printf ' --set system.mechanisms.%s=false' "$mechanism"
	done
}

run stock --system stock
# shellcheck disable=SC2046 # words, one option each
run bare --system gvm $(off memory_isolation compute_isolation fast_paging)
for file in requests.csv timeline.csv; do
	cmp "stock/$file" "bare/$file" || fail "$file of gvm without mechanisms is not that of stock"
done
run whole --system gvm
for mechanism in memory_isolation compute_isolation fast_paging; do
	# shellcheck disable=SC2046
	run "$mechanism" --system gvm $(off $mechanism)
	if cmp -s whole/timeline.csv "$mechanism/timeline.csv"; then
		fail "$mechanism does nothing"
	fi
done
