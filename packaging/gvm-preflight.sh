#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Say what a host lacks for gvm.ko and a hooked nvidia-uvm.ko, and what to do. It reads files only, and
# changes nothing. PREFIX is put before every path, so that a test can show it the files of another host.
# Status 0: nothing is missing. 1: something is. 2: wrong use.
set -eu

package_version=@VERSION@ # of the package, once it is installed
root=${PREFIX:-}
here=$(dirname "$0")
versions=$here/driver-versions
[ -f "$versions" ] || versions=/usr/share/gvm-dkms/driver-versions
json=
missing=0
warned=0
count=0

usage() {
	cat <<'END'
usage: gvm-preflight [--json | --version]

Says in one line a check what this host lacks for gvm-dkms, and what to do.
  ok       nothing to do
  warn     works, with the limits that the line tells
  missing  does not work until the remedy is done
Exit status: 0 nothing is missing, 1 something is missing, 2 wrong use.
Run it as root: other users do not see who has the GPU open.
END
}

case ${1:-} in
'') ;;
--json) json=1 ;;
-h | --help)
	usage
	exit 0
	;;
--version)
	echo "gvm-preflight $package_version"
	exit 0
	;;
*)
	echo "gvm-preflight: unknown argument $1; gvm-preflight --help" >&2
	exit 2
	;;
esac
if [ $# -gt 1 ]; then
	echo "gvm-preflight: at most one argument; gvm-preflight --help" >&2
	exit 2
fi

escaped() {
	printf '%s' "$1" | tr '\t\n' '  ' | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'
}

# say STATUS CHECK FOUND [REMEDY]
say() {
	case $1 in
	missing) missing=$((missing + 1)) ;;
	warn) warned=$((warned + 1)) ;;
	esac
	count=$((count + 1))
	if [ -n "$json" ]; then
		[ "$count" = 1 ] || printf ',\n'
		printf '  {"check": "%s", "status": "%s", "found": "%s", "remedy": "%s"}' \
			"$2" "$1" "$(escaped "$3")" "$(escaped "${4:-}")"
	else
		printf '%-8s %-18s %s%s\n' "$1" "$2" "$3" "${4:+. To do: $4}"
	fi
}

# The first line of a file, without NULs; empty if it cannot be read.
first() {
	{ head -n 1 "$root$1" | tr -d '\000'; } 2>/dev/null || true
}

# All bytes of files, in hexadecimal digits.
hex() {
	cat "$@" 2>/dev/null | od -An -v -tx1 | tr -d ' \n'
}

release=$(first /proc/sys/kernel/osrelease)

check_gpu() {
	found=
	old=
	other=
	for device in "$root"/sys/bus/pci/devices/*; do
		[ "$(cat "$device/vendor" 2>/dev/null)" = 0x10de ] || continue
		case $(cat "$device/class" 2>/dev/null) in
		0x0300?? | 0x0302??) ;;
		*) continue ;;
		esac
		id=$(cat "$device/device")
		found="$found ${device##*/} ($id)"
		case $id in
		0x20?? | 0x23??) ;;
		0x0??? | 0x10?? | 0x11?? | 0x12?? | 0x13?? | 0x14?? | 0x15?? | 0x16?? | 0x17?? | 0x1[89abcd]??)
			old="$old ${device##*/}"
			;;
		*) other="$other ${device##*/}" ;;
		esac
	done
	if [ -z "$found" ]; then
		say missing gpu "no GPU of NVIDIA on the PCI bus" "use a host with an A100, H100 or H200"
	elif [ -n "$old" ]; then
		say missing gpu "older than Turing:$old" "NVIDIA's open kernel modules need Turing or later"
	elif [ -n "$other" ]; then
		say warn gpu "no A100, H100 or H200:$other" "nobody has tried this GPU; try it where a crash harms nobody"
	else
		say ok gpu "${found# }"
	fi
}

# Sets $version, the driver's, or nothing.
check_driver() {
	line=$(first /proc/driver/nvidia/version)
	version=$(first /sys/module/nvidia/version)
	case $line in
	'')
		say warn "driver flavour" "nvidia.ko is not loaded" "modprobe nvidia, and run gvm-preflight again"
		;;
	*"Open Kernel Module"*) say ok "driver flavour" "open, ${version:-version unknown}" ;;
	*)
		say missing "driver flavour" "proprietary, ${version:-version unknown}" \
			"install the open kernel modules of this version (Debian: nvidia-open-kernel-dkms; NVIDIA's installer: --kernel-module-type=open)"
		;;
	esac
}

