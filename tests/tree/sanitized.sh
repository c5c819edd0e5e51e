#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The whole program under AddressSanitizer and UBSan, through start-up, sharing, eviction and
# tear-down; its results are those of the ordinary build. The engine tells the sanitizers when
# it switches stacks.
# Usage: sanitized.sh GVMSIM SOURCE WORK
set -eu
gvmsim=$1
source=$2
work=$3
mkdir -p "$work"

{
	cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=None -DGVMSIM_TESTS=OFF \
		-DCMAKE_C_FLAGS="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
	cmake --build "$work/build" --parallel 2 --target gvmsim
} >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

# compare NAME ARGUMENTS...: run both programs; only speed may differ
compare() {
	name=$1
	shift
	rm -rf "$work/$name-checked" "$work/$name-plain"
	"$work/build/gvmsim" run "$@" --quiet --out "$work/$name-checked"
	"$gvmsim" run "$@" --quiet --out "$work/$name-plain"
	sed -i -e '/"wall_seconds":/d' -e '/"speedup":/d' -e '/"requests_per_wall_second":/d' "$work/$name"-*/summary.json
	diff -r "$work/$name-checked" "$work/$name-plain"
}

compare alone vllm-diffusion-80g --system exclusive --set duration=57s
compare shared vllm-diffusion-80g --system stock --set duration=57s
compare evicts vllm-diffusion-40g --system stock --set duration=57s
compare lends lending --set containers.driver.app.operation=read --set containers.driver.app.iommu=true
compare counts lending --set containers.driver.app.operation=ping-pong --set containers.driver.app.peer=lender-b.gpu
