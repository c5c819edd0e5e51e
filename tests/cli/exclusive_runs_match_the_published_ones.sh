#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Runs both machines of the papers exclusively and holds every row of plots/reference/exclusive.csv
# against the result. Prints each row with its error. Usage: NAME.sh GVMSIM SOURCE
set -eu
gvmsim=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {
	"$gvmsim" run "$source/scenarios/vllm-diffusion-$1.json" --system exclusive --quiet \
		--set containers.vllm.app.client.stop="$2s" --set duration=700s --out "$work/$1"
}
run 40g 597.78
run 80g 583.75

rows=0
bad=0
while IFS=, read -r profile container key value unit tolerance _; do
	case $profile in \#* | profile) continue ;; esac
	ours=$(jq -e ".containers.$container.$key" "$work/$profile/summary.json")
	rows=$((rows + 1))
	echo "$profile $container $key $value $ours $unit $tolerance" | awk '{
		error = $5 / $4 - 1
		miss = error > $7 || error < -$7
		printf "%s %-9s %-13s published %8.1f, ours %8.1f %-2s (%+5.1f %%, allowed %2.0f %%)%s\n",
			$1, $2, $3, $4, $5, $6, 100 * error, 100 * $7, miss ? "  MISS" : ""
		exit miss
	}' || bad=$((bad + 1))
done <"$source/plots/reference/exclusive.csv"
echo "$rows rows, $bad outside"
[ "$rows" -eq 12 ] && [ "$bad" -eq 0 ]
