#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The RPM of gvm-dkms on a host in a folder, by rpm itself with its scriptlets and file triggers: refused, the driver comes and
# goes as another RPM, upgraded and erased. The host is a Debian, whose DKMS and kernel do the work; its rpm database knows none
# of Debian's packages, so dependencies are not looked at. After the erasure the list of all files is equal to that from before.
# Ends with 77, ctest's SKIP code, where host.inc says so.
#
#   rpm_host.sh SOURCE SOFTGPU OUT
set -eu
. "$(dirname "$0")/host.inc"
host_make "RPM on a host" "$1" "$2" "$3"

# build SPEC DEFINITION
build() {
	rpmbuild -bb "$1" --define "_topdir $out/rpm" --define "$2" >>"$log" 2>&1 || fail "rpmbuild of $1"
}

# Two versions of the package, and a package of the driver's source.
rm -rf "$out/rpm"
build "$source/packaging/rpm/gvm-dkms.spec" "source_tree $source"
newer_source 0.1.1
cat >"$out/newer/packaging/dkms/build.sh" <<'END'
#!/bin/sh
rm -rf modules hooked
[ "$1" = clean ] || cp -r /tmp/modules /tmp/hooked .
END
build "$out/newer/packaging/rpm/gvm-dkms.spec" "source_tree $out/newer"
driver_source "$out/driver"
cat >"$out/driver.spec" <<END
Name: vendors-driver
Version: $version
Release: 1
Summary: The source of a driver
License: MIT
BuildArch: noarch
%description
The source of a driver.
%install
mkdir -p %{buildroot}/usr/src
cp -r $out/driver %{buildroot}/usr/src/nvidia-$version
%files
/usr/src/nvidia-$version
END
build "$out/driver.spec" "__brp_mangle_shebangs /bin/true"
cp "$out"/rpm/RPMS/noarch/*.rpm "$root/tmp/"
# Folders that belong to packages of a system with RPM: filesystem's and kmod's.
mkdir -p "$root/usr/share/licenses" "$root/usr/lib/depmod.d"
list >"$out/before"

# on_host ARGUMENTS...: rpm with the host's scripts; what it and they say is in $out/said, too
on_host() {
	rpm --root "$root" --dbpath /var/lib/rpm --nodeps --force-debian "$@" >"$out/said" 2>&1 || {
		cat "$out/said" >>"$log"
		fail "rpm $*"
	}
	cat "$out/said" >>"$log"
	! grep -i 'scriptlet failed\|^error' "$out/said" || fail "rpm $*"
}

# says WORDS: the last rpm said them, once
says() {
	[ "$(grep -c "^gvm-dkms: $1" "$out/said")" = 1 ] || fail "rpm does not say '$1' once: $(cat "$out/said")"
}

# A driver without hooks: the package is there, and says why it does nothing.
on_host -i "$root/tmp/gvm-dkms-0.1.0-1.noarch.rpm"
says 'there are no hooks for the driver 550.54.15; install one of the branches '
is_stock

# A driver with hooks comes as a package: its trigger builds.
vendor "$version"
on_host -i "$root/tmp/vendors-driver-$version-1.noarch.rpm"
says "kernel $kernel has a hooked nvidia-uvm for the driver $version"
is_hooked

# The newer package removes the modules of the older one first, and installs its own. They are those of the first build, since a
# build takes minutes.
mkdir -p "$root/tmp/modules/nvidia" "$root/tmp/hooked"
cp "$modules/updates/dkms/gvm.ko" "$root/tmp/modules/"
cp "$modules/updates/dkms/gvm_nvidia.ko" "$root/tmp/modules/nvidia/"
cp "$modules/updates/dkms/gvm-nvidia-uvm.ko" "$root/tmp/hooked/"
on_host -U "$root/tmp/gvm-dkms-0.1.1-1.noarch.rpm"
says "kernel $kernel has a hooked nvidia-uvm for the driver $version"
is_hooked
if [ -e "$root/usr/src/gvm-0.1.0" ] || [ -e "$root/var/lib/dkms/gvm/0.1.0" ]; then
	fail "the older version was left behind"
fi

# The driver goes: what was built for it goes with it. It comes again.
mv "$modules/updates/dkms/nvidia.ko" "$out/nvidia.ko"
on_host -e vendors-driver
says "kernel $kernel has no nvidia.ko"
is_stock
mv "$out/nvidia.ko" "$modules/updates/dkms/nvidia.ko"
on_host -i "$root/tmp/vendors-driver-$version-1.noarch.rpm"
is_hooked

# The erasure takes the modules with it, and says nothing.
on_host -e gvm-dkms
[ ! -s "$out/said" ] || fail "the erasure says $(cat "$out/said")"
is_stock
on_host -e vendors-driver
vendor 550.54.15
is_as "$out/before"
echo "gvm-dkms.rpm: refused, built by the driver's trigger, upgraded, given up and erased with the driver $version"
