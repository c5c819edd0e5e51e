#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# tools/corun, as far as it needs neither a GPU nor PyTorch: every file compiles, plans are checked,
# arrivals are cut, a sample that was written by hand is summed up to exact numbers, and gvmcollect and
# gvmsim read it. Usage: NAME.sh GVMSIM GVMCOLLECT SOURCE
set -eu
gvmsim=$1
gvmcollect=$2
source=$3
kit=$source/tools/corun
sample=$source/tests/collect/corun/sample
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPYCACHEPREFIX="$work/cache"

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

for file in "$kit"/*.py; do
	python3 -W error -m py_compile "$file" || fail "$file does not compile"
done
[ "$(find cache -name '*.pyc' | wc -l)" -ge 16 ] || fail "too few files"
awk 'length > 96 { print FILENAME ":" FNR; found = 1 } END { exit found }' "$kit"/*.py ||
	fail "lines of more than 96 columns"
"${CC:-cc}" -Wall -Wextra -Werror -O2 -shared -fPIC -o timeslice.so "$kit/timeslice.c" -ldl -lpthread ||
	fail "timeslice.c does not compile"
"${CC:-cc}" -Wall -Wextra -Werror -O2 -rdynamic -o channel_groups "$source/tests/collect/corun/channel_groups.c" -ldl ||
	fail "channel_groups.c does not compile"
CORUN_TIMESLICE_US=512 LD_PRELOAD=./timeslice.so ./channel_groups >.groups
diff - .groups <<'END' || fail "timeslices are set differently"
object 11: 512 us
object 12: 512 us
object 11: 131072 us
object 12: 131072 us
2 of 2 groups
object 12: 64 us
1 of 1 groups
refused: 0 of 1 groups
END
./channel_groups >.groups
[ "$(cat .groups)" = "not preloaded" ] || fail "without the library: $(cat .groups)"
python3 "$source/tests/collect/corun/test_scheduler.py" "$kit" 2>.units || fail "$(cat .units)"

mkdir work-programs
python3 "$source/tests/collect/corun/test_programs.py" "$kit" "$source/tests/collect/corun/programs" "$gvmsim" \
	"$gvmcollect" "$work/work-programs" 2>.units || fail "$(cat .units)"

# A Python without what the applications import is named at once, and nothing is written.
printf '#!/bin/sh\nexec python3 -I -S "$@"\n' >bare
chmod +x bare
for operands in "--check bare-out" "$kit/plans/default.json bare-out"; do
	# shellcheck disable=SC2086
	python3 "$kit/corun.py" --python ./bare $operands >.out 2>&1 && fail "it runs without PyTorch"
	[ "$(cat .out)" = "corun.py: ./bare has no numpy and no torch, which the applications need; --python names another" ] ||
		fail "without PyTorch: $(cat .out)"
	[ ! -e bare-out ] || fail "a folder of a session that did not begin"
done

# Plans
for plan in "$kit"/plans/*.json; do
	python3 "$kit/corun.py" --dry-run "$plan" >.plan || fail "$plan"
	runs=$(jq '[.groups[].runs[]] | length' "$plan")
	[ "$(grep -c '^  run ' .plan)" -eq "$runs" ] || fail "$plan: $(cat .plan)"
done
python3 "$kit/corun.py" --dry-run "$kit/plans/check.json" >.plan
diff - .plan <<'END' || fail "the plan of the check reads differently"
plan check: groups 2, runs 2, 7 s and the starts of 5 processes
group default: time slices
  process llm: llm_server.py --model 3b-short --kv-tokens 100000 --short-warm-up
  process diffusion: diffusion.py --tiny --steps 3
  process decode-graph: programs.py --program decode-graph --tiny
  process recommender-infer: programs.py --program recommender-infer --tiny
  run default.together: 5 s and 1 s: llm few arrivals, diffusion, decode-graph, recommender-infer
group profile: time slices
  process decode-graph: programs.py --program decode-graph --tiny and its profile
  run profile.alone: 1 s and 0 s: decode-graph
END

# mistake FILTER MESSAGE: a plan that jq has changed, $plan, is refused with that line
mistake() {
	jq "$1" "$kit/plans/$plan.json" >bad.json
	status=0
	python3 "$kit/corun.py" --dry-run bad.json >.out 2>.err || status=$?
	[ "$status" -eq 2 ] || fail "$1: exit code $status"
	[ "$(cat .err)" = "corun.py: bad.json: $2" ] || fail "$1: $(cat .err)"
}

plan=default
mistake '.colour = 1' 'plan.colour: is unknown, allowed: name, note, arrivals, groups'
mistake 'del(.groups[0].runs[1].seconds)' 'groups[0].runs[1].seconds: is missing'
mistake '.groups[0].runs[1].seconds = "9"' 'groups[0].runs[1].seconds: is of a wrong type'
mistake '.groups[0].runs[1].processes.llm.arrivals = "many"' \
	'groups[0].runs[1].processes.llm.arrivals: "many", allowed: low, moderate, high'
mistake '.groups[0].processes.llm.mps_percent = 50' \
	'groups[0].processes.llm.mps_percent: needs "mps": true'
mistake '.groups[0].mps = true | .groups[0].processes.llm.timeslice_us = 512' \
	'groups[0].processes.llm.timeslice_us: has no meaning with mps'
mistake '.groups[0].runs[1].name = "alone-image"' 'groups[0].runs[1].name: "alone-image" is there twice'
mistake '.arrivals.low.trace = "none.csv"' 'arrivals.low.trace: no file none.csv'
mistake '.groups[0].processes.llm.app = "editor"' \
	'groups[0].processes.llm.app: "editor", allowed: llm, diffusion, program'
mistake '.groups[0].processes.diffusion.profile = true' 'groups[0].processes.diffusion.profile: needs a program'
plan=programs-blind
first='groups[0].processes.resnet50-train'
mistake 'del(.groups[0].processes[].args)' "$first.args.program: is missing"
mistake '.groups[0].processes[].args.program = ["vit-infer"]' "$first.args.program: \"['vit-infer']\", allowed: resnet50-train, \
vit-infer, gpt2-train, bert-infer, decode-graph, recommender-infer, swin-train, t5-generate, encoder-infer, \
unet-train, rollout-graph, diffusion-encode, diffusion-denoise, diffusion-decode"
mistake '.groups[0].processes[].profile = "yes"' "$first.profile: is of a wrong type"
mistake '.groups[0].processes.other = .groups[1].processes["vit-infer"]' \
	"$first.profile: needs a group without other processes"
mistake '.groups[0].mps = true' "$first.profile: has no meaning with mps"
mistake '.groups[1].processes[].args.program = "resnet50-train"' \
	'groups[1].processes.vit-infer.profile: resnet50-train has one already'
mistake '.groups[0].runs[0].processes[].arrivals = "moderate"' \
	'groups[0].runs[0].processes.resnet50-train.arrivals: has no meaning'
plan=programs-policies
mistake '.groups[4].runs[1].policy = "timeshare"' 'groups[4].runs[1].policy: is of a wrong type'
mistake 'del(.groups[4].runs[1].policy.policy)' 'groups[4].runs[1].policy.policy: is missing'
mistake '.groups[4].runs[2].processes["vit-infer"].timeslice_us = 512' \
	'groups[4].runs[1].policy: has no meaning with timeslice_us'
status=0
python3 "$kit/corun.py" "$kit/plans/programs-policies.json" policy-out --shim "$kit/plan.py" >.out 2>.err || status=$?
[ "$status" -eq 2 ] && [ ! -e policy-out ] || fail "a policy without gvmd: exit code $status"
[ "$(cat .err)" = "corun.py: $kit/plans/programs-policies.json: has a policy, which needs --gvmd FILE" ] ||
	fail "a policy without gvmd: $(cat .err)"

# Arrivals: what the server replays, the simulator reads.
python3 "$kit/arrivals.py" "$source/traces/burstgpt1_gvm3256.trace" --from 50400 --divide 240 \
	--seconds 60 --out a.csv >.arrivals
[ "$(cat .arrivals)" = "a.csv: 1111 requests in 60 s, 18.52 a second, mean prompt 669 tokens, \
mean answer 205 tokens" ] || fail "$(cat .arrivals)"
[ "$(sed -n 2p a.csv)" = "0.141500,835,637,637" ] || fail "$(head a.csv)"
"$gvmsim" trace info a.csv | grep -q "^requests *1111$" || fail "$("$gvmsim" trace info a.csv)"
python3 "$kit/arrivals.py" "$source/traces/burstgpt1_first400.csv" --seconds 100 --out b.csv >/dev/null
[ "$(sed -n 2,3p b.csv | tr '\n' ' ')" = "5.000000,472,18,18 45.000000,1087,230,230 " ] ||
	fail "$(cat b.csv)"
# A trace with hashes of prefixes, and what is no trace.
"$gvmsim" trace import "$source/traces/mooncake_conversation_first100.jsonl" moon.trace >/dev/null
python3 "$kit/arrivals.py" moon.trace --seconds 100 --out c.csv >.arrivals
jq -rs '(map(select(.timestamp < 100000))) | "\(length) requests, mean prompt \(
	(map(.input_length) | add) / length | round) tokens"' "$source/traces/mooncake_conversation_first100.jsonl" >.wanted
[ "$(sed 's/^c.csv: \([0-9]* requests\).*\(, mean prompt [0-9]* tokens\),.*/\1\2/' .arrivals)" = "$(cat .wanted)" ] ||
	fail "$(cat .arrivals .wanted)"
{ printf '\357\273\277'; cat "$source/traces/burstgpt1_first400.csv"; } >mark.csv
python3 "$kit/arrivals.py" mark.csv --seconds 100 --out d.csv >/dev/null
cmp b.csv d.csv || fail "a byte order mark"
printf 'GVMTRACE\001\000\005' | zstd -q >cut.trace
! python3 "$kit/arrivals.py" cut.trace --seconds 1 --out e.csv 2>.err || fail "a trace that is cut off"
[ "$(cat .err)" = "arrivals.py: cut.trace: is cut off" ] || fail "$(cat .err)"
printf 'Timestamp,Request tokens,Response tokens\n0,x,5\n' >word.csv
! python3 "$kit/arrivals.py" word.csv --seconds 1 --out e.csv 2>.err || fail "a word for a number"
[ "$(wc -l <.err)" = 1 ] && [ ! -e e.csv ] || fail "$(cat .err)"

