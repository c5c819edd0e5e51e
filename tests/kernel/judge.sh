#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Compare what the real nvidia-uvm.ko did on the software GPU with what the simulator's model of it does
# for the same patterns (softgpu_patterns.c): faults by batch, pages copied each way, victims, in order. A
# pattern that is not the same fails, with the first difference, unless EXPECTED has its name: then it has to
# differ. With gvm the driver is the published GVM's, which has patterns under a limit as well. With ghost-uvm it is the
# hooked one, and only those are compared. Instead of the console's LOG a record can be given (published_gvm.txt):
# transcripts without the invalidates, or the totals alone. For the stock driver the sums over all patterns, also those
# that differ, have to be within 2 %: faults, batches, evictions, runs and copies in. A run is pages of 64 KB that
# a block gets or loses together between two replays; the driver may make several copies of it. Ends with 77, ctest's
# SKIP code, if there is no log of the driver.
#
#   judge.sh LOG MODEL EXPECTED OUT [gvm|ghost-uvm]
set -eu

log=$1
model=$2
expected=$3
out=$4
system=${5:-stock}

if [ ! -f "$log" ]; then
	echo "skipped: there is no $log" >&2
	exit 77
fi
mkdir -p "$out"
# The parts on a Hopper run patterns again: the first time counts.
sed -n -e 's/^tap: judge: //p; t' -e '/^tap: /!p' "$log" | grep -E '^(pattern|in|out|tlb|replay|limit|usage|total) ' |
	awk '/^pattern / { again = seen[$0]++ } !again' >"$out/driver"
case $system in
stock) sets="reference judge crowd thrash" ;;
gvm) sets="reference judge limits fulllimits" ;;
ghost-uvm)
	sets="limits fulllimits"
	# Those of limits take long: they are there if the part was named.
	if ! grep -q '^pattern limit: ' "$out/driver"; then
		sets=fulllimits
		sed '/^limit: /d' "$expected" >"$out/expected"
		expected=$out/expected
	fi
	;;
esac
for set in $sets; do
	"$model" "$set" "$system"
done >"$out/model"
# The hooked suite has patterns of the stock driver's, too.
if [ "$system" = ghost-uvm ]; then
	awk 'NR == FNR { known[$0] = /^pattern /; next } /^pattern / { wanted = known[$0] } wanted' "$out/model" \
		"$out/driver" >"$out/driver.limits"
	mv "$out/driver.limits" "$out/driver"
fi
# Nothing waits for the invalidates of a victim, so one may come after the replay. Their number is in the totals.
[ "$system" != ghost-uvm ] || sed -i '/^tlb /d' "$out/driver"
if ! grep -q '^tlb ' "$out/driver"; then
	sed -i '/^tlb /d' "$out/model"
fi
# 580 and later have discards. Without, EXPECTED has names of patterns that did not run.
discards=
if grep -q '^pattern discarded ' "$out/driver"; then
	discards=1
	"$model" discard >>"$out/model"
fi
if ! grep -q '^out ' "$out/driver"; then
	echo "$log has no transcript with an eviction" >&2
	exit 1
fi

# Copies to the host that the CPU causes are not counted, but they are in the record of the published driver.
awk -v names="$expected" -v discards="$discards" -v sums="$([ "$system" != stock ] || echo 1)" \
	-v recorded="$([ "$system" != gvm ] || echo 1)" '
	function compared(total) {
		if (recorded)
			sub(/ out [0-9]*$/, "", total)
		return total
	}
	function compare(name,    i, longest, where) {
		longest = count["driver", name]
		if (count["model", name] > longest)
			longest = count["model", name]
		i = 1
		if (count["driver", name] == 1 && total["driver", name] != "") {
			line["model", name, 1] = line["model", name, count["model", name]]
			longest = 1
		}
		for (; i <= longest && !where; i++)
			if (line["driver", name, i] != line["model", name, i])
				where = i
		if (total["driver", name] == "" || total["model", name] == "")
			where = longest + 1
		if (where && !(name in may_differ)) {
			printf "DIFFERS: %s, at step %d of %d:\n", name, where, longest
			printf "\tdriver: %s\n\tmodel:  %s\n", line["driver", name, where],
				line["model", name, where]
			bad++
		} else if (!where && name in may_differ) {
			printf "the same, but said to differ: %s\n", name
			bad++
		} else {
			printf "%s: %s (%d steps)\n", where ? "differs as expected" : "same", name, longest
			steps += longest
			same += !where
		}
		printf "\tdriver: %s\n\tmodel:  %s\n", total["driver", name], total["model", name]
	}
	# Sums over all patterns, of the driver and of the model.
	function add(what, number) {
		sum[world, what] += number
	}
	function sums_agree(    i, kinds, what, driver, model, count) {
		count = split("faults batches evictions runs_in runs_out copies_in", kinds)
		for (i = 1; i <= count; i++) {
			what = kinds[i]
			driver = sum["driver", what]
			model = sum["model", what]
			printf "all patterns: %s: driver %d, model %d\n", what, driver, model
			if (!driver || model > 1.02 * driver || model < 0.98 * driver) {
				printf "DIFFERS: %s of all patterns, by 2 %% or more\n", what
				bad++
			}
		}
	}
	BEGIN {
		while ((getline text < names) > 0)
			if (text !~ /^#/ && text != "")
				may_differ[text] = 1
	}
	FNR == 1 { world = ++files == 1 ? "driver" : "model" }
	/^pattern / {
		name = substr($0, 9)
		if (!(name in known)) {
			known[name] = 1
			order[++patterns] = name
		}
		next
	}
	/^(in|out) / { add("runs_" $1, split($3, runs, ",") + (NF < 3)) }
	/^total / {
		add("faults", $3)
		add("batches", $5)
		add("evictions", $13)
		add("copies_in", $18)
		total[world, name] = substr($0, 7)
		line[world, name, ++count[world, name]] = compared($0)
		next
	}
	{ line[world, name, ++count[world, name]] = $0 }
	END {
		for (i = 1; i <= patterns; i++)
			compare(order[i])
		for (name in may_differ)
			if (!(name in known) && (discards || name !~ /^discarded /)) {
				printf "%s names no pattern: %s\n", names, name
				bad++
			}
		if (sums)
			sums_agree()
		printf "%d of %d patterns are the same, %d steps compared\n", same, patterns, steps
		exit bad != 0
	}' "$out/driver" "$out/model" >"$out/judgement" || {
	grep -A4 -E '^DIFFERS|^the same, but|names no pattern' "$out/judgement" >&2 || true
	tail -n 1 "$out/judgement" >&2
	echo "all of it: $out/judgement" >&2
	exit 1
}
tail -n 1 "$out/judgement"
