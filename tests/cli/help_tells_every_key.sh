#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# "gvmsim help keys" has every key with unit, bounds and default. Shipped scenarios, and the config.json of a run,
# fit the schema of "gvmsim help schema"; each of many mistakes fits neither the schema nor the program.
# Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"

"$gvmsim" help keys >.keys
"$gvmsim" reference --words keys | grep -v '^gpus\.' | sort -u >.words
grep -v '^ ' .keys | sort -u | diff .words - || fail "keys of help (>) are not those of the tables (<)"
"$gvmsim" help keys link.setup >.one
cat >.expected <<'END'
gpu.link.setup
    a duration from 0s to 1s, in ns, us, ms, s, min or h; required
    of a copy before its first byte
gpus.*.link.setup
    a duration from 0s to 1s, in ns, us, ms, s, min or h; required
    of a copy before its first byte
END
diff .expected .one || fail "help keys link.setup"
"$gvmsim" help keys boot | grep -q 'default: 5s; of llm-server' || fail "help keys boot"
expect 2 "help keys: no key has 'lnik.setup', did you mean 'link.setup'?" help keys lnik.setup
expect 2 "help keys: no key has 'colour', usage: gvmsim help keys" help keys colour
expect 2 "help: 'values' is no topic, allowed are a command, keys, keys PART, schema, usage: gvmsim help" help values
expect 2 "help: 1 words after 'schema', expected none" help schema keys
expect_nothing_written

"$gvmsim" help schema >.schema.json
"$gvmsim" run "$scenario" --set duration=1s --quiet --out out
python3 - "$gvmsim" "$source" <<'END' || fail "the schema and the program differ"
import copy, glob, json, subprocess, sys
import jsonschema

gvmsim, source = sys.argv[1:]
schema = json.load(open(".schema.json"))
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
wrong = []

def runs(scenario):
    """Does the program accept the scenario?"""
    json.dump(scenario, open("changed.json", "w"))
    done = subprocess.run([gvmsim, "run", "changed.json", "--set", "duration=1ms", "--quiet", "--out", "again"],
                          capture_output=True)
    subprocess.run(["rm", "-rf", "again"])
    return done.returncode == 0

files = glob.glob(source + "/scenarios/*.json") + ["out/config.json"]
assert len(files) > 10
for file in files:
    for error in validator.iter_errors(json.load(open(file))):
        wrong.append(f"{file}: {list(error.path)}: {error.message}")

good = json.load(open(source + "/scenarios/vllm-diffusion-80g.json"))
del good["containers"]["vllm"]["compute.priority"]  # a timeslice beside it is a mistake

# Ways to write a value, and one mistake each. A path leads to the object that is changed.
vllm = ["containers", "vllm"]
right = [
    ([], "$schema", "scenario.schema.json"),
    ([], "duration", "10.8min"),
    (["gpu"], "link", {"bandwidth": 25e9, "bandwidth_both": "4.3e10", "setup": "2500ns"}),
    (["gpu"], "link.setup", "1us"),
    ([], "gpu.link.setup", "1us"),
    (vllm, "gmem.limit.high", "max"),
    (vllm, "memory.limit", "1.5GiB"),
    (vllm, "memory.limit", "1.5T"),
    (vllm, "memory.limit", "2TB"),
    (vllm, "gmem", {"limit": {"low": 0}}),
    (vllm, "compute.timeslice", "512us"),
    (vllm + ["app"], "slo_itl", "0.5s"),
    (vllm + ["app"], "model", "Qwen2.5-7B"),
    ([], "gpus", {"second": {"profile": "h100-80g"}}),
    ([], "events", [{"at": "0s", "container": "vllm", "file": "compute.priority", "value": 3}]),
]
mistakes = [
    ([], "durations", "1s"),
    ([], "duration", 5),
    ([], "duration", "5 s"),
    ([], "seed", -1),
    ([], "system", {"name": "gosht"}),
    (["gpu"], "link", {"setup": 5}),
    (["gpu"], "link", {"bandwith": "25e9"}),
    (["gpu"], "link.setups", "1us"),
    (["gpu"], "profile", ".hidden"),
    (vllm, "gmem.limit.high", "6Q"),
    (vllm, "compute.priority", 17),
    (vllm, "app.type", "game"),
    (vllm + ["app"], "gpu_memory_utilization", 1.5),
    (vllm + ["app"], "client", {"drop_in_flight": "yes"}),
    ([], "containers", {"Big": {}}),
    ([], "gpus", {"second": {"profiles": "h100-80g"}}),
    ([], "events", {}),
    ([], "events", [{"container": "vllm", "file": "compute.priority", "value": 3}]),
    ([], "name", "a b"),
]
for cases, expected in ((right, True), (mistakes, False)):
    for path, key, value in cases:
        changed = copy.deepcopy(good)
        place = changed
        for step in path:
            place = place[step]
        if key == "app.type":
            del place["app"]["type"]
        place[key] = value
        for what, fits in (("schema", validator.is_valid(changed)), ("program", runs(changed))):
            if fits != expected:
                wrong.append(f"{path} {key}={value}: {what} says {fits}")
print("\n".join(wrong))
sys.exit(bool(wrong))
END
