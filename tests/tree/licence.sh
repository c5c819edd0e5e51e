#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Every source and script carries the licence on its first line (scripts: the second).
set -eu
cd "$1"
status=0
for file in $(find sim tests kernel-port packaging bench tools plots .ci -type f \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.cmake' -o -name '*.gp' -o -name CMakeLists.txt \
	-o -name Kbuild \)) CMakeLists.txt run test .ci/run .clang-format; do
	head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT OR GPL-2.0' && continue
	echo "$file: no SPDX line"
	status=1
done
exit $status
