#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Print softgpu_stubs.c: it exports every function that the driver's own header declares for nvidia-uvm,
# and defines those that no file here does. Such a function says its name once and returns
# NV_ERR_NOT_SUPPORTED.
#
#   stubs.sh TREE SOURCE...
set -eu

tree=$1
shift
defined=$(cat "$@" | sed -nE 's/^(NV_STATUS|void|NvBool) (nvUvmInterface[A-Za-z0-9]+)\(.*/\2/p' | tr '\n' ' ')

# Without comments and preprocessor lines, one declaration a line.
sed 's,//.*,,; /^#/d' "$tree/common/inc/nv_uvm_interface.h" | tr '\n' ' ' |
	sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' | tr ';' '\n' |
	awk -v defined=" $defined" '
		BEGIN {
			print "// SPDX-License-Identifier: MIT OR GPL-2.0"
			print "#include \"softgpu_driver.h\""
		}
		match($0, /(NV_STATUS|void|NvBool)[ \t]+nvUvmInterface[A-Za-z0-9]+[ \t]*\(.*\)/) {
			text = substr($0, RSTART, RLENGTH)
			type = text
			sub(/[ \t].*/, "", type)
			name = text
			sub(/^[A-Za-z_]+[ \t]+/, "", name)
			sub(/[ \t]*\(.*/, "", name)
			exported[++count] = name
			if (index(defined, " " name " "))
				next
			value = type == "void" ? "" : type == "NvBool" ? " NV_FALSE" : " NV_ERR_NOT_SUPPORTED"
			printf "%s\n{\n\tpr_warn_once(\"softgpu: not implemented: %s\\n\");\n\treturn%s;\n}\n",
				text, name, value
		}
		END {
			if (count < 60) {
				print "too few functions were found: " count >"/dev/stderr"
				exit 1
			}
			for (i = 1; i <= count; i++)
				print "EXPORT_SYMBOL(" exported[i] ");"
		}'
