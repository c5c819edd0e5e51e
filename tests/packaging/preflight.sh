#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvm-preflight on the files of made-up hosts. A host that has all passes each check. Then each check fails
# for its own reason, which the line names together with the remedy, and no other check changes.
# Usage: preflight.sh SOURCE
set -eu

preflight=$1/packaging/gvm-preflight.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
host=$work/host
release=6.1.0-56-amd64
failed=0
checks=0

# put FILE TEXT: with directories; the text is printf's
put() {
	mkdir -p "$host/${1%/*}"
	# shellcheck disable=SC2059 # the text has escapes
	printf "$2" >"$host/$1"
}

program() {
	mkdir -p "$host/usr/bin"
	: >"$host/usr/bin/$1"
	chmod +x "$host/usr/bin/$1"
}

# process PID COMM CMDLINE DEVICE...
process() {
	put "proc/$1/comm" "$2\n"
	put "proc/$1/cmdline" "$3"
	mkdir -p "$host/proc/$1/fd"
	pid=$1
	shift 3
	for device in "$@"; do
		ln -s "$device" "$host/proc/$pid/fd/$(find "$host/proc/$pid/fd" -type l | wc -l)"
	done
}

# The host is as make_good_host made it.
good_host() {
	rm -rf "$host"
	cp -a "$work/good" "$host"
}

# An A100 under the open driver 535.261.03 of Debian, with all that gvm-dkms needs
make_good_host() {
	put proc/sys/kernel/osrelease "$release\n"
	put proc/cmdline "BOOT_IMAGE=/boot/vmlinuz-$release root=/dev/sda1 ro quiet\n"
	put sys/bus/pci/devices/0000:00:07.0/vendor "0x10de\n"
	put sys/bus/pci/devices/0000:00:07.0/class "0x030200\n"
	put sys/bus/pci/devices/0000:00:07.0/device "0x20b5\n"
	put sys/bus/pci/devices/0000:00:01.0/vendor "0x8086\n"
	driver "NVIDIA UNIX Open Kernel Module for x86_64" 535.261.03
	source_tree usr/src/nvidia-open-535.261.03 535.261.03 "Dual MIT/GPL"
	put "lib/modules/$release/build/include/generated/utsrelease.h" "#define UTS_RELEASE \"$release\"\n"
	for tool in dkms make gcc spatch nvidia-ctk dockerd; do
		program $tool
	done
	put sys/fs/cgroup/cgroup.controllers "cpu memory pids\n"
	put proc/mounts "sysfs /sys sysfs rw 0 0\ndebugfs /sys/kernel/debug debugfs rw,nosuid 0 0\n"
	put sys/kernel/security/lockdown "[none] integrity confidentiality\n"
	put sys/module/module/parameters/sig_enforce "N\n"
	put sys/module/nvidia_uvm/parameters/uvm_disable_hmm "Y\n"
	process 1 systemd "/sbin/init\000" /dev/null
	process 700 nvidia-persiste "/usr/bin/nvidia-persistenced\000--user\000nvidia\000" /dev/nvidia0 /dev/nvidiactl
}

# driver NAME VERSION
driver() {
	put proc/driver/nvidia/version "NVRM version: $1  $2  Release Build  (root@host)  Mon\nGCC version:  gcc 12\n"
	put sys/module/nvidia/version "$2\n"
}

# source_tree FOLDER VERSION LICENCE
source_tree() {
	put "$1/Kbuild" "ccflags-y += -DNV_VERSION_STRING=\\\\\"$2\\\\\"\n"
	put "$1/nvidia-uvm/nvidia-uvm.Kbuild" ""
	put "$1/nvidia/nv.c" "MODULE_LICENSE(\"$3\");\n"
}

run() {
	status=0
	PREFIX=$host "$preflight" "$@" >"$work/out" 2>&1 || status=$?
}

complain() {
	echo "$1:"
	grep -v '^ok '  "$work/out"
	failed=1
}

