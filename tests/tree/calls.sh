#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Calls go down only: there is no circle of uses between the units (X.c with X.h) of a program. A unit
# uses another unit if its object file has an undefined symbol that the object file of the other unit
# defines. A call through a table of calls is no use. Usage: calls.sh SOURCE BUILD; BUILD is without LTO.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "UNIT TYPE SYMBOL" for each symbol of the objects named on stdin. A build folder may hold objects of
# sources that are gone.
symbols() {
	xargs -r nm -A -g -f posix | sed -n 's|^[^ ]*/\(sim/[^ ]*\)\.c\.o: \([^ ]*\) \(.\).*|\1 \3 \2|p' |
		awk -v sources="$work/sources" '
		BEGIN {
			while ((getline file <sources) > 0)
				exists[file] = 1
		}
		($1 ".c") in exists' | sort -u
}

find sim -name '*.c' >"$work/sources"
folder=$2/CMakeFiles
for program in gvmcollect gvmd gvmctl; do
	find "$folder/$program.dir" "$folder/gvm_threads.dir" "$folder/sim_base.dir" "$folder/sim_terminal.dir" -name '*.o' |
		symbols >"$work/$program"
done
find "$folder" \( -path '*/gvmcollect.dir' -o -path '*/gvmd.dir' -o -path '*/gvmctl.dir' -o -path '*/gvm_threads.dir' \) -prune -o \
	-path '*/sim/*.o' -print | symbols >"$work/gvmsim"
for program in gvmsim gvmcollect gvmd gvmctl; do
	[ "$(wc -l <"$work/$program")" -gt 500 ] || { echo "$program: too few symbols"; exit 1; }
done

circles() {
	awk '
	# Depth first over units; state 1 is on the path, 2 is done.
	function visit(unit, n, i, k, parts) {
		state[unit] = 1
		path[++depth] = unit
		n = split(edges[unit], parts, " ")
		for (i = 1; i <= n; i++) {
			if (state[parts[i]] == 1) {
				for (k = depth; path[k] != parts[i]; k--)
					;
				printf "circle:"
				for (; k <= depth; k++)
					printf " %s (%s) ->", path[k], names[path[k], k < depth ? path[k + 1] : parts[i]]
				print " " parts[i]
				bad = 1
			} else if (!state[parts[i]]) {
				visit(parts[i])
			}
		}
		depth--
		state[unit] = 2
	}
	$2 != "U" { owner[$3] = $1 }
	$2 == "U" { uses[++count] = $1 " " $3 }
	END {
		for (i = 1; i <= count; i++) {
			split(uses[i], use, " ")
			to = owner[use[2]]
			if (to == "" || to == use[1])
				continue
			if (!((use[1], to) in names))
				edges[use[1]] = edges[use[1]] " " to
			names[use[1], to] = names[use[1], to] (names[use[1], to] == "" ? "" : ", ") use[2]
		}
		for (i = 1; i <= count; i++) {
			split(uses[i], use, " ")
			if (!state[use[1]])
				visit(use[1])
		}
		exit bad
	}' "$1"
}
status=0
for program in gvmsim gvmcollect gvmd gvmctl; do
	circles "$work/$program" || status=1
done
exit $status
