#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The how-tos are done, all in one scratch copy of the sources. In docs/howto a block "```c PATH" or
# "```json PATH" is the content of a new file, "```add PATH" are lines for the end of a file, "```patch" is
# applied, "```sh" is run at the top of the copy, where gvmsim is its own program.
# Usage: howto.sh SOURCE WORK
set -eu
source=$1
work=$2
rm -rf "$work"
mkdir -p "$work/tree/tests"

fail() {
	echo "$1" >&2
	exit 1
}

cp -r "$source/CMakeLists.txt" "$source/cmake" "$source/sim" "$source/bench" "$source/scenarios" \
	"$source/traces" "$source/plots" "$source/docs" "$source/completion" "$source/LICENSE" \
	"$source/README.md" "$source/DEVIATIONS.md" "$source/CHANGELOG.md" "$work/tree"
cp -r "$source/tests/core" "$work/tree/tests"
mkdir "$work/tree/kernel-port"
cp -r "$source/kernel-port/shim" "$source/kernel-port/guardian" "$source/kernel-port/fenced" "$work/tree/kernel-port"
cd "$work/tree"
cmake -S . -B build/release -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 -DGVMSIM_TESTS=OFF >"$work/log" 2>&1 ||
	{ cat "$work/log"; fail "the copy is not configured"; }
PATH=$work/tree/build/release:$PATH
export PATH

# blocks FILE: each fenced block with a kind as N.KIND in $work/blocks, its path in N.path
blocks() {
	rm -rf "$work/blocks"
	mkdir "$work/blocks"
	awk -v out="$work/blocks" '
		/^```/ && !open {
			open = 1
			kind = substr($1, 4)
			name = sprintf("%s/%02d", out, ++count)
			if (kind != "" && ($2 != "" || kind == "sh" || kind == "patch")) {
				file = name "." kind
				printf "" >file
				print $2 >(name ".path")
			} else {
				file = ""
			}
			next
		}
		/^```/ { open = 0; next }
		open && file { print >file }' "$1"
}

done=0
for howto in docs/howto/*.md; do
	blocks "$howto"
	steps=0
	for block in "$work"/blocks/*.c "$work"/blocks/*.json "$work"/blocks/*.add "$work"/blocks/*.patch \
		"$work"/blocks/*.sh; do
		[ -f "$block" ] || continue
		path=$(cat "${block%.*}.path")
		case $block in
		*.c | *.json)
			[ ! -e "$path" ] || fail "$howto: $path exists"
			mkdir -p "$(dirname "$path")"
			cp "$block" "$path"
			;;
		*.add)
			[ "$(wc -l <"$block")" -eq 1 ] || fail "$howto: more than a line for $path"
			cat "$block" >>"$path"
			;;
		*.patch) patch -p0 -s --fuzz=0 <"$block" || fail "$howto: its patch does not apply" ;;
		*.sh) sh -eu "$block" >"$work/log" 2>&1 || { cat "$work/log"; fail "$howto: a step failed"; } ;;
		esac
		steps=$((steps + 1))
	done
	[ "$steps" -gt 0 ] || fail "$howto: nothing to do"
	done=$((done + 1))
	echo "$howto: $steps steps"
done
[ "$done" -eq 8 ] || fail "expected 8 how-tos, found $done"
