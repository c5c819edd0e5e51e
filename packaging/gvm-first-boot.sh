#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The first start of gvm.ko on a host with an A100 or H100: ordered checks, each with its expected output. The
# first one that fails ends it, with the way back to the vendor's module. PREFIX is put before /sys, for tests.
# All that was seen is in a folder, whose part results/ is for "gvmsim validate results".
set -eu

package_version=@VERSION@ # of the package, once it is installed
files=${PREFIX:-}/sys/kernel/gvm
out=gvm-first-boot
seconds=10
number=0
gpus= # that hold memory of the application
application=
collector=

usage() {
	cat <<'END'
usage: gvm-first-boot [--out DIR] [--seconds N] -- COMMAND...
       gvm-first-boot --version

COMMAND is an application that uses managed memory on the GPU until it is ended by SIGTERM. Each GPU on which
it has memory is looked at. It has N seconds (10) for each step. DIR (gvm-first-boot) must not exist. Run it
as root, with no other user of the GPU.
Exit status: 0 all checks passed, 1 one failed and the rest was not tried, 2 wrong use.
END
}

while [ $# -gt 0 ]; do
	case $1 in
	--out | --seconds)
		if [ $# -lt 2 ]; then
			echo "gvm-first-boot: $1 has no value; gvm-first-boot --help" >&2
			exit 2
		fi
		[ "$1" = --seconds ] || out=$2
		[ "$1" = --out ] || seconds=$2
		shift 2
		;;
	-h | --help)
		usage
		exit 0
		;;
	--version)
		echo "gvm-first-boot $package_version"
		exit 0
		;;
	--)
		shift
		break
		;;
	*)
		echo "gvm-first-boot: unknown argument $1; gvm-first-boot --help" >&2
		exit 2
		;;
	esac
done
case $seconds in
'' | *[!0-9]* | 0* | ??????*)
	echo "gvm-first-boot: --seconds $seconds is not a number from 1 to 99999" >&2
	exit 2
	;;
esac
if [ -z "$out" ]; then
	echo "gvm-first-boot: --out is empty" >&2
	exit 2
fi
while [ "$out" != "${out%/}" ] && [ -n "${out%/}" ]; do
	out=${out%/}
done
if [ $# = 0 ]; then
	echo "gvm-first-boot: the command is missing; gvm-first-boot --help" >&2
	exit 2
fi
if [ -e "$out" ]; then
	echo "gvm-first-boot: $out exists already" >&2
	exit 2
fi
mkdir -p "$out"

leave() {
	for process in $application $collector; do
		end_process "$process" || true
	done
}
trap leave EXIT

# While a check runs, standard output is a file. A signal may come then, and its words belong on the terminal.
exec 3>&1
# way_back WHY: the end before the last check
way_back() {
	cat <<END | tee -a "$out/checks.txt" >&3
$1 The rest was not tried. What was seen is in $out.
The way back to the vendor's module:
  gvm-dkms off                 loads it at once, if no process uses nvidia-uvm
  apt purge gvm-dkms, reboot   for good (RPM: dnf remove gvm-dkms)
  If the host does not come up: boot with module_blacklist=gvm,gvm_nvidia. Then the hooks do nothing.
END
	exit 1
}
trap 'way_back "Ended by a signal in check $number."' HUP INT TERM

# check TITLE EXPECTED FUNCTION: the function sets found, and returns whether it is what was expected
check() {
	number=$((number + 1))
	found=
	if "$3" >>"$out/steps.log" 2>&1; then
		verdict=ok
	else
		verdict=FAILED
	fi
	printf '%2d %s\n   expected: %s\n   found:    %s\n   %s\n' "$number" "$1" "$2" "$found" "$verdict" |
		tee -a "$out/checks.txt"
	[ "$verdict" = FAILED ] || return 0
	way_back "Stopped at check $number."
}

# within FUNCTION...: true as soon as the function is, within the seconds of a step
within() {
	left=$((seconds * 5))
	while ! "$@"; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 0.2
	done
}

# value GPU FILE
value() {
	cat "$files/$application/$1/$2" 2>/dev/null || true
}

# write GPU FILE VALUE
write() {
	echo "$3" >"$files/$application/$1/$2" || true
}

bytes() {
	number_there=$(value "$1" "$2")
	case $number_there in
	'' | *[!0-9]*) echo 0 ;;
	*) echo "$number_there" ;;
	esac
}

