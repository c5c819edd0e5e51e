#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# gvmd runtime: between "create" and "start" of a container gvm.ko is told of its limits. A script takes the place of
# runc, and notes how it was called. Real runtimes: docker_and_containerd_give_limits. Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
gvmd=$(dirname "$gvmsim")/gvmd
program=$gvmd
mkdir -p bundle root

cat >runc <<END
#!/bin/sh
echo "\$*" >>$work/calls
case " \$* " in
*" create --bundle "*) exit \$(cat $work/code) ;;
*" state one "*) echo "{\"pid\": $$, \"bundle\": \"$work/bundle\"}" ;;
esac
END
chmod +x runc

# called WORD...: the runtime is called with containerd's options and these words
called() {
	rm -f calls log
	: >root/cgroups
	status=0
	"$gvmd" runtime --root root --memory 80G --runtime ./runc -- --root /run --log log --log-format json "$@" >out 2>err ||
		status=$?
}

# with ENVIRONMENT: of the container, as JSON
with() {
	echo "{\"process\": {\"env\": [\"PATH=/bin\"$1], \"rlimits\": [{\"hard\": 18446744073709551615}]}}" >bundle/config.json
}

before="--root /run --log log --log-format json"
create="$before create --bundle bundle --pid-file pid one"
state="$before state one"
echo 0 >code

# A container that asks for nothing.
with ''
called create --bundle bundle --pid-file pid one
printf '%s\n' "$create" "$state" | cmp - calls && [ "$status" = 0 ] || fail "no wish: $status $(cat calls err)"
[ ! -s root/cgroups ] || fail "no wish: $(cat root/cgroups)"

# One that asks for a limit. This test may stand in the root of the cgroups, which cannot be a container.
with ', "GVM_LIMIT=20G"'
called create --bundle bundle --pid-file pid one
if grep -q '^0::/.' /proc/self/cgroup; then
	printf '%s\n' "$create" "$state" | cmp - calls && [ "$status" = 0 ] || fail "a limit: $status $(cat calls err)"
	[ "$(cat root/cgroups)" = "+$(sed -n 's/^0:://p' /proc/self/cgroup) gmem.limit.high=21474836480" ] ||
		fail "a limit: $(cat root/cgroups)"
fi

# A limit that cannot be set: the container is deleted, and containerd's log says why.
with ', "GVM_LIMIT=much"'
called create --bundle bundle --pid-file pid one
printf '%s\n' "$create" "$state" "$before delete --force one" | cmp - calls || fail "a wrong limit: $(cat calls)"
[ "$status" = 2 ] && grep -q 'GVM_LIMIT=much is no limit' err || fail "a wrong limit: $status $(cat err)"
grep -qx '{"level":"error","msg":"GVM_LIMIT=much is no limit","time":"20.*Z"}' log || fail "the log: $(cat log)"

# A container that the runtime cannot create: its exit code, and nothing more.
echo 7 >code
called create --bundle bundle --pid-file pid one
[ "$status" = 7 ] && [ "$(cat calls)" = "$create" ] || fail "create fails: $status $(cat calls)"

# Other words go to the runtime as they are, also options without a command.
for words in "start one" "kill --all one 9" "--version" "--debug --systemd-cgroup state create"; do
	# shellcheck disable=SC2086 # words
	called $words
	[ "$status" = 0 ] && [ "$(cat calls)" = "$before $words" ] || fail "$words: $status $(cat calls)"
done
rm calls
expect 2 "'run' starts a container at once" runtime --runtime ./runc -- --root /run run one
expect 2 "'restore' starts a container at once" runtime --runtime ./runc -- --root=/run restore one
expect 2 'words for the runtime are missing' runtime --runtime ./runc
expect 2 "'much' is no size" runtime --memory much -- start one
expect 1 'none: No such file' runtime --runtime ./none -- start one
expect 127 'none: No such file' runtime --runtime ./none -- create one
[ ! -e calls ] || fail "the runtime was called: $(cat calls)"
