#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The Debian package is built and lintian finds nothing in it. The RPM is built from its spec. What the package
# refuses, it refuses in one line, on the files of made-up hosts. Nothing is compiled.
# Usage: packages.sh SOURCE OUT
set -eu

source=$1
rm -rf "$2"
mkdir -p "$2"
out=$(cd "$2" && pwd)
host=$out/host
kernel=6.1.0-56-amd64
failed=0

complain() {
	echo "$1"
	failed=1
}

"$source/packaging/build-deb.sh" "$out/deb"
lintian --allow-root --fail-on error,warning "$out"/deb/*.changes || complain "lintian found something"

# A checkout may lie in a folder with a space.
ln -s "$(cd "$source" && pwd)" "$out/a source"
rpmspec -P "$source/packaging/rpm/gvm-dkms.spec" >/dev/null
rpmlint "$source/packaging/rpm/gvm-dkms.spec" >"$out/rpmlint" 2>&1 || true
grep -q ' 0 errors' "$out/rpmlint" || { cat "$out/rpmlint" && complain "rpmlint found errors"; }
rpmbuild -bb "$source/packaging/rpm/gvm-dkms.spec" --define "source_tree $out/a source" \
	--define "_topdir $out/rpm" >"$out/rpm.log" 2>&1 || { tail "$out/rpm.log" && complain "rpmbuild failed"; }

# Both have the same files, but for the names of folders and what each system adds.
files() {
	sed 's,^[.]*/,/,; s,^/usr/lib/,/lib/,; s,[.]gz$,,; /[/]$/d; /\/usr\/share\/\(doc\|licenses\)/d' | sort
}
dpkg-deb --fsys-tarfile "$out"/deb/*.deb | tar -t | files >"$out/deb.files"
rpm2cpio "$out"/rpm/RPMS/noarch/*.rpm | cpio -t --quiet | files |
	while read -r file; do
		! grep -q "^$file/" "$out/deb.files" && echo "$file"
	done >"$out/rpm.files"
cmp "$out/deb.files" "$out/rpm.files" || complain "the packages differ"
[ "$(wc -l <"$out/deb.files")" -gt 80 ] || complain "too few files"

# Each program of it says its name and the package's version, and has a help and a manual page.
dpkg-deb -x "$out"/deb/*.deb "$out/installed"
for program in "$out"/installed/usr/sbin/*; do
	name=$(basename "$program")
	[ -f "$out/installed/usr/share/man/man8/$name.8.gz" ] || complain "$name has no manual page"
	# gvm-dkms reads the package's other files.
	[ "$(PREFIX=$out/installed "$program" --version)" = "$name 0.1.0" ] || complain "$name --version"
	PREFIX=$out/installed "$program" --help | grep -q "^usage: $name" || complain "$name --help"
done

# host VERSION LICENCE: a kernel with that nvidia.ko, and the source of the open driver 535.261.03
host() {
	rm -rf "$host"
	mkdir -p "$host/lib/modules/$kernel/build/include/generated" "$host/lib/modules/$kernel/updates/dkms" \
		"$host/usr/src/nvidia-open/nvidia-uvm" "$host/usr/src/nvidia-open/nvidia"
	: >"$host/lib/modules/$kernel/build/include/generated/utsrelease.h"
	dpkg-deb -x "$out"/deb/*.deb "$host"
	cat >"$out/module.c" <<END
static const char info[] __attribute__((section(".modinfo"), used)) = "version=$1\0license=$2";
END
	gcc -c -o "$host/lib/modules/$kernel/updates/dkms/nvidia.ko" "$out/module.c"
	echo 'ccflags-y += -DNV_VERSION_STRING=\"535.261.03\"' >"$host/usr/src/nvidia-open/Kbuild"
	: >"$host/usr/src/nvidia-open/nvidia-uvm/nvidia-uvm.Kbuild"
	echo 'MODULE_LICENSE("Dual MIT/GPL");' >"$host/usr/src/nvidia-open/nvidia/nv.c"
}

# expect STATUS WORDS: what "gvm-dkms check" ends with and says
expect() {
	status=0
	PREFIX=$host "$host/usr/sbin/gvm-dkms" check $kernel >"$out/said" 2>&1 || status=$?
	if [ "$status" != "$1" ] || [ "$(wc -l <"$out/said")" != 1 ] || ! grep -qF "$2" "$out/said"; then
		cat "$out/said"
		complain "expected $1 and \"$2\", got $status"
	fi
}

host 535.261.03 "Dual MIT/GPL"
expect 0 "hooks for the driver 535.261.03 can be built from $host/usr/src/nvidia-open"
host 550.54.15 "Dual MIT/GPL"
expect 1 "there are no hooks for the driver 550.54.15; install one of the branches 535 575 580 590 595"
host 535.261.03 NVIDIA
expect 1 "the driver 535.261.03 of kernel $kernel is the proprietary flavour"
host 580.142 "Dual MIT/GPL"
expect 1 "the source of the open driver 580.142 is not in /usr/src"
host 535.261.03 "Dual MIT/GPL"
rm "$host"/lib/modules/*/updates/dkms/nvidia.ko
expect 1 "kernel $kernel has no nvidia.ko"
host 535.261.03 "Dual MIT/GPL"
rm -r "$host"/lib/modules/*/build
expect 1 "the headers of kernel $kernel are missing"

# Debian's names and Debian's tarball.
host 535.261.03 "Dual MIT/GPL"
mv "$host"/lib/modules/$kernel/updates/dkms/nvidia.ko "$host/lib/modules/$kernel/updates/dkms/nvidia-current-open.ko"
mkdir -p "$out/modules" && mv "$host/usr/src/nvidia-open" "$out/modules/nvidia-open-kernel"
tar -C "$out" -cJf "$host/usr/src/nvidia-open-kernel.tar.xz" modules
expect 0 "unpacked/modules/nvidia-open-kernel"

# Links have the vendor's names, and go without a trace.
host 535.261.03 "Dual MIT/GPL"
modules=$host/lib/modules/$kernel
: >"$modules/updates/dkms/gvm-nvidia-uvm.ko"
: >"$modules/updates/dkms/nvidia-current-open-uvm.ko"
find "$host" | sort >"$out/before"
links=$host/usr/src/gvm-0.1.0/packaging/dkms/links.sh
PREFIX=$host "$links" on $kernel
for name in nvidia-uvm nvidia-current-open-uvm; do
	[ "$(readlink "$modules/updates/gvm/$name.ko")" = ../../updates/dkms/gvm-nvidia-uvm.ko ] ||
		complain "no link for $name"
	[ -f "$modules/updates/gvm/$name.ko" ] || complain "the link for $name leads nowhere"
done
PREFIX=$host "$links" off $kernel
find "$host" | sort | cmp - "$out/before" || complain "links were left behind"
# DKMS of Fedora and RHEL installs in extra/, whatever dkms.conf says.
mkdir "$modules/extra" && mv "$modules/updates/dkms/gvm-nvidia-uvm.ko" "$modules/extra/"
PREFIX=$host "$links" on $kernel
[ -f "$modules/updates/gvm/nvidia-uvm.ko" ] || complain "the link to extra/ leads nowhere"

# Programs of the host that tell what they were asked to do.
mkdir "$out/bin"
for program in dkms depmod modprobe rmmod; do
	cat >"$out/bin/$program" <<END
#!/bin/sh
echo "$program \$*" >>"$out/asked"
[ ! -e "$out/fails/$program-\$1" ] || exit 1
# What was not added cannot be installed.
[ "\$1" != install ] || [ ! -e "$out/fails/dkms-add" ]
END
	chmod +x "$out/bin/$program"
done
# asked STATUS WORDS...: "gvm-dkms WORDS" of the made-up host
asked() {
	expected=$1
	shift
	status=0
	: >"$out/asked"
	PREFIX=$host PATH=$out/bin:$PATH "$host/usr/sbin/gvm-dkms" "$@" >"$out/said" 2>&1 || status=$?
	[ "$status" = "$expected" ] || complain "gvm-dkms $* ended with $status: $(cat "$out/said")"
}

# The vendor's module is loaded again, also where gvm.ko has a user and stays.
host 535.261.03 "Dual MIT/GPL"
mkdir -p "$host/sys/module/nvidia_uvm" "$host/sys/module/gvm" "$out/fails" "$host/lib/modules/$(uname -r)"
: >"$out/fails/rmmod-gvm"
asked 0 off
grep -qx "modprobe nvidia-uvm" "$out/asked" || complain "no nvidia-uvm is loaded: $(cat "$out/asked")"
grep -q "^gvm-dkms: gvm is in use and stays loaded" "$out/said" || complain "gvm stays: $(cat "$out/said")"
: >"$out/fails/modprobe-nvidia-uvm"
asked 1 off
grep -q "^gvm-dkms: nvidia-uvm could not be loaded" "$out/said" || complain "nothing is loaded: $(cat "$out/said")"
rm "$out"/fails/*

# A driver without hooks, and a module that DKMS does not know: the installation goes on, with the vendor's module.
host 550.54.15 "Dual MIT/GPL"
modules=$host/lib/modules/$kernel
: >"$modules/updates/dkms/gvm-nvidia-uvm.ko"
PREFIX=$host "$links" on $kernel
: >"$out/fails/dkms-remove"
asked 0 refresh
[ ! -e "$modules/updates/gvm" ] || complain "links to a module that does not fit"
grep -qx "depmod $kernel" "$out/asked" || complain "no depmod: $(cat "$out/asked")"
rm "$out"/fails/*

# DKMS does not take the source: the installation goes on, and with each kernel.
host 535.261.03 "Dual MIT/GPL"
cp -r "$host/lib/modules/$kernel" "$host/lib/modules/$kernel.2"
for word in add install; do
	rm -f "$out"/fails/*
	: >"$out/fails/dkms-$word"
	asked 0 refresh
	[ "$(grep -c "^gvm-dkms: .* $kernel.* could not be built" "$out/said")" = 2 ] || complain "$word: $(cat "$out/said")"
done
rm "$out"/fails/*

# No folder for temporary files; a kernel without modules; a user who is not root.
host 535.261.03 "Dual MIT/GPL"
status=0
TMPDIR=$out/nowhere PREFIX=$host "$host/usr/sbin/gvm-dkms" check $kernel >"$out/said" 2>&1 || status=$?
[ "$status" = 1 ] && [ "$(cat "$out/said")" = "gvm-dkms: no temporary folder can be made in $out/nowhere" ] ||
	complain "no temporary folder: $(cat "$out/said")"
PREFIX=$host "$host/usr/sbin/gvm-dkms" status >"$out/said" 2>"$out/errors"
[ ! -s "$out/errors" ] || complain "status of a kernel without modules: $(cat "$out/errors")"
if [ "$(id -u)" = 0 ]; then
	for word in on off refresh; do
		status=0
		setpriv --reuid=65534 --regid=65534 --clear-groups sh -s "$word" <"$host/usr/sbin/gvm-dkms" >"$out/said" 2>&1 || status=$?
		[ "$status" = 1 ] && [ "$(cat "$out/said")" = "gvm-dkms: \"$word\" needs root" ] ||
			complain "$word without root: $(cat "$out/said")"
	done
fi

# Checksums of exports: in a section, as since Linux 6.4, and as values of absolute symbols, as before.
cat >"$out/exports.s" <<'END'
	.section __kcrctab, "a"
__crc_first:
	.long 0x11111111
__crc_second:
	.long 0xabcdef01
	.section __kcrctab_gpl, "a"
__crc_third:
	.long 0x0000beef
	.set __crc_old, 0x22223333
	.section __ksymtab, "a"
__ksymtab_first:
	.long 0
__ksymtab_second:
	.long 0
__ksymtab_old:
	.long 0
	.section __ksymtab_gpl, "a"
__ksymtab_third:
	.long 0
END
gcc -c -o "$out/nvidia.ko" "$out/exports.s"
xz -f "$out/nvidia.ko"
mkdir "$out/symvers"
"$host/usr/src/gvm-0.1.0/packaging/dkms/symvers.sh" "$out/nvidia.ko.xz" "$out/symvers" | cut -f 1,2,4 | tr '\t' ' ' \
	>"$out/exports"
cat >"$out/expected" <<'END'
0x11111111 first EXPORT_SYMBOL
0x22223333 old EXPORT_SYMBOL
0xabcdef01 second EXPORT_SYMBOL
0x0000beef third EXPORT_SYMBOL_GPL
END
cmp "$out/expected" "$out/exports" || complain "checksums of exports"

[ "$failed" = 0 ] && echo "packages: built, checked, and seven refusals and answers"
exit "$failed"