# The sample
python3 "$kit/summarize.py" "$sample" --csv summary.csv >.table
diff - .table <<'END' || fail "the table reads differently"
default.together llm
    requests_arrived 4  completed 2  without_token 1  preemptions 1  tokens_per_s 1.6
    ttft_ms_mean 300.0  ttft_ms_p50 40.0  ttft_ms_p90 785.0  ttft_ms_p99 1068.5
    itl_ms_mean 16.00  itl_ms_p50 10.00  itl_ms_p90 26.00  itl_ms_p99 29.60
    steps 2  step_ms_mean 15.00  decodes_a_step 0.5  prefill_tokens_a_step 50.0  launch_ms_a_step 5.50
default.together diffusion
    images 2  image_latency_s_mean 2.250  image_latency_s_p50 2.250  image_latency_s_p99 2.495  denoising_steps_per_s 0.80
END
[ "$(sed -n 3p summary.csv)" = \
	"default.together,diffusion,,,,,,,,,,,,,,,,,,,2,2.250,2.250,2.495,0.80,,,,1900,1800" ] ||
	fail "$(cat summary.csv)"

python3 "$kit/keep.py" "$sample" kept
diff summary.csv kept/summary.csv
[ "$(sed 1d kept/default.together.llm.requests.csv | tr '\n' ' ')" = "100000,100,4,4,20000,16666,30000 \
200000,200,2,2,30000,10000,10000 500000,300,5,2,50000,20000,20000 4900000,400,3,0,,, " ] ||
	fail "$(cat kept/default.together.llm.requests.csv)"
