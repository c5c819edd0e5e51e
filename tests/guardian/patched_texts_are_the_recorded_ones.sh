#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Each text of the corpus, patched in each mode, has the recorded sum, and verifies with the recorded
# counts. --update records them. Usage: NAME.sh GVMFENCE SOURCE [--update]
set -eu
tests=$2/tests/guardian
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for file in "$tests"/corpus/*.ptx; do
	for mode in fence once 4g check modulo count; do
		"$1" patch "$file" --mode $mode --out "$work/patched.ptx"
		"$1" verify "$work/patched.ptx" >"$work/said"
		echo "$(sha256sum <"$work/patched.ptx" | cut -c1-64) $(basename "$file") $mode:$(
			sed -n '1s/.*margin [0-9]*;//p' "$work/said")"
	done
done >"$work/found"
[ "${3:-}" != --update ] || cp "$work/found" "$tests/patched.sha256"
diff "$tests/patched.sha256" "$work/found"
echo "$(wc -l <"$work/found") texts"
