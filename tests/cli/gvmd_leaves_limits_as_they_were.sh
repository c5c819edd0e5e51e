#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The program gvmd over plain files that stand in for control files: what it writes, and that everything is as
# before after a policy has failed, crashed or hung, after a signal, and at the end.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
gvmd=$(dirname "$gvmsim")/gvmd
program=$gvmd

# Two containers: a process's and a cgroup's.
files() {
	rm -rf root
	mkdir -p root/4201/0 root/cgroup/b/1
	for container in root/4201/0 root/cgroup/b/1; do
		printf 4194304 >$container/gmem.current
		printf max >$container/gmem.limit.high
		printf 0 >$container/compute.freeze
		printf 'nr_submitted_kernels: 9\nnr_ended_kernels: 7\nnr_pending_kernels: 2\n' >$container/gcgroup.stat
	done
	find root -type f | sort | xargs tail -n +1 >.before
}

unchanged() {
	find root -type f | sort | xargs tail -n +1 | cmp -s - .before || fail "$1: $(tail -n +1 root/cgroup/b/1/*)"
}

two="--root root --container vllm=4201 --container sd=/b:1"

# await_frozen PID: until the second container is frozen, which is the first thing that the policies do to it.
await_frozen() {
	until [ "$(cat root/cgroup/b/1/compute.freeze)" = 1 ]; do
		kill -0 "$1" || fail "it has ended by itself: $(cat .log)"
		sleep 0.02
	done
}

# A rule that holds from the first step on; then the time is over, of which a busy machine needs more than a period.
cat >rules.json <<'END'
{ "policy": "rules", "period": "20ms", "rules": [
  { "when": { "container": "vllm", "metric": "gcgroup.stat.pending", "above": 1 },
    "then": [ { "container": "sd", "file": "gmem.limit.high", "value": "6e9" },
              { "container": "sd", "file": "compute.weight", "value": 5 },
              { "container": "sd", "file": "compute.freeze", "value": 1 } ] } ] }
END
files
# shellcheck disable=SC2086
"$gvmd" run rules.json $two --duration 2s >.log || fail "$(cat .log)"
cat >.wanted <<'END'
sd: gmem.limit.high 6e9
sd: compute.weight 5: No such file or directory
sd: compute.freeze 1
sd: compute.freeze 0, as before
sd: gmem.limit.high max, as before
END
sed 's/^.* s  //' .log | cmp -s - .wanted || fail "rules: $(cat .log)"
unchanged "at the end"

# Plug-ins freeze a container in their first step, and misbehave in the third. On a busy machine a good step takes
# long, too.
deadline=60s
misbehave() {
	printf '#include <stdlib.h>\n#include <unistd.h>\n#include "gvmd/policy.h"\n
static int step(void *state, struct gvmd_step *now)
{
	int *steps = state;

	gvmd_write(now, &now->containers[1], "compute.freeze", "1");
	if (++*steps == 3) { %s }
	return 0;
}
%s
const struct gvmd_policy gvmd_policy = {
	.abi = GVMD_ABI, .name = "bad", .bytes = sizeof(int), .period_ns = 20000000, .step = step,
};\n' "$1" "${2:-}" >bad.c
	cc -shared -fPIC -I "$source/sim" -o bad.so bad.c
	echo "{ \"plugin\": \"./bad.so\", \"deadline\": \"$deadline\" }" >bad.json
}

# bad WHAT CODE REASON
bad() {
	misbehave "$2"
	files
	# shellcheck disable=SC2086
	expect 1 "^gvmd: policy bad: stopped: $3\$" run bad.json $two
	grep -q 'sd: compute.freeze 1$' "$work/.out" || fail "$1: it was never frozen"
	unchanged "$1"
}
bad crash 'abort();' 'it crashed: Aborted'
deadline=3s
bad hang 'for (;;) ;' 'it hangs: no answer within 3000 ms'
deadline=60s
bad end 'exit(3);' 'it ended its process with 3'
bad deaf 'for (int fd = 3; fd < 1024; fd++) close(fd); pause();' 'it crashed: Killed'
bad error 'return gvmd_fail(now, -5, "as it likes");' 'as it likes'
bad escape 'gvmd_write(now, &now->containers[1], "../../../../x", "1");' 'it writes outside of the container'
bad flood 'now->write_count = 1u << 30;' 'it says that it asks for 1073741824 writes'
bad nowhere 'now->writes[0].container = 77;' 'a write to no container'
misbehave '' '__attribute__((constructor)) static void begin(void) { abort(); }'
# shellcheck disable=SC2086
expect 1 'bad.json: the policy cannot be loaded: it crashed: Aborted' run bad.json $two

