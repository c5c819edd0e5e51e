#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Units, compose files and the pod of docs/containers.md, by the programs that read them, where a host has those. What
# they name exists here. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"
bin=$(dirname "$gvmsim")

# The units as they are installed, with the programs that they start, and the commands and options that these have.
cmake --install "$bin" --prefix "$work/prefix" >/dev/null
mv prefix/lib/systemd/system units
for unit in "$source"/packaging/systemd/*; do
	[ -s "units/$(basename "$unit")" ] || fail "$unit is not installed"
done
[ "$(ls "$source/packaging/systemd" | wc -l)" = "$(ls units | wc -l)" ] || fail "a unit too many is installed"
if grep -n /usr/bin/ units/*; then
	fail "a unit starts a program of another prefix"
fi
mv units/gvmd@.service units/gvmd@dyn.service
grep -h '^Exec' units/* | sed 's/^[A-Za-z]*=//' | while read -r program command rest; do
	case $program in
	"$work"/prefix/bin/*) ;;
	*) fail "a unit starts $program" ;;
	esac
	"$program" "$command" --help >help.txt || fail "$program $command"
	for word in $rest; do
		case $word in
		--*) grep -q -e "^ *$word" help.txt || fail "$program $command has no $word" ;;
		esac
	done
done
if command -v systemd-analyze >/dev/null; then
	for unit in units/*; do
		SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no --recursive-errors=no "./$unit" >verify 2>&1 ||
			fail "$unit: $(cat verify)"
		[ ! -s verify ] || fail "$unit: $(cat verify)"
	done
	# It finds mistakes.
	sed 's/^Restart=.*/Restart=perhaps/' units/gvm-metrics.service >units/wrong.service
	systemd-analyze verify --man=no --recursive-errors=no ./units/wrong.service >verify 2>&1 || true
	[ -s verify ] || fail "systemd-analyze finds no mistake"
fi

if command -v docker-compose >/dev/null; then
	for file in compose shim; do
		docker-compose -f "$source/packaging/compose/$file.yaml" config >resolved.yaml 2>err || fail "$file.yaml: $(cat err)"
	done
	grep -q 'GVM_LIMIT: 20G' resolved.yaml || fail "shim.yaml lost a limit"
	sed 's/cgroup_parent: gvm-tenant-a/cgroup_parents: x/' "$source/packaging/compose/compose.yaml" >wrong.yaml
	if docker-compose -f wrong.yaml config >resolved.yaml 2>err; then
		fail "docker-compose finds no mistake"
	fi
fi
python=
for candidate in python3 /usr/bin/python3; do
	$candidate -c 'import yaml' 2>/dev/null && python=$candidate && break
done
if [ -n "$python" ]; then
	sed -n '/^```yaml$/,/^```$/p' "$source/docs/containers.md" | grep -v '^```' >pod.yaml
	$python - <<'END' || fail "the pod of docs/containers.md"
import yaml
pod = yaml.safe_load(open("pod.yaml"))
(container,) = pod["spec"]["containers"]
env = {e["name"]: e.get("value") or e["valueFrom"]["fieldRef"]["fieldPath"] for e in container["env"]}
assert pod["kind"] == "Pod" and env["GVM_LIMIT"] == "metadata.annotations['gpu-fraction']", pod
assert env["LD_PRELOAD"].startswith(container["volumeMounts"][0]["mountPath"]), env
assert pod["metadata"]["annotations"]["gpu-fraction"] == "0.25", pod
END
fi
