#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The core knows no world: it includes its own headers and the port header, and nothing else; and
# it has no floating point, which a kernel does not save.
#
#   core_includes.sh SOURCE
set -eu

source=$1
failures=0

complain() {
	echo "$1" >&2
	failures=$((failures + 1))
}

# The text without comments and strings, line by line as before.
bare_text() {
	perl -0777 -pe 's{("(?:\\.|[^"\\])*")|(/\*.*?\*/|//[^\n]*)}
		{defined $1 ? "\"\"" : $2 =~ s/[^\n]//gr}gsex' "$1"
}

check_includes() {
	grep -En '^[[:space:]]*#[[:space:]]*include' "$1" |
		grep -Ev '^[0-9]+:#include "gvm/[a-z_]+\.h"$' |
		if [ "$(basename "$1")" = port.h ]; then
			grep -Fv '#include "gvm_world.h"'
		else
			cat
		fi
}

files=$(find "$source/sim/core" -name '*.[ch]' | sort)
[ -n "$files" ] || complain "sim/core has no sources"
for file in $files; do
	found=$(check_includes "$file" || true)
	[ -z "$found" ] || complain "$file: include of something that is not gvm/...: $found"
	text=$(bare_text "$file")
	found=$(echo "$text" | grep -Ewn 'float|double|_Float[0-9]*x?|__float128' || true)
	[ -z "$found" ] || complain "$file: floating point: $found"
	found=$(echo "$text" | grep -En '(^|[^[:alnum:]_.])[0-9]+\.[0-9]|[0-9][eE][-+]?[0-9]' |
		grep -Ev '0x[0-9a-fA-F]+' || true)
	[ -z "$found" ] || complain "$file: floating-point constant: $found"
done

if [ "$failures" != 0 ]; then
	exit 1
fi
echo "$(echo "$files" | wc -l) files of the core include nothing but gvm/..."
