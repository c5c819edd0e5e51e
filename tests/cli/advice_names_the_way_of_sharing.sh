#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvmsim advise: the worked examples of docs/advise.md, more GPUs where one cannot do, a server that takes less
# memory, a search that was killed, and mistakes. Usage: advice_names_the_way_of_sharing.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
COLUMNS=300
export COLUMNS

# The first example. Names and orders are exact: the same seeds give the same runs.
set -- vllm-diffusion-40g --set duration=200s --set containers.vllm.app.slo_ttft=1.1s --seeds 5
"$gvmsim" advise "$@" --out whole >table 2>.err || fail "advise: $(cat .err)"
grep -q "^Advice: mps on 1 GPU; 1 of 1 promises kept by 95 % of requests" table || fail "advice: $(cat table)"
grep -q "^exclusive *2 .*1 of 1 *100 %" table || fail "the yardstick: $(cat table)"
grep -q "^mps *1 *0[.]96.*1 of 1 *90 %" table || fail "mps as it is: $(cat table)"
grep -q "^stock .*0 of 1" table || fail "stock as it is: $(cat table)"
grep -q "^gvm .*1 of 1.*diffusion.gmem.limit.high" table || fail "gvm with a limit: $(cat table)"
grep -q "^Half the bandwidth of the link breaks a promise first" table || fail "hurt: $(cat table)"
grep -q "95 % bootstrap over 5 seeds" table || fail "an interval says what it is over: $(cat table)"
grep -q "^guardian .*vllm.*died" table && grep -q "^guardian: vllm: context died at .* did not fit into its partition$" table ||
	fail "a container died without a reason: $(cat table)"
[ -s whole/advice-1.png ] && [ -s whole/advice-1.svg ] || fail "no picture"
grep -q "What each way of sharing gives; the advice: mps on 1 GPU" whole/advice-1.svg || fail "the picture lacks the advice"
grep -q "diffusion.gmem.limit.high [0-9.]* GiB" table || fail "a limit has a unit: $(cat table)"
grep -qE '>[a-z0-9 ]*[0-9.]+ GiB[^<]*<' whole/advice-1.svg || fail "a label has a unit: $(cat whole/advice-1.svg)"
if grep -E '>[^<]*[0-9]{9}[^<]*<' whole/advice-1.svg; then fail "a label in bytes"; fi
for stage in systems settings-1 shares-1 seeds hurts; do
	[ -s "whole/$stage.json" ] || fail "no stage $stage"
done
[ "$(find whole -name '*.tmp-*')" = "" ] || fail "parts stay"

# A stage is a sweep that has all its runs.
"$gvmsim" sweep whole/systems.json --out whole >stage 2>.err || fail "a stage as sweep: $(cat .err)"
grep -q "^[0-9]* *stock *0[.]9[0-4]" stage || fail "stock as it is breaks the promise: $(cat stage)"
grep -q "made no run" .err || fail "a stage as sweep made runs: $(cat .err)"

# Again: the same words, and no run is made twice.
find whole/runs -mindepth 1 -maxdepth 1 | sort >before
"$gvmsim" advise "$@" --out whole >again 2>.err || fail "again: $(cat .err)"
cmp table again || fail "the second time says something else"
find whole/runs -mindepth 1 -maxdepth 1 | sort | cmp - before || fail "the second time made runs"

# A budget is kept, and what it leaves out is said: 12 systems need 12 runs.
set -- vllm-diffusion-40g --set duration=60s --runs 5 --seeds 1
"$gvmsim" advise "$@" --out few >table 2>.err || true
grep -q "candidates beyond 5 runs" table || fail "what the budget left out: $(cat table .err)"
grep -q "^Runs: 10 in all" table || fail "5 runs, and 5 that show what hurts: $(cat table)"