[ "$(sed 1d kept/default.together.llm.seconds.csv)" = "0,2,15000,5500,14000,0,100,100,0" ] ||
	fail "$(cat kept/default.together.llm.seconds.csv)"
[ "$(sed -n 4p kept/default.together.diffusion.images.csv)" = "4500000,,6100000,6200000,1" ] ||
	fail "$(cat kept/default.together.diffusion.images.csv)"

python3 "$kit/collect.py" "$sample/default.together" measured --collector "$gvmcollect" \
	--gpu h100-80g --measured "$source/plots/reference/hardware/h200-corun/alone" 2>.notes ||
	fail "$(cat .notes)"
jq -e '(.containers.llm | .requests.arrived == 4 and .requests.completed == 2
		and .requests.failed == 2 and .itl_ms.p50 == 10)
	and (.containers.diffusion | .images == 2 and .latency_s.p50 == 2.25)' \
	measured/summary.json >/dev/null || fail "$(cat measured/summary.json)"
[ "$(grep -c '^llm,' measured/requests.csv)" -eq 4 ] || fail "$(cat measured/requests.csv)"
jq -e '.system.name == "stock" and .duration == "26s"
	and .containers.llm["compute.timeslice"] == "512us"
	and (.containers.diffusion | has("compute.timeslice") | not)
	and .containers.llm.app.gpu_memory_utilization == 0.495432
	and .containers.diffusion.app.kernels_per_pass == 2358
	and .containers.llm.app.kernel_launch == "18211ns"
	and .containers.diffusion.app.kernel_launch == "12227ns"
	and .containers.llm.app.memory == "unmanaged"' measured/scenario.json >/dev/null ||
	fail "$(cat measured/scenario.json)"
# With the shim: its timeslice, and what gvmcollect sampled from 5 s before the run on.
mkdir -p shim sampled
cp -r "$sample/default.together" shim/
jq '.plan.groups[0].processes.llm.env.GVM_TIMESLICE = "4096us" | .plan.groups[0].processes.diffusion.env.GVM_LIMIT = "max"' "$sample/manifest.json" >shim/manifest.json
start=$(jq '.runs["default.together"].start_ns - 5000000000' "$sample/manifest.json")
cat >sampled/config.json <<END
{ "clock": { "start_ns": $start }, "roots": ["/run/gvm-shim"], "notes": ["a note"],
  "containers": { "llm": { "tgid": 7, "command": "a" }, "diffusion": { "tgid": 8, "command": "b" } } }
