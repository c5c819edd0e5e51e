#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# One scenario and seed give byte-identical results, but for wall time and speed-up, whatever compiled the
# program: GVMSIM, or gcc and clang with and without optimization.
# Usage: compilers.sh GVMSIM SOURCE WORK
set -eu
gvmsim=$1
source=$2
work=$3
mkdir -p "$work"

# build COMPILER LEVEL: its program is the answer
build() {
	build=$work/$1$2
	{
		cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER="$1" -DCMAKE_BUILD_TYPE=None \
			-DCMAKE_C_FLAGS="$2" -DGVMSIM_TESTS=OFF
		cmake --build "$build" --parallel 2 --target gvmsim
	} >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
	echo "$build/gvmsim"
}

# results GVMSIM NAME
results() {
	rm -rf "${work:?}/$2"
	"$1" run "$source/scenarios/vllm-diffusion-80g.json" --set duration=120s --quiet --out "$work/$2"
	sed -i -e '/"wall_seconds":/d' -e '/"speedup":/d' -e '/"requests_per_wall_second":/d' "$work/$2/summary.json"
}

# same COMPILER LEVEL
same() {
	program=$(build "$1" "$2")
	results "$program" "results-$1$2"
	diff -r "$work/results" "$work/results-$1$2"
}

results "$gvmsim" results
same clang -O0
same clang -O2
same gcc -O0
same gcc -O2
wc -c "$work"/results/*
