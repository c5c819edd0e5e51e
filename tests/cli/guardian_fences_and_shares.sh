#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Guardian: what a fence and a launch cost, to the billionth; who is fenced when; what fits.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

for figure in latency launch; do
	"$gvmsim" figure "guardian-$figure" --out figures >.out 2>.err || fail "$figure: $(cat .err)"
done

# Cycles of a fence over cycles of an access, in percent: 8 and 16 over 28 and 285, and 0.57 of 8 over
# lenet's mean access of 0.37 x 28 + 0.63 x (0.72 x 180 + 0.28 x 285).
awk -F, '
	function near(name, value, wanted) {
		seen++
		if (value < wanted * (1 - 1e-9) || value > wanted * (1 + 1e-9))
			print name ": " value ", expected " wanted
	}
	$1 == "fence" && $2 == "L1 fence" { near($2, $6, 800 / 28) }
	$1 == "fence" && $2 == "L1 offset fence" { near($2, $6, 1600 / 28) }
	$1 == "fence" && $2 == "memory fence" { near($2, $6, 800 / 285) }
	$1 == "fence" && $2 == "memory offset fence" { near($2, $6, 1600 / 285) }
	$1 == "once" && $2 == "L1 offset once" { near($2, $6, 800 / 28) }
	$1 == "4g" && $2 == "L1 4g" { near($2, $6, 400 / 28) }
	$1 == "modulo" && $2 == "memory modulo" { near($2, $6, 2800 / 285) }
	$1 == "check" && $2 == "memory check" { near($2, $6, 16000 / 285) }
	END { if (seen != 8) print "rows: " seen }' figures/guardian-latency.csv >wrong
[ ! -s wrong ] || fail "latency: $(cat wrong)"
# lenet is an integer of ns: 456 / 142.282 of 3.99 ms, rounded down.
grep -q '^fence,lenet fence,,,%,3.2048872' figures/guardian-latency.csv ||
	fail "lenet: $(grep lenet figures/guardian-latency.csv)"
awk -F, '$2 == "a kernel of 6 us is waited for: fence" { seen = $6 }
	END { if (seen < 3.54444444 || seen > 3.54444445) print seen }' figures/guardian-launch.csv >wrong
[ ! -s wrong ] || fail "launch: $(cat wrong)"

# Figure 10 has 3.2 % as the mean over lenet's kernels. Here 40 of 72 grow by 8 cycles of 142.282, which is 5.62 %, and memory
# hides the fences of the 32 updates: 3.1 % as a mean. The 40 take 64 % of an iteration, so that grows by 3.6 %.
"$gvmsim" figure guardian-overhead --out figures >.out 2>.err || fail "overhead: $(cat .err)"
awk -F, '$1 == "over_noprot" && $2 == "fence" && $3 == 1 { seen = $6 }
	END { if (seen < 3.5 || seen > 3.65) print seen }' figures/guardian-overhead.csv >wrong
[ ! -s wrong ] || fail "lenet: $(cat wrong)"

# What the paper's text says of Figures 6, 7 and 8, as far as it holds here: DEVIATIONS.md has what does not. Its means within two
# points; checking 1.5 to 1.9 times native; time slicing 1.15 to 1.45 times a fence; no bar of a fence over no protection above
# 4.3 % by more than 1.5 points for Caffe.
"$gvmsim" figure guardian-sharing --out figures >.out 2>.err || fail "sharing: $(cat .err)"
awk -F, '
	function within(value, low, high) {
		seen++
		if (value < low || value > high)
			print FILENAME ": " $4 $3 ": " value ", expected " low " to " high
	}
	$4 == "fence over mps: A to P" { within($6, 1.0284, 1.0684) }
	$4 == "noprot over mps: A to P" { within($6, 0.9805, 1.0205) }
	$4 == "fence over mps: I to P" { within($6, 1.012, 1.052) }
	$4 == "native over fence: A to P" { within($6, 1.15, 1.45) }
	$4 == "noprot over mps: P" || $4 == "noprot over mps: K" { within($6, 0.9, 1) }
	$4 == "noprot over mps: H" { within($6, 0.99, 1.00005) }
	$4 == "caffe fence over noprot" { within($6, 0.9, 4.9) }
	$4 == "torch fence over noprot" { within($6, 5.6, 9.6) }
	$4 == "check over native" { within($6, 50, 90) }
	$1 == "over_noprot" && $2 == "fence" && $3 <= 3 { within($6, 0, 5.8) }
	END { if (seen != 13) print "rows: " seen }' figures/guardian-sharing.csv figures/guardian-overhead.csv >wrong
[ ! -s wrong ] || fail "the paper's text: $(cat wrong)"

# Alone: native. The second tenant comes at 505 ms, while round 50 runs: from round 51 on a is fenced.
cat >alone.json <<'END'
{"name": "alone", "duration": "1s", "seed": 1, "gpu": {"profile": "rtx-a4000-16g"}, "system": {"name": "guardian"},
 "containers": {
  "a": {"app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "10ms"}},
  "b": {"start": "505ms", "app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "1ns",
	"pause": "50ms"}}}}
