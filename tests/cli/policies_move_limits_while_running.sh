#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A policy of gvmd acts in simulated time: its writes, their dates and their results are exact and the same in
# each run. Rules, a plug-in as docs/gvmd.md has it, a plug-in that fails, and mistakes.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

cat >s.json <<'END'
{ "name": "two", "duration": "6s", "gpu": { "profile": "a100-40g", "memory": "48M", "context": "64K" },
  "system": { "name": "ghost" },
  "containers": {
    "vllm": { "start": "0.5s", "app": { "type": "pages", "bytes": "16M", "pattern": "events", "pause": "10ms" } },
    "diffusion": { "start": "0.5s", "app": { "type": "pages", "bytes": "24M", "pattern": "events", "pause": "10ms" } } },
  "events": [
    { "at": "1s", "container": "diffusion", "touch": "0-9" },
    { "at": "2.05s", "container": "vllm", "touch": "0-4" },
    { "at": "4.05s", "container": "diffusion", "touch": "0-3" } ] }
END
cat >rules.json <<'END'
{ "policy": "rules", "rules": [
  { "when": { "container": "vllm", "metric": "gmem.current", "above": "8M" },
    "then": [ { "container": "diffusion", "file": "gmem.limit.high", "value": "10M" },
              { "container": "diffusion", "file": "compute.weight", "value": 50 } ] } ] }
END

run() {
	"$gvmsim" run s.json --quiet --out "$1" --set policy.file="$2" 2>.err || fail "$2: $(cat .err)"
}

run two rules.json
run one rules.json
cmp -s one/policy.csv two/policy.csv || fail "two runs differ"
# compute.weight needs another scheduler: EOPNOTSUPP.
cat >.wanted <<'END'
time_ns,container,file,value,error,restored
2100000000,diffusion,gmem.limit.high,10M,0,0
2100000000,diffusion,compute.weight,50,95,0
END
cmp -s .wanted one/policy.csv || fail "rules: $(cat one/policy.csv)"
[ "$(cat .err)" = "gvmsim: note: policy rules: 1 of 2 writes were refused, the first at 2.100 s: compute.weight of \
diffusion: the system does not honour it" ] || fail "of a refused write: $(cat .err)"
jq -e '.policy == {name: "rules", status: "ok", steps: 60, writes: 1, refused: 1}' one/summary.json >.out ||
	fail "$(jq -c .policy one/summary.json)"
# Ten blocks of 2 MB, and five fit under the limit without the context; then four come back.
jq -e '.containers.diffusion | .gmem.peak > 20971520 and .gmem.current <= 10485760 and .evictions >= 6' \
	one/summary.json >.out || fail "$(jq -c .containers.diffusion one/summary.json)"
[ "$(jq -r .hash one/config.json)" = "$(jq -r .hash two/config.json)" ] || fail "the hashes differ"
sed -i 's/"10M"/"11M"/' rules.json
run two rules.json
[ "$(jq -r .hash one/config.json)" != "$(jq -r .hash two/config.json)" ] || fail "the hash leaves the policy out"
"$gvmsim" run s.json --quiet --out two
[ ! -e two/policy.csv ] || fail "policy.csv of an older run stays"
jq -e 'has("policy") | not' two/summary.json >.out || fail "a policy without a policy"

"$gvmsim" run s.json --quiet --out two --system exclusive --set policy.file=rules.json
jq -e '.policy.refused == 2 and (.ignored_keys | index("policy.file"))' two/summary.json >.out ||
	fail "under exclusive: $(jq -c '[.policy, .ignored_keys]' two/summary.json)"

# The plug-in of the document.
awk '/^```json$/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/gvmd.md" >quiet.json
run one quiet.json
[ "$(head -n 2 one/policy.csv | tail -n 1)" = 1900000000,diffusion,gmem.limit.high,max,0,0 ] ||
	fail "the rules of the document: $(cat one/policy.csv)"
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/gvmd.md" >mine.c
cc -Wall -Wextra -Werror -shared -fPIC -I "$source/sim" -o mine.so mine.c || fail "mine.c does not compile"
echo '{ "plugin": "./mine.so", "low": "diffusion", "most": "8M" }' >mine.json
run one mine.json
[ "$(sed 1d one/policy.csv)" = 1100000000,diffusion,gmem.limit.high,8388608,0,0 ] || fail "plug-in: $(cat one/policy.csv)"

