#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# output.compress=zstd: the same CSV files, compressed, which every command reads. One form replaces the other.
. "$(dirname "$0")/common.inc"

go() {
	"$gvmsim" run vllm-diffusion-40g --system gvm --set duration=130s --set output.activity=true \
		--set output.evictions=true --set output.controls=true --quiet "$@" || fail "run $*"
}

go --out plain
go --out packed --set output.compress=zstd
[ -z "$(ls packed/*.csv 2>/dev/null)" ] || fail "plain files beside compressed ones: $(ls packed)"
[ "$(find plain -name '*.csv' | wc -l)" = 5 ] || fail "five files of CSV: $(ls plain)"
for file in plain/*.csv; do
	zstd -dcq "packed/${file#plain/}.zst" | cmp - "$file" || fail "$file is another one when compressed"
done
[ "$(du -b packed/evictions.csv.zst | cut -f1)" -lt "$(du -b plain/evictions.csv | cut -f1)" ] || fail "not smaller"

# Readers: explain, a figure and a comparison say the same of both.
id=$(sed -n '2s/^vllm,\([0-9]*\),.*/\1/p' plain/requests.csv)
"$gvmsim" explain plain "$id" >plain.txt 2>.err || fail "explain: $(cat .err)"
"$gvmsim" explain packed "$id" >packed.txt 2>.err || fail "explain: $(cat .err)"
sed 's/plain/packed/' plain.txt | cmp - packed.txt || fail "explain says something else"
"$gvmsim" compare plain packed >table 2>.err || fail "compare: $(cat .err)"
"$gvmsim" figure alone-vs-shared plain packed --out figures >table 2>.err || fail "figure: $(cat .err)"

# A damaged file is one line, and no half results.
head -c 500 packed/requests.csv.zst >part
cp -r packed damaged
cp part damaged/requests.csv.zst
status=0
"$gvmsim" figure alone-vs-shared plain damaged --out figures >table 2>.err || status=$?
[ $status != 0 ] && [ "$(wc -l <.err)" = 1 ] && grep -q "damaged/requests.csv" .err ||
	fail "a file that is cut off: $status $(cat .err)"

# A run in the other form leaves no file of the old one.
go --out packed
[ -z "$(ls packed/*.zst 2>/dev/null)" ] || fail "old files stay: $(ls packed)"
go --out packed --set output.compress=zstd --set output.activity=false
[ "$(find packed -name '*.csv' | wc -l)" = 0 ] && [ "$(find packed -name '*.zst' | wc -l)" = 4 ] ||
	fail "old files stay: $(ls packed)"

# A large file is told of, with the key; a smaller one is not, nor a compressed one.
many() {
	"$gvmsim" run saturation --system exclusive --out many "$@" >table 2>.err || fail "$* $(cat .err)"
}
many --set duration=9s
grep -qE '^note: requests.csv has [0-9.]+ MiB; output.compress=zstd writes it compressed$' table ||
	fail "the size is not told: $(cat table)"
[ "$(grep -c '^note: .* has ' table)" = 1 ] || fail "more files are large: $(cat table)"
many --set duration=9s --set output.compress=zstd
if grep '^note: .* has ' table; then fail "a compressed file is large: $(ls -l many)"; fi
many --set duration=3s
if grep '^note: .* has ' table; then fail "a small file is large: $(ls -l many)"; fi
rm -r many

# A full disk is one line.
if (
	ulimit -f 1
	trap '' XFSZ
	"$gvmsim" run vllm-diffusion-40g --set duration=130s --set output.evictions=true --system gvm --quiet \
		--set output.compress=zstd --out full 2>.err
); then
	fail "a full disk is no success"
fi
[ "$(wc -l <.err)" = 1 ] || fail "full disk: $(cat .err)"
[ ! -e full ] || fail "a full disk left $(find full)"