# expect STATUS CHECK WORDS: that line has the words, all other lines are those of the good host
expect() {
	checks=$((checks + 1))
	run
	line=$(grep -E "^[a-z]+ +$2  +" "$work/out" || true)
	case $line in
	"$1 "*"$3"*) ;;
	*) complain "expected \"$1 $2 $3\"" ;;
	esac
	[ "$1" = ok ] || echo "$line" | grep -q 'To do: ' || complain "$2 has no remedy"
	[ "$status" = "$(if [ "$1" = missing ]; then echo 1; else echo 0; fi)" ] ||
		complain "$2: $1 ended with $status"
	others=$(grep -vE "^[a-z]+ +($2|${4:-$2})  +" "$work/out" | grep -cE '^(warn|missing) ' || true)
	[ "$others" = 0 ] || complain "$2: another check changed"
}

make_good_host
cp -a "$host" "$work/good"
run
[ "$status" = 0 ] && [ "$(grep -c '^ok ' "$work/out")" = 16 ] && grep -qx 'Nothing is missing; warnings: 0' "$work/out" ||
	complain "the good host"

# The card.
good_host && put sys/bus/pci/devices/0000:00:07.0/vendor "0x1002\n"
expect missing gpu "no GPU of NVIDIA"
good_host && put sys/bus/pci/devices/0000:00:07.0/device "0x1db4\n"
expect missing gpu "older than Turing"
good_host && put sys/bus/pci/devices/0000:00:07.0/device "0x2684\n"
expect warn gpu "no A100, H100 or H200"
good_host && put sys/bus/pci/devices/0000:00:07.0/device "0x2330\n"
expect ok gpu "0x2330"

# The driver.
good_host && driver "NVIDIA UNIX x86_64 Kernel Module" 535.261.03
expect missing "driver flavour" "proprietary, 535.261.03"
good_host && rm -r "$host/proc/driver" "$host/sys/module/nvidia"
expect warn "driver flavour" "not loaded" "hooks|driver source"
good_host && driver "NVIDIA UNIX Open Kernel Module for x86_64" 550.54.15
source_tree usr/src/nvidia-550.54.15 550.54.15 "Dual MIT/GPL"
expect missing hooks "no hooks for 550.54.15"
for version in 575.64.05 580.105.08 580.142 590.48.01 595.45.04; do
	good_host && driver "NVIDIA UNIX Open Kernel Module for x86_64" $version
	source_tree usr/src/nvidia-$version $version "Dual MIT/GPL"
	expect ok hooks "$version"
