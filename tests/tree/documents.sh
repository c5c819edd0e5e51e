#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Documents name only things that exist: relative links, paths in backticks, functions (`name()`), macros
# (`GVM_NAME`), keys of scenarios, subcommands and options. docs/model.md says how each system manages
# memory. README has at most 120 lines.
# Usage: documents.sh SOURCE GVMSIM GVMCOLLECT
set -eu
cd "$1"
gvmsim=$2
gvmcollect=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

complain() {
	echo "$1"
	status=1
}

documents="README.md CONTRIBUTING.md CHANGELOG.md DEVIATIONS.md tests/README.md traces/README.md scenarios/models/README.md
	$(find docs -name '*.md' ! -path 'docs/reference/*' | sort)"
[ "$(echo "$documents" | wc -w)" -ge 15 ] || complain "too few documents"

git ls-files >"$work/files" 2>/dev/null || find . -type f | sed 's,^\./,,' >"$work/files"
grep -E '\.([ch]|sh|cmake|py)$' "$work/files" | xargs cat >"$work/code"
grep -oE '\b[A-Za-z_][A-Za-z0-9_]*\b' "$work/code" | sort -u >"$work/names"
for list in keys control-files metrics systems applications scenarios documents; do
	"$gvmsim" reference --words $list
done | sed 's/^containers\.\*\.//' | sort -u >"$work/words"
"$gvmsim" reference --words keys | sort -u >>"$work/words"

# exists FOLDER PATH: from the top or from FOLDER; a pattern matches a file; X/ is a folder
exists() {
	for base in . "$1" sim sim/collect sim/core sim/core/include kernel-port tests plots scenarios; do
		for found in "$base"/$2; do
			[ -e "$found" ] && return 0
		done
	done
	return 1
}

# in_some_folder NAME: a file of that name is anywhere in the tree; * stands for anything
in_some_folder() {
	grep -qE "(^|/)$(echo "$1" | sed 's/[.]/\\./g; s/\*/[^\/]*/g')\$" "$work/files"
}

# Paths that a run or an installation makes, and patterns with parts to be filled in.
made() {
	case $1 in
	results* | build/* | /* | *'<'* | '~'* | *NAME* | *ROOM* | *FILE* | *.csv | cases/ | summary.json | config.json | bench.json | quiet.json) return 0 ;;
	esac
	return 1
}

check_links() {
	grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/)$//; s/#.*//' | sort -u | while read -r link; do
		case $link in
		'' | http*) continue ;;
		esac
		[ -e "$(dirname "$1")/$link" ] || echo "$1: no file for the link $link"
	done
}

# Words in backticks, code blocks left out.
words_of() {
	awk '/^```/ { block = !block; next } !block && !/^    / && !/^\t/' "$1" | grep -oE '`[^`]+`' | tr -d '`' | sort -u
}

# Functions, macros, keys and control files.
check_names() {
	awk -v document="$1" -v names="$work/names" -v words="$work/words" '
		BEGIN {
			while ((getline name <names) > 0)
				is_name[name] = 1
			# A group of keys is a word, too.
			while ((getline word <words) > 0)
				do
					is_word[word] = 1
				while (sub(/\.[^.]*$/, "", word))
		}
		/ / { next }
		/^[a-zA-Z0-9_]*\(\)$/ {
			if (!(substr($0, 1, length($0) - 2) in is_name))
				print document ": no function " $0
			next
		}
		/^(GVM|NVUVM|SIM|CFG|CORETEST)_/ {
			if (!/[*=]/ && !($0 in is_name))
				print document ": no name " $0
			next
		}
		/^(gpu|host|app|containers|output|system|gmem|compute|hmem|gcgroup)\./ {
			if (!/\*$|<|=|NAME|^app\.\*|^gmem\.current\./ && !($0 in is_word))
				print document ": no key or control file " $0
		}' "$work/said"
}

check_paths() {
	folder=$(dirname "$1")
	while read -r word; do
		case $word in
		*' '* | *'()' | GVM_* | NVUVM_* | SIM_* | CFG_* | CORETEST_*) continue ;;
		gpu.* | host.* | app.* | containers.* | output.* | system.* | gmem.* | compute.* | hmem.* | gcgroup.*) continue ;;
		*/* | *.c | *.h | *.sh | *.json | *.md | *.gp) ;;
		*) continue ;;
		esac
		made "$word" && continue
		case $word in
		*/*) ;;
		*) in_some_folder "$word" && continue ;;
		esac
		exists "$folder" "$word" || echo "$1: no file $word"
	done <"$work/said"
}

