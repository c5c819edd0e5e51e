# SPDX-License-Identifier: MIT OR GPL-2.0
# From the config.json of a run, in which everything is resolved, the script of replay_init.c: what
# the guest does, a line each. What it could not do is an error and not left out.

def seconds:
	if endswith("ms") then rtrimstr("ms") | tonumber / 1000
	elif endswith("us") then rtrimstr("us") | tonumber / 1000000
	else rtrimstr("s") | tonumber end;

# A step ends where the timeline has a sample.
def step: seconds | ceil;

def features: .system.mechanisms |
	(if .clean_drop then 1 else 0 end) + (if .priority_batches then 2 else 0 end) +
	(if .hint_faults then 4 else 0 end);

def gpu: "gpu chunks=\(.gpu.memory / 2097152) context_bytes=\(.gpu.context)"
	+ " sub_chunks=0 features=\(features) scheduler=\(.system.scheduler)"
	+ " tracking=\(.system.tracking)"
	+ " tracking_interval_us=\(.system.tracking_interval | seconds * 1000000)";

def check($ok; $what): if $ok then . else error("not for a replay: " + $what) end;

# Hooked nvidia-uvm: one chunk more, in which it has its page tables.
def hooked_gpu: check(.gpu.context == 0; "gpu.context")
	| "gpu chunks=\(.gpu.memory / 2097152 + 1) evictors=1";

def checked_app: check(.type == "pages" and .pattern == "events"; "app.type or app.pattern")
	| check(.kernels == 1; "app.kernels")
	| check(.write_share == 0 or .write_share == 1; "app.write_share")
	| check(.prefetch_back | not; "app.prefetch_back")
	| check(.pressure | not; "app.pressure");

def containers: .containers | to_entries[]
	| .key as $name | .value | check(.enabled; "a container that is not enabled")
	| .app | checked_app
	| "container \($name) \(if .write_share == 1 then "fill" else "verify" end)";

def start: .key as $name | .value | {at: .start, do: (
	"start \($name)",
	(to_entries[] | select(.key | test("^(gmem|hmem|compute)[.]"))
		| "write \($name) \(.key) \(.value)"),
	"map \($name) \(.app.bytes) \(if .app.on_host then "host" else "zero" end)")};

def event: . as $event | {at, do: (
	if .file then "write \(.container) \(.file) \(.value)"
	elif .exit then "exit \(.container)"
	else (.touch | split("-")) as $blocks
		| "touch \($event.container) \($blocks[0]) \($blocks[-1])" end)};

check(.system.name == "ghost" or .system.name == "ghost-uvm"; "system.name")
	| check(.output.timeline_interval == "1s"; "output.timeline_interval")
	| if .system.name == "ghost" then gpu else hooked_gpu end, containers,
		([(.containers | to_entries[] | start), (.events[] | event)]
			| sort_by(.at | seconds)[] | "\(.at | step) \(.do)")
