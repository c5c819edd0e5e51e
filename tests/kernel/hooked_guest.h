/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Helpers for the tests of gvm.ko in NVIDIA's driver: nvidia-uvm.ko with our hooks, on the
 * software GPU. A tenant that is a process of its own exits with the number of its failures.
 */
#ifndef HOOKED_GUEST_H
#define HOOKED_GUEST_H

#include <sys/types.h>

#include "softgpu_guest.h"

/* Managed memory of the GPU of the tests: 112 MB. */
#define HOOKED_MB 112ul

/* Accesses that wait at once: a part of one block, so that a small limit suffices. */
#define HOOKED_WINDOW 64u

/*
 * A control file of process @pid on the GPU of softgpu_use(), or of a cgroup's container, with
 * @pid 0 and the path in @file. get: its number, or -1. set: 0 or the errno.
 */
long long hooked_get(pid_t pid, const char *file);
int hooked_set(pid_t pid, const char *file, const char *text);

/* One count of gmem.events, such as "high". */
long long hooked_event(pid_t pid, const char *event);

/* Have the GPU write value + its number to each page, or read and compare; CPU compares. */
bool hooked_write(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes, uint64_t value);
bool hooked_read(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes, uint64_t value);
bool hooked_cpu_reads(const uint64_t *p, size_t bytes, uint64_t value);

/* How many MB of the memory are on the GPU, by the first page of each block of 2 MB. */
size_t hooked_resident_mb(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes);

/* Mount the cgroups, for the next calls. */
void hooked_mount(void);

/*
 * Load the modules and become a tenant, which keeps the GPU. @managed: with gvm.ko, and
 * with these parameters of gvm_nvidia.ko. Returns whether it could. finish: the opposite, with a
 * look at what is left.
 */
bool hooked_begin(struct softgpu_tenant *tenant, bool managed, const char *softgpu_parameters,
		  const char *parameters);
void hooked_finish(struct softgpu_tenant *tenant, bool managed);

/*
 * The calling process enters the container of process @owner's cgroup. If it is the owner, it
 * makes that before. Returns whether it could.
 */
bool hooked_contain(pid_t owner);

/*
 * Start @life(@number) in a process of its own, in the container of a cgroup of its own. It
 * runs up to hooked_ready(), and goes on after hooked_go(). end: its exit status, or 256 and
 * more: it was killed or did not start.
 */
struct hooked_process {
	pid_t pid;
	int to, from; /* pipes */
};
struct hooked_process hooked_start(int (*life)(unsigned int number), unsigned int number);
void hooked_wait_ready(struct hooked_process *process);
void hooked_go(struct hooked_process *process);
int hooked_end(struct hooked_process *process);
/* In the process. */
void hooked_ready(void);

/*
 * hooked_processes.c: the life of this program where a tenant has started it anew, with this
 * word as its argument. Returns how many steps failed.
 */
#define HOOKED_AFTER_EXEC "after-exec"
int hooked_after_exec(void);

/* hooked_gpu.c: migrate memory of a context as far as there is room. */
void hooked_migrate(int context, uint64_t va, uint64_t bytes, bool to_gpu);

/*
 * The parts of the test. A tenant of the caller's is attached, unless the part says otherwise.
 */
void test_hooked_limits(struct softgpu_tenant *tenant);
void test_small(struct softgpu_tenant *tenant);
void test_pieces(struct softgpu_tenant *tenant);
void test_foreign(struct softgpu_tenant *tenant);
void test_hooked_refused(struct softgpu_tenant *tenant);
void test_refused_often(struct softgpu_tenant *tenant);
void test_shared(struct softgpu_tenant *tenant);
void test_denied(struct softgpu_tenant *tenant);
void test_neighbour(struct softgpu_tenant *tenant);
void test_hooked_protection(struct softgpu_tenant *tenant);
void test_unused(struct softgpu_tenant *tenant);
void test_cut(struct softgpu_tenant *tenant);
void test_forced(struct softgpu_tenant *tenant);
void test_forced_range(struct softgpu_tenant *tenant);
void test_unforced(struct softgpu_tenant *tenant);
void test_promotion(struct softgpu_tenant *tenant);
void test_no_promotion(struct softgpu_tenant *tenant);
void test_hooked_limit_patterns(struct softgpu_tenant *tenant);
void test_hooked_full_limit_patterns(struct softgpu_tenant *tenant);
void test_two_gpus(struct softgpu_tenant *tenant);
void test_preferred_gpu(struct softgpu_tenant *tenant);
void test_three_gpus(struct softgpu_tenant *tenant);
void test_hooked_engines(struct softgpu_tenant *tenant);
void test_asleep(struct softgpu_tenant *tenant);
void test_ahead(struct softgpu_tenant *tenant);
void test_compute(struct softgpu_tenant *tenant);
void test_hooked_lost(struct softgpu_tenant *tenant);
void test_mps(struct softgpu_tenant *tenant);
void test_many(struct softgpu_tenant *tenant);
void test_storms(struct softgpu_tenant *tenant);
void test_hooked_processes(struct softgpu_tenant *tenant);
void test_hostile(void);
void test_hooked_children(struct softgpu_tenant *tenant);
void test_hooked_children_two_gpus(struct softgpu_tenant *tenant);
void test_again(struct softgpu_tenant *tenant);
void test_numbers(void);
void test_mig(void);
void test_hmm_refused(struct softgpu_tenant *tenant);
void test_ats(void);
void test_hooked_reload(void);
void test_hooked_stress(void);

#endif
