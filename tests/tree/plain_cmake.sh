#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Plain CMake configures on a host without the package check, and says that there are no tests; none of the
# files that it then compiles includes check.h. A wish for tests is still an error there. All packages that are
# missing for the programs are named at once.
# Usage: plain_cmake.sh SOURCE WORK
set -eu
source=$1
work=$2
rm -rf "$work"
mkdir -p "$work/pkgconfig"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	for file in "$folder"/*.pc; do
		[ ! -e "$file" ] || [ -e "$work/pkgconfig/${file##*/}" ] || ln -s "$file" "$work/pkgconfig/"
	done
done
rm "$work/pkgconfig/check.pc"
export PKG_CONFIG_LIBDIR="$work/pkgconfig"

cmake -S "$source" -B "$work/plain" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/plain.log" 2>&1 || { cat "$work/plain.log"; exit 1; }
grep -q "No package check: tests and kernel modules are not built" "$work/plain.log" || {
	echo "no word on the missing tests"
	cat "$work/plain.log"
	exit 1
}
if cmake -S "$source" -B "$work/tests" -DGVMSIM_TESTS=ON >"$work/tests.log" 2>&1; then
	echo "tests were wanted, the package check is missing, and CMake says nothing"
	exit 1
fi

# What the programs need and is missing is said at once.
rm "$work/pkgconfig/zlib.pc" "$work/pkgconfig/libprotobuf-c.pc"
if cmake -S "$source" -B "$work/missing" >"$work/missing.log" 2>&1 ||
	! grep -q "Missing: zlib, libprotobuf-c; tools/setup.sh has Debian's packages$" "$work/missing.log"; then
	echo "not all missing packages are named"
	cat "$work/missing.log"
	exit 1
fi

# What is built beside the programs, by its own compile commands: files of tests/ among it, as bench has.
python3 - "$work/plain/compile_commands.json" <<'EOF2'
import json, re, shlex, subprocess, sys

checked = []
for entry in json.load(open(sys.argv[1])):
    if not re.search("/(bench|tests)/", entry["file"]):
        continue
    words = [word for word in shlex.split(entry["command"]) if word != "-c"]
    at = words.index("-o")
    command = words[:at] + words[at + 2:] + ["-M"]
    made = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    if made.returncode or re.search(r"/check\.h\b", made.stdout):
        sys.exit(f"{entry['file']}: includes check.h, or does not compile: {made.stderr}")
    checked.append(entry["file"])
if not any("/tests/" in name for name in checked):
    sys.exit(f"no file of tests/ is built without the package check: {checked}")
EOF2
