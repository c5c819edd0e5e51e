#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# One scenario and seed give byte-identical results with gcc and clang, -O0 and -O2, but for wall
# time and speed-up. Usage: compilers.sh SOURCE WORK
set -eu
source=$1
work=$2
mkdir -p "$work"

results() {
	build=$work/$1-$2
	cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER="$1" -DCMAKE_BUILD_TYPE=None \
		-DCMAKE_C_FLAGS="$2" -DGVMSIM_TESTS=OFF >"$build.log" 2>&1 ||
		{ cat "$build.log"; exit 1; }
	cmake --build "$build" --parallel 2 --target gvmsim >>"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
	rm -rf "$build-results"
	"$build/gvmsim" run "$source/scenarios/vllm-diffusion-80g.json" --set duration=120s --quiet \
		--out "$build-results"
	sed -i -e '/"wall_seconds":/d' -e '/"speedup":/d' -e '/"requests_per_wall_second":/d' "$build-results/summary.json"
}

for compiler in gcc clang; do
	for level in -O0 -O2; do
		results "$compiler" "$level"
	done
done
for other in gcc--O2 clang--O0 clang--O2; do
	diff -r "$work/gcc--O0-results" "$work/$other-results"
done
wc -c "$work"/gcc--O0-results/*
