#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Every C file is formatted as .clang-format says. Mend with: clang-format -i FILE
set -eu
cd "$1"
files=$(find sim tests kernel-port bench -name '*.[ch]' | sort)
[ "$(echo "$files" | wc -l)" -ge 60 ]
# shellcheck disable=SC2086 # no spaces in our names
clang-format --dry-run -Werror $files
