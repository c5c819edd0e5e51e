#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Ghost's policy at the hooks of NVIDIA's driver, on GVM's Figure 12a: the run completes, no container ever
# has more than its limit, and the LLM server, whose limit is never reached, loses nothing. The published
# driver overshoots in the same scenario.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

for system in ghost-uvm gvm; do
	"$gvmsim" run vllm-diffusion-40g --quiet --out $system --system $system >.out 2>.err ||
		fail "$system: $(cat .err)"
done
jq -e '.complete and .containers.vllm.status == "ok" and .containers.diffusion.status == "ok"' \
	ghost-uvm/summary.json >.out || fail "the run does not complete"
jq -e '.containers | .diffusion.gmem.peak <= 6e9 and .vllm.gmem.peak <= 40e9' \
	ghost-uvm/summary.json >.out || fail "a limit was exceeded"
jq -e '.containers.diffusion | .images > 0 and .evictions > 0' ghost-uvm/summary.json >.out ||
	fail "the diffusion pipeline was not under pressure"
jq -e '.containers.vllm.evictions == 0' ghost-uvm/summary.json >.out ||
	fail "the LLM server lost memory"
jq -e '.containers.diffusion.gmem.peak > 6e9' gvm/summary.json >.out ||
	fail "the published driver keeps its limit, too: this proves nothing"
