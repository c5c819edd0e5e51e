#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A run replaces the results of an earlier one, under the default name and under --out alike, and says so if
# these had other settings. It replaces no file that is no result of ours. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

short="run $scenario --system stock --set duration=1s"
folder=results/vllm-diffusion-80g-stock
hash() {
	sed -n 's/^ *"config_hash": "\(.*\)",*/\1/p' "$1/summary.json"
}

# The same settings again: the same results, and nothing to say.
$gvmsim $short >.out 2>.err
$gvmsim $short --set output.controls=true >.out 2>.err
[ -f $folder/controls.csv ] || fail "no controls.csv"
$gvmsim $short --set output.controls=true >.out 2>.err
! grep replaces .err || fail "the same settings: $(cat .err)"
echo mine >$folder/notes.txt

# Other settings: a note names the folder and the way to keep both. Files of the old run alone go, others stay.
for out in "" "--out named"; do
	[ -z "$out" ] || cp -r $folder named
	$gvmsim $short --set output.controls=true --set seed=7 $out >.out 2>.err
	$gvmsim $short --set seed=8 $out >.out 2>.err
	where=${out:+named}
	grep -q "^gvmsim: note: ${where:-$folder}: replaces results of other settings; --out DIR keeps both$" .err ||
		fail "no note of other settings: $(cat .err)"
	$gvmsim $short --set seed=9 $out --quiet >.out 2>.err
	! grep replaces .err || fail "--quiet: $(cat .err)"
done
[ "$(hash $folder)" = "$(hash named)" ] || fail "two runs of the same settings differ"
[ ! -e $folder/controls.csv ] || fail "controls.csv of an earlier run stays"
[ "$(cat $folder/notes.txt)" = mine ] || fail "a file of the user is gone"

# A run that cannot be made replaces nothing, and does not say that it does.
expect 2 "app.gpu_memory_utilization: this share" $short --set containers.vllm.app.gpu_memory_utilization=0.01

# A folder of the user, such as a model of Hugging Face with its config.json, or a trace. Nothing is replaced.
for name in config.json requests.csv timeline.csv.zst controls.csv timeline.pftrace; do
	mkdir model
	echo '{ "hidden_size": 4096 }' >model/$name
	expect 2 "model/$name: is no result of gvmsim and would be replaced, allowed: another folder" $short --out model
	[ "$(ls model)" = $name ] && grep -q hidden_size model/$name || fail "model: $(ls model)"
	rm -r model
done
mkdir model
echo '{ "name": "other", "version": 3 }' >model/summary.json
expect 2 "model/summary.json: is no result of gvmsim" $short --out model
expect 2 "model//*summary.json: is no result of gvmsim" $short --set seed=1 --out model/
echo 'no JSON' >model/summary.json
expect 2 "model/summary.json: is no result of gvmsim" $short --out model
# Beside other files results are at home.
rm model/summary.json
: >model/weights.bin
$gvmsim $short --out model >.out 2>.err
[ -f model/weights.bin ] && [ -f model/summary.json ] || fail "beside other files: $(ls model)"

# A run that was killed while it put its files in place has left some of them, and the summary comes last.
rm model/summary.json model/timeline.csv
$gvmsim $short --out model --quiet || fail "half of the results: exit code $?"
[ -f model/summary.json ] && [ -f model/timeline.csv ] || fail "half of the results: $(ls model)"

# A user's lock on the folder, as by flock(1), is not one of ours: it is not waited for without end.
timeout 60 flock model $gvmsim $short --out model --quiet || fail "a locked folder: exit code $?"
timeout 60 flock . $gvmsim trace import "$2/traces/azure2023_conv_first200.csv" mine.trace >.out || fail "a locked folder: exit code $?"
