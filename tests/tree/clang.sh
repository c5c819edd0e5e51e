#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# clang accepts each file that the build compiles, tests included, with the same warnings as errors: the nightly
# build is clang's. Usage: clang.sh BUILD
set -eu
jq -r 'unique_by(.file)[] | "cd \(.directory | @sh) && clang -fsyntax-only \(.command | sub("^[^ ]+ "; ""))"' \
	"$1/compile_commands.json" | xargs -d '\n' -P "$(nproc)" -n 1 sh -c