start() {
	"$@" >>"$out/application.log" 2>&1 3>&- &
	application=$!
}

has_ended() {
	! kill -0 "$1" 2>/dev/null
}

# end_process PROCESS: ends it by SIGTERM. False: it did not end within the seconds of a step, and was killed.
end_process() {
	kill "$1" 2>/dev/null || true
	if within has_ended "$1"; then
		wait "$1" 2>/dev/null || true
		return 0
	fi
	kill -KILL "$1" 2>/dev/null || true
	return 1
}

# The end of the application, as by end_process.
end() {
	gone=$application
	application=
	end_process "$gone"
}

alive() {
	kill -0 "$application" 2>/dev/null
}

preflight() {
	found="gvm-preflight is not there: install the package gvm-dkms"
	command -v gvm-preflight >/dev/null || return 1
	gvm-preflight --json >"$out/preflight.json" || true
	status=0
	gvm-preflight >"$out/preflight.txt" || status=$?
	found=$(grep '^missing' "$out/preflight.txt" | head -n 1)
	found=${found:-$(tail -n 1 "$out/preflight.txt")}
	return "$status"
}

vendor_loads() {
	found=$(gvm-dkms off 2>&1 | tail -n 1)
	[ "$found" = "the vendor's nvidia-uvm is loaded" ]
}

application_runs() {
	eval "start $command"
	sleep "$seconds"
	found="it ended within $seconds s; $out/application.log"
	alive || return 1
	found="it ran $seconds s"
	end && return 0
	found="$found, and did not end within $seconds s of SIGTERM"
	return 1
}

hooked_loads() {
	found=$(gvm-dkms on 2>&1 | tail -n 1)
	[ "$found" = "the hooked nvidia-uvm is loaded" ]
}

files_are_there() {
	found="no folder $files"
	[ -d "$files" ] || return 1
	found=$files
}

# Sets gpus, and idle: GPUs that know the application and hold no memory of it. CUDA opens all that it sees.
is_charged() {
	gpus=
	idle=
	for folder in "$files/$application"/*/; do
		gpu=$(basename "$folder")
		case $gpu in
		*[!0-9]*) continue ;;
		esac
		if [ "$(bytes "$gpu" gmem.current)" -gt 0 ]; then
			gpus="$gpus $gpu"
		else
			idle="$idle $gpu"
		fi
	done
	[ -n "$gpus" ]
}

charged() {
	eval "start $command"
	status=0
	within is_charged || status=1
	# Let it take what it needs.
	if [ "$status" = 0 ]; then
		sleep "$seconds"
		is_charged || status=1
	fi
	for gpu in ${gpus:-0}; do
		found="${found:+$found; }GPU $gpu: gmem.current is $(value "$gpu" gmem.current)"
	done
	found="$found${idle:+; not looked at, since no memory of it is there: GPU$idle}"
	[ "$status" = 0 ] || return 1
	command -v gvmcollect >/dev/null || return 0
	set --
	name=first
	for gpu in $gpus; do
		set -- "$@" --container "$name=$application:$gpu"
		name=first-$(($(echo "$name" | sed 's/^first-*//; s/^$/1/') + 1))
	done
	gvmcollect sample --root "$files" "$@" --system gvm --out "$out/results" --quiet >"$out/gvmcollect.log" 2>&1 3>&- &
	collector=$!
}

under_limit() {
	[ "$(bytes "$gpu" gmem.current)" -le "$limit" ]
}

limited() {
	status=0
	for gpu in $gpus; do
		limit=$(($(bytes "$gpu" gmem.current) / 2))
		write "$gpu" gmem.limit.high "$limit"
		within under_limit || status=1
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			under_limit || status=1
			sleep 0.2
		done
		found="${found:+$found; }GPU $gpu: limit $limit, gmem.current $(value "$gpu" gmem.current)"
		found="$found, gmem.swap.current $(value "$gpu" gmem.swap.current)"
		write "$gpu" gmem.limit.high max
	done
	alive || {
		found="$found; the application has ended"
		status=1
	}
	return "$status"
}

