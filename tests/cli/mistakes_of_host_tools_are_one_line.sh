#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Programs of a host, gvmctl, gvmd and gvmfenced: wrong options, folders that are none, an output that is full, sockets
# of others, a server that is stuck, a reader that goes. One line each, and nothing of others is touched.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
programs=$(dirname "$gvmsim")
gvmd=$programs/gvmd
gvmctl=$programs/gvmctl
mkdir -p root/$$/0 root/4201/0
for folder in root/$$/0 root/4201/0; do
	echo 4096 >"$folder/gmem.current"
	echo max >"$folder/gmem.limit.high"
	echo 0 >"$folder/compute.freeze"
	printf 'nr_submitted_kernels: 9\nnr_ended_kernels: 7\nnr_pending_kernels: 2\n' >"$folder/gcgroup.stat"
done
echo '{"policy": "detect"}' >detect.json
echo text >file

# A list that does not reach its reader is no success.
program=full
full() {
	"$@" >/dev/full
}
for words in "list" "watch --count 1" "set $$ gmem.limit.high 5G" "metrics"; do
	# shellcheck disable=SC2086
	expect 1 '^gvmctl: standard output: cannot write: No space left on device$' "$gvmctl" $words --root root
done

# A root that is no folder has no container, and never will.
program=$gvmctl
for words in list watch metrics "set 1 gmem.limit.high 1G"; do
	# shellcheck disable=SC2086
	expect 2 "^gvmctl: ${words%% *}: option '--root': 'file' is no folder$" $words --root file
	# shellcheck disable=SC2086
	expect 2 "option '--root': 'file/deep' Not a directory$" $words --root file/deep
	# shellcheck disable=SC2086
	expect 2 "option '--root': '' is empty$" $words --root ""
done
expect 2 "^gvmctl: metrics: option '--out': '' is empty$" metrics --out ""
program=$gvmd
expect 2 "^gvmd: file: is no folder$" run detect.json --container a=1 --root file --duration 1s
expect 2 "^gvmd: pressure: option '--root': 'file' is no folder$" pressure --root file --socket s --duration 10ms
expect 2 "^gvmd: pressure: option '--socket': '' is empty$" pressure --socket "" --duration 10ms

# A process that cannot be is waited for without end.
for pid in 0 00 2147483648 99999999999; do
	expect 2 "option '--container': \"a=$pid\", allowed: NAME=PID" run detect.json --container "a=$pid"
done
expect 2 "\"b=1:0\", another name has that container already" run detect.json --container a=1 --container b=1:0
expect 2 "\"b=/t/:0\", another name has that container already" run detect.json --container a=/t --container b=/t/:0
expect 2 "\"a=/t//u\", allowed: a path without " run detect.json --container a=/t//u
expect 2 "\"a=1:00\", allowed: NAME=PID" run detect.json --container a=1:00

# The time ends between two looks, however far apart they are. Without that it would be killed.
timeout 60 "$gvmd" pressure --root root --socket s --period 500000h --duration 10ms >.log || fail "a long period: $?"
timeout 60 "$gvmd" pressure --root root --socket s --period 10ms --duration 5000000h >.log &
kept=$!
until [ -S s ]; do sleep 0.02; done
sleep 0.2
kill -TERM $kept
wait $kept || fail "a long duration: $?"

# The file of a server of another kind, and of one that is stuck, with all places taken.
cat >serve.py <<'END'
import socket, sys, time
kind = getattr(socket, sys.argv[2])
server = socket.socket(socket.AF_UNIX, kind)
server.bind(sys.argv[1])
server.listen(0)
waiting = []
for i in range(int(sys.argv[3])):
    waiting.append(socket.socket(socket.AF_UNIX, kind))
    waiting[-1].connect(sys.argv[1])
print("ready", flush=True)
time.sleep(600)
END
program=stopped
stopped() {
	timeout -k 5 20 "$@"
}
for case in "SOCK_STREAM 0" "SOCK_SEQPACKET 0" "SOCK_STREAM 1" "SOCK_SEQPACKET 1"; do
	rm -f s
	# shellcheck disable=SC2086
	python3 serve.py s $case >ready &
	server=$!
	until [ -s ready ]; do
		kill -0 $server || fail "no server"
		sleep 0.02
	done
	expect 1 '^gvmd: s: another process listens there, or it is no socket$' "$gvmd" pressure --root root --socket s
	expect 2 '^gvmfenced: s: another process listens there, or it is no socket$' \
		"$programs/gvmfenced" serve --socket s
	[ -S s ] || fail "$case: the socket of another server was removed"
	kill -9 $server
	wait $server 2>/dev/null || true
	: >ready
done
program=$programs/gvmfenced
expect 2 '^gvmfenced: file: another process listens there, or it is no socket$' serve --socket file
[ "$(cat file)" = text ] || fail "a file was removed"
for gpu in -1 x "" " 0" 1024 4294967296 99999999999; do
	expect 2 "option '--gpu': '$gpu' is no number up to 1023" serve --socket s --gpu "$gpu"
done
expect 2 "option '--control': is empty" serve --control ""
for program_mode in lenet lenet=once lenet=4g lenet=noprot lenet=none lenet=; do
	expect 2 "option '--program': '$program_mode' is not NAME=MODE with fence, check, modulo or count" \
		serve --program $program_mode
done
expect 2 "option '--program': '=fence': a name has 1 to 63 characters, and no '/'" serve --program =fence
expect 2 "option '--program': '/bin/a=fence': a name has 1 to 63 characters" serve --program /bin/a=fence
expect 2 "option '--program': 'a' has two modes" serve --program a=fence --program a=check

# The reader of gvmd's lines goes, and the container gets back all that it had.
cat >rules.json <<'END'
{ "policy": "rules", "period": "20ms", "rules": [
  { "when": { "container": "a", "metric": "gcgroup.stat.pending", "above": 1 },
    "then": [ { "container": "a", "file": "gmem.limit.high", "value": "6e9" },
              { "container": "a", "file": "compute.freeze", "value": 1 } ] } ] }
END
mkfifo lines
"$gvmd" run rules.json --container a=4201 --root root >lines &
daemon=$!
head -n 1 lines >.log
until [ "$(cat root/4201/0/compute.freeze)" = 1 ]; do
	kill -0 $daemon || fail "gvmd ended by itself, and left the limit $(cat root/4201/0/gmem.limit.high)"
	sleep 0.02
done
kill -TERM $daemon
wait $daemon || fail "gvmd run ended with $?"
[ "$(cat root/4201/0/compute.freeze root/4201/0/gmem.limit.high | tr -d '\n')" = 0max ] ||
	fail "not as before: $(cat root/4201/0/compute.freeze root/4201/0/gmem.limit.high)"