END
cat >sampled/timeline.csv <<END
time_ns,container,resident_bytes,swapped_bytes
4000000000,llm,1,0
5500000000,llm,100,0
6500000000,llm,300,0
6500000000,diffusion,50,0
900000000000,llm,9,0
END
cat >sampled/controls.csv <<END
time_ns,container,file,value
100000000,llm,gmem.limit.high,1
200000000,llm,gmem.limit.high,2
6000000000,llm,gmem.limit.high,3
4900000000,llm,gcgroup.stat,nr_submitted_kernels: 50 nr_ended_kernels: 50 nr_pending_kernels: 0
5100000000,llm,gcgroup.stat,nr_submitted_kernels: 100 nr_ended_kernels: 90 nr_pending_kernels: 10
5200000000,llm,gcgroup.stat,nr_submitted_kernels: 100 nr_ended_kernels: 100 nr_pending_kernels: 0
5700000000,llm,gcgroup.stat,nr_submitted_kernels: 300 nr_ended_kernels: 290 nr_pending_kernels: 10
6200000000,llm,gcgroup.stat,nr_submitted_kernels: 400 nr_ended_kernels: 395 nr_pending_kernels: 5
6900000000,llm,gcgroup.stat,nr_submitted_kernels: 400 nr_ended_kernels: 400 nr_pending_kernels: 0
END
python3 "$kit/collect.py" shim/default.together with-shim --collector "$gvmcollect" --gpu h100-80g \
	--sampled sampled 2>.notes || fail "$(cat .notes)"
jq -e '.containers.llm | .["compute.timeslice"] == "4096us" and (.app | has("memory") | not)' with-shim/scenario.json >/dev/null ||
	fail "$(cat with-shim/scenario.json)"
# Its memory is managed, and was on the GPU when the run began. Without the shim a first image is as any other.
jq -e '.containers.diffusion.app | .boot == "20s" and .warm_images == 2' with-shim/scenario.json >/dev/null ||
	fail "the pipeline is cold: $(cat with-shim/scenario.json)"
jq -e '.containers.diffusion.app | has("warm_images") | not' measured/scenario.json >/dev/null ||
	fail "a pipeline without the shim is made warm: $(cat measured/scenario.json)"
[ "$(sed 1d with-shim/timeline.csv | tr '\n' ' ')" = \
	"500000000,llm,100,0 1500000000,llm,300,0 1500000000,diffusion,50,0 " ] || fail "$(cat with-shim/timeline.csv)"
[ "$(sed 1d with-shim/controls.csv | grep -v gcgroup.stat | tr '\n' ' ')" = \
	"0,llm,gmem.limit.high,2 1000000000,llm,gmem.limit.high,3 " ] || fail "$(cat with-shim/controls.csv)"
jq -e '.containers.llm.gmem | .current == 300 and .mean == 200 and .peak == 300' with-shim/summary.json >/dev/null ||
	fail "$(cat with-shim/summary.json)"
# Launches of the run alone: 300 kernels from 5.2 to 6.2 s.
jq -e '.containers.llm.kernels == { "submitted": 300, "ended": 310, "per_s": 300 }' with-shim/summary.json >/dev/null ||
	fail "$(cat with-shim/summary.json)"
jq -e '.containers.llm.tgid == 7 and .roots == ["/run/gvm-shim"]' with-shim/config.json >/dev/null ||
	fail "$(cat with-shim/config.json)"

# Under MPS the same run has clients of one server.
mkdir mps
cp -r "$sample/default.together" mps/
jq '(.plan.groups[0], .runs[]).mps = true
	| .runs[].processes |= (.llm |= del(.timeslice_us) | .diffusion.mps_percent = 30)' \
	"$sample/manifest.json" >mps/manifest.json
python3 "$kit/collect.py" mps/default.together clients --collector "$gvmcollect" --gpu h100-80g \
	--measured "$source/plots/reference/hardware/h200-corun/alone" \
	--alone "$sample/default.together" || fail "a run under MPS"
jq -e '.system.name == "stock" and .containers.llm.mps == { "server": "mps", "limit": 100 }
	and .containers.diffusion.mps.limit == 30
	and .containers.llm.app.kernel_launch == "16216ns"' clients/scenario.json >/dev/null ||
	fail "$(cat clients/scenario.json)"
"$gvmsim" run clients/scenario.json --quiet --out shared 2>.err || fail "$(cat .err)"

"$gvmsim" run measured/scenario.json --quiet --out simulated 2>.err || fail "$(cat .err)"
"$gvmsim" validate results measured simulated >.out 2>.err || fail "$(cat .err)"
grep -q "^llm TTFT p50 " .out || fail "$(cat .out)"