END
"$gvmsim" run alone.json --quiet --out alone
awk -F, '$1 == "a" && $12 == "completed" { round[$2] = $6 - $4 }
	END {
		for (i = 1; i <= 50; i++) if (round[i] > 10001000) print "native " i ": " round[i]
		for (i = 51; i <= 90; i++) if (round[i] < 10562000 || round[i] > 10564000) print "fenced " i ": " round[i]
	}' alone/requests.csv >wrong
[ ! -s wrong ] || fail "alone: $(cat wrong)"

# The fifth partition of 3 GB does not fit into 16 GB: each takes 4. Of any size, five fit; virtual ones, too.
five() {
	for n in 1 2 3 4 5; do
		printf -- ' --set containers.t%s.enabled=true --set containers.t%s.guardian.partition=%s' "$n" "$n" "$1"
	done
}
guardian=$source/scenarios/guardian.json
# The profile's memory is less than 16 GB, so the whole of it is given here.
# shellcheck disable=SC2046 # many words
expect 2 't5.guardian.partition: a partition for 3221225472 bytes does not fit into what others leave of 17179869184' \
	run "$guardian" --set gpu.memory=16G --set gpu.memory_total=17G --set duration=1ms --quiet --out no $(five 3G)
for way in '--set system.partitions=any --set system.mode=check' '--set system.partitions=virtual'; do
	# shellcheck disable=SC2046,SC2086 # many words
	"$gvmsim" run "$guardian" --set gpu.memory=16G --set gpu.memory_total=17G --set duration=1ms --quiet --out yes \
		$way $(five 3G) || fail "five of 3 GB: $way"
	rm -rf yes
done
expect 2 'system.partitions: "any" is no power of two' \
	run "$guardian" --set system.partitions=any --quiet --out no

# 9 GB on an A100 of 40 GB: two as powers of two, four of any size, and addresses for eight (docs/guardian.md).
make_fit() {
	printf '{"name": "fit", "duration": "1ms", "seed": 1, "gpu": {"profile": "a100-40g"}, "system": {"name": "guardian"}, "containers": {'
	for n in $(seq "$1"); do
		printf '"t%d": {"guardian.partition": "9G", "app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "1ms"}}' "$n"
		[ "$n" = "$1" ] || printf ', '
	done
	printf '}}\n'
}
for way in '2 pow2 fence' '4 any check' '8 virtual fence'; do
	# shellcheck disable=SC2086 # three words
	set -- $way
	make_fit "$1" >fit.json
	"$gvmsim" run fit.json --quiet --out fit-"$2" --set system.partitions="$2" --set system.mode="$3" || fail "$1 of 9 GB do not fit: $2"
	make_fit $(($1 + 1)) >fit.json
	[ "$2" = virtual ] || expect 2 'does not fit into what others leave' \
		run fit.json --quiet --out no --set system.partitions="$2" --set system.mode="$3"
done

# An application that needs more than its partition fails, and the others go on.
"$gvmsim" run "$guardian" --set duration=200ms --set containers.t1.guardian.partition=512M --quiet --out small >.out 2>.err || true
grep -q 'containers.t1: context died at .* an allocation did not fit into its partition$' .err ||
	fail "it is Guardian's word, not a vGPU's: $(cat .err)"
grep '"iterations"' small/summary.json | tr -dc '0-9\n' >iterations
[ "$(sed -n 1p iterations)" = 0 ] || fail "500 MB and a context fit into 512 MB: $(cat .err)"
[ "$(sed -n 2p iterations)" -gt 0 ] || fail "a tenant without memory has stopped the other one"

# Paging: the pager's faults hold the worker up, in turns and in a fenced group, which is one context.
"$gvmsim" figure guardian-paging --out figures >.out 2>.err || fail "paging: $(cat .err)"
awk -F, '$1 == "blocked" { if ($6 <= 0) print $2 " at " $3 ": " $6; seen++ }
	END { if (seen != 25) print "rows: " seen }' figures/guardian-paging.csv >wrong
[ ! -s wrong ] || fail "paging: $(cat wrong)"

# A limit of the group holds for the sum, is reached, and takes from the pager: the worker has not promised a byte.
most() {
	awk -F, 'NR > 1 { sum[$1] += $3; if ($2 == "worker") out += $4 }
		END { for (time in sum) if (sum[time] > most) most = sum[time]; printf "%d %d", most / 1048576, out }' "$1/timeline.csv"
}
# Evictors keep some of it free, so it is full for a moment at a time: 1000 samples a second see it within 16 MB of 6 GB.
at_limit() {
	[ "${1#* }" = 0 ] && [ "${1% *}" -ge 6128 ] && [ "${1% *}" -le 6144 ]
}
"$gvmsim" run guardian-paging --set system.group_high=6G --set containers.worker.gmem.limit.low=null --quiet --out group \
	--set output.timeline_interval=1ms --set output.evictions=true || fail "a group with a limit does not run"
