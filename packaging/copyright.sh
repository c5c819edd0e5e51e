#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Print the copyright file FILE of a package, with the text of the MIT licence in place of EXPAT_TEXT.
#
#   copyright.sh SOURCE FILE
set -eu

awk -v licence="$1/LICENSES/MIT.txt" '
	/^EXPAT_TEXT$/ {
		while ((getline line < licence) > 0) {
			text = text || line ~ /^Permission/
			if (text)
				print line == "" ? " ." : " " line
		}
		next
	}
	{ print }' "$2"
