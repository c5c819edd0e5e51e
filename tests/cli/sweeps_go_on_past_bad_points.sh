#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A point that cannot be run costs a sweep that point alone. It is one line with its keys and the reason, a
# row "not run" of the table, and a mistake in sweep.csv. The exit status says that points are missing.
. "$(dirname "$0")/common.inc"

# Point 2 has no configuration. Point 3 has, but the server finds no room, which shows when it is tried.
cat >s.json <<'END'
{ "scenario": "vllm-diffusion-40g", "set": {"duration": "60s", "system.name": "gvm"}, "seeds": 2,
  "grid": {"containers.vllm.app.gpu_memory_utilization": [0.5, 3, 0.05, 0.6]},
  "metrics": ["vllm.faults"],
  "plots": [{"type": "line", "x": "containers.vllm.app.gpu_memory_utilization", "y": "vllm.faults"}] }
END
key=containers.vllm.app.gpu_memory_utilization
status=0
"$gvmsim" sweep s.json --out out --maximise $key >table 2>.err || status=$?
[ "$status" = 2 ] || fail "points are missing, but the status is $status: $(cat .err)"
[ "$(grep -c "^gvmsim: s.json: point 2, seed 1 ($key=3): --set:$key: 3 is out of range" .err)" = 1 ] || fail "point 2: $(cat .err)"
[ "$(grep -c "^gvmsim: s.json: point 3, seed 1 ($key=0.05): .*$key" .err)" = 1 ] || fail "point 3: $(cat .err)"
[ "$(grep -c "point [234]" .err)" = 2 ] || fail "one line a point: $(cat .err)"
grep -q "^gvmsim: made 4 of 6 runs in" .err || fail "runs: $(cat .err)"
[ "$(tail -n 1 .err)" = "gvmsim: s.json: 2 of 4 points could not be run, see above" ] || fail "the end: $(cat .err)"
for row in '1 +0[.]5 +[0-9.]+' '2 +3 +not run$' '3 +0[.]05 +not run$' '4 +0[.]6 +[0-9.]+'; do
	grep -qE "^$row" table || fail "row $row: $(cat table)"
done
grep -q "^best  *point 4:" table || fail "3 is greater, but is no candidate: $(cat table)"
[ "$(head -n 1 out/sweep.csv | tr , '\n' | tail -n 1)" = mistake ] || fail "no column: $(head -n 1 out/sweep.csv)"
[ "$(grep -cE '^[14],[12],runs/[0-9a-f]+,.*,$' out/sweep.csv)" = 4 ] || fail "rows that ran: $(cut -c 1-99 out/sweep.csv)"
[ "$(grep -cE '^[23],[12],,,.*"?--set|^3,[12],,,' out/sweep.csv)" = 4 ] || fail "rows that did not: $(cat out/sweep.csv)"
[ "$(find out/runs -mindepth 1 -maxdepth 1 | wc -l)" = 4 ] || fail "folders: $(ls out/runs)"
[ -s out/s-1.png ] || fail "no picture of the others"
! cut -d, -f1 out/intervals.csv | grep -q '^[23]' || fail "intervals of nothing"

# Again: what is there is not made again, and the answer is the same.
"$gvmsim" sweep s.json --out out --maximise $key >again 2>.err && fail "again: no success"
grep -q "^gvmsim: made 0 of 6 runs in" .err || fail "again: $(cat .err)"
cmp table again || fail "again: $(cat again)"

# A part says what is bad in it, and nothing of the others.
status=0
"$gvmsim" sweep s.json --out part --part 1/2 >/dev/null 2>.err || status=$?
[ "$status" = 2 ] && [ "$(grep -c "point [23], seed 2" .err)" = 2 ] || fail "a part: $status, $(cat .err)"
"$gvmsim" sweep s.json --out part --part 0/8 >/dev/null 2>.err || fail "a part without a bad point: $(cat .err)"

# A batch script is printed, and what is known of bad points by then.
"$gvmsim" sweep s.json --out slurm --slurm 2 >script 2>.err || fail "a script: $(cat .err)"
[ "$(grep -c "point 2, seed 1" .err)" = 1 ] && grep -q '^#SBATCH --array=0-1$' script || fail "a script: $(cat .err script)"

# Blocks have no run to draw from at a bad point.
jq 'del(.seeds) | .interval = {"over": "blocks"}' s.json >blocks.json
status=0
"$gvmsim" sweep blocks.json --out blocks >table 2>.err || status=$?
[ "$status" = 2 ] && [ "$(grep -c 'not run$' table)" = 2 ] || fail "blocks: $status, $(cat .err)"

# No point can be run: that is one mistake, and nothing is written.
jq ".grid[\"$key\"] = [0.05, 0.04]" s.json >none.json
expect 2 "^gvmsim: none.json: no point can be run: point 1, seed 1 ($key=0.05): " sweep none.json --out none
[ ! -e none ] || fail "none: wrote $(find none)"
