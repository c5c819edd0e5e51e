#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Device Lending: what the text of the paper says of its Figures 6, 10 and 11 holds, a fence costs less than an IOMMU,
# containers with one fabric share its links, and a mistake in a fabric is one line.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

for figure in iommu bandwidth latency disk fence flight; do
	"$gvmsim" figure "lending-$figure" --out figures >.out 2>.err || fail "$figure: $(cat .err)"
done

# compare FILE LEFT OPERATOR RIGHT FACTOR: value LEFT, "panel,run,x", is so many times RIGHT.
compare() {
	awk -F, -v left="$2" -v operator="$3" -v right="$4" -v factor="$5" '
		$1 "," $2 "," $3 == left { a = $6 }
		$1 "," $2 "," $3 == right { b = $6 * factor }
		END {
			if (a == "" || b == "" || (operator == "<" ? a >= b : a <= b))
				print left " is " a ", not " operator " " b " (" factor " x " right ")"
		}' "figures/$1.csv" >wrong
	[ ! -s wrong ] || fail "$1: $(cat wrong)"
}

# Figure 6: an IOMMU lowers writes, and reads far more. Borrowing matters less from 1 MB on, and hardly from 4 MB.
compare lending-iommu "write,IOMMU write,16384" "<" "write,P2P write,16384" 0.95
compare lending-iommu "read,IOMMU read,16384" "<" "read,P2P read,16384" 0.5
compare lending-iommu "write,P2P write,64" "<" "write,local write,64" 0.8
compare lending-iommu "write,P2P write,1024" ">" "write,local write,1024" 0.93
compare lending-iommu "write,P2P write,4096" ">" "write,local write,4096" 0.97
compare lending-iommu "write,P2P write,16384" "<" "write,local write,16384" 1

# Figure 10: a direct copy is a write, so an IOMMU costs little; two roots cost a little more than one.
compare lending-bandwidth "direct,1L-P2P,4096" ">" "direct,Local,4096" 0.98
compare lending-bandwidth "direct,2L-P2P,16384" ">" "direct,1L-P2P,16384" 0.97
compare lending-bandwidth "direct,2L-IOMMU,16384" "<" "direct,1L-IOMMU,16384" 1
compare lending-bandwidth "direct,1L-IOMMU,16384" ">" "direct,1L-P2P,16384" 0.8
# Reads that cross a root are as slow without an IOMMU as with one: the paper's finding.
for size in 4 64 1024 16384; do
	compare lending-bandwidth "ram,1L-RAM-P2P,$size" ">" "ram,2L-RAM-IOMMU,$size" 0.99
	compare lending-bandwidth "ram,1L-RAM-P2P,$size" "<" "ram,2L-RAM-IOMMU,$size" 1.01
done
awk -F, '$1 == "ram" && $2 == "2L-RAM-P2P" && $3 == 16384 && $6 > 5.5 && $6 < 6 { found++ }
	END { exit found != 1 }' figures/lending-bandwidth.csv || fail "reads without a root are not a little under 6 GB/s"

# Figure 11.
compare lending-latency "latency,1L-P2P," "<" "latency,Local," 1.001
compare lending-latency "latency,1L-P2P," ">" "latency,Local," 0.999
compare lending-latency "latency,1L-RAM-P2P," "<" "latency,2L-RAM-IOMMU," 1.004
compare lending-latency "latency,1L-RAM-P2P," ">" "latency,2L-RAM-IOMMU," 0.996
compare lending-latency "latency,2L-RAM-P2P," "<" "latency,2L-RAM-IOMMU," 1
compare lending-latency "latency,2L-IOMMU," "<" "latency,2L-RAM-P2P," 1

# Guardian's fence costs a hundredth of what the lender's IOMMU costs.
for reads in 1 8 32; do
	compare lending-fence "cost,fence,$reads" "<" "cost,IOMMU,$reads" 0.02
	compare lending-fence "cost,fence,$reads" ">" "cost,IOMMU,$reads" 0.001
done

# Reads of an H200: so many in flight, each as long as one alone, up to 64 of them; and what the link carries.
awk -F, '$1 == "rate" && ($3 <= 64 || $3 == 4096 && $2 == "128 bytes") {
	seen++
	if ($6 < 0.95 * $7 || $6 > 1.08 * $7) print $2 ", " $3 ": " $6 ", measured " $7
} END { if (seen != 22) print "rows: " seen }' figures/lending-flight.csv >wrong
[ ! -s wrong ] || fail "flight: $(cat wrong)"

# A picture calls values as its figure does, and names no published ones if it shows none.
grep -q '32 bytes, measured<' figures/lending-flight.svg && ! grep published figures/lending-flight.svg ||
	fail "flight: measured values are called published"
! grep published figures/lending-latency.svg || fail "latency: no published value is drawn"
grep -q 'published: Device Lending, section 7.2' figures/lending-disk.svg || fail "disk: the source is missing"

# Two containers of one fabric write over one cable: each gets half. With fabrics of their own both have all of it.
cat >two.json <<'JSON'
{
	"name": "two", "duration": "20ms", "gpu": {"profile": "h200-141g"}, "system": {"name": "exclusive"},
	"containers": {
		"one": {"app": {"type": "transfer", "profile": "lending-figure8a", "bytes": "4M", "round_trips": 0, "start": "0s"}},
		"other": {"app": {"type": "transfer", "profile": "lending-figure8a", "bytes": "4M", "round_trips": 0, "start": "0s",
			"device": "lender.gpu-b"}}
	}
}
JSON
rounds() {
	"$gvmsim" run two.json --quiet --out two "$@" >.out 2>.err || fail "two: $(cat .err)"
	jq '[.containers[].rounds] | add' two/summary.json
}
shared=$(rounds)
apart=$(rounds --set containers.other.app.switch_time=138ns)
[ "$apart" -gt $((shared * 18 / 10)) ] || fail "$shared rounds of two that share a cable, $apart of two that do not"

