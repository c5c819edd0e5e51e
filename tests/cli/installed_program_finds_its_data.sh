#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gvmsim finds profiles, traces and plot scripts from any current folder: run from the build
# folder, through a link, and after an install elsewhere. Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

DESTDIR="$work" cmake --install "$(dirname "$gvmsim")" --prefix /usr >/dev/null
installed=$work/usr/bin/gvmsim
version=$("$gvmsim" --version)
[ -x "$installed" ] || fail "nothing installed"
[ "$("$work/usr/bin/gvmcollect" --version)" = "gvmcollect ${version#* }" ] || fail "no gvmcollect"
for kind in scenarios traces plots; do
	diff -r "$source/$kind" "$work/usr/share/gvmsim/$kind" || fail "$kind is not installed"
done
for file in man/man1/gvmsim.1 man/man1/gvmcollect.1 man/man1/gvmd.1 man/man1/gvmctl.1 man/man1/gvmfence.1 man/man1/gvmfenced.1 gvmsim/scenarios/policies/dyn.json bash-completion/completions/gvmsim \
	bash-completion/completions/gvmcollect doc/gvmsim/README.md doc/gvmsim/LICENSE; do
	[ -s "$work/usr/share/$file" ] || fail "no $file"
done
ln -s "$gvmsim" linked

for program in "$gvmsim" ./linked "$installed"; do
	for system in exclusive stock; do
		"$program" run vllm-diffusion-80g --set duration=60s --quiet --system "$system" \
			--out "out/$system" || fail "$program does not run from here"
	done
	cmp out/exclusive/config.json first.json 2>/dev/null || [ ! -e first.json ] ||
		fail "$program resolved something else"
	cp out/exclusive/config.json first.json
	"$program" figure alone-vs-shared out/exclusive out/stock --out figures >/dev/null ||
		fail "$program does not find its plot scripts"
	"$program" figure ablation --set duration=5s --out figures >/dev/null 2>.err ||
		fail "$program does not find published values or itself: $(cat .err)"
	rm -r out figures results
done
