#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# clang accepts each file that the build compiles, tests included, with the same warnings as errors: the nightly
# build is clang's. COMPILED is a build folder of clang's own, by compilers.sh; its files are not read again.
# Usage: clang.sh BUILD [COMPILED]
set -eu
compiled=${2:-}/compile_commands.json
[ -f "$compiled" ] || compiled=/dev/null
jq -r --slurpfile compiled "$compiled" '
	($compiled | flatten | map({ (.file): true }) | add // {}) as $done |
	unique_by(.file)[] | select($done[.file] | not) |
	"cd \(.directory | @sh) && clang -fsyntax-only \(.command | sub("^[^ ]+ "; ""))"' "$1/compile_commands.json" |
	xargs -d '\n' -P "$(nproc)" -n 1 sh -c