# A signal ends it, in order.
misbehave ''
files
# shellcheck disable=SC2086
"$gvmd" run bad.json $two >.log &
pid=$!
await_frozen $pid
kill -TERM $pid
wait $pid || fail "a signal: exit code $?"
unchanged "a signal"

# It ends when all containers have gone.
files
# shellcheck disable=SC2086
"$gvmd" run rules.json $two --quiet >.log &
pid=$!
await_frozen $pid # it has seen both: it would wait for one that it has not
rm -r root/4201 root/cgroup/b
wait $pid || fail "all have gone: exit code $?"
[ ! -s .log ] || fail "quiet: $(cat .log)"

# Mistakes are one line.
files
expect 2 "option '--container': \"vllm\", allowed: NAME=PID, NAME=/CGROUP" run rules.json --container vllm
expect 2 "option '--container': \"a=/../b\", allowed: a path without" run rules.json --container a=/../b
expect 2 "option '--report': \"sd=x\", no --container has that name" run rules.json --container a=1 --report sd=x
many=
for i in $(seq 65); do
	many="$many --container c$i=$i"
done
# shellcheck disable=SC2086
expect 2 "option '--container': \"c65=65\", allowed: up to 64 containers" run rules.json $many
expect 2 'no --container' run rules.json
expect 1 'nowhere: No such file or directory, is gvm.ko loaded? Files of the shim: --root /run/gvm-shim$' run rules.json --root nowhere --container a=1
echo '{ "policy": "dyn", "high": "vllm", "low": "x" }' >bad.json
# shellcheck disable=SC2086
expect 2 'bad.json:low: no container "x", allowed: vllm, sd' run bad.json $two
expect 2 'none.json: *cannot be read: No such file' check none.json
mkdir folder.json
expect 2 'folder.json: is a folder, allowed: a policy.s file' check folder.json
"$gvmd" check rules.json >.log
[ "$(cat .log)" = "rules.json: policy rules, a step every 20ms" ] || fail "check: $(cat .log)"
sed 's/"20ms"/"1500us"/' rules.json >odd.json
"$gvmd" check odd.json >.log
[ "$(cat .log)" = "odd.json: policy rules, a step every 1.5ms" ] || fail "check: $(cat .log)"
"$gvmd" policies | grep -q '^| .report.ttft_us. |' || fail "no table of metrics"
for policy in "$source"/scenarios/policies/*.json; do
	"$gvmd" check "$policy" >.log || fail "$policy is a mistake"
done

# The report of an application is a file.
cat >rules.json <<'END'
{ "policy": "rules", "period": "20ms", "rules": [
  { "when": { "container": "vllm", "metric": "report.ttft_us", "above": 1000 },
    "then": [ { "container": "sd", "file": "compute.freeze", "value": 1 } ] } ] }
END
printf 'waiting 2\nttft_us 1001\n' >report
# shellcheck disable=SC2086
"$gvmd" run rules.json $two --report vllm=report --duration 2s >.log || fail "$(cat .log)"
grep -q 'sd: compute.freeze 1$' .log || fail "report: $(cat .log)"

# It waits for a container that comes later than its report.
cat >rules.json <<'END'
{ "policy": "rules", "period": "20ms", "rules": [
  { "when": { "container": "vllm", "metric": "report.ttft_us", "above": 1000 },
    "then": [ { "container": "vllm", "file": "compute.freeze", "value": 1 } ] } ] }
END
mv root/4201 later
"$gvmd" run rules.json --root root --container vllm=4201 --report vllm=report >.log &
pid=$!
sleep 0.2
mv later root/4201
until [ "$(cat root/4201/0/compute.freeze)" = 1 ]; do
	kill -0 $pid || fail "it has ended before its container came: $(cat .log)"
	sleep 0.02
done
rm -r root/4201
wait $pid || fail "the container has come and gone: exit code $?"
