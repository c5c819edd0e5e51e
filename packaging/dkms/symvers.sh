#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Print what NVIDIA_KO exports as a Module.symvers. So the hooked nvidia-uvm.ko is linked against the very
# nvidia.ko that is installed: where they do not fit, the kernel refuses it. Before Linux 6.4 a checksum is
# the value of an absolute symbol, since then it lies in a section. WORK is an empty folder.
#
#   symvers.sh NVIDIA_KO WORK
set -eu

ko=$1
work=$2

case $ko in
*.xz) xz -dc "$ko" >"$work/nvidia.ko" ;;
*.zst) zstd -qdc "$ko" >"$work/nvidia.ko" ;;
*.gz) gzip -dc "$ko" >"$work/nvidia.ko" ;;
*) cp "$ko" "$work/nvidia.ko" ;;
esac
objdump -t "$work/nvidia.ko" >"$work/symbols"
for section in __kcrctab __kcrctab_gpl; do
	objcopy -O binary --only-section=$section "$work/nvidia.ko" "$work/$section" 2>/dev/null || true
	if [ -f "$work/$section" ]; then
		od -An -v -w4 -tx4 "$work/$section" | awk -v section=$section '{ print section, (NR - 1) * 4, $1 }'
	fi
done >"$work/checksums"

# A line of objdump: value, flags, section, size, name. Flags may be empty.
awk -v checksums="$work/checksums" '
	function number(hex, value, i) {
		for (i = 1; i <= length(hex); i++)
			value = value * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return value
	}
	BEGIN {
		while ((getline line <checksums) > 0) {
			split(line, part, " ")
			stored[part[1] " " part[2]] = part[3]
		}
	}
	NF >= 4 && $NF ~ /^__ksymtab_/ {
		gpl[substr($NF, 11)] = $(NF - 2) ~ /_gpl/
	}
	NF >= 4 && $NF ~ /^__crc_/ {
		name = substr($NF, 7)
		if ($(NF - 2) == "*ABS*")
			crc[name] = substr($1, length($1) - 7)
		else
			crc[name] = stored[$(NF - 2) " " number($1)]
	}
	END {
		for (name in gpl)
			printf "0x%s\t%s\tnvidia\tEXPORT_SYMBOL%s\t\n", \
				name in crc ? crc[name] : "00000000", name, gpl[name] ? "_GPL" : ""
	}' "$work/symbols" | LC_ALL=C sort -k 2
