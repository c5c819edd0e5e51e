#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Guardian's detection on demand: what counted launches cost, to the ns, and the policy "detect" that
# counts more of a container that had wild accesses. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# Rounds of one kernel of 10 ms, fenced from the start: b is there, and does next to nothing.
cat >two.json <<'JSON'
{"name": "two", "duration": "2s", "seed": 1, "gpu": {"profile": "rtx-a4000-16g"}, "system": {"name": "guardian"},
 "containers": {
  "a": {"start": "10ms", "app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "10ms"}},
  "b": {"app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "1ns", "pause": "500ms"}}}}
JSON

# A fence of 8 cycles, a counted one of 20, lenet's mean access of 142.282 cycles: 5.6226 % and 14.0566 %; with one of two
# counted 14 cycles, 9.8396 %. 1 and 2 us are the launch's.
rounds() { # SAMPLE LEAST MOST, ns of a round
	"$gvmsim" run two.json --set system.sample="$1" --quiet --out "sample-$1" || fail "sample $1 does not run"
	awk -F, -v least="$2" -v most="$3" '$1 == "a" && $12 == "completed" && $2 > 1 {
			rounds++
			if ($6 - $4 < least || $6 - $4 > most) print "round " $2 ": " $6 - $4
		}
		END { if (rounds < 100) print rounds " rounds" }' "sample-$1/requests.csv" >wrong
	[ ! -s wrong ] || fail "sample $1: $(head -n 3 wrong)"
}
rounds 0 10562000 10565000
rounds 2 10983000 10987000
rounds 1 11405000 11409000

# One launch of four is counted, and half of a's are wild. So the eighth is found, which the policy sees
# at its next step: all are counted then.
cat >detect.json <<'JSON'
{"policy": "detect", "every": 4, "alarm": 1, "hold": "300ms"}
JSON
"$gvmsim" run two.json --set policy.file=detect.json --set containers.a.guardian.wild=0.5 --quiet --out found ||
	fail "the policy does not run"
awk -F, '$2 == "a" { print $3, $4 }' found/policy.csv | head -n 2 >writes
printf 'fence.sample 4\nfence.sample 1\n' | cmp -s - writes || fail "writes: $(head -n 5 found/policy.csv)"
! grep ',b,fence.sample,1,' found/policy.csv || fail "b has no wild access"
# Without one there is no alarm.
"$gvmsim" run two.json --set policy.file=detect.json --quiet --out clean || fail "the policy does not run"
! grep ',a,fence.sample,1,' clean/policy.csv || fail "a has no wild access"

# Where nothing is fenced the file is not honoured, and that is said before the run.
"$gvmsim" run two.json --set system.mode=noprot --set policy.file=detect.json --out noprot >.out 2>.err || true
grep -q 'guardian does not honour fence.sample' .err .out || fail "not said: $(cat .err .out)"
echo ok
