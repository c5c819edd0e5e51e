#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Each number of a profile has a source whose sentence begins with its kind, as CONTRIBUTING.md says.
# Usage: sources.sh SOURCE
set -eu
wrong=$(mktemp)
trap 'rm -f "$wrong"' EXIT
cd "$1/scenarios"
count=0
status=0
for file in gpus/*.json apps/*.json; do
	count=$((count + 1))
	jq -r '[paths(type == "object" and has("value") and has("source"))] as $all | . as $root | $all[] | . as $path |
		($root | getpath($path) | .source) as $source |
		select($source | test("^(Measured|Published|Arithmetic|Derived|Inferred|Fitted|Estimate|Assumption)[ :,]") | not) |
		($path | map(tostring) | join(".")) + ": " + $source' "$file" >"$wrong"
	if [ -s "$wrong" ]; then
		sed "s|^|$file: |" "$wrong"
		status=1
	fi
done
[ "$count" -ge 30 ] || { echo "too few profiles: $count"; exit 1; }
exit $status
