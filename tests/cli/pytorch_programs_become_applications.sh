#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Profiles of real programs, recorded on an H200, become applications whose steps take as long as the programs'
# did. A mistake is one line, and leaves the file that was there.
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
kept=$source/plots/reference/hardware/h200-programs
mkdir apps

cat >alone.json <<'END'
{ "name": "alone", "duration": "6s", "gpu": { "profile": "h200-141g" }, "system": { "name": "stock" },
  "containers": { "it": { "app": { "type": "phases", "profile": "it", "memory": "unmanaged" } } } }
END

# takes LOW HIGH: the median step of the simulated program, in ms, within 2 %
takes() {
	"$gvmsim" run alone.json --quiet --out out
	jq -e --argjson low "$1" --argjson high "$2" '.containers.it.latency_s.p50 * 1000 |
		. > $low * 0.98 and . < $high * 1.02' out/summary.json >/dev/null ||
		fail "a step takes $(jq .containers.it.latency_s.p50 out/summary.json) s, and took $1 to $2 ms"
}

count=0
for profile in "$kept"/profiles/*.gz "$kept"/*/profiles/*.gz; do
	"$gvmsim" app import "$profile" apps/it.json --gpu h200-141g >told
	# Steps are drawn from the plain ones, where the profile has each: the median of some hundred draws lies between
	# their 40th and 60th percentile. Without, all are as long as their mean.
	plain=$(zcat "$profile" | jq -r '.gvmsim | .plain_steps_ns // [.plain_step_ns] | sort |
		"\(.[length * 0.4 | floor] / 1e6) \(.[length * 0.6 | floor] / 1e6)"')
	# The encoders' launches were faster under the profiler than without: the host's speed had changed.
	case $profile in
	*diffusion-encode*) plain=$(sed -n 's/^step  *\([0-9.]*\) ms under.*/\1 \1/p' told) ;;
	esac
	# shellcheck disable=SC2086 # two numbers
	takes $plain
	count=$((count + 1))
done
[ "$count" -ge 14 ] || fail "$count profiles"

# A step of another length; memory and kernels are the profile's.
profile=$kept/programs-blind/profiles/bert-infer.json.gz
"$gvmsim" app import "$profile" apps/it.json --gpu h200-141g --step 4.5ms >told
takes 4.5 4.5
grep -q '^kernels  *178 in 178 launches, 1 waits$' told || fail "$(cat told)"
jq -e '[.app.tensors.value[].bytes] | add | . > 276e6 and . < 277e6' apps/it.json >/dev/null || fail "memory"

# The steps of the program alone say how much the host varies: one of 10 takes twice as long here.
{
	echo gap_us,step_us
	for i in 1 2 3 4 5 6 7 8 9; do echo "$i,4500"; done
	echo 10,9000
} >rounds.csv
"$gvmsim" app import "$profile" apps/it.json --gpu h200-141g --alone rounds.csv >told
grep -q '^steps alone  *10: the host takes 0.[0-9]* to 1.[0-9]* times as long$' told || fail "$(cat told)"
[ "$(jq '.app.host_times.value | length' apps/it.json)" -eq 10 ] || fail "$(jq .app.host_times apps/it.json)"
takes 4.5 4.5
jq -e '.containers.it.latency_s.p99 * 1000 | . > 8.8 and . < 9.2' out/summary.json >/dev/null ||
	fail "P99 is $(jq .containers.it.latency_s.p99 out/summary.json) s, and one of ten steps took 9 ms"
"$gvmsim" run alone.json --quiet --out again
cmp out/requests.csv again/requests.csv || fail "the same seed draws other host times"
"$gvmsim" run alone.json --quiet --out other --set seed=7
! cmp -s out/requests.csv other/requests.csv || fail "another seed draws the same host times"
echo "gap_us,step" >none.csv
expect 2 "none.csv:1: column 'step_us' is missing" \
	app import "$profile" apps/it.json --gpu h200-141g --alone none.csv
expect 2 "step and --alone, allowed: one of them" \
	app import "$profile" apps/it.json --gpu h200-141g --alone rounds.csv --step 4ms
"$gvmsim" app import "$profile" apps/it.json --gpu h200-141g --step 4.5ms >told

# On another GPU, products scale with its peak and all else with its rates: an A100 is slower.
"$gvmsim" app import "$kept/profiles/diffusion-denoise.json.gz" apps/it.json --gpu h200-141g >told
"$gvmsim" run alone.json --quiet --out a100 --set gpu.profile=a100-80g
jq -e '.containers.it.latency_s.p50 | . > 0.18 and . < 0.30' a100/summary.json >/dev/null ||
	fail "on an A100: $(jq .containers.it.latency_s.p50 a100/summary.json)"

expect 2 "alone.json:containers.it.app.phases: has cycles, allowed: on a GPU with gpu.sms and gpu.clock$" \
	run alone.json --quiet --out out --set gpu.clock=0

cp apps/it.json before
zcat "$profile" >own.json
cp own.json own.before
expect 2 "profile.json: is of NVIDIA H200 with 132 SMs, and a100-40g has 108$" \
	app import "$(ln -s "$profile" profile.json && echo profile.json)" apps/it.json --gpu a100-40g
expect 2 "none.json: cannot read: No such file or directory$" app import none.json apps/it.json --gpu h200-141g
expect 2 "^gvmsim: apps: cannot read: Is a directory$" app import apps apps/it.json --gpu h200-141g
bad=$(printf 'bad-\377.json')
cp own.json "$bad"
expect 2 "its name is not in UTF-8, allowed" app import "$bad" apps/it.json --gpu h200-141g
expect 2 "alone.json: has no traceEvents, allowed: a trace of torch.profiler$" \
	app import alone.json apps/it.json --gpu h200-141g
expect 2 "no --gpu, usage" app import "$profile" apps/it.json
expect 2 "no --gpu, usage" app import "$profile" apps/it.json --gpu ""
expect 2 "1 file names, expected 2" app import "$profile" --gpu h200-141g
expect 2 '^gvmsim: --gpu: no profile "h20", .*h200-141g' app import "$profile" apps/it.json --gpu h20
expect 2 '"--step": "7" has no unit\|option .--step.: "7" has no unit' \
	app import "$profile" apps/it.json --gpu h200-141g --step 7
expect 2 'option .--step.: "200s", allowed: more than 0 and up to 100s' \
	app import "$profile" apps/it.json --gpu h200-141g --step 200s
expect 2 "own.json: cannot write: is the file to import$" app import own.json ./own.json --gpu h200-141g
cmp -s own.before own.json || fail "the profile is gone"
cmp -s before apps/it.json || fail "a mistake changed the file"
# Too little memory is no mistake of the user.
head -c 300000000 /dev/zero | tr '\0' ' ' | gzip -1 >long.json.gz
status=0
prlimit --as=300000000 "$gvmsim" app import long.json.gz apps/it.json --gpu h200-141g 2>told || status=$?
[ "$status" -eq 1 ] && [ "$(cat told)" = "gvmsim: long.json.gz: out of memory" ] || fail "exit code $status: $(cat told)"
expect 1 "nowhere/it.json: cannot" app import "$profile" nowhere/it.json --gpu h200-141g
