#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvm-first-boot goes through its checks in order, and stops at the first one that fails, with the way back.
# Stand-ins answer in place of the host's programs, and an application writes control files as gvm.ko has them.
# gvmcollect is the real one: what it samples is compared by "gvmsim validate results".
# Usage: first_boot.sh SOURCE GVMCOLLECT GVMSIM
set -eu

script=$1/packaging/gvm-first-boot.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
mkdir -p "$work/bin"
PATH=$work/bin:$PATH
PREFIX=$work/host
export PREFIX

complain() {
	echo "$1:"
	cat "$work/said"
	failed=1
}

stand_in() {
	cat >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# good: a host on which all goes well. The application obeys its limit, its slice and its freeze.
good() {
	rm -rf "$work/out" "$work/out.tar.gz" "$PREFIX"
	mkdir -p "$PREFIX/sys/kernel/gvm"
	ln -sf "$2" "$work/bin/gvmcollect"
	stand_in gvm-preflight <<'END'
#!/bin/sh
echo "Nothing is missing; warnings: 0"
END
	stand_in gvm-dkms <<'END'
#!/bin/sh
[ "$1" = on ] && echo "the hooked nvidia-uvm is loaded" || echo "the vendor's nvidia-uvm is loaded"
END
	stand_in dmesg <<'END'
#!/bin/sh
echo "NVRM: loading"
END
	# On two GPUs, and a third one that CUDA opens, too. It has no memory there.
	stand_in application <<'END'
#!/bin/sh
files=$PREFIX/sys/kernel/gvm/$$
mkdir -p "$files/0" "$files/1" "$files/3"
cd "$files"
echo 0 >1/gmem.current
for gpu in 0 3; do
	echo max >$gpu/gmem.limit.high
	echo 8388608 >$gpu/gmem.current
done
trap 'cd / && rm -rf "$PREFIX/sys/kernel/gvm/$$" && exit 0' TERM
while true; do
	for gpu in 0 3; do
		limit=$(cat $gpu/gmem.limit.high)
		# Written once: gvm-first-boot must not meet an empty file.
		[ "$limit" = max ] || [ -z "$limit" ] || [ "$limit" -ge 8388608 ] ||
			[ "$(cat $gpu/gmem.current)" = "$limit" ] || echo "$limit" >$gpu/gmem.current
	done
	sleep 0.1
done
END
}

run() {
	status=0
	"$script" --out "$work/out" --seconds 1 -- "$@" >"$work/said" 2>&1 || status=$?
}

# stops NUMBER WORDS: at that check, after those before it, with the way back and without a bundle
stops() {
	run application
	[ "$status" = 1 ] && grep -qF "Stopped at check $1." "$work/said" && grep -qF "$2" "$work/said" &&
		[ "$(grep -cx '   ok' "$work/said")" = $(($1 - 1)) ] && grep -q 'gvm-dkms off' "$work/said" &&
		[ ! -e "$work/out.tar.gz" ] || complain "stop at $1"
}

good "$@"
run application
[ "$status" = 0 ] && [ "$(grep -cx '   ok' "$work/said")" = 12 ] || complain "all checks"
for words in "GPU 0: gmem.current is 8388608; GPU 3: gmem.current is 8388608; not looked at, since no memory of it is there: GPU 1" \
	"GPU 3: limit 4194304, gmem.current 4194304" "GPU 3: compute.timeslice is 1ms" "GPU 3: compute.freeze was 1, then 0"; do
	grep -qF "$words" "$work/said" || complain "the second GPU"
done
tar -tzf "$work/out.tar.gz" >"$work/names"
for name in checks.txt preflight.json host.txt dmesg.txt application.log results/summary.json; do
	grep -qx "out/$name" "$work/names" || complain "the bundle has no $name"
done
"$3" validate results "$work/out/results" "$work/out/results" >"$work/said" 2>&1 && grep -q 'first' "$work/said" && grep -q 'first-2' "$work/said" ||
	complain "gvmsim validate results"
pgrep -f "$work/bin/application" >/dev/null && complain "an application was left behind"

good "$@" && stand_in gvm-preflight <<'END'
#!/bin/sh
echo "missing  mps                MPS runs"
exit 1
END
stops 1 "MPS runs"
# From the source, without the package.
good "$@" && rm "$work/bin/gvm-preflight"
stops 1 "gvm-preflight is not there: install the package gvm-dkms"
good "$@" && stand_in gvm-dkms <<'END'
#!/bin/sh
echo "gvm-dkms: nvidia-uvm is in use"
END
stops 2 "nvidia-uvm is in use"
good "$@" && stand_in application <<'END'
#!/bin/sh
END
stops 3 "it ended within 1 s"
# It ignores SIGTERM.
good "$@" && sed -i "s,^trap .*,trap '' TERM," "$work/bin/application"
stops 3 "it ran 1 s, and did not end within 1 s of SIGTERM"
pgrep -f "$work/bin/application" >/dev/null && complain "an application that ignores SIGTERM was left behind"
good "$@" && stand_in gvm-dkms <<'END'
#!/bin/sh
echo "the vendor's nvidia-uvm is loaded"
END
stops 4 "the vendor's nvidia-uvm is loaded"
good "$@" && rmdir "$PREFIX/sys/kernel/gvm"
sed -i 's,^mkdir.*,sleep 60,' "$work/bin/application"
stops 5 "no folder"
good "$@" && sed -i 's,echo 8388608 >$gpu/gmem.current,echo 0 >$gpu/gmem.current,' "$work/bin/application"
stops 6 "gmem.current is 0"
good "$@" && sed -i 's,echo "$limit" >$gpu/gmem.current,[ $gpu = 3 ] || &,' "$work/bin/application"
stops 7 "GPU 0: limit 4194304, gmem.current 4194304, gmem.swap.current ; GPU 3: limit 4194304, gmem.current 8388608"
good "$@" && sed -i 's,^cd "$files",&; ln -s /dev/null 3/compute.freeze,' "$work/bin/application"
stops 9 "compute.freeze was"
# From its second start on, it ignores SIGTERM; then gvm.ko keeps its folder.
good "$@" && sed -i "s,^trap .*,[ ! -e \"\$PREFIX/again\" ] || trap '' TERM; : >\"\$PREFIX/again\"," "$work/bin/application"
stops 10 "the application did not end within 1 s of SIGTERM"
good "$@" && sed -i 's,^trap .*,trap "exit 0" TERM,' "$work/bin/application"
stops 10 "is still there"
pgrep -f "gvmcollect sample --root $PREFIX" >/dev/null && complain "gvmcollect was left behind"
good "$@" && stand_in dmesg <<'END'
#!/bin/sh
echo "NVRM: loading"
[ ! -e "$PREFIX/seen" ] || echo "NVRM: Xid (PCI:0000:07:00): 31"
: >"$PREFIX/seen"
END
stops 11 "Xid"
# The kernel's log is a ring: it may have as many lines as before, and none of them is old.
good "$@" && stand_in dmesg <<'END'
#!/bin/sh
[ ! -e "$PREFIX/seen" ] || exec printf '[2.0] two\n[3.0] NVRM: Xid (PCI:0000:07:00): 31\n'
: >"$PREFIX/seen"
printf '[1.0] one\n[2.0] two\n'
END
stops 11 "[3.0] NVRM: Xid"
good "$@" && stand_in dmesg <<'END'
#!/bin/sh
[ ! -e "$PREFIX/seen" ] || exec printf '[8.0] eight\n[9.0] BUG: at mm\n'
: >"$PREFIX/seen"
printf '[1.0] one\n[2.0] two\n'
END
stops 11 "[9.0] BUG"
# What was there before is not the driver's.
good "$@" && stand_in dmesg <<'END'
#!/bin/sh
printf '[1.0] WARNING: old\n[2.0] two\n'
END
run application
[ "$status" = 0 ] && grep -q "no complaint in 0 new lines" "$work/said" || complain "an old warning"
good "$@" && stand_in dmesg <<'END'
#!/bin/sh
echo "dmesg: read kernel buffer failed: Operation not permitted" >&2
exit 1
END
stops 11 "the kernel's log cannot be read"

# Ended by a signal, it tells the way back, too, and ends the application.
good "$@"
status=0
: >"$work/said"
"$script" --out "$work/out" --seconds 1 -- application >"$work/said" 2>&1 &
boot=$!
until grep -q '^ 4 the hooked module loads' "$work/said"; do
	kill -0 $boot || break
	sleep 0.05
done
kill -TERM $boot
wait $boot || status=$?
[ "$status" = 1 ] && grep -qE '^Ended by a signal in check [4-6][.]' "$work/said" && grep -q 'gvm-dkms off' "$work/said" ||
	complain "a signal: $status"
pgrep -f "$work/bin/application" >/dev/null && complain "an application was left behind by a signal"

# A folder with a slash at its end is the same folder.
good "$@"
status=0
"$script" --out "$work/out/" --seconds 1 -- application >"$work/said" 2>&1 || status=$?
[ "$status" = 0 ] && tar -tzf "$work/out.tar.gz" | grep -qx out/checks.txt || complain "a folder with a slash"
for seconds in 0 -1 x "" 08 010 100000 99999999999999999999; do
	status=0
	"$script" --out "$work/none" --seconds "$seconds" -- application >"$work/said" 2>&1 || status=$?
	[ "$status" = 2 ] && [ "$(wc -l <"$work/said")" = 1 ] && grep -q -- "--seconds $seconds is not a number" "$work/said" ||
		complain "--seconds $seconds"
done
status=0
"$script" --out "" -- application >"$work/said" 2>&1 || status=$?
[ "$status" = 2 ] && grep -qx "gvm-first-boot: --out is empty" "$work/said" || complain "an empty --out"
[ ! -e "$work/none" ] || complain "a wrong option made a folder"

run
[ "$status" = 2 ] && [ "$(wc -l <"$work/said")" = 1 ] || complain "a command is missing"
[ "$failed" = 0 ] && echo "gvm-first-boot: all checks, and sixteen places where it stops"
exit "$failed"
