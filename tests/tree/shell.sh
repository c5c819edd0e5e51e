#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Every shell script passes shellcheck.
set -eu
cd "$1"
scripts=$(find . -path ./build -prune -o \( -name '*.sh' -o -name '*.bash' \) -print | sort)
[ "$(echo "$scripts" | wc -l)" -ge 15 ]
# shellcheck disable=SC2086 # no spaces in our names
shellcheck -x -P SCRIPTDIR -S warning run test .ci/run $scripts
