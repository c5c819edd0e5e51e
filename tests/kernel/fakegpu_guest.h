/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Helpers for the tests of gvm.ko on a fake GPU. A tenant is a process of its own and exits
 * with 0 on success. The first process counts these.
 */
#ifndef FAKEGPU_GUEST_H
#define FAKEGPU_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fakegpu_lib.h"
#include "guest.h"

#define CHUNK (2ull << 20)
#define PAGE  (64ull << 10)

/*
 * Random numbers. All follow from one seed, which is printed. GVM_TEST_SEED on the kernel's
 * command line repeats it.
 */
struct dice {
	uint64_t state;
};
void fakegpu_seed_init(void);
struct dice fakegpu_dice(uint64_t stream);
uint64_t roll(struct dice *dice, uint64_t below);

/* In a tenant: unless @ok, log a line and exit with 1. */
void require(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Open a context, and map memory in it. A tenant whose call fails exits. */
int tenant_open(uint32_t group_tgid);
uint64_t tenant_map(int context, uint64_t bytes);

/* A descriptor for pressure events of the tenant's container. It does not block. */
int tenant_listen(void);

/* Start @main(@index) in a process of its own. */
pid_t tenant_start(void (*main)(uint32_t index), uint32_t index);

/* Wait for a process: true if it exited with 0; kill it: true if the kill ended it. */
bool tenant_finish(pid_t pid);
bool tenant_kill(pid_t pid);

/* Start @count processes and wait for all. Returns how many exited with 0. */
uint32_t tenants_run(void (*main)(uint32_t index), uint32_t count);

/* Memory that this process shares with those that it forks. Zeroed; never freed. */
void *shared_alloc(size_t bytes);

/*
 * Read a control file of process @tgid on GPU 0 as a number (-1: no file); write one: 0 or the
 * errno.
 */
long long control_get(pid_t tgid, const char *file);
int control_set(pid_t tgid, const char *file, const char *text);
int control_set_number(pid_t tgid, const char *file, uint64_t number);

/* One count of gmem.events, such as "oom ". */
unsigned long event_count(pid_t pid, const char *event);

/*
 * The GPU under test. There are two: gvm_fakegpu.ko (fakegpu_gpu.c and fakegpu_lib.c),
 * and NVIDIA's nvidia-uvm.ko with our hooks, on the software GPU (hooked_gpu.c). A test
 * may be linked with either.
 *
 * What only one of them can do:
 */
enum gpu_ability {
	GPU_DISCARDS,	     /* fakegpu_discard(); without it that is EOPNOTSUPP */
	GPU_HAS_FEATURES,    /* gpu_load("features=") */
	GPU_OUTLIVES_MAKERS, /* a context lives on when the process that made it ends */
	GPU_REFUSES_ONCE, /* a kernel without memory counts as one oom, not one for each page */
	GPU_TELLS_EVICTIONS, /* gvm:gvm_evict says which block left */
	GPU_COUNTS_LAUNCHES, /* gcgroup.stat */
	GPU_OPENS_TO_USERS,  /* without privileges, and without a cgroup of one's own */
};
bool gpu_can(enum gpu_ability ability);

/*
 * Without GPU_TELLS_EVICTIONS: the second word of each copy out of the GPU since the last call,
 * in order, at most @max of them. Returns how many.
 */
size_t gpu_words_out(uint64_t *ret_words, size_t max);

/* The kernel module that has the GPU's memory managed by gvm.ko. */
extern const char *const gpu_module;

/*
 * The address of the context's next mapping, a whole number of chunks. Each mapping from then
 * on lies one free chunk after the one before.
 */
uint64_t gpu_next_va(int context);

/* What a context is charged for its page tables. */
uint64_t gpu_context_bytes(void);

/* How often a test repeats what it does @times times on the fast one of the GPUs. */
uint32_t gpu_times(uint32_t times);

/*
 * Load the GPU's modules before a test, and unload them after the test. The unload looks for
 * leaks. Of the parameters the software GPU knows chunks= only.
 */
void gpu_load(const char *parameters);
void gpu_unload(void);

/* Are the core's books in order? May be called at any time. */
bool gpu_check(void);

/* The GPU's counters. */
struct gvm_fakegpu_info gpu_info(void);

void sleep_ms(unsigned int ms);

/*
 * How often a process looks whether another one has come so far, 5 ms apart: 5 minutes, for a
 * busy machine and a kernel that watches.
 */
#define STEP_TRIES 60000u

/* In a tenant: wait until *@step, in shared memory, is @wanted at least. */
void wait_for_step(const volatile uint32_t *step, uint32_t wanted);

/* Write a text to a file. Returns 0 or the errno. */
int file_write(const char *path, const char *text);

/*
 * Start a tenant that stores @chunks chunks, all protected by gmem.limit.low. victim_end()
 * checks that its neighbours took none of them, and that every word is as it was stored.
 */
pid_t victim_start(uint32_t chunks);
void victim_end(pid_t pid);

/*
 * fakegpu_rounds.c: rounds_work() is the life of a tenant that fills and verifies
 * @chunks chunks of rounds_begin() again and again. rounds_go_on(): it ends a
 * further round, within a minute.
 */
void rounds_begin(uint32_t chunks);
void rounds_work(uint32_t index);
uint64_t rounds_of(uint32_t index);
bool rounds_go_on(uint32_t index);

/*
 * fakegpu_waits.c: trace which thread waits for which, from waits_begin() to waits_end(). Test
 * points: no holder of a mutex and no process waited for another tenant, and no holder of the
 * mutex of TSGs made more than @most_rpcs RPCs.
 */
void waits_begin(void);
void waits_end(uint32_t most_rpcs);

/*
 * In place of waits_end(), where the processes themselves evict and may wait. Test points: no
 * holder of a mutex waited for another tenant; process @pid took a mutex, so that the trace has
 * seen it, and began no wait but for RPCs.
 */
void waits_end_of(pid_t pid);

/*
 * Does the trace have a line with @what, of thread @pid (0: of any)? waits_begin() has been
 * called, waits_end() not yet.
 */
bool waits_seen(pid_t pid, const char *what);

/* A test point after waits_end(): threads waited @least times for the lock of that name. */
void waits_contended(const char *lock, uint32_t least);

/* The tests. Each has a file of its own. */
void test_integrity(void);
void test_isolation(void);
void test_limits(void);
void test_protection(void);
void test_pinned(void);
void test_refused(void);
void test_victims(void);
void test_parts(void);
void test_runtime(void);
void test_shim(void);
void test_evictor(void);
void test_signals(void);
void test_swap(void);
void test_wide(void);
void test_freeze(void);
void test_hostage(void);
void test_contended(void);
void test_scheduling(void);
void test_kill(void);
void test_containers(void);
void test_children(void);
void test_identity(void);
void test_membership(void);
void test_policies(void);
void test_cgroups(void);
void test_doors(void);
void test_lockdown(void);
void test_neighbours(void);
void test_driver(void);
void test_reload(void);
void test_tool(void);
void test_errors(void);
void test_host_memory(void);
void test_stress(void);
void test_injection(void);

#endif
