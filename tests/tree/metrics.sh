#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The table of docs/metrics.md has what its three runs say today. With --update it is written anew.
# Usage: metrics.sh GVMSIM SOURCE [--update]
set -eu
gvmsim=$1
page=$2/docs/metrics.md
update=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

set -- exclusive stock ghost
for system; do
	"$gvmsim" run vllm-diffusion-40g --system "$system" --set containers.vllm.app.slo_itl=100ms --quiet --out "$system"
done

# Kind of each value, its name in the table, and the value of the three runs; a bound has a ">" before it.
values() {
	for system; do
		jq -r 'def number: if type == "object" then ">\(.at_least)" else . end;
			.containers.vllm as $v | .gpus as $g |
			["count", "completed", $v.requests.completed],
			["count", "refused by the client'\''s limit", $v.failures.refused],
			["count", "dropped at the end", $v.requests.dropped],
			["ms", "TTFT p50", ($v.ttft_ms.p50 | number)],
			["ms", "TTFT p99", ($v.ttft_ms.p99 | number)],
			["ms", "queue time p50", ($v.queue_ms.p50 | number)],
			["ms", "ITL p50", ($v.itl_ms.p50 | number)],
			["s", "end-to-end time p50", ($v.e2e_s.p50 | number)],
			["share", "TTFT SLO attainment", $v.slo_attainment],
			["share", "ITL SLO attainment", $v.itl_slo_attainment],
			["rate", "goodput", $v.goodput_per_s],
			["rate", "tokens", $v.tokens_per_s],
			["ms", "client'\''s TTFT p50", $v.client_ttft_ms.p50],
			["share", "client'\''s TTFT SLO attainment", $v.client_slo_attainment],
			["text", "GPU busy, switching, stalled, idle (%)", ([$g[] |
				[.busy_share, .switching_share, .stalled_share, .idle_share] |
				map(. * 100 | round | tostring) | join(", ")] | join(" and "))] | @tsv' \
			"$system/summary.json" >"$system.values"
	done
	paste "$1.values" "$2.values" "$3.values"
}

table() {
	values "$@" | awk -F '\t' '
		function seconds(s) { return s < 10 ? sprintf("%.2f s", s) : sprintf("%.1f s", s) }
		function text(kind, value) {
			if (value ~ /^>/) return "> " text(kind, substr(value, 2))
			if (kind == "ms" && value >= 1000) return seconds(value / 1000)
			if (kind == "ms") return sprintf(value < 100 ? "%.1f ms" : "%.0f ms", value)
			if (kind == "s") return seconds(value)
			if (kind == "share") return value == 1 ? "100 %" : sprintf("%.1f %%", 100 * value)
			if (kind == "rate") return sprintf(value < 100 ? "%.2f /s" : "%.0f /s", value)
			return value
		}
		{ print "| " $2 " | " text($1, $3) " | " text($1, $6) " | " text($1, $9) " |" }'
}

{
	echo "| LLM server | exclusive | stock | ghost |"
	echo "|---|---|---|---|"
	table "$@"
} >table.made
if [ "$update" = --update ]; then
	awk '/^\| LLM server/ { while ((getline line < "table.made") > 0) print line; skip = 1 }
		skip && /^\|/ { next } { skip = 0; print }' "$page" >page.made
	cp page.made "$page"
	exit 0
fi
sed -n '/^| LLM server/,/^$/p' "$page" | sed '/^$/d' >said
diff -u said table.made || {
	echo "$page: the table is not what the runs say; tests/tree/metrics.sh --update writes it"
	exit 1
}