# Commands of the two programs, anywhere in a document: subcommands and options are in --help.
check_commands() {
	grep -ohE '(gvmsim|gvmcollect|gvmd|gvmctl|gvmfence|gvmfenced) [a-z]+( [a-z-]+)?' "$1" | sort -u | while read -r program command rest; do
		case $program in
		gvmsim) run=$gvmsim ;;
		gvmd | gvmctl | gvmfence | gvmfenced) run=$(dirname "$gvmsim")/$program ;;
		*) run=$gvmcollect ;;
		esac
		"$run" --help | grep -qE "^  $program $command( |\$)" && continue
		# Prose such as "gvmsim is ..." has no command.
		grep -qE "(\`|^    |\\\$)(build/[a-z]*/)?$program $command" "$1" &&
			echo "$1: no command $program $command $rest"
	done
}

# Labels after "ctest -L": folders of tests, or labels that are given there.
check_labels() {
	grep -ohE "ctest -LE? ('[a-z_|]+'|[a-z_]+)" "$1" | sed "s/.* //; s/'//g" | tr '|' '\n' | sort -u |
		while read -r label; do
			[ -d "tests/$label" ] || grep -qE "LABELS .*\b$label\b" tests/CMakeLists.txt \
				tests/*/CMakeLists.txt kernel-port/CMakeLists.txt ||
				echo "$1: no label $label"
		done
}

# Targets of "cmake --build build/PRESET --target A B" exist, and those of kernel-port only where tests are built.
check_targets() {
	grep -oE 'cmake --build build/[a-z]+ --target [a-z_ -]+' "$1" | sort -u | while read -r _ _ folder _ targets; do
		for target in $targets; do
			grep -hE "(add_custom_target|add_executable|add_library|kernel_module)\\($target( |\$)" \
				CMakeLists.txt tests/CMakeLists.txt kernel-port/CMakeLists.txt >"$work/target" || true
			[ -s "$work/target" ] || echo "$1: no target $target"
			grep -qE "\\($target( |\$)" kernel-port/CMakeLists.txt && [ "$folder" = build/release ] &&
				echo "$1: no target $target in $folder"
		done
	done
}

# All rows of a table have as many cells as its head. A bare | ends a cell, also within backticks.
check_tables() {
	awk '
		/^ *```/ { code = !code }
		code || !/^ *\|/ { cells = 0; next }
		{
			row = $0
			gsub(/\\\|/, "", row)
			found = gsub(/\|/, "", row)
			if (!cells)
				cells = found
			else if (found != cells)
				print FILENAME ":" FNR ": " found - 1 " cells in a table of " cells - 1
		}
	' "$1"
}

printf '%s\n' '| a | b |' '|---|---|' '| `x\|y` | c |' '| `x|y` | c |' >"$work/table.md"
[ "$(check_tables "$work/table.md")" = "$work/table.md:4: 3 cells in a table of 2" ] ||
	complain "a bare | is not found: $(check_tables "$work/table.md")"
{ git ls-files '*.md' 2>/dev/null || find . -name '*.md' ! -path './build/*'; } | while read -r document; do
	check_tables "$document"
done >"$work/found"
[ ! -s "$work/found" ] || complain "$(cat "$work/found")"

for document in $documents; do
	[ -f "$document" ] || { complain "no $document"; continue; }
	{
		check_links "$document"
		words_of "$document" >"$work/said"
		check_names "$document"
		check_paths "$document"
		check_commands "$document"
		check_labels "$document"
		check_targets "$document"
	} >"$work/found" || true
	[ ! -s "$work/found" ] || complain "$(cat "$work/found")"
done
for system in $("$gvmsim" reference --words systems); do
	awk '/^## Who manages memory/ { on = 1; next } /^## / { on = 0 } on' docs/model.md |
		grep -qE "^\\| [^|]*\`$system\`" ||
		complain "docs/model.md: \"Who manages memory\" has no row for $system"
done
[ "$(wc -l <README.md)" -le 120 ] || complain "README.md has more than 120 lines"
exit $status
