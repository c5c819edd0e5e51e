#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The packages gvmsim and gvm-tools hold all that cmake installs, each file once, and lintian finds nothing in them.
# Unpacked, every program runs and has its manual page, and gvmsim finds its data.
# Usage: programs.sh SOURCE BUILD OUT
set -eu

source=$1
build=$2
rm -rf "$3"
mkdir -p "$3"
out=$(cd "$3" && pwd)
root=$out/root

fail() {
	echo "programs: $1" >&2
	exit 1
}

# Without arguments, one line says what is wanted, before anything is looked for or written.
for words in "build-programs.sh OUT [BUILD]" "build-deb.sh OUT" "install.sh VERSION DESTDIR [LIB]"; do
	status=0
	"$source/packaging/${words%% *}" >"$out/said" 2>&1 || status=$?
	[ $status = 2 ] && [ "$(cat "$out/said")" = "usage: $words" ] || fail "${words%% *}: $status: $(cat "$out/said")"
done

# dh_missing ends the build if a file of cmake is in no package.
# A build may lie in a folder with a space.
ln -s "$(cd "$build" && pwd)" "$out/a build"
"$source/packaging/build-programs.sh" "$out/deb" "$out/a build" >/dev/null
lintian --allow-root --fail-on error,warning "$out"/deb/*.changes || fail "lintian found something"
version=$(sed -n 's/^project(gvmsim VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
for package in gvmsim gvm-tools; do
	deb=$(echo "$out/deb/$package"_*.deb)
	[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "$package is not of version $version"
	dpkg-deb -x "$deb" "$root"
	dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$' >"$out/$package.files"
done
cat "$out"/*.files | sort | uniq -d >"$out/twice"
[ ! -s "$out/twice" ] || fail "in both packages: $(cat "$out/twice")"
dpkg-deb -f "$out"/deb/gvmsim_*.deb Depends | grep -q gnuplot-nox || fail "gvmsim draws with gnuplot"
! dpkg-deb -f "$out"/deb/gvm-tools_*.deb Depends | grep -q gnuplot || fail "the tools need no gnuplot"

for program in "$root"/usr/bin/*; do
	name=$(basename "$program")
	[ "$("$program" --version)" = "$name $version" ] || fail "$name --version"
	[ -s "$root/usr/share/man/man1/$name.1.gz" ] || fail "$name has no manual page"
	[ -s "$root/usr/share/bash-completion/completions/$name" ] || fail "$name has no completion"
done
[ "$(find "$root/usr/bin" -type f | wc -l)" = 6 ] || fail "not six programs"
[ -s "$root/usr/lib/gvmsim/libgvm_shim.so" ] || [ -s "$(echo "$root"/usr/lib/*/gvmsim/libgvm_shim.so)" ] ||
	fail "no shim"
grep -q '^ExecStart=/usr/bin/gvmd ' "$root/usr/lib/systemd/system/gvmd@.service" || fail "the unit starts no gvmd"
# What runs is stopped by the removal, restarted by an upgrade, and disabled by the purge. Only an owner starts it.
dpkg-deb -e "$out"/deb/gvm-tools_*.deb "$out/scripts"
for unit in "$root"/usr/lib/systemd/system/gvm*.service; do
	name=$(basename "$unit")
	case $name in
	*@.service)
		grep -q "deb-systemd-invoke stop '${name%.service}\*.service'" "$out/scripts/prerm" || fail "$name is not stopped"
		grep -q "deb-systemd-invoke try-restart '${name%.service}\*.service'" "$out/scripts/postinst" ||
			fail "$name is not restarted"
		continue
		;;
	esac
	grep -q "deb-systemd-invoke stop .*'$name'" "$out/scripts/prerm" || fail "$name is not stopped"
	grep -q "_dh_action '.*$name'" "$out/scripts/postinst" || fail "$name is not restarted"
	grep -q "deb-systemd-helper purge .*'$name'" "$out/scripts/postrm" || fail "$name is not disabled"
done
# As "systemctl enable" leaves them. A unit of another package stays.
wants=$out/host/etc/systemd/system/multi-user.target.wants
mkdir -p "$wants"
ln -s /usr/lib/systemd/system/gvmd@.service "$wants/gvmd@dyn.service"
ln -s /usr/lib/systemd/system/cron.service "$wants/cron.service"
for i in 1 2; do
	DPKG_ROOT=$out/host sh "$out/scripts/postrm" purge 2>/dev/null || fail "purge $i ended with $?"
done
[ "$(ls "$wants")" = cron.service ] || fail "enabled: $(ls "$wants")"
[ ! -e "$root/lib" ] || fail "a unit is outside of /usr"
for script in "$out"/scripts/p*; do
	sh -n "$script" || fail "$script"
done
cd "$out"
"$root/usr/bin/gvmsim" run vllm-diffusion-80g --set duration=60s --quiet --out run || fail "gvmsim does not run"
[ -s run/summary.json ] || fail "gvmsim wrote no results"