sliced() {
	status=0
	for gpu in $gpus; do
		write "$gpu" compute.timeslice 1ms
		found="${found:+$found; }GPU $gpu: compute.timeslice is $(value "$gpu" compute.timeslice)"
		case $(value "$gpu" compute.timeslice) in
		1 | 1ms | 1000us | 1024us | 1000 | 1024) ;;
		*) status=1 ;;
		esac
	done
	return "$status"
}

frozen() {
	status=0
	for gpu in $gpus; do
		write "$gpu" compute.freeze 1
		held=$(value "$gpu" compute.freeze)
		write "$gpu" compute.freeze 0
		found="${found:+$found; }GPU $gpu: compute.freeze was $held, then $(value "$gpu" compute.freeze)"
		[ "$held" = 1 ] && [ "$(value "$gpu" compute.freeze)" = 0 ] || status=1
	done
	alive && return "$status"
}

is_gone() {
	[ ! -d "$files/$gone" ]
}

ended() {
	found="the application did not end within $seconds s of SIGTERM"
	end || return 1
	found="$files/$gone is still there"
	within is_gone || return 1
	found="$files/$gone is gone"
	status=0
	if [ -n "$collector" ]; then
		# It ends with its container.
		if within has_ended "$collector"; then
			wait "$collector" || status=1
			collector=
		fi
		if [ ! -f "$out/results/summary.json" ]; then
			found="$found; gvmcollect wrote no results, $out/gvmcollect.log"
			status=1
		fi
	fi
	return "$status"
}

# Lines of the kernel's log that have come since the start. The log is a ring. As long as its first line is the same,
# the new lines are those behind the number of lines at the start. Else they are those behind the last line at the
# start, and all lines if that one has gone, too.
new_lines() {
	FIRST=$(head -n 1 "$out/dmesg-before.txt") LAST=$(tail -n 1 "$out/dmesg-before.txt") \
		COUNT=$(wc -l <"$out/dmesg-before.txt") awk '
		{ line[NR] = $0 }
		$0 == ENVIRON["LAST"] { last = NR }
		END {
			if (line[1] == ENVIRON["FIRST"] || !+ENVIRON["COUNT"])
				last = +ENVIRON["COUNT"]
			for (i = last + 1; i <= NR; i++)
				print line[i]
		}' "$out/dmesg.txt"
}

log_is_clean() {
	found="the kernel's log cannot be read"
	dmesg >"$out/dmesg.txt" || return 1
	new_lines >"$out/dmesg-new.txt"
	found=$(grep -E 'BUG|WARNING|Oops|Call Trace|books are broken|Xid|disagrees about' "$out/dmesg-new.txt" |
		head -n 1 || true)
	[ -z "$found" ] || return 1
	found="no complaint in $(wc -l <"$out/dmesg-new.txt") new lines"
}

# The command line, quoted for eval.
command=
for word in "$@"; do
	command="$command '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"
done
{
	uname -a
	cat /proc/driver/nvidia/version 2>/dev/null || true
	echo "command:$command"
} >"$out/host.txt"
dmesg >"$out/dmesg-before.txt" 2>>"$out/steps.log" || true

check "the host has all it needs" "nothing is missing" preflight
check "the vendor's module loads" "the vendor's nvidia-uvm is loaded" vendor_loads
check "the application runs on it" "it runs $seconds s" application_runs
check "the hooked module loads" "the hooked nvidia-uvm is loaded" hooked_loads
check "gvm.ko has its files" "$files" files_are_there
check "the application is charged" "gmem.current above 0" charged
check "a limit of half its memory holds" "gmem.current at most the limit, and the application runs" limited
check "its timeslice can be set" "compute.timeslice is 1 ms" sliced
check "it can be frozen and goes on" "compute.freeze was 1, then 0" frozen
check "it ends and leaves nothing" "its folder is gone" ended
check "the kernel does not complain" "no complaint" log_is_clean
check "the vendor's module comes back" "the vendor's nvidia-uvm is loaded" vendor_loads

tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
echo "All $number checks passed. What was seen is in $out.tar.gz."
if [ -d "$out/results" ]; then
	echo "Beside a simulation whose container is called first: gvmsim validate results $out/results SIMULATED"
else
	echo "gvmcollect is not installed, so there are no results for gvmsim validate results."
fi