# The folder with nvidia-uvm/ of the version $1, below /usr/src.
source_of() {
	for kbuild in "$root"/usr/src/*/Kbuild "$root"/usr/src/*/kernel-open/Kbuild; do
		tree=${kbuild%/Kbuild}
		[ -f "$tree/nvidia-uvm/nvidia-uvm.Kbuild" ] || continue
		if grep -qF "NV_VERSION_STRING=\\\"$1\\\"" "$kbuild" &&
			grep -qsE 'MODULE_LICENSE\("Dual MIT/GPL"\)' "$tree"/nvidia/nv.c "$tree"/nvidia/nv-frontend.c; then
			echo "${tree#"$root"}"
			return
		fi
	done
}

check_versions() {
	if [ -z "$version" ]; then
		say warn "hooks" "the driver's version is not known" "modprobe nvidia, and run gvm-preflight again"
		say warn "driver source" "the driver's version is not known" "modprobe nvidia, and run gvm-preflight again"
		return
	fi
	branches=$(sed -n 's/^\([0-9]*\)[.].*/\1/p' "$versions" | sort -un | paste -sd ' ')
	if grep -qxF "$version" "$versions"; then
		say ok hooks "there are hooks for $version"
	else
		case " $branches " in
		*" ${version%%.*} "*)
			say warn hooks "hooks were tried with another version of branch ${version%%.*}" \
				"install gvm-dkms: it refuses this driver if one hook does not land"
			;;
		*) say missing hooks "no hooks for $version" "install a driver of one of the branches $branches" ;;
		esac
	fi
	found=$(source_of "$version")
	if [ -n "$found" ]; then
		say ok "driver source" "$found"
	elif [ -f "$root/usr/src/nvidia-open-kernel.tar.xz" ]; then
		say ok "driver source" "/usr/src/nvidia-open-kernel.tar.xz"
	else
		say missing "driver source" "no source of the open driver $version in /usr/src" \
			"install it (Debian: nvidia-open-kernel-source; NVIDIA's repositories: nvidia-kernel-source-open or nvidia-open-dkms; NVIDIA's installer: --dkms)"
	fi
}

check_build() {
	if [ -f "$root/lib/modules/$release/build/include/generated/utsrelease.h" ]; then
		say ok "kernel headers" "/lib/modules/$release/build"
	else
		say missing "kernel headers" "none for $release" \
			"install linux-headers-$release (Fedora, RHEL: kernel-devel-$release)"
	fi
	lacking=
	for tool in dkms:dkms make:make gcc:gcc spatch:coccinelle; do
		[ -x "$root/usr/bin/${tool%:*}" ] || [ -x "$root/usr/sbin/${tool%:*}" ] || lacking="$lacking ${tool#*:}"
	done
	if [ -z "$lacking" ]; then
		say ok "build tools" "dkms, make, gcc and spatch are there"
	else
		say missing "build tools" "not installed:$lacking" "install$lacking"
	fi
}

# Unsigned modules are refused under Secure Boot, under a lockdown, and by the parameter sig_enforce.
check_signing() {
	guid=8be4df61-93ca-11d2-aa0d-00e098032b8c
	# Four bytes of attributes, one of value.
	state=$(hex "$root/sys/firmware/efi/efivars/SecureBoot-$guid")
	lockdown=$(first /sys/kernel/security/lockdown | sed -n 's/.*\[\(.*\)\].*/\1/p')
	enforced=
	[ "$state" = "${state%01}" ] || enforced="Secure Boot is on"
	[ -n "$enforced" ] || [ -z "$lockdown" ] || [ "$lockdown" = none ] || enforced="the kernel is locked down"
	[ -n "$enforced" ] || [ "$(first /sys/module/module/parameters/sig_enforce)" != Y ] ||
		enforced="the kernel takes signed modules only"
	if [ -z "$enforced" ]; then
		say ok "secure boot" "off: modules need no signature"
		return
	fi
	key=$root/var/lib/dkms/mok.pub
	if [ ! -s "$key" ]; then
		say missing "secure boot" "$enforced, and DKMS has no key to sign with" \
			"dkms generate_mok, then mokutil --import /var/lib/dkms/mok.pub, reboot and confirm on the console"
		return
	fi
	keys=$(hex "$root"/sys/firmware/efi/mok-variables/MokListRT \
		"$root"/sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23)
	case $keys in
	*"$(hex "$key")"*) say ok "secure boot" "$enforced, and DKMS's key is enrolled" ;;
	*)
		say missing "secure boot" "$enforced, and DKMS's key is not enrolled" \
			"mokutil --import /var/lib/dkms/mok.pub, reboot and confirm on the console"
		;;
	esac
}

