// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Defects of the published GVM driver, as tests that a driver without them passes:
 * docs/softgpu.md. A limit is a file of that driver's in debugfs, in the folder of the thread
 * that opened /dev/nvidia-uvm.
 */
#define _GNU_SOURCE
#include "softgpu_judge.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK	     (2 * SOFTGPU_MB)
#define BUCKETS_BITS 8 /* of the driver's table of processes */
#define FORKS_MAX    4096
#define STORM_ROUNDS 300

static int published_limit(int thread, uint64_t bytes)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "nvidia-uvm/processes/%d/0/memory.limit", thread);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	return guest_write(path, text);
}

/*
 * Let the GPU write a word of each of @blocks blocks, one after the other.
 * Returns accesses that failed.
 */
static uint64_t published_touch(struct softgpu_tenant *tenant, uint64_t *p, size_t blocks)
{
	return softgpu_touch(tenant, p, blocks, BLOCK, SOFTGPU_WRITE, 1, 1).errors;
}

/*
 * A process frees memory, RM takes it, and the process uses more memory than is left. The
 * chunks that RM has must not be used for it.
 */
void test_freed_chunk(struct softgpu_tenant *tenant)
{
	const size_t freed = 8, blocks = JUDGE_CHUNKS + 7;
	uint64_t *p = softgpu_managed(tenant, freed * BLOCK);
	size_t resident = 0;

	guest_check(published_touch(tenant, p, freed) == 0 && munmap(p, freed * BLOCK) == 0,
		    "%zu blocks are used and freed", freed);
	guest_check(softgpu_rm_take(freed * BLOCK) == 0, "RM takes as much");
	p = softgpu_managed(tenant, blocks * BLOCK);
	guest_check(published_touch(tenant, p, blocks) == 0, "%zu blocks are used", blocks);
	for (size_t i = 0; i < blocks; i++)
		resident += (softgpu_resident(tenant, p + i * BLOCK / sizeof(*p)) &
			     SOFTGPU_ON_GPU) != 0;
	guest_check(resident <= JUDGE_CHUNKS - freed,
		    "%zu of them are on the GPU, which has %zu chunks for them", resident,
		    JUDGE_CHUNKS - freed);
	munmap(p, blocks * BLOCK);
	softgpu_rm_give();
}

/* A limit is reached, which may be less than a block needs. */
void test_small_limit(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, 80 * BLOCK);

	if (guest_check(published_limit(getpid(), BLOCK / 2) == 0, "a limit of 1 MB"))
		guest_check(published_touch(tenant, p, 80) == 0, "80 blocks are used");
	munmap(p, 80 * BLOCK);
}

static struct softgpu_tenant thread_tenant;
static int thread_number, thread_status;

static void *thread_attach(void *unused)
{
	(void)unused;
	thread_number = gettid();
	thread_status = softgpu_attach(&thread_tenant, 1001);
	return NULL;
}

/* The tenant is opened by a thread that is not the first of its process. */
void test_thread_limit(struct softgpu_tenant *tenant)
{
	pthread_t thread;
	uint64_t *p;

	(void)tenant;
	guest_check(pthread_create(&thread, NULL, thread_attach, NULL) == 0 &&
			    pthread_join(thread, NULL) == 0 && thread_status == 0,
		    "a second thread is a tenant");
	p = softgpu_managed(&thread_tenant, 80 * BLOCK);
	if (guest_check(published_limit(thread_number, 8 * BLOCK) == 0, "a limit of 16 MB"))
		guest_check(published_touch(&thread_tenant, p, 80) == 0, "80 blocks are used");
	munmap(p, 80 * BLOCK);
	softgpu_detach(&thread_tenant);
}

/* hash_32(): the driver's table of processes has this bucket for a number. */
static uint32_t published_bucket(int number)
{
	return (uint32_t)number * 0x61c88647u >> (32 - BUCKETS_BITS);
}

/*
 * A younger process is in the same bucket of the driver's table as this one,
 * which then closes its GPU.
 */
void test_pid_clash(struct softgpu_tenant *tenant)
{
	UVM_UNREGISTER_GPU_PARAMS gpu = { .gpu_uuid = softgpu_uuid };
	struct judge_process other = { 0 };
	int pid = -1;

	for (unsigned int i = 0; i < FORKS_MAX; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		if (published_bucket(pid + 1) == published_bucket(getpid()))
			break;
	}
	guest_check(judge_process_start(&other, 1001, NULL) == 0, "a second process");
	guest_check(published_bucket(other.pid) == published_bucket(getpid()),
		    "processes %d and %d are in one bucket", getpid(), other.pid);
	guest_check(softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &gpu) == 0,
		    "the older one unregisters its GPU");
	judge_process_end(&other);
}

/* Write limits without end. */
static void storm_limits(int process)
{
	for (;;) {
		published_limit(process, 4 * BLOCK);
		published_limit(process, UINT64_MAX);
	}
}

static void storm_accesses(struct softgpu_tenant *tenant, uintptr_t address)
{
	for (;;)
		published_touch(tenant, (uint64_t *)address, 40);
}

static int storm_fork(struct judge_process *process, uintptr_t address)
{
	int pid = fork();

	if (pid)
		return pid;
	if (address)
		storm_accesses(&process->tenant, address);
	storm_limits(process->pid);
	return -1;
}

/* The limit of a process is written while its GPU faults and its CPU maps memory. */
void test_limit_storm(struct softgpu_tenant *tenant)
{
	struct judge_call map = { .what = JUDGE_MAP, .blocks = 40 }, more;
	struct judge_process process = { 0 };
	int writer, user;

	(void)tenant;
	map.address = SOFTGPU_FIRST_ADDRESS;
	more = map;
	more.address += SOFTGPU_ADDRESS_STEP;
	guest_check(judge_process_start(&process, 1001, NULL) == 0 &&
			    judge_process_ask(&process, &map) == 0,
		    "a second process");
	user = storm_fork(&process, map.address);
	writer = storm_fork(&process, 0);
	for (unsigned int i = 0; i < STORM_ROUNDS; i++) {
		more.what = i % 2 ? JUDGE_UNMAP : JUDGE_MAP;
		if (judge_process_ask(&process, &more))
			break;
		usleep(1000);
		if (i % 50 == 49)
			guest_log("# round %u", i);
	}
	kill(user, SIGKILL);
	kill(writer, SIGKILL);
	waitpid(user, NULL, 0);
	waitpid(writer, NULL, 0);
	judge_process_end(&process);
	guest_check(true, "limits are written during faults and mappings");
}
