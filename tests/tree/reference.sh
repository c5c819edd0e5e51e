#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# docs/reference is what the program prints: each document of "gvmsim reference" is there with the same
# text, and there is no other file. Every key is in one of them. The manual pages hold what "PROGRAM --manual"
# prints. With --update the documents are written anew. Usage: reference.sh GVMSIM SOURCE [--update]
set -eu
gvmsim=$1
folder=$2/docs/reference
update=${3:-}
status=0
made=$(mktemp)
page=$(mktemp)
trap 'rm -f "$made" "$page"' EXIT

documents=$("$gvmsim" reference --words documents)
for name in $documents; do
	"$gvmsim" reference "$name" >"$made"
	if [ "$update" = --update ]; then
		cp "$made" "$folder/$name.md"
	elif ! diff -u "$folder/$name.md" "$made"; then
		status=1
	fi
done
schema=$folder/scenario.schema.json
"$gvmsim" help schema >"$made"
if [ "$update" = --update ]; then
	cp "$made" "$schema"
elif ! diff -u "$schema" "$made"; then
	status=1
fi
for program in gvmsim gvmcollect gvmd gvmctl gvmfence gvmfenced; do
	manual=$2/docs/man/$program.1
	"$(dirname "$gvmsim")/$program" --manual >"$made"
	{
		sed '/^\.\\" Printed by/,$d' "$manual"
		cat "$made"
		sed '1,/^\.\\" End of/d' "$manual"
	} >"$page"
	if [ "$update" = --update ]; then
		cp "$page" "$manual"
	elif ! diff -u "$manual" "$page"; then
		status=1
	fi
done
for file in "$folder"/*.md; do
	name=$(basename "$file" .md)
	echo "$documents" | grep -qx "$name" && continue
	echo "$file: no document of \"gvmsim reference\""
	status=1
done
# Applications' keys stand there without their container; further GPUs have the keys of "gpu".
"$gvmsim" reference --words keys | sed 's/^gpus\.\*\./gpu./' | sort -u | while read -r key; do
	grep -qF -e "\`$key\`" -e "\`${key#containers.\*.}\`" "$folder"/*.md || echo "no document has the key $key"
done >"$made"
if [ -s "$made" ]; then
	cat "$made"
	status=1
fi
if [ "$status" != 0 ]; then
	echo "Mend with: tests/tree/reference.sh GVMSIM . --update"
fi
exit $status
