#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Each word in the file of ptxas that it knows as an opcode has a decision in kernel-port/guardian/opcodes.c. ptxas is
# asked for each: "word;" in a kernel, for the newest architecture that it has. It tells at most 100 mistakes, so words
# come in lots of 60; one by one where another mistake ends its reading. cctl, cctlu and _jcall are in no document; a
# text with them is refused, as with any word that is not in the table. Skipped without ptxas. Usage: NAME.sh GVMFENCE SOURCE
set -eu
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

head='.address_size 64
.visible .entry k()
{'
arch=
for pair in 9.0:100a 8.4:90a 7.8:90 7.2:86; do
	printf '.version %s\n.target sm_%s\n%s\nret;\n}\n' "${pair%:*}" "${pair#*:}" "$head" >in.ptx
	ptxas -arch="sm_${pair#*:}" in.ptx -o out 2>/dev/null || continue
	arch=${pair#*:} version=${pair%:*}
	break
done
[ -n "$arch" ] || { echo "ptxas assembles nothing"; exit 1; }

# Asks for the words of FILE; "said" has what ptxas answers.
ask() {
	{
		printf '.version %s\n.target sm_%s\n%s\n' "$version" "$arch" "$head"
		sed 's/$/;/' "$1"
		printf 'ret;\n}\n'
	} >in.ptx
	ptxas -arch="sm_$arch" in.ptx -o out >said 2>&1 || true
}

LC_ALL=C grep -aoE '[A-Za-z0-9_]+' "$(readlink -f "$(command -v ptxas)")" | grep -xE '_?[a-z][a-z0-9_]{1,19}' | sort -u >words
: >known
split -l 60 words lot.
for lot in lot.*; do
	ask "$lot"
	sed -n "s/.*Not a name of any known instruction: '\(.*\)'/\1/p" said | sort >unknown
	comm -23 "$lot" unknown >left
	# _jcall alone ends ptxas itself.
	if grep -q 'Ptx assembly aborted due to errors' said && ! grep -qiE 'parsing error|syntax error' said; then
		cat left >>known
		continue
	fi
	while read -r word; do
		echo "$word" >one
		ask one
		grep -qE 'Not a name of any known instruction|syntax error' said || echo "$word" >>known
	done <left
done
sed -n 's/^\t*//; s/[A-Z]*("\([a-z0-9_]*\)[."][^)]*)/\n@\1\n/g; s/{ "\([a-z0-9_]*\)[."]/\n@\1\n/g; p' \
	"$2/kernel-port/guardian/opcodes.c" | sed -n 's/^@//p' | sort -u >table
printf '%s\n' _jcall cctl cctlu | sort >undocumented
sort -u known | comm -23 - table | comm -23 - undocumented >missing
echo "$(wc -l <words) words, $(wc -l <known) known to ptxas for sm_$arch; in the table: $(sort -u known | comm -12 - table | wc -l)"
[ ! -s missing ] || { echo "without a decision: $(tr '\n' ' ' <missing)"; exit 1; }
# It has found the usual ones, so it can find others.
for word in ld st atom red mov bra tex mma; do
	grep -qx $word known || { echo "$word is not found"; exit 1; }
done
[ "$(wc -l <known)" -gt 90 ]
