#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Proves that the warning flags reach the compiler: reads compile_commands.json, the compiler's own account, and
# fails if a command of ours lacks one or turns a warning off. Usage: flags.sh COMPILE_COMMANDS
set -eu

count=$(jq length "$1")
if [ "$count" -lt 40 ]; then
	echo "only $count compile commands: is this the whole project?" >&2
	exit 1
fi
wrong=$(jq -r '
	["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-std=gnu11"] as $needed |
	.[] | .file as $file | (.command | split(" ")) as $words |
	($needed - $words | .[] | "\($file) is compiled without \(.)"),
	($words[] | select(. == "-w" or startswith("-Wno-")) | "\($file) is compiled with \(.)")' "$1")
if [ -n "$wrong" ]; then
	echo "$wrong" | head -n 20 >&2
	exit 1
fi
echo "$count compile commands carry all flags"