# Processes that have one of the driver's devices open. Sets $clients, $persistence and $mps.
find_clients() {
	clients=
	persistence=
	mps=
	for process in "$root"/proc/[0-9]*; do
		name=$(cat "$process/comm" 2>/dev/null) || continue
		pid=${process##*/}
		case $name in
		nvidia-cuda-mps) mps="$mps $pid" ;;
		nvidia-persiste)
			persistence="$persistence $pid"
			continue
			;;
		nv-fabricmanage) continue ;;
		esac
		for file in "$process"/fd/*; do
			case $(readlink "$file" 2>/dev/null) in
			/dev/nvidia[0-9]* | /dev/nvidiactl | /dev/nvidia-uvm*)
				clients="$clients $pid ($name)"
				break
				;;
			esac
		done
	done
}

check_clients() {
	find_clients
	if [ -n "$clients" ]; then
		say missing "gpu clients" "the GPU is in use by$clients" \
			"end these processes before nvidia-uvm is exchanged, or reboot after the installation"
	elif [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
		say warn "gpu clients" "only root sees who has the GPU open" "run gvm-preflight as root"
	else
		say ok "gpu clients" "no process has the GPU open"
	fi
	holds=
	for pid in $persistence; do
		! tr '\000' '\n' <"$root/proc/$pid/cmdline" | grep -qx -e --uvm-persistence-mode || holds=$pid
	done
	if [ -n "$holds" ]; then
		say missing "persistence" "nvidia-persistenced ($holds) keeps nvidia-uvm loaded" \
			"remove --uvm-persistence-mode from its service, and restart it"
	elif [ -n "$persistence" ]; then
		say ok "persistence" "nvidia-persistenced keeps the GPU on and leaves nvidia-uvm alone"
	else
		say warn "persistence" "nvidia-persistenced does not run: the GPU is set up anew for each first client" \
			"systemctl enable --now nvidia-persistenced"
	fi
	if [ -n "$mps" ]; then
		say missing "mps" "MPS runs as$mps: its clients share one TSG, which cannot be in two containers" \
			"echo quit | nvidia-cuda-mps-control"
	else
		say ok "mps" "does not run"
	fi
}

check_containers() {
	engine=
	for program in dockerd containerd crio podman; do
		[ ! -x "$root/usr/bin/$program" ] && [ ! -x "$root/usr/sbin/$program" ] || engine="$engine $program"
	done
	if [ -z "$engine" ]; then
		say ok "containers" "no container engine; containers of gvm.ko need none"
	elif [ -x "$root/usr/bin/nvidia-ctk" ]; then
		say ok "containers" "nvidia-container-toolkit is there for$engine"
	else
		say missing "containers" "${engine# } without nvidia-container-toolkit: containers do not see the GPU" \
			"install nvidia-container-toolkit, then nvidia-ctk runtime configure"
	fi
	if [ -f "$root/sys/fs/cgroup/cgroup.controllers" ]; then
		say ok "cgroups" "version 2"
	else
		say missing "cgroups" "no cgroup v2 at /sys/fs/cgroup: no cgroup can be a container" \
			"boot with systemd.unified_cgroup_hierarchy=1"
	fi
}

check_files() {
	if awk '$2 == "/sys/kernel/debug" && $3 == "debugfs" { found = 1 } END { exit !found }' \
		"$root/proc/mounts" 2>/dev/null; then
		say ok "debugfs" "mounted"
	else
		say warn "debugfs" "not mounted: control files are only in /sys/kernel/gvm" \
			"mount -t debugfs none /sys/kernel/debug"
	fi
	lockdown=$(first /sys/kernel/security/lockdown | sed -n 's/.*\[\(.*\)\].*/\1/p')
	case $lockdown in
	'' | none) say ok "lockdown" "off" ;;
	*)
		say warn "lockdown" "$lockdown: files of debugfs cannot be written" \
			"use /sys/kernel/gvm, which has the same files"
		;;
	esac
	check_options
	check_hmm
}

