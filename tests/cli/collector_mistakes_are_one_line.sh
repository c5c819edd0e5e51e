#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Mistakes: exit code 2, one line on stderr, no file and no changed file; 1 for failures of the
# machine. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
program=$gvmcollect

expect 2 "no command is given, allowed are sample, logs"
expect 2 "unknown command 'walk', allowed are sample, logs" walk
expect 2 "sample: 'x' is not valid here, usage: gvmcollect sample" sample x
expect 2 "sample: option '--frobnicate' is not valid here" sample --frobnicate
expect 2 "sample: option '--out' needs a value" sample --out
expect 2 "sample: option '--out': is empty" sample --out ""
expect 2 "sample: option '--interval': \"5\" has no unit, allowed: such as 100ms" \
	sample --interval 5
expect 2 "sample: option '--interval': 1us, allowed: 1ms to 24h" sample --interval 1us
expect 2 "sample: option '--duration': 25h, allowed: 1ms to 24h" sample --duration 25h
expect 2 "sample: option '--system': \"a b\" is not a name" sample --system "a b"
expect 2 "sample: option '--system': \"\" is not a name" sample --system ""
expect 2 "sample: option '--container': \"vllm\" is not NAME=VALUE" sample --container vllm
expect 2 "sample: option '--container': \"a.b\" is not a name, allowed: up to 63 letters" \
	sample --container a.b=1
for pid in 0 -1 x 1:x 1: 2147483648 99999999999999999999; do
	expect 2 "sample: option '--container': \"vllm=$pid\", allowed: NAME=PID or NAME=PID:GPU" \
		sample --container "vllm=$pid"
done
expect 2 "container \"a\" is named twice" sample --container a=1 --container a=2
expect 2 "logs: 0 folders, expected 1, usage: gvmcollect logs DIR" logs
expect 2 "logs: no log is given, usage: gvmcollect logs DIR" logs hw
expect 2 "logs: option '--images': a has a log already" logs hw --requests a=x --images a=y
expect 2 "logs: option '--slo': no --requests of \"a\"" logs hw --images a=x --slo a=1s
expect 2 "hw/summary.json: cannot be read: No such file" logs hw --images a=x
expect_nothing_written

# Before anything is sampled: no folder can be made there.
: >.file
expect 1 ".file/deep: cannot write results there: Not a directory" sample --out .file/deep
expect_nothing_written

# A disk that is full when the results are written: a limit of 8 KiB a file.
(
	ulimit -f 16
	expect 1 "cannot be .*File too large" sample --root . --duration 1s --interval 1ms \
		--container "me=$$" --quiet --out new/folder
)
expect_nothing_written

# Wrong logs change nothing. A simulated folder takes no logs.
"$gvmcollect" sample --root . --duration 2ms --interval 1ms --container "me=$$" --quiet --out hw
cp -r hw .before
expect 2 "x.json: no container \"you\" was collected, see containers in hw/config.json" \
	logs hw --requests you=x.json
expect 2 "x.json: cannot be read: No such file or directory" logs hw --requests me=x.json
echo "start_ns,end_ns" >.images.csv
echo "5,7" >>.images.csv
expect 2 ".images.csv: nothing in it is within the collection, .* a log of the same time and host" \
	logs hw --images me=.images.csv
expect 2 "/dev/zero:1: the line is too long, allowed are 1048576 bytes" logs hw --images me=/dev/zero
echo "oops,9" >>.images.csv
expect 2 ".images.csv:3: start_ns: \"oops\" is not a count" logs hw --images me=.images.csv
expect 2 "vllm-bench.json: nothing in it is within the collection" \
	logs hw --requests "me=$source/tests/collect/logs/vllm-bench.json"
diff -r .before hw || fail "a mistake changed the folder"
"$gvmsim" run "$scenario" --set duration=1s --quiet --out simulated
expect 2 "simulated/config.json:source: is not \"hardware\", allowed: a folder that gvmcollect" \
	logs simulated --requests "vllm=$source/tests/collect/logs/vllm-bench.json"

# Help goes to stdout and is no mistake.
for words in "--help" "sample --help" "logs --help" "logs -h hw" "--version"; do
	# shellcheck disable=SC2086
	"$gvmcollect" $words >.out 2>.err || fail "gvmcollect $words"
	[ -s .out ] && [ ! -s .err ] || fail "gvmcollect $words: help goes to stdout"
done
