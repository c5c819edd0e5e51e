#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# nvidia_nightly.sh takes the driver of the version that it is told, runs both suites and then the
# stress with its asserts, and skips a version that is not given with a line that says so. A copy of
# it is run beside a stand-in for debug_kernel.sh, which prints what it is asked for.
#
#   nightly_script.sh SOURCE
set -eu

source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests/kernel"
cp "$source/tests/kernel/nvidia_nightly.sh" "$work/tests/kernel/"
cat >"$work/tests/kernel/debug_kernel.sh" <<'END'
#!/bin/sh
echo "$UVM_BUILD_TYPE ${GVM_TEST_SUITES:-both} ${GVM_TEST:-all but ${GVM_TEST_LEAVE_OUT:-none}} $GVM_TEST_STRESS_SECONDS $3 ${4:-none}"
exit "${STATUS:-0}"
END
chmod +x "$work/tests/kernel/debug_kernel.sh"

# tree VERSION: the folder of a driver
tree() {
	mkdir -p "$work/$1/nvidia-uvm"
	: >"$work/$1/nvidia-uvm/nvidia-uvm.Kbuild"
	printf 'ccflags-y += -DNV_VERSION_STRING=\\"%s\\"\n' "$1" >"$work/$1/Kbuild"
}

# expect STATUS LINES MAJOR TREE...: what the script prints of the suites, and how it ends
expect() {
	wanted=$1
	lines=$2
	shift 2
	status=0
	"$work/tests/kernel/nvidia_nightly.sh" "$work" "$work/out" "$@" >"$work/log" 2>&1 || status=$?
	if [ "$status" != "$wanted" ] || [ "$(grep '^debug ' "$work/log" || true)" != "$lines" ]; then
		cat "$work/log" >&2
		echo "nvidia_nightly.sh $*: status $status, and not $wanted, or other suites than: $lines" >&2
		exit 1
	fi
}

# both TREE SECONDS: what is printed of both calls
both() {
	echo "debug both all but judge 3 --nvidia $1"
	echo "debug hooked stress $2 --nvidia $1"
}

tree 580.142
tree 595.45.04
unset GVM_TEST GVM_TEST_SUITES GVM_TEST_STRESS_SECONDS
expect 0 "$(both none 3600)" 535
expect 0 "$(both "$work/595.45.04" 3600)" 595 "$work/580.142" "$work/595.45.04"
expect 77 "" 595 "$work/580.142"
grep -q 'skipped: no driver 595 is given' "$work/log"
expect 77 "" 580
expect 1 "" 580 "$work/tests"
export GVM_TEST_STRESS_SECONDS=60
expect 0 "$(both "$work/580.142" 60)" 580 "$work/580.142"
# The script ends with what the first call says: a failure, or a skip where Debian's package cannot
# be had.
export STATUS=77
expect 77 "debug both all but judge 3 --nvidia none" 535
export STATUS=1
expect 1 "debug both all but judge 3 --nvidia $work/580.142" 580 "$work/580.142"