# mistake TEXT KEY=VALUE...: one line with TEXT, the code of a user's mistake, and no results.
mistake() {
	text=$1
	shift
	status=0
	"$gvmsim" run lending --quiet --out none "$@" >.out 2>.err || status=$?
	[ $status = 2 ] && [ "$(wc -l <.err)" = 1 ] && grep -qF "$text" .err || fail "$text: $status, $(cat .err)"
	[ ! -e none ] || fail "$text: there are results"
}
app=containers.driver.app
mistake 'app.device: no host or element "lender-a.gp", did you mean "lender-a.gpu"?' --set $app.device=lender-a.gp
mistake 'app.borrower: "nobody" is no host of app.fabric' --set $app.borrower=nobody
mistake 'app.device: "lender-a.switch" is no device of app.fabric' --set $app.device=lender-a.switch
mistake 'app.device: "lender-a.gpu" cannot be borrowed: a virtual machine' --set $app.virtual=true
mistake 'app.fence: is given without app.in_flight' --set $app.fence=true --set $app.operation=read
mistake 'app.dma_window: is no power of two' --set $app.dma_window=3M
mistake 'have no room for it' --set $app.bytes=1G
mistake 'app.fabric: hosts: are no object' --set $app.fabric='{}'
mistake 'app.fabric: a: has no memory' --set $app.fabric='{"hosts": {"a": {}}}'
mistake 'app.fabric: no field "host"' --set $app.fabric='{"host": {}}'
mistake 'app.fabric: d: link "9x9" is none' \
	--set $app.fabric='{"hosts": {"a": {"memory": "1G"}}, "elements": {"d": {"kind": "device", "below": "a", "link": "9x9"}}}'
mistake 'app.fabric: d: no host or element "b"' \
	--set $app.fabric='{"hosts": {"a": {"memory": "1G"}}, "elements": {"d": {"kind": "device", "below": "b", "link": "3x8"}}}'
mistake 'app.fabric: a: is taken' --set $app.fabric='{"hosts": {"a": {"memory": "1G"}}, "elements": {"a": {}}}'
# A device that another container has.
jq '.containers.other.app.device = "lender.gpu"' two.json >same.json
status=0
"$gvmsim" run same.json --quiet --out none >.out 2>.err || status=$?
[ $status = 2 ] && grep -q 'other.app.device: "lender.gpu" cannot be borrowed: another container has it' .err ||
	fail "one device, two containers: $status, $(cat .err)"

# ends ARGUMENTS...: a run ends, without an error, and prints its rounds.
ends() {
	timeout -k 1 60 "$gvmsim" run "$@" --quiet --out ends >.out 2>.err || fail "$*: $? $(cat .err)"
	jq '[.containers[].rounds] | add' ends/summary.json
}

# A restarted container counts again, and its devices are still its own.
jq '. + {events: [{at: "2ms", container: "driver", restart: true}]}' "$source/scenarios/lending.json" >restart.json
once=$(ends lending --set $app.operation=ping-pong --set $app.peer=lender-b.gpu)
again=$(ends restart.json --set $app.operation=ping-pong --set $app.peer=lender-b.gpu)
[ "$again" -gt $((once * 9 / 10)) ] || fail "$again rounds with a restart, $once without"
# Two devices of one host count in its memory, also at its address 0.
[ "$(ends lending --set $app.profile=lending-figure8a --set $app.borrower=lender --set $app.device=lender.gpu \
	--set $app.operation=ping-pong --set $app.peer=lender.gpu-b)" -gt 1000 ] || fail "no numbers in the memory of their host"
# A stop ends a transfer of seconds, which fails; so does the end of the run.
jq '. + {events: [{at: "2ms", container: "driver", stop: true}]}' "$source/scenarios/lending.json" >stop.json
[ "$(ends stop.json --set $app.bytes=200M)" = 0 ] && grep -q ',stopped,failed$' ends/requests.csv ||
	fail "a transfer outlives its container: $(cat ends/requests.csv)"
# Threads that think longer than a read takes.
[ "$(ends lending --set $app.operation=read --set $app.in_flight=2 --set $app.fence=true --set $app.request=128 \
	--set $app.bytes=1000 --set gpu.cycles.fence_offset=100000)" -gt 10 ] || fail "no reads by threads that think for long"

# A host that lends and borrows its own device: its IOMMU does not depend on the order of containers.
cat >hosts.json <<'JSON'
{
	"name": "hosts", "duration": "6ms", "gpu": {"profile": "h200-141g"}, "system": {"name": "exclusive"},
	"containers": {
		"own": {"app": {"type": "transfer", "profile": "lending-figure8a", "iommu": true, "borrower": "lender"}},
		"borrowed": {"app": {"type": "transfer", "profile": "lending-figure8a", "iommu": true, "device": "lender.gpu-b"}}
	}
}
JSON
jq '.containers |= {borrowed, own}' hosts.json >order.json
first=$(ends hosts.json)
second=$(ends order.json)
[ "$first" = "$second" ] && [ "$first" -gt 30 ] || fail "$first rounds, $second in the other order"
mistake 'app.peer: is of a ping-pong' --set $app.peer=lender-b.gpu
mistake 'app.request: is of reads' --set $app.request=128
mistake 'app.in_flight: is of reads' --set $app.in_flight=4
mistake 'app.fabric: d: link "3x 8" is none' \
	--set $app.fabric='{"hosts": {"a": {"memory": "1G"}}, "elements": {"d": {"kind": "device", "below": "a", "link": "3x 8"}}}'
