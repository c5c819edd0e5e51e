#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvm.ko as it was built in OUT: its objects hold every file of the core, each compiled from where it
# lies in sim/core, and there is no object whose source is neither there nor in kernel-port.
#
#   built_from_core.sh SOURCE OUT
set -eu

source=$(realpath "$1")
out=$2
failures=0

complain() {
	echo "$1" >&2
	failures=$((failures + 1))
}

[ -f "$out/gvm.ko" ] && [ -f "$out/gvm.mod" ] || complain "$out has no gvm.ko"
objects=$(sed 's,.*/,,' "$out/gvm.mod")

# The compiler left the name of each source in its command file; it is a link to the real one.
for object in $objects; do
	compiled=$(sed -n "s,^source_.*/${object%.o}\.o := ,,p" "$out/.$object.cmd")
	case $(realpath "$compiled") in
	"$source"/sim/core/*/*.c | "$source"/kernel-port/linux/*.c) ;;
	*) complain "$object was compiled from $compiled" ;;
	esac
	realpath "$compiled"
done >"$out/sources"

for file in "$source"/sim/core/*/*.c; do
	grep -qxF "$file" "$out/sources" || complain "gvm.ko was built without $file"
done

if [ "$failures" != 0 ]; then
	exit 1
fi
echo "gvm.ko was built from $(wc -l <"$out/sources") sources," \
	"$(grep -c /sim/core/ "$out/sources") of them the core's"