run two mine.json
hash=$(jq -r .hash two/config.json)
[ "$hash" = "$(jq -r .hash one/config.json)" ] || fail "the hashes of a plug-in differ"
sed -i 's/limited = true/limited = !mine->limited/' mine.c
cc -shared -fPIC -I "$source/sim" -o mine.so mine.c
run two mine.json
[ "$hash" != "$(jq -r .hash two/config.json)" ] || fail "the hash leaves the plug-in out"

# One that freezes a container, and fails in its 30th step.
cat >bad.c <<'END'
#include "gvmd/policy.h"

static int step(void *state, struct gvmd_step *now)
{
	int *steps = state;

	if (++*steps == 10)
		gvmd_write(now, &now->containers[1], "compute.freeze", "1");
	return *steps == 30 ? gvmd_fail(now, -EPROTO, "30 is enough") : 0;
}

const struct gvmd_policy gvmd_policy = {
	.abi = GVMD_ABI, .name = "bad", .bytes = sizeof(int), .period_ns = 100000000, .step = step,
};
END
cc -Wall -shared -fPIC -I "$source/sim" -o bad.so bad.c
echo '{ "plugin": "./bad.so" }' >bad.json
expect 0 '^gvmsim: policy bad: stopped at 3.000 s: 30 is enough$' run s.json --quiet --out one --set policy.file=bad.json
cat >.wanted <<'END'
time_ns,container,file,value,error,restored
1000000000,diffusion,compute.freeze,1,0,0
3000000000,diffusion,compute.freeze,0,0,1
END
cmp -s .wanted one/policy.csv || fail "a failed policy: $(cat one/policy.csv)"

# One that crashes or hangs, after it has frozen a container: the same, and the run goes on.
# ends HOW LINE: the plug-in does HOW in its third step.
ends() {
	cat >bad.c <<END
#include <stdlib.h>
#include "gvmd/policy.h"

/* Not called after a crash. */
static void close_it(void *state)
{
	if (*(int *)state == 8 && getenv("CRASHED"))
		abort();
}

static int deeper(volatile char *above)
{
	volatile char here[4096];

	here[0] = *above;
	return deeper(here) + here[0];
}

static int step(void *state, struct gvmd_step *now)
{
	int *steps = state;
	volatile int zero = 0, *nowhere = NULL;
	volatile char here = 0;

	if (++*steps == 6)
		gvmd_write(now, &now->containers[1], "compute.freeze", "1");
	if (*steps == 8)
		$1;
	return zero && nowhere && deeper(&here);
}

const struct gvmd_policy gvmd_policy = {
	.abi = GVMD_ABI, .name = "bad", .bytes = sizeof(int), .period_ns = 100000000, .step = step,
	.close = close_it,
};
END
	cc -w -shared -fPIC -I "$source/sim" -o bad.so bad.c
	expect 0 "^gvmsim: policy bad: stopped at 0.800 s: $2" run s.json --quiet --out one --set policy.file=bad.json
	[ "$(tail -n 1 one/policy.csv)" = 800000000,diffusion,compute.freeze,0,0,1 ] || fail "$1: $(cat one/policy.csv)"
	jq -e '.complete != false and .containers.diffusion.status == "ok" and .containers.vllm.status == "ok"' \
		one/summary.json >.out || fail "$1: $(jq -c .containers one/summary.json)"
}
echo '{ "plugin": "./bad.so", "deadline": "100ms" }' >bad.json
export CRASHED=1
ends '*nowhere = 1' 'it crashed: Segmentation fault$'
ends 'abort()' 'it crashed: Aborted$'
ends 'deeper(&here)' 'it crashed: Segmentation fault$'
ends 'for (;;) ++zero' 'it hangs: no answer within 100 ms of computing$'
unset CRASHED
ends 'now->write_count = 1000000' 'it says that it asks for 1000000 writes$'