awk -F, 'NR > 1 { evictions[$2]++ } END { exit !(evictions["pager"] && length(evictions) == 1) }' group/evictions.csv ||
	fail "a group's evictions are not its pager's: $(cut -d , -f 2 group/evictions.csv | sort | uniq -c)"
at_limit "$(most group)" || fail "a group of 6 GB had at most $(most group) MB, and swapped of its worker"
"$gvmsim" run guardian-paging --quiet --out free || fail "a group without a limit does not run"
[ "$(most free | cut -d ' ' -f 1)" -gt 6144 ] || fail "without a limit the group has $(most free) MB"
# What the group was not promised, its containers cannot promise themselves.
for low in 0 16G; do
	"$gvmsim" run guardian-paging --set system.group_high=6G --set system.group_low="$low" --set containers.pager.gmem.limit.low=8G \
		--set containers.worker.gmem.limit.low=null --set output.timeline_interval=1ms --quiet --out "low-$low" || fail "a group with a promise of $low does not run"
done
at_limit "$(most low-0)" || fail "a pager without a promise took the worker's memory: $(most low-0)"
[ "$(most low-16G | cut -d ' ' -f 2)" -gt 0 ] || fail "the pager's promise did not hold: $(most low-16G)"

# Kernels without products fill the SMs, too: one that adds vectors and one that multiplies matrices share them, so their speeds
# add up to one. With overlap the vectors once had the blocks of a product without operations: one.
cat >fill.json <<'END'
{"name": "fill", "duration": "500ms", "seed": 1, "gpu": {"profile": "rtx-a4000-16g", "kernel_overhead": "0s", "kernel_gap": "0s", "graph_gap": "0s"},
 "system": {"name": "guardian", "mode": "noprot"},
 "containers": {
  "vectors": {"app": {"type": "phases", "memory": "unmanaged", "overlap": true, "efficiency": 1, "memory_efficiency": 1, "kernel_launch": "1us",
	"tensors": {"v": {"bytes": "1G"}}, "phases": [{"name": "add", "kernels": 1, "traffic": "448000000", "reads": ["v"]}]}},
  "matrices": {"app": {"type": "phases", "memory": "unmanaged", "overlap": true, "efficiency": 1, "memory_efficiency": 1, "kernel_launch": "1us",
	"tensors": {"m": {"bytes": "1G"}}, "phases": [{"name": "multiply", "kernels": 1, "flops": 76700000000, "reads": ["m"]}]}}}}
END
"$gvmsim" run fill.json --quiet --out fill || fail "two kinds of kernels do not run side by side"
# Each kernel takes 1 ms alone: 500 iterations.
grep '"iterations"' fill/summary.json | tr -dc '0-9\n' >iterations
both=$(awk '{ sum += $1 } END { print sum }' iterations)
{ [ "$both" -gt 450 ] && [ "$both" -lt 550 ]; } || fail "two that fill the SMs did $both iterations, and one 500"

# Two levels: a container with an mps.server of its own is outside. It has no fence, needs no partition (the card has
# 16 GB), and its context takes turns with the common one, by its time slice.
outside() {
	cat >outside.json <<-JSON
	{"name": "outside", "duration": "1s", "seed": 1, "gpu": {"profile": "rtx-a4000-16g"},
	 "system": {"name": "guardian", "native_when_alone": false},
	 "containers": {
	  "inside": {"guardian.partition": "8G",
		"app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "10ms"}},
	  "outside": {"guardian.partition": "64G", "mps.server": "$1", "compute.timeslice": "$2",
		"app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "$3"}}}}
	JSON
	"$gvmsim" run outside.json --quiet --out outside 2>.err
}
rounds() {
	awk -F, -v name="$1" '$1 == name && $12 == "completed" { n++ } END { print n + 0 }' outside/requests.csv
}
outside own 1ms 10ms || fail "outside: $(cat .err)"
short=$(rounds outside)
outside own 16ms 10ms || fail "outside: $(cat .err)"
[ "$(rounds outside)" -gt $((2 * short)) ] || fail "a slice of 16 ms: $(rounds outside) rounds, of 1 ms: $short"
# Alone on the GPU but for a container that does next to nothing, kernels outside take 10 ms, and not 10.563.
sed 's/"app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "10ms"}},$/"app": {"type": "pages", "bytes": "2M", "kernel_blocks": 0, "kernel_time": "1ns", "pause": "400ms"}},/' \
	outside.json >few.json
"$gvmsim" run few.json --quiet --out outside || fail "few"
awk -F, '$1 == "outside" && $12 == "completed" { n++; few += $6 - $4 < 10010000 } END { print n - few }' \
	outside/requests.csv >slow
[ "$(cat slow)" -lt 8 ] || fail "outside: $(cat slow) rounds are fenced"
outside '' 1ms 10ms && fail "a partition of 64 GB fits into 16"
grep -q 'outside.guardian.partition' .err || fail "outside: $(cat .err)"
