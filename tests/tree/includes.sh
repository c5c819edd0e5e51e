#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Includes go down only. Rooms have levels; a file includes files of its own room and of lower levels.
# There is no circle of includes between units; X.c and X.h of a folder are one unit. Simulated hardware
# does not know the block layer of the driver. The port header alone includes its world, gvm_world.h, by
# a name. Usage: includes.sh SOURCE
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The rooms from the bottom up; rooms of one line are on one level and do not include each other.
cat >"$work/levels" <<'EOF'
sim/core/include
sim/core/policy sim/core/fence
sim/core/service sim/core/block
sim/engine
sim/pcie sim/fabric sim/uvm sim/trace sim/terminal
sim/fifo sim/nvuvm sim/config
sim/gsp sim/gvmd
sim/gpu
sim/cuda
sim/apps sim/systems
sim/machine
sim/timeline
sim/results
sim/validate sim/figures sim/explain sim/import
sim/sweep sim/report
sim/advise
sim/collect sim/cli sim/ctl
sim/gvmd/host
kernel-port/linux kernel-port/guardian
kernel-port/fakegpu kernel-port/coretest kernel-port/softgpu kernel-port/nvidia kernel-port/shim
kernel-port/fenced
bench
EOF

# "FILE INCLUDED" for each include in quotes that is a file of ours: beside the file, or from the folders
# that the compiler looks into.
find sim kernel-port bench tests/core -name '*.[ch]' | sort >"$work/files"
grep -v '^tests/' "$work/files" | xargs awk -v files="$work/files" '
	BEGIN {
		while ((getline file <files) > 0)
			exists[file] = 1
		count = split("sim sim/core/include kernel-port/linux kernel-port/fakegpu " \
			"kernel-port/coretest/libc tests/core", bases, " ")
	}
	FNR == 1 {
		bases[0] = FILENAME
		sub(/\/[^\/]*$/, "", bases[0])
	}
	/^[ \t]*#[ \t]*include "/ {
		split($0, parts, "\"")
		if (FILENAME == "sim/core/include/gvm/port.h" && parts[2] == "gvm_world.h")
			next
		for (i = 0; i <= count; i++) {
			if ((bases[i] "/" parts[2]) in exists) {
				print FILENAME, bases[i] "/" parts[2]
				next
			}
		}
	}' >"$work/includes"
[ "$(wc -l <"$work/includes")" -gt 500 ] || { echo "too few includes were found"; exit 1; }

if grep -E '^sim/(uvm|gsp|fifo|pcie)/.* sim/core/include/gvm/block\.h$' "$work/includes"; then
	echo "simulated hardware includes the block layer of the driver"
	exit 1
fi

awk -v levels="$work/levels" '
	function room(file, name) {
		for (name in level)
			if (index(file, name "/") == 1 && length(name) > length(best))
				best = name
		name = best
		best = ""
		return name
	}
	# Depth first over units; state 1 is on the path, 2 is done.
	function unit(file) {
		sub(/\.[ch]$/, "", file)
		return file
	}
	function visit(file, n, i, parts) {
		state[file] = 1
		n = split(edges[file], parts, " ")
		for (i = 1; i <= n; i++) {
			if (state[parts[i]] == 1) {
				print "circle: " file " includes " parts[i] ", which includes it"
				bad = 1
			} else if (!state[parts[i]]) {
				visit(parts[i])
			}
		}
		state[file] = 2
	}
	BEGIN {
		while ((getline line <levels) > 0) {
			n = split(line, names, " ")
			number++
			for (i = 1; i <= n; i++)
				level[names[i]] = number
		}
	}
	{
		if (unit($1) != unit($2))
			edges[unit($1)] = edges[unit($1)] " " unit($2)
		from = room($1)
		to = room($2)
		if (from == "") {
			print $1 ": its folder has no level in tests/tree/includes.sh"
			bad = 1
		}
		if (to != "" && from != to && level[to] >= level[from]) {
			print $1 " looks up to " $2
			bad = 1
		}
	}
	END {
		for (file in edges)
			if (!state[file])
				visit(file)
		exit bad
	}' "$work/includes"