# That search, killed again and again, says the same in the end. A kill comes when so many runs are stored, or too
# late, where the search was faster.
kills=0
for count in 1 3 7; do
	"$gvmsim" advise "$@" --out cut >/dev/null 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null && [ "$(find cut/runs -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -lt $count ]; do
		sleep 0.01
	done
	! kill -9 $pid 2>/dev/null || kills=$((kills + 1))
	wait $pid 2>/dev/null || true
done
[ "$kills" != 0 ] || fail "each search ended before its kill"
"$gvmsim" advise "$@" --out cut >cut.table 2>.err || true
sed 's/few/cut/' table | cmp - cut.table || fail "after kills it says something else"

# A limit and priorities keep what the scenario does not as it is: 99 % of 80 ms, with the memory of the data sheet.
"$gvmsim" advise three-tenants --set duration=70s --set gpu.memory_bandwidth=2039e9 --set containers.search.app.slo_ttft=0.080s \
	--set containers.chat.app.slo_ttft=0.080s --seeds 1 --target 0.99 --out first >table 2>.err ||
	fail "priorities: $(cat .err table)"
grep -q "^Advice: ghost-uvm on 1 GPU, with images.gmem.limit.high " table || fail "priorities: $(cat table)"
grep -q "images.compute.priority 12" table || fail "settings in the table are cut off: $(cat table)"
grep -qE " images\.compute\.priority 12$" table || fail "no row of settings ends with the last one: $(cat table)"
grep -q "gvmctl set PID gmem.limit.high .* # images" table || fail "control files: $(cat table)"
grep -q "^  mig: .*gpu_memory_utilization" table || fail "why mig cannot: $(cat table)"
# mig's run fails, and those of the others are still in the stage's file.
grep -q '"gvm"' first/systems.json || fail "the stage has lost candidates: $(cat first/systems.json)"

# No run is made twice, even if it fails, and a failure ends none of the others: mig and vgpu cannot hold
# the model. A preloaded library notes the command line of each process.
cat >spy.c <<'END'
#include <stdio.h>
__attribute__((constructor)) static void note(void)
{
	char line[4096];
	FILE *own = fopen("/proc/self/cmdline", "r"), *list = fopen(LIST, "a");
	size_t size = own ? fread(line, 1, sizeof(line), own) : 0;

	for (size_t i = 0; i < size; i++)
		line[i] = line[i] && line[i] != '\n' ? line[i] : ' ';
	if (list && fprintf(list, "%.*s\n", (int)size, line) > 0)
		fclose(list);
}
END
cc -shared -fPIC -DLIST="\"$PWD/processes\"" -o spy.so spy.c
LD_PRELOAD=$PWD/spy.so "$gvmsim" advise three-tenants --set duration=5s --runs 13 --seeds 1 --out spied >table 2>.err || true
grep -q "^  vgpu: [^ ]*three-tenants.json:containers.chat.app.gpu_memory_utilization: " table || fail "why vgpu cannot: $(cat table)"
grep -q "^As it is, no promise is kept" table || fail "a promise that is not kept cannot break: $(cat table)"
sed -n 's/--out [^ ]*//; s/.* run --quiet/run/p' processes | sort >made
[ "$(grep -c . made)" = 17 ] || fail "13 systems, and 4 that show what hurts: $(cat made .err)"
[ -z "$(uniq -d made)" ] || fail "made twice: $(uniq -d made)"

# Load that one GPU cannot do, and two can.
"$gvmsim" advise three-tenants --set duration=70s --set containers.search.app.slo_ttft=0.3s \
	--set containers.chat.app.slo_ttft=0.3s --set containers.chat.app.trace.divide=900 \
	--set containers.search.app.trace.divide=900 --seeds 1 --target 0.8 --out more >table 2>.err ||
	fail "more GPUs: $(cat .err table)"
grep -q "^Advice: .* on 2 GPUs.* 2 of 2 promises kept by 80 % of requests" table || fail "two GPUs: $(cat table)"
grep -q "containers.search.gpu" more/gpus-2.json || fail "no placement in more/gpus-2.json"
# What hurts changes both GPUs: their memory by a tenth, their links by half.
jq -e '[.list[] | select(has("gpu.memory"))] | length == 1 and
	all(.[]; .["gpu.memory"] != null and .["gpus.more1.memory"] == .["gpu.memory"])' more/hurts.json >/dev/null ||
	fail "memory of both GPUs: $(cat more/hurts.json)"
jq -e '[.list[] | select(has("gpu.link.bandwidth"))] | length == 1 and
	all(.[]; .["gpus.more1.link.bandwidth"] == .["gpu.link.bandwidth"] and
	.["gpus.more1.link.bandwidth_both"] == .["gpu.link.bandwidth_both"])' more/hurts.json >/dev/null ||
	fail "links of both GPUs: $(cat more/hurts.json)"

# A server that needs a GPU of its own, and two that can share one: they are apart from it, and their settings
# are the scenario's, as no promise is beside them. With one of them beside the server it has 14 %.
cat >lone.json <<'END'
{ "name": "lone", "duration": "40s", "gpu": { "profile": "a100-80g" }, "containers": {
	"chat": { "start": "5s", "app": { "type": "llm-server", "profile": "vllm-llama-3.2-3b", "gpu_memory_utilization": 0.3, "boot": "2s",
		"trace": { "file": "azure2023_conv.trace", "rate": 4 }, "slo_itl": "21ms" } },
	"images": { "app": { "type": "diffusion", "profile": "sd3.5-medium" } },
	"drawings": { "app": { "type": "diffusion", "profile": "sd3.5-medium" } } } }
END
"$gvmsim" advise lone.json --seeds 1 --target 0.89 --out lone >table 2>.err || fail "lone: $(cat .err table)"
grep -q "^Advice: .* on 2 GPUs, with chat.compute.priority 0, images.gpu more1, drawings.gpu more1; 1 of 1 promises" table ||
	fail "the others are not apart: $(cat table)"
jq -e '.list | map(select(has("containers.images.gpu") and (has("containers.drawings.gpu") | not))) | length > 0' lone/gpus-2.json >/dev/null ||
	fail "they do not go round, too: $(cat lone/gpus-2.json)"

# A load by trace.rate or client.users gets a quarter more, too. The picture shows the container that sharing costs
# something, not one alone on its GPU. What the advice rests on is said.
cat >apart.json <<'END'
{ "name": "apart", "duration": "40s", "gpu": { "profile": "a100-80g" }, "gpus": { "gpu1": { "profile": "a100-80g" } },
	"containers": {
		"chat": { "start": "5s", "app": { "type": "llm-server", "profile": "vllm-llama-3.2-3b", "gpu_memory_utilization": 0.3,
			"trace": { "file": "azure2023_conv.trace", "rate": 4 }, "slo_ttft": "2s" } },
		"images": { "app": { "type": "diffusion", "profile": "sd3.5-medium", "memory": "unmanaged" } },
		"users": { "gpu": "gpu1", "start": "5s", "app": { "type": "llm-server", "profile": "vllm-llama-3.2-3b", "graph_tokens": 512,
			"trace": { "file": "fixed_32_128.trace" }, "client": { "users": 3 } } } } }
END
"$gvmsim" advise apart.json --runs 3 --seeds 1 --out apart >table 2>.err || fail "apart: $(cat .err table)"
jq -e '.list | any(."containers.chat.app.trace.rate" == "5" and ."containers.users.app.client.users" == "4")' apart/hurts.json >/dev/null ||
	fail "a quarter more requests: $(cat apart/hurts.json)"
jq -e '.plots[0].x == "images.images_per_s"' apart/advice.json >/dev/null || fail "what is drawn: $(jq .plots apart/advice.json)"
grep -q "^Control files: none is needed" table || fail "no control files: $(cat table)"
grep -q "^Assumed: managed memory (app.memory), as the shim gives it, of chat, users[.]" table || fail "memory: $(cat table)"
grep -q "^Assumed: a launch for each kernel, as with --enforce-eager, by chat[.] " table || fail "launches: $(cat table)"
grep -q "^Few completions: images.images_per_s, about [0-9]* on a GPU of its own" table || fail "few images: $(cat table)"

# What ends a stage is said, and not the mistake of a candidate before it, which ends nothing.
cat >crash.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void crash(void)
{
	char line[4096];
	FILE *own = fopen("/proc/self/cmdline", "r");
	size_t size = own ? fread(line, 1, sizeof(line) - 1, own) : 0;

	for (size_t i = 0; i < size; i++)
		line[i] = line[i] ? line[i] : ' ';
	line[size] = 0;
	if (strstr(line, " run ") && strstr(line, "system.name=gvtg "))
		abort();
}
END
cc -shared -fPIC -o crash.so crash.c
status=0
LD_PRELOAD=$PWD/crash.so "$gvmsim" advise three-tenants --set duration=5s --runs 13 --seeds 1 --out crashed >table 2>.err || status=$?
[ $status = 1 ] || fail "a run that crashes: exit code $status: $(cat .err)"
grep -q "its run was killed by SIGABRT; run the command again to make the missing runs$" .err || fail "a run that crashes: $(cat .err)"

# All do equally well but in the fourth digit of a rate: the advice is what needs nothing installed.
cat >equal.json <<'END'
{ "name": "equal", "duration": "150s", "gpu": { "profile": "h100-80g" }, "containers": {
	"chat": { "start": "20s", "app": { "type": "llm-server", "profile": "vllm", "model": "Qwen2.5-7B", "boot": "15s",
		"gpu_memory_utilization": 0.6, "trace": { "file": "azure2023_conv_first200.csv" }, "slo_ttft": "2s" } },
	"trainer": { "app": { "type": "phases", "profile": "lora-llama-3.2-3b" } } } }
END
"$gvmsim" advise equal.json --seeds 1 --out equal >table 2>.err || fail "equal: $(cat .err table)"
grep -q "^vgpu .* 100 %" table || fail "vgpu does as well: $(cat table)"
grep -q "^Advice: stock on 1 GPU;" table || fail "of equal ones stock is the first: $(cat table)"
grep -q "^  what a server takes of the memory (app.gpu_memory_utilization): the scenario's" table ||
	fail "nothing is left to gain by a smaller share: $(cat table)"
[ ! -e equal/shares-1.json ] || fail "a smaller share was tried without need"

# A server of which most KV blocks stay empty: no system has room for the trainer, unless the server takes less.
cat >large.json <<'END'
{ "name": "large", "duration": "200s", "gpu": { "profile": "l40s-48g" }, "containers": {
	"chat": { "start": "10s", "app": { "type": "llm-server", "profile": "vllm", "model": "Llama-3.1-8B", "boot": "10s",
		"gpu_memory_utilization": 0.9, "trace": { "file": "azure2023_conv.trace", "divide": 0.8 }, "slo_ttft": "2s" } },
	"trainer": { "app": { "type": "phases", "profile": "lora-llama-3.2-3b" } } } }
END
"$gvmsim" advise large.json --seeds 1 --out large >table 2>.err || fail "a smaller share: $(cat .err table)"
grep -q "^Advice: gpreempt on 1 GPU, with chat.app.gpu_memory_utilization 0.73; 1 of 1 promises" table ||
	fail "a smaller share frees the trainer: $(cat table)"
grep -q "^gpreempt *1 .*1 of 1 *100 % *chat.app" table || fail "the trainer's progress: $(cat table)"
grep -q "^    vllm serve ... --gpu-memory-utilization 0.73 *# chat$" table || fail "what to give to vLLM: $(cat table)"
# mps is no good with the scenario's share, so it gets the best one only.
grep -q "^mps .*1 of 1 .*chat.app.gpu_memory_utilization 0.73$" table || fail "all systems get that share: $(cat table)"
! grep -q '"mps"' large/shares-1.json || fail "more than the best were searched: $(cat large/shares-1.json)"
[ "$(jq '.list | length' large/shares-1.json)" -le 12 ] || fail "runs are not bounded: $(cat large/shares-1.json)"
# vLLM starts with room for a sequence of max_model_len and more: 0.69 of that GPU.
"$gvmsim" advise large.json --set duration=12s --set containers.chat.app.slo_ttft=1ms --set containers.chat.app.max_model_len=120000 \
	--seeds 1 --out long >table 2>.err || true
jq -e '[.list[]["containers.chat.app.gpu_memory_utilization"] | tonumber] | min > 0.69 and max < 0.9' \
	long/shares-1.json >/dev/null || fail "a share that vLLM does not start with: $(cat long/shares-1.json)"

# A promise that no GPU keeps.
status=0
"$gvmsim" advise vllm-diffusion-40g --set duration=90s --set containers.vllm.app.slo_itl=1ms --seeds 1 --out never \
	>table 2>.err || status=$?
[ $status = 1 ] || fail "a promise that cannot be kept: exit code $status: $(cat .err)"
grep -q "no candidate keeps all promises" .err || fail "the line: $(cat .err)"
grep -q "A GPU for each container keeps no more than 1 of 2" table || fail "not the fault of sharing: $(cat table)"
[ ! -e never/gpus-2.json ] || fail "more GPUs cannot help"

# Mistakes.
expect 2 "1 container, allowed: 2 and more" advise vllm-diffusion-40g --set containers.diffusion.enabled=false --out no
expect 2 "no container makes a promise, allowed: app.slo_ttft" \
	advise vllm-diffusion-40g --set containers.vllm.app.slo_ttft=0s --out no
# Only an LLM server can promise something: the container that is named is one, if there is one.
expect 2 "no container makes a promise, .* such as --set containers.vllm.app.slo_ttft=2s$" advise vllm-diffusion-40g \
	--set containers.aaa.app='{"type": "pages", "bytes": "1G"}' --set containers.vllm.app.slo_ttft=0s --out no
expect 2 "no container makes a promise, allowed: a scenario with an LLM server" advise guardian --out no
expect 2 "'1' is wrong, allowed: 2 to 10000" advise vllm-diffusion-40g --runs 1
expect 2 "'1.5' is wrong, allowed: above 0, up to 1" advise vllm-diffusion-40g --target 1.5
expect 2 "system.name: advise tries all systems itself" advise vllm-diffusion-40g --set system.name=gvm
expect 2 "0 scenarios, expected 1" advise
[ ! -e no ] || fail "a mistake wrote $(find no)"
