#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The package says that it has types (py.typed): a program that uses it as docs/pressure.md does is checked as strictly as mypy
# can, and so is the package itself. Skipped where a host has no mypy. Usage: NAME.sh SOURCE
set -eu
command -v mypy >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/user.py" <<'END'
import gvm_pressure
import gvm_pressure.torch_pool
import gvm_pressure.vllm_plugin


def give(event: gvm_pressure.Event) -> int:
    return event.target_bytes


listener = gvm_pressure.Listener(give, gpu=0)
pool = gvm_pressure.torch_pool.Pool()
steps = gvm_pressure.Listener(pool.ask)
given: int = pool.at_step() + pool.idle_bytes()
other = gvm_pressure.torch_pool.listen()
if other is not None:
    other.stop()
gvm_pressure.vllm_plugin.register()
END
cd "$1/python"
mypy --strict --config-file pyproject.toml --cache-dir "$work/cache" -p gvm_pressure
MYPYPATH=$1/python mypy --strict --cache-dir "$work/cache" "$work/user.py"
# A wrong use is found: the check is no empty one.
echo 'wrong: str = pool.at_step()' >>"$work/user.py"
! MYPYPATH=$1/python mypy --strict --cache-dir "$work/cache" "$work/user.py" >/dev/null
