#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# GVT-g: who gets how much of ten seconds, what mediation costs one machine and up to seven, and what trapped
# page tables and registers cost. The numbers of the first are those of a separate re-derivation of the public scheduler.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

for figure in access shares native scale paging; do
	"$gvmsim" figure "gvtg-$figure" --out figures >.out 2>.err || fail "$figure: $(cat .err)"
done

# Within 0.1 s, a tick in each 100 ms.
cat >expected <<'END'
vm1,4:2 10 ms,6.59
vm2,4:2 10 ms,3.40
vm1,4:2 1 ms,6.65
vm2,4:2 1 ms,3.34
vm1,8:4:2 5 ms,5.64
vm2,8:4:2 5 ms,2.90
vm3,8:4:2 5 ms,1.45
vm1,4:2:2:2 10 ms,3.99
vm4,4:2:2:2 10 ms,2.00
vm1,2 of 2:4 alone,3.40
vm1,4:4 300 and 5 ms,6.00
vm2,4:4 300 and 5 ms,3.99
vm1,4:4 1500 and 5 ms,7.50
vm2,4:4 1500 and 5 ms,2.495
END
awk -F, 'FILENAME == "expected" { wanted[$1, $2] = $3; count++; next }
	($1, $2) in wanted { off = $6 - wanted[$1, $2]; seen++; if (off > 0.1 || off < -0.1) print $0 }
	END { if (seen != count) print "rows: " seen }' expected figures/gvtg-shares.csv >wrong
[ ! -s wrong ] || fail "shares: $(cat wrong)"

# A turnover of 45.05 us and 4 traps between two workloads: within a hundredth of the GPU's time.
awk -F, 'NR > 1 { split($2, trap, " "); turnover = 45.05 + 4 * trap[2]
	lost = 100 * turnover / (turnover + 1000 * $3)
	if ($6 < lost - 1 || $6 > lost + 1) print }' figures/gvtg-native.csv >wrong
[ ! -s wrong ] || fail "native: $(cat wrong)"

# Workloads of 10 ms: up to seven machines together have at least 0.9 of what one has.
awk -F, '$2 == "10 ms" { kept[$3] = 100 - $6 }
	END { for (n = 2; n <= 7; n++) if (kept[n] < 0.9 * kept[1]) print n ": " kept[n] }' \
	figures/gvtg-scale.csv >wrong
[ ! -s wrong ] || fail "scale: $(cat wrong)"

# Entries of a page table: 512, 32 and 1 for 2 MB. The rest of the time is the same.
awk -F, 'NR > 1 { ms[$2] = $6 }
	END { ratio = (ms["4 KB"] - ms["64 KB"]) / (ms["64 KB"] - ms["2 MB"]) * 31 / 480
		if (ratio < 0.999 || ratio > 1.001) print ratio }' figures/gvtg-paging.csv >wrong
[ ! -s wrong ] || fail "paging: $(cat wrong)"

# A trap holds the host up between two workloads: the GPU works 1 of 1 + accesses x trap seconds, less the turnover.
# Of 660000 accesses GVT-g traps 60000: the ratio of the CPU times for a second of work is 11. Accesses are counted
# when they are made: those of one workload of 10 ms may be ahead of its work in the end.
awk -F, 'BEGIN { accesses["emulation"] = 0.66; accesses["GVT-g"] = 0.06; accesses["pass-through"] = 0 }
	$1 == "gpu" { share = 100 / (1 + accesses[$2] * $3); rows++; if ($6 > share || $6 < share - 1) print }
	$1 == "cpu" { cpu[$2, $3] = $6 }
	$1 == "gpu" { worked[$2, $3] = $6 / 10 }
	END { for (each in cpu) {
		split(each, key, SUBSEP)
		least = 100 * accesses[key[1]] * key[2]
		if (cpu[each] < least - 1e-6 || cpu[each] > least * (1 + 0.010001 / worked[each])) print each, cpu[each]
		cpus++
	} if (cpus != 15) print "cpu rows: " cpus }
	END { if (rows != 15) print "rows: " rows }' figures/gvtg-access.csv >wrong
[ ! -s wrong ] || fail "access: $(cat wrong)"

# Half a trapped access in each kernel of 10 us is one in two: none is lost. The table tells of traps, under other
# systems it has no such row, and short times are in microseconds.
"$gvmsim" run gvtg --out halves --set system.trapped_accesses=50000 --set containers.vm1.app.kernel_time=10us >.table
[ "$(grep -c '^trapped .* [1-9]' .table)" -eq 3 ] || fail "rows of traps: $(cat .table)"
"$gvmsim" run eviction-order --out other >.table
grep -q '^round p50  *10.[0-9]* us' .table || fail "short times: $(cat .table)"
! grep '^trapped ' .table || fail "rows of traps without GVT-g"
jq -e '.containers.vm1 | .traps.accesses / .gpu_seconds | . > 49990 and . < 50010' halves/summary.json >/dev/null ||
	fail "half accesses: $(jq -c '.containers.vm1 | .traps, .gpu_seconds' halves/summary.json)"

