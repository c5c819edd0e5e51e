#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Each call that the shim hooks or makes, in each state of a process (the head of states.c lists them): with the shim it has
# the answer that it has without it, and ends no process. The driver library answers as NVIDIA's did on a card: TABLE.
#
#   states.sh STATES SHIM DRIVER TABLE
set -eu

states=$1
shim=$2
export LD_LIBRARY_PATH="$3"
export FAKE_STATES="$4"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What differs, and is documented (docs/shim.md): managed memory is not exported for the first time in a capture, and
# not to other devices. And the shim makes the second version of cuDevicePrimaryCtxRelease() of the first, which has a
# line of its own in the table, of a time when no owner was left.
known='^(captured[012] cuIpcGetMemHandle|[a-z0-9]+ cuMemGetHandleForAddressRange|bare cuDevicePrimaryCtxRelease) '

"$states" >"$work/plain"
lines=$(grep -c . "$work/plain")
[ "$lines" -gt 1500 ] || {
	echo "states.c printed $lines lines" >&2
	exit 1
}
# The library is what was measured, but where nothing is refused, and that it records no event on a captured stream.
natural='^(ready|execed) |^captured. cuEventRecord '
grep -vE "$known|$natural" "$FAKE_STATES" >"$work/measured"
grep -vE "$known|$natural" "$work/plain" | diff "$work/measured" - >"$work/differ" || {
	echo "the driver library answers otherwise than the driver did (<):" >&2
	cat "$work/differ" >&2
	exit 1
}

# compare NAME=VALUE...: the shim with these variables
compare() {
	env LD_PRELOAD="$shim" GVM_SHIM_DIR="$work/shim" GVM_SHIM_LOG="$work/log" "$@" "$states" >"$work/shimmed"
	if ! diff "$work/plain" "$work/shimmed" >"$work/differ" &&
		sed -n 's/^[<>] //p' "$work/differ" | grep -vE "$known"; then
		echo "with the shim ($*) the calls above have other answers; without it:" >&2
		sed -n 's/^< //p' "$work/differ" | grep -vE "$known" >&2
		exit 1
	fi
	if grep -E 'cannot be exported; start this' "$work/log" | grep -vE 'cuMemGetHandleForAddressRange'; then
		echo "with the shim ($*) the lines above say a wrong reason" >&2
		exit 1
	fi
	[ ! -e "$work/shim" ] || {
		echo "with the shim ($*) files are left: $(find "$work/shim")" >&2
		exit 1
	}
	rm -f "$work/log"
}

compare GVM_SHIM_MANAGED=1
compare GVM_SHIM_MANAGED=0
compare GVM_SHIM_PLACE=prefetch
compare GVM_LIMIT=900M GVM_CONTAINER=states
compare GVM_RESIDENT=100M
echo "$lines answers are the same with the shim, in five settings"
