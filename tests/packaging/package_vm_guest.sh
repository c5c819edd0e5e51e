#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The first process of package_vm.sh's machine. GVM_TEST_START: what it is to be after this start: installed, upgraded
# or purged.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
mount -t proc proc /proc 2>/dev/null
mount -t sysfs sysfs /sys 2>/dev/null
mount -t devtmpfs dev /dev 2>/dev/null
GVM_TEST_START=$(sed 's/.*GVM_TEST_START=\([a-z]*\).*/\1/' /proc/cmdline)
echo "tap: begin"
cd /tmp || exit 1

end() {
	[ -z "${tenant:-}" ] || kill "$tenant" 2>/dev/null
	sync
	stty -echo </dev/console # returns when the console has sent all: a reset drops the rest
	echo b >/proc/sysrq-trigger
	sleep 60
}

fail() {
	echo "$GVM_TEST_START: failed: $1"
	end
}

expect() {
	"$@" || fail "$*"
}

# says WHAT: gvm-dkms status has this line
says() {
	gvm-dkms status >status.txt
	grep -q "$1" status.txt || fail "gvm-dkms status has no \"$1\": $(cat status.txt)"
}

# is_loaded NAME
is_loaded() {
	[ -d "/sys/module/$1" ]
}

# has_built VERSION: DKMS knows it as built
has_built() {
	mkdir -p /var/lib/dkms/gvm
	expect cp -a "built/$1" /var/lib/dkms/gvm/
}

start_tenant() {
	./tenant &
	tenant=$!
	sleep 5
	still_runs
}

still_runs() {
	kill -0 "$tenant" || fail "the application has ended"
}

stop_tenant() {
	still_runs
	kill "$tenant"
	wait "$tenant"
	tenant=
}

# The application's 32 MB are cut to 16, and it goes on.
cut_limit() {
	files=/sys/kernel/gvm/$tenant/0
	expect test -d "$files"
	[ "$(cat "$files/gmem.current")" -gt 16777216 ] || fail "the application has $(cat "$files/gmem.current") bytes"
	expect sh -c "echo 16777216 >$files/gmem.limit.high"
	sleep 5
	limit_holds
}

limit_holds() {
	[ "$(cat "$files/gmem.current")" -le 16777216 ] || fail "the limit of 16 MB does not hold"
	still_runs
}

# Every file of the machine, but for what a package manager keeps for itself.
list() {
	find / -xdev \( -path /tmp -o -path /var/log -o -path /var/lib/dpkg -o -path /var/cache -o -path /run \) -prune -o \
		\( -type d -printf '%p/\n' -o -type l -printf '%p -> %l\n' -o -printf '%p %s\n' \) | sort
}

case $GVM_TEST_START in
installed)
	list >before
	expect modprobe nvidia-uvm
	start_tenant
	has_built 0.1.0
	expect dpkg -i gvm-dkms_0.1.0_all.deb
	still_runs
	says 'loads the hooked nvidia-uvm'
	says "the vendor's nvidia-uvm is loaded"
	# In use: nothing is exchanged.
	gvm-dkms on && fail "gvm-dkms on has exchanged a module in use"
	stop_tenant
	expect gvm-dkms on
	start_tenant
	cut_limit
	;;
upgraded)
	# As it starts, the hooked module is what modprobe finds.
	expect modprobe nvidia-uvm
	says 'the hooked nvidia-uvm is loaded'
	start_tenant
	cut_limit
	has_built 0.1.1
	expect dpkg -i gvm-dkms_0.1.1_all.deb
	still_runs
	limit_holds
	stop_tenant
	expect gvm-dkms off
	says "the vendor's nvidia-uvm is loaded"
	is_loaded gvm && fail "gvm.ko is loaded beside the vendor's module"
	expect gvm-dkms on
	says 'the hooked nvidia-uvm is loaded'
	start_tenant
	cut_limit
	;;
purged)
	expect modprobe nvidia-uvm
	says 'the hooked nvidia-uvm is loaded'
	start_tenant
	expect dpkg --purge gvm-dkms
	still_runs
	stop_tenant
	list >after
	cmp before after || fail "the package leaves something: $(diff before after)"
	expect rmmod nvidia_uvm gvm_nvidia gvm
	expect modprobe nvidia-uvm
	is_loaded gvm && fail "gvm.ko is loaded after the purge"
	start_tenant
	;;
esac
stop_tenant
echo "$GVM_TEST_START: all of it holds"
end