# One that calls exit() does not look like a run that went well.
sed 's/now->write_count = 1000000/exit(0)/' bad.c >exits.c
cc -w -shared -fPIC -I "$source/sim" -o bad.so exits.c
expect 1 '^gvmsim: policy bad: it called exit(), allowed: return an error$' run s.json --quiet --out gone --set policy.file=bad.json
[ -z "$(ls gone)" ] || fail "results of a run that a policy has ended"

# Mistakes name the file and the key, and write nothing.
rm -r one two
echo '{ "policy": "dyn", "high": "vllm", "low": "sd" }' >bad.json
expect 2 'bad.json:low: no container "sd", allowed: vllm, diffusion' run s.json --set policy.file=bad.json
echo '{ "policy": "rule" }' >bad.json
expect 2 'bad.json:policy: "rule" is not known, did you mean "rules"?' run s.json --set policy.file=bad.json
echo '{ "policy": "none-of-them" }' >bad.json
expect 2 'bad.json:policy: "none-of-them" is not known, allowed: "rules", "dyn", ' run s.json --set policy.file=bad.json
echo '{ "policy": ' >bad.json
expect 2 'bad.json:2:0: ' run s.json --set policy.file=bad.json
echo '{ "plugin": "./none.so" }' >bad.json
expect 2 'bad.json:plugin: .*none.so: cannot open' run s.json --set policy.file=bad.json
expect 2 '--set:policy.file: no file "dyne" beside the scenario, .* did you mean "dyn"?' run s.json --set policy.file=dyne
[ ! -e results ] || fail "results of a mistake"

# A container that pages twice its limit beside one that computes: both always have work. Charged for its faults, it
# has less of the GPU, faults included, than without a policy; both cost the GPU about the same.
cat >pager.json <<'JSON'
{ "name": "pager", "duration": "20s", "gpu": { "profile": "a100-40g" }, "system": { "name": "ghost" },
  "containers": {
    "worker": { "app": { "type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "1ms" } },
    "pager": { "gmem.limit.high": "1G", "app": { "type": "pages", "bytes": "2G", "kernel_blocks": 64, "kernel_time": "1ms" } } } }
JSON
echo '{ "policy": "debt" }' >debt.json
echo '{ "policy": "debt", "faults": false }' >kernels.json
for each in none debt kernels; do
	policy=$each.json
	[ $each != none ] || policy=
	"$gvmsim" run pager.json --quiet --out $each --set policy.file=$policy 2>.err || fail "$each: $(cat .err)"
done
costs='.containers | map_values(.gpu_seconds + .stall_seconds)'
jq -e "$costs | .pager > 1.5 * .worker" none/summary.json >.out || fail "none: $(jq -c "$costs" none/summary.json)"
jq -e "$costs | .pager / .worker | . > 0.9 and . < 1.1" debt/summary.json >.out || fail "debt: $(jq -c "$costs" debt/summary.json)"
jq -e '.policy | .status == "ok" and .refused == 0 and .writes > 10' debt/summary.json >.out ||
	fail "debt: $(jq -c .policy debt/summary.json)"
jq -e "$costs | .pager > 1.5 * .worker" kernels/summary.json >.out || fail "kernels: $(jq -c "$costs" kernels/summary.json)"

# A process that restarts while the policy has its container frozen is new: it is frozen again when it is in debt.
sed '/"duration"/s/$/ "events": [{ "at": "3.05s", "container": "pager", "restart": true }],/' pager.json >restart.json
"$gvmsim" run restart.json --quiet --out restart --set policy.file=debt.json 2>.err || fail "restart: $(cat .err)"
awk -F, '$2 == "pager" && $1 < 3.05e9 { v = $4 } END { exit v != 1 }' restart/policy.csv || fail "it was not frozen when it restarted"
jq -e "$costs | .pager / .worker | . > 0.85 and . < 1.15" restart/summary.json >.out ||
	fail "restart: $(jq -c "$costs" restart/summary.json)"