done
good_host && driver "NVIDIA UNIX Open Kernel Module for x86_64" 575.57.08
source_tree usr/src/nvidia-575.57.08/kernel-open 575.57.08 "Dual MIT/GPL"
expect ok hooks "575.57.08"
good_host && driver "NVIDIA UNIX Open Kernel Module for x86_64" 580.65.06
source_tree usr/src/nvidia-580.65.06 580.65.06 "Dual MIT/GPL"
expect warn hooks "another version of branch 580"
good_host && rm -r "$host"/usr/src/*
expect missing "driver source" "no source of the open driver 535.261.03"
good_host && source_tree usr/src/nvidia-open-535.261.03 535.261.03 NVIDIA
expect missing "driver source" "no source of the open driver"
good_host && rm -r "$host"/usr/src/* && put usr/src/nvidia-open-kernel.tar.xz ""
expect ok "driver source" "nvidia-open-kernel.tar.xz"

# The build.
good_host && rm -r "$host/lib/modules/$release"
expect missing "kernel headers" "none for $release"
good_host && rm "$host/usr/bin/spatch" "$host/usr/bin/dkms"
expect missing "build tools" "dkms coccinelle"

# Signatures. The key of DKMS is somewhere in the firmware's list of keys.
efi=sys/firmware/efi/efivars
uuid=8be4df61-93ca-11d2-aa0d-00e098032b8c
good_host && put "$efi/SecureBoot-$uuid" '\006\000\000\000\000'
expect ok "secure boot" "off"
good_host && put "$efi/SecureBoot-$uuid" '\006\000\000\000\001'
expect missing "secure boot" "no key to sign with"
put var/lib/dkms/mok.pub '\060\202\003\001key'
put "$efi/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23" '\006\000\000\000list\060\202\003\002other'
expect missing "secure boot" "is not enrolled"
put "$efi/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23" '\006\000\000\000list\060\202\003\001key'
expect ok "secure boot" "is enrolled"
good_host && put sys/module/module/parameters/sig_enforce "Y\n"
expect missing "secure boot" "signed modules only"

# Who has the GPU.
good_host && process 4201 python3 "python3\000train.py\000" /dev/null /dev/nvidia-uvm /dev/nvidia0
expect missing "gpu clients" "4201 (python3)"
good_host && process 700 nvidia-persiste "/usr/bin/nvidia-persistenced\000--uvm-persistence-mode\000"
expect missing persistence "keeps nvidia-uvm loaded"
good_host && rm -r "$host/proc/700"
expect warn persistence "does not run"
good_host && process 900 nvidia-cuda-mps "nvidia-cuda-mps-control\000-d\000"
expect missing mps "MPS runs as 900"

# Containers and files.
good_host && rm "$host/usr/bin/nvidia-ctk"
expect missing containers "dockerd without nvidia-container-toolkit"
good_host && rm "$host/usr/bin/nvidia-ctk" "$host/usr/bin/dockerd"
expect ok containers "no container engine"
good_host && rm "$host/sys/fs/cgroup/cgroup.controllers"
expect missing cgroups "no cgroup v2"
good_host && put proc/mounts "sysfs /sys sysfs rw 0 0\n"
expect warn debugfs "not mounted"
good_host && put sys/kernel/security/lockdown "none [integrity] confidentiality\n"
put var/lib/dkms/mok.pub key
put sys/firmware/efi/mok-variables/MokListRT listkey
expect warn lockdown "integrity"
good_host && put sys/module/nvidia_uvm/parameters/uvm_disable_hmm "N\n"
expect warn hmm "on in nvidia-uvm"
# Without a loaded module HMM is neither on nor off. The line says how the next load will set it.
good_host && rm -r "$host/sys/module/nvidia_uvm"
expect warn hmm "not loaded; modprobe will load it with HMM on"
good_host && rm -r "$host/sys/module/nvidia_uvm" && put usr/lib/modprobe.d/gvm.conf "options nvidia-uvm uvm_disable_hmm=1\n"
expect ok hmm "not loaded; modprobe will load it with HMM off"
good_host && rm -r "$host/sys/module/nvidia_uvm" && put run/modprobe.d/own.conf "\toptions nvidia_uvm a=2  uvm_disable_hmm=Y\n"
expect ok hmm "with HMM off"
good_host && rm -r "$host/sys/module/nvidia_uvm" && put etc/modprobe.d/own.conf "# options nvidia-uvm uvm_disable_hmm=1\n"
expect warn hmm "with HMM on"
good_host && rm "$host/sys/module/nvidia_uvm/parameters/uvm_disable_hmm"
expect warn hmm "no parameter"

# The kernel's command line. modprobe reads it after its files, so its options win. The kernel refuses a module of
# the last module_blacklist=, also to a modprobe by name; modprobe.blacklist= is for loading by itself alone.
boot="root=/dev/sda1 quiet"
good_host && put proc/cmdline "$boot module_blacklist=gvm,gvm_nvidia\n"
expect missing "kernel options" "the kernel refuses gvm gvm_nvidia"
good_host && put proc/cmdline "$boot module_blacklist=nouveau,nvidia_uvm\n"
expect missing "kernel options" "the kernel refuses nvidia_uvm"
good_host && put proc/cmdline "module_blacklist=gvm $boot module_blacklist=nouveau,nvidia-uvm\n"
expect ok "kernel options" "none for these modules"
good_host && put proc/cmdline "$boot modprobe.blacklist=nouveau,nvidia-uvm modprobe.blacklist=nvidia\n"
expect warn "kernel options" "not loaded by itself: nvidia_uvm nvidia"
good_host && put proc/cmdline "$boot modprobe.blacklist=nouveau rd.driver.blacklist=nvidia nvidia-drm.modeset=1\n"
expect ok "kernel options" "none for these modules"
good_host && put proc/cmdline "$boot nvidia.NVreg_RegistryDwords=\"a=1; b=2\" gvm.first=2 single\n"
expect ok "kernel options" 'nvidia.NVreg_RegistryDwords="a=1; b=2" gvm.first=2'
# The kernel takes quotes off a value, and off a whole parameter; what stands behind "--" is for init.
good_host && put proc/cmdline "$boot module_blacklist=\"nouveau,gvm\" quiet\n"
expect missing "kernel options" "the kernel refuses gvm. To do"
good_host && put proc/cmdline "$boot \"module_blacklist=gvm_nvidia\" quiet\n"
expect missing "kernel options" "the kernel refuses gvm_nvidia"
good_host && put proc/cmdline "$boot -- module_blacklist=gvm\n"
expect ok "kernel options" "none for these modules"
# It reads the first letter of a truth, or the first two of "on".
for value in 1 '"1"' yes on; do
	good_host && rm -r "$host/sys/module/nvidia_uvm" && put proc/cmdline "$boot nvidia-uvm.uvm_disable_hmm=$value\n"
	expect ok hmm "modprobe will load it with HMM off"
	good_host && rm -r "$host/sys/module/nvidia_uvm"
	put usr/lib/modprobe.d/gvm.conf "options nvidia-uvm uvm_disable_hmm=$value\n"
	expect ok hmm "modprobe will load it with HMM off"
done
good_host && rm -r "$host/sys/module/nvidia_uvm" && put usr/lib/modprobe.d/gvm.conf "options nvidia-uvm uvm_disable_hmm=1\n"
put proc/cmdline "nvidia_uvm.uvm_disable_hmm=1 $boot nvidia_uvm.uvm_disable_hmm=0\n"
expect warn hmm "HMM on. To do: remove nvidia_uvm.uvm_disable_hmm=0 from the kernel's command line"
good_host && put sys/module/nvidia_uvm/parameters/uvm_disable_hmm "N\n"
put proc/cmdline "$boot nvidia_uvm.uvm_disable_hmm=n\n"
expect warn hmm "To do: remove nvidia_uvm.uvm_disable_hmm=n from the kernel's command line"

# JSON says the same, whatever the names of processes.
good_host && process 4201 'a"b\\c' "x\000" /dev/nvidia0
run --json
[ "$status" = 1 ] && [ "$(jq -r '.checks | length' "$work/out")" = 16 ] &&
	[ "$(jq -r '[.missing, .warnings] | @csv' "$work/out")" = 1,0 ] &&
	[ "$(jq -r '.checks[] | select(.check == "gpu clients") | .found' "$work/out")" = \
		'the GPU is in use by 4201 (a"b\c)' ] || complain "JSON"
jq -r '.checks[] | .status + " " + .check' "$work/out" >"$work/json"
run
awk '/^(ok|warn|missing) / { print $1 " " substr($0, 10, 18) }' "$work/out" | sed 's/ *$//' | cmp - "$work/json" ||
	complain "JSON and text differ"

run --yaml
[ "$status" = 2 ] && [ "$(wc -l <"$work/out")" = 1 ] || complain "an unknown argument"
[ "$checks" -ge 30 ] || complain "only $checks checks"
[ "$failed" = 0 ] && echo "gvm-preflight: $checks outcomes"
exit "$failed"