# Parameters of the kernel's command line, one a line: "MODULE.NAME=VALUE" with underscores in the module's name, as
# modprobe and the kernel read it. Spaces in quotes are part of a value. Quotes around a whole parameter go; those
# around a value stay.
boot_parameters() {
	first /proc/cmdline | awk '{
		quoted = 0
		for (i = 1; i <= length($0); i++) {
			letter = substr($0, i, 1)
			if (letter == "\"")
				quoted = !quoted
			if (letter == " " && !quoted) {
				print word
				word = ""
			} else {
				word = word letter
			}
		}
		print word
	}' | awk '{
		if (sub(/^"/, ""))
			sub(/"$/, "")
		end = match($0, /[.=]/) ? RSTART : length($0) + 1
		name = substr($0, 1, end - 1)
		gsub("-", "_", name)
		print name substr($0, end)
	}'
}

# Modules of ours and the driver's that it needs, of a list with commas. Debian's driver has names of its own.
our_modules() {
	echo "$1" | tr , '\n' | grep -xE 'gvm|gvm_nvidia|nvidia(_current)?(_open)?(_uvm)?' | paste -sd ' '
}

# Of several module_blacklist= the kernel has the last one, and compares all letters. Behind "--", which is "__" here, it
# reads no more. modprobe has all modprobe.blacklist=, and takes nvidia-uvm for nvidia_uvm.
check_options() {
	parameters=$(boot_parameters)
	remedy="remove it from the kernel's command line, and reboot"
	refused=$(echo "$parameters" | sed -n '/^__$/q; s/^module_blacklist=//p' | tail -n 1 | tr -d '"')
	refused=$(our_modules "$refused")
	skipped=$(our_modules "$(echo "$parameters" | sed -n 's/^modprobe[.]blacklist=//p' | tr '\n-' ',_')")
	options=$(echo "$parameters" | grep -E '^(gvm|gvm_nvidia|nvidia(_current)?(_open)?(_uvm)?)[.]' | paste -sd ' ')
	if [ -n "$refused" ]; then
		say missing "kernel options" "module_blacklist: the kernel refuses $refused" "$remedy"
	elif [ -n "$skipped" ]; then
		say warn "kernel options" "modprobe.blacklist: not loaded by itself: $skipped" "$remedy, or load it by name"
	else
		say ok "kernel options" "${options:-none for these modules}"
	fi
}

hmm_off_in_files() {
	cat "$root"/etc/modprobe.d/*.conf "$root"/run/modprobe.d/*.conf "$root"/usr/local/lib/modprobe.d/*.conf \
		"$root"/usr/lib/modprobe.d/*.conf "$root"/lib/modprobe.d/*.conf 2>/dev/null |
		grep -qE '^[[:blank:]]*options[[:blank:]]+nvidia[-_]uvm[[:blank:]]+(.*[[:blank:]])?uvm_disable_hmm="?([1yY]|[oO][nN])'
}

# A loaded nvidia-uvm says whether HMM is on. For the next load the kernel's command line decides, then modprobe's
# configuration. Without a word in either HMM is on.
check_hmm() {
	remedy="gvm-dkms sets uvm_disable_hmm=1, which holds when nvidia-uvm is loaded next"
	boot=$(boot_parameters | grep -E '^nvidia(_current)?(_open)?_uvm[.]uvm_disable_hmm(=|$)' | tail -n 1)
	off=
	case $boot in
	'') ;;
	*=[1yY]* | *=\"[1yY]* | *=[oO][nN]* | *=\"[oO][nN]* | *_hmm) off=boot ;;
	*)
		off=never
		remedy="remove $boot from the kernel's command line, and reboot"
		;;
	esac
	if [ -d "$root/sys/module/nvidia_uvm" ]; then
		case $(first /sys/module/nvidia_uvm/parameters/uvm_disable_hmm) in
		Y) say ok "hmm" "off in nvidia-uvm" ;;
		N) say warn "hmm" "on in nvidia-uvm: a process that wants it cannot register a managed GPU" "$remedy" ;;
		*) say warn "hmm" "the loaded nvidia-uvm has no parameter uvm_disable_hmm" "$remedy" ;;
		esac
		return
	fi
	if [ "$off" = boot ] || { [ -z "$off" ] && hmm_off_in_files; }; then
		say ok "hmm" "nvidia-uvm is not loaded; modprobe will load it with HMM off"
	else
		say warn "hmm" "nvidia-uvm is not loaded; modprobe will load it with HMM on" "$remedy"
	fi
}

[ -z "$json" ] || printf '{"kernel": "%s", "checks": [\n' "$(escaped "$release")"
check_gpu
check_driver
check_versions
check_build
check_signing
check_clients
check_containers
check_files
if [ -n "$json" ]; then
	printf '\n], "missing": %s, "warnings": %s}\n' "$missing" "$warned"
elif [ "$missing" = 0 ]; then
	echo "Nothing is missing; warnings: $warned"
else
	echo "Missing: $missing; warnings: $warned"
fi
[ "$missing" = 0 ]