# Beside vGPUs and drivers: GVT-g preempts nothing, so its P99 is the longest. Equal share keeps the turns of an idle
# vGPU: all are slower than under best effort, and with two vGPUs of this type fixed share is the same.
"$gvmsim" figure vgpu-slices --out figures >.out 2>.err || fail "vgpu-slices: $(cat .err)"
awk -F, 'NR > 1 { value[$1, $2] = $6; bars[$2] = 1; panels[$1] = 1 }
	END {
		for (bar in bars)
			if (bar != "gvtg" && value["client_ttft_ms.p99", "gvtg"] <= value["client_ttft_ms.p99", bar]) print "P99 of " bar
		if (value["client_ttft_ms.p99", "vgpu equal"] <= value["client_ttft_ms.p99", "vgpu best effort"]) print "equal: P99"
		if (value["throughput", "vgpu equal"] >= 0.9 * value["throughput", "vgpu best effort"]) print "equal: throughput"
		for (panel in panels)
			if (value[panel, "vgpu equal"] != value[panel, "vgpu fixed"]) print "fixed: " panel
		if (value["client_ttft_ms.p99", "gvm"] >= value["client_ttft_ms.p99", "vgpu best effort"]) print "gvm"
		if (!value["client_ttft_ms.p99", "ghost"]) print "no rows"
	}' figures/vgpu-slices.csv >wrong
[ ! -s wrong ] || fail "slices: $(cat wrong)"

# Types, one host, and fences.
mistake() {
	text=$1
	shift
	expect 2 "$text" run gvtg --quiet --out refused "$@"
	[ ! -e refused ] || fail "$*: something was written"
}
mistake 'vm1.vgpu.type: "V5_3" is not known, did you mean "V5_1"? There are V5_1, V5_2, V5_4, V5_8, host' --set containers.vm1.vgpu.type=V5_3
mistake 'vm2.vgpu.type: is the second "host" of its GPU, allowed: one' --set containers.vm1.vgpu.type=host \
	--set containers.vm2.vgpu.type=host
mistake 'vm2.vgpu.type: is one too many: 2 vGPUs and the host have 12 fences, allowed: 11' --set system.fences=11
# A frame buffer below a chunk was none at all: its container had all of the memory.
mistake 'vm1.vgpu.type: its part of the memory has 0 bytes, allowed: at least a chunk of 2097152, and gpu.context, 0' \
	--set containers.vm1.vgpu.type=V5_8 --set gpu.memory=8M --set gpu.context=0
mistake 'vm1.vgpu.type: its part of the memory has 8388608 bytes, allowed: at least a chunk of 2097152, and gpu.context, 3' \
	--set containers.vm1.vgpu.type=V5_8 --set gpu.memory=64M --set gpu.context=300M
mistake 'vm2.vgpu.partition: is too much: with it vGPUs have' --set containers.vm1.vgpu.partition=20G \
	--set containers.vm2.vgpu.partition=70G
mistake 'vm1.vgpu.partition: its part of the memory has 0 bytes, allowed: at least a chunk of 2097152' \
	--set containers.vm1.vgpu.partition=1M
# Budgets come at ticks, so shorter periods would leave most of the time to none.
mistake 'system.balance_period: is 999us, allowed: at least system.tick, 1ms' --set system.balance_period=999us
# A weight and a partition in place of a type's: 3 to 1, and an allocation of 30 GB fits into 40 but not into 20.
"$gvmsim" run gvtg --quiet --out weighted --set containers.vm1.vgpu.weight=3 --set containers.vm2.vgpu.weight=1 \
	--set containers.vm1.vgpu.partition=40G --set containers.vm1.app.bytes=30G \
	--set containers.vm2.vgpu.partition=20G --set system.trap=0s
jq -e '.containers | .vm1.gpu_seconds / .vm2.gpu_seconds | . > 2.8 and . < 3.1' weighted/summary.json >/dev/null ||
	fail "weights: $(jq -c '[.containers[].gpu_seconds]' weighted/summary.json)"
"$gvmsim" run gvtg --quiet --out small --set system.page=2M --set containers.vm1.vgpu.partition=20G \
	--set containers.vm1.app.bytes=30G 2>.err
jq -e '.containers.vm1.status | endswith("did not fit into its frame buffer")' small/summary.json >/dev/null ||
	fail "partition: $(jq -c '.containers.vm1.status' small/summary.json)"
"$gvmsim" run gvtg --quiet --out fenced --set system.fences=12 --set containers.vm2.vgpu.type=host 2>.err ||
	fail "$(cat .err)"
jq -e '.containers | (.vm1.status == "ok") and (.vm2.gpu_seconds > 9.9)' fenced/summary.json >/dev/null ||
	fail "the host is not first: $(jq -c '[.containers[].gpu_seconds]' fenced/summary.json)"
