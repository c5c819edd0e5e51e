#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# docs/reference is what the program prints: each document of "gvmsim reference" is there with the same
# text, and there is no other file. With --update the documents are written anew.
# Usage: reference.sh GVMSIM SOURCE [--update]
set -eu
gvmsim=$1
folder=$2/docs/reference
update=${3:-}
status=0
made=$(mktemp)
trap 'rm -f "$made"' EXIT

documents=$("$gvmsim" reference --words documents)
for name in $documents; do
	"$gvmsim" reference "$name" >"$made"
	if [ "$update" = --update ]; then
		cp "$made" "$folder/$name.md"
	elif ! diff -u "$folder/$name.md" "$made"; then
		status=1
	fi
done
for file in "$folder"/*.md; do
	name=$(basename "$file" .md)
	echo "$documents" | grep -qx "$name" && continue
	echo "$file: no document of \"gvmsim reference\""
	status=1
done
if [ "$status" != 0 ]; then
	echo "Mend with: tests/tree/reference.sh GVMSIM . --update"
fi
exit $status
