#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Every name of the program's tables is in the dictionaries, and each line is an entry or a comment.
# Usage: words_test.sh GVMSIM
set -eu
folder=$(dirname "$0")

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

scenario=$("$folder/words.sh" "$1" scenario)
control=$("$folder/words.sh" "$1" control)
for entry in '"\"gpus\":"' '"\"gmem.limit.high\":"' '"\"kernels_per_step\":"' '"\"ghost\""' \
	'"\"fast_paging\":"' '"\"pages\""'; do
	echo "$scenario" | grep -qxF "$entry" || fail "scenario.dict has no $entry"
done
for file in $("$1" reference --words control-files); do
	echo "$control" | grep -qxF "\"$file=\"" || fail "control.dict has no $file"
done
printf '%s\n%s\n' "$scenario" "$control" | grep -vE '^(#.*|".*"|)$' && fail "no entry"
exit 0
