/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the tests of gvm.ko on a fake GPU are written with. Tenants are processes of their own, which
 * exit with 0 if all went well for them; the first process counts.
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

/* Random numbers. All come from one seed, which is printed; GVM_TEST_SEED on the kernel's command
 * line repeats it. */
struct dice {
	uint64_t state;
};
void fakegpu_seed_init(void);
struct dice fakegpu_dice(uint64_t stream);
uint64_t roll(struct dice *dice, uint64_t below);

/* In a tenant: end it with a line in the log unless @ok. */
void require(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Open a context, map memory in it: in a tenant, which ends if it cannot. */
int tenant_open(uint32_t group_tgid);
uint64_t tenant_map(int context, uint64_t bytes);

/* A descriptor to hear of pressure on the tenant's container by; it does not block. */
int tenant_listen(void);

/* Start @main(@index) in a process. */
pid_t tenant_start(void (*main)(uint32_t index), uint32_t index);

/* Wait for a process: did it exit with 0; was it killed? */
bool tenant_finish(pid_t pid);
bool tenant_kill(pid_t pid);

/* Start @count of them, wait for all. Returns how many did well. */
uint32_t tenants_run(void (*main)(uint32_t index), uint32_t count);

/* Memory that this process and those that it forks share. Zeroed; never freed. */
void *shared_alloc(size_t bytes);

/* A control file of process @tgid on GPU 0 as a number (-1: none), and a write of one: an errno. */
long long control_get(pid_t tgid, const char *file);
int control_set(pid_t tgid, const char *file, const char *text);
int control_set_number(pid_t tgid, const char *file, uint64_t number);

/* One count of gmem.events, such as "oom ". */
unsigned long event_count(pid_t pid, const char *event);

/* gvm_fakegpu.ko with these parameters, before and after a test; the latter looks for leaks. */
void gpu_load(const char *parameters);
void gpu_unload(void);

/* Are the core's books in order, whatever is going on? */
bool gpu_check(void);

/* What the GPU has done so far. */
struct gvm_fakegpu_info gpu_info(void);

void sleep_ms(unsigned int ms);

/*
 * Start a tenant that stores @chunks chunks, all of them protected by gmem.limit.low. At its end it has
 * lost none of them to its neighbours, and finds what it stored.
 */
pid_t victim_start(uint32_t chunks);
void victim_end(pid_t pid);

/*
 * fakegpu_waits.c: between the two, look who waits for whom. Test points: no thread waited for the GPU
 * while it had the device's mutex of TSGs.
 */
void waits_begin(void);
void waits_end(void);

/* The tests, a file each. */
void test_integrity(void);
void test_isolation(void);
void test_limits(void);
void test_protection(void);
void test_pinned(void);
void test_refused(void);
void test_victims(void);
void test_evictor(void);
void test_signals(void);
void test_swap(void);
void test_freeze(void);
void test_hostage(void);
void test_scheduling(void);
void test_kill(void);
void test_containers(void);
void test_identity(void);
void test_membership(void);
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
