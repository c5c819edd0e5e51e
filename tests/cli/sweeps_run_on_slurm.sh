#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A sweep as a job array: munged, slurmctld and slurmd of Debian are started for this test alone, with a node
# that is this machine. Exit code 77: they are not installed (tools/setup.sh nightly).
. "$(dirname "$0")/common.inc"
PATH=$PATH:/usr/sbin
for needed in munged slurmctld slurmd sbatch squeue; do
	command -v "$needed" >/dev/null || { echo "no $needed: skipped"; exit 77; }
done

end_daemons() {
	for pid in slurmd.pid slurmctld.pid munged.pid; do
		[ ! -s "$work/$pid" ] || kill "$(cat "$work/$pid")" 2>/dev/null || true
	done
	sleep 1
	rm -rf "$work"
}
trap end_daemons EXIT

# until_true SECONDS COMMAND...: wait until the command succeeds
until_true() {
	limit=$1
	shift
	for _ in $(seq $((limit * 5))); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	cat "$work"/*.log >&2
	fail "not within $limit s: $*"
}

chmod 755 "$work"
mkdir spool state shared
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
munged --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
	--log-file="$work/munged.log" --seed-file="$work/munge.seed" 2>munged.out || fail "munged: $(cat munged.out)"
# Two ports of our own, as the tests of several trees may run side by side; below those that the kernel gives to others.
port=$((20000 + $$ % 6000 * 2))
cat >slurm.conf <<EOF2
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$work/munge.socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES State=UP
EOF2
export SLURM_CONF="$work/slurm.conf"
slurmctld -f "$SLURM_CONF"
slurmd -f "$SLURM_CONF"
node_is_idle() { sinfo -h -o %t | grep -q '^idle'; }
until_true 60 node_is_idle

cat >shared/few.json <<'EOF2'
{
	"scenario": "vllm-diffusion-80g",
	"set": {"duration": "5s"},
	"grid": {"system.name": ["stock", "gvm", "ghost"], "gpu.memory": ["70G", "72G", "74G"]}
}
EOF2
# Folders may have names that sbatch would read as words and patterns.
out='shared/the "out" of 100%j'
# A job array of three over the shared folder; its script does not depend on the folder that it is sent from.
"$gvmsim" sweep shared/few.json --out "$out" --slurm 3 >job.sh || fail "no batch script"
job=$(cd / && sbatch --parsable "$work/job.sh") || fail "sbatch refused: $(cat job.sh)"
is_done() { [ -z "$(squeue -h -j "$job")" ]; }
until_true 120 is_done
[ "$(find "$out/runs" -mindepth 1 -maxdepth 1 | wc -l)" = 9 ] ||
	fail "not 9 runs: $(find "$out") $(cat "$out"/slurm-*.out)"
for task in 0 1 2; do
	grep -q "made 3 of 9 runs" "$out/slurm-${job}_$task.out" ||
		fail "task $task: $(cat "$out/slurm-${job}_$task.out")"
done
find "$out/runs" -name summary.json -printf '%p %i %T@\n' | sort >before

# A repeated job repeats no run, and gathering makes none. The results are those without Slurm.
job=$(sbatch --parsable "$work/job.sh")
until_true 120 is_done
"$gvmsim" sweep shared/few.json --out "$out" >/dev/null 2>.err || fail "gathering: $(cat .err)"
grep -q "made no run" .err || fail "the array left runs: $(cat .err)"
find "$out/runs" -name summary.json -printf '%p %i %T@\n' | sort | cmp before - || fail "runs were repeated"
"$gvmsim" sweep shared/few.json --out alone >/dev/null 2>&1
cmp "$out/sweep.csv" alone/sweep.csv || fail "results on Slurm differ"
