#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# tools/setup.sh on machines that lack something: the last line says what, and what to do. Stand-ins answer in
# place of apt. Usage: setup.sh SOURCE
set -eu

setup=$1/tools/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*: $(cat "$work/said")" >&2
	exit 1
}

stand_in() {
	cat >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# machine: one that has these programs and no package.
machine() {
	rm -rf "${work:?}/bin"
	mkdir "$work/bin"
	for program in cat grep mktemp rm sh; do
		ln -s "$(command -v "$program")" "$work/bin/$program"
	done
	echo 'echo 1000' | stand_in id
	stand_in dpkg-query </dev/null
	stand_in apt-get <<'END'
#!/bin/sh
[ "$1" = install ] || exit 100
echo "Reading package lists..."
echo "E: Unable to locate package cmake" >&2
exit 100
END
}

# says CODE PATTERN ARGUMENTS...: the exit code, and the last line
says() {
	code=$1
	pattern=$2
	shift 2
	status=0
	PATH=$work/bin sh "$setup" "$@" >"$work/said" 2>&1 || status=$?
	[ "$status" -eq "$code" ] || fail "exit code $status, expected $code"
	tail -n 1 "$work/said" | grep -q "$pattern" || fail "no '$pattern'"
}

machine
says 2 "^setup: unknown argument 'tests', allowed: build, test, nightly, softgpu$" tests
says 1 "^setup: there is neither root nor sudo .* needed: ca-certificates cmake .* cmake --preset release" build
[ "$(wc -l <"$work/said")" -eq 1 ] || fail "more than one line"

rm "$work/bin/apt-get" "$work/bin/dpkg-query"
says 1 "^setup: this machine has no apt.*needed: ca-certificates cmake .*Debian's names" build
[ "$(wc -l <"$work/said")" -eq 1 ] || fail "more than one line"

# As root: apt's errors, without the rest of what it says, and the line.
machine
echo 'echo 0' | stand_in id
says 1 "^setup: apt could not install the packages .* needed: ca-certificates cmake " build
grep -q "^E: Unable to locate package cmake$" "$work/said" || fail "apt's error is missing"
if grep -q Reading "$work/said"; then fail "all that apt says"; fi

# A source that cannot be read does not matter if the others have the packages.
stand_in apt-get <<'END'
#!/bin/sh
[ "$1" = install ] || exit 100
END
says 0 "^Installing: ca-certificates cmake " build

# Nothing is missing: not a word.
echo 'printf "install ok installed"' | stand_in dpkg-query
PATH=$work/bin sh "$setup" nightly >"$work/said" 2>&1
[ ! -s "$work/said" ] || fail "says something"
