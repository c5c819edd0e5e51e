// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The driver's HMM: the GPU accesses memory that a process has from malloc(), and pages of it
 * move to device memory. It takes a kernel with CONFIG_DEVICE_PRIVATE, which Debian's have not;
 * then these parts only say so.
 */
#define _GNU_SOURCE
#include "softgpu_guest.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	  (32 * SOFTGPU_MB) /* two of these do not fit */
#define PAGES	  (BYTES / SOFTGPU_PAGE)
#define WORDS	  (BYTES / 8)
#define PAGE_WORD (SOFTGPU_PAGE / 8)

static uint64_t *anonymous(void)
{
	uint64_t *p =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint64_t i = 0; p != MAP_FAILED && i < WORDS; i += PAGE_WORD)
		p[i] = i;
	return p;
}

/* The GPU adds one to the first word of each page. */
static bool add(struct softgpu_tenant *tenant, uint64_t *p)
{
	return softgpu_touch(tenant, p, PAGES, SOFTGPU_PAGE, SOFTGPU_ATOMIC, 1, 64).errors == 0;
}

/* Whether each page's word is what the CPU wrote, with @more. */
static bool has(const uint64_t *p, uint64_t more)
{
	for (uint64_t i = 0; i < WORDS; i += PAGE_WORD)
		if (p[i] != i + more)
			return false;
	return true;
}

/* The first tenant has no HMM: it goes, and comes again with it. */
static bool has_hmm(struct softgpu_tenant *tenant)
{
	static uint64_t word[SOFTGPU_PAGE] __attribute__((aligned(4096)));
	bool yes;

	softgpu_detach(tenant);
	softgpu_init_flags = 0;
	guest_check(softgpu_attach(tenant, 1000) == 0, "a process with HMM has the GPU");
	softgpu_init_flags = UVM_INIT_FLAGS_DISABLE_HMM;
	word[0] = 1;
	yes = softgpu_touch(tenant, word, 1, 8, SOFTGPU_WRITE, 2, 1).errors == 0;
	if (!yes)
		guest_log("# this kernel has no CONFIG_DEVICE_PRIVATE, or the driver no HMM");
	else
		guest_check(word[0] == 2, "the GPU writes memory of the process");
	return yes;
}

/* Two areas that do not fit together, in turns. */
void test_hmm(struct softgpu_tenant *tenant)
{
	struct softgpu_stats before = softgpu_stats(), after;
	uint64_t *p, *q;

	if (!has_hmm(tenant))
		return;
	p = anonymous();
	q = anonymous();
	for (unsigned int i = 0; i < 2; i++)
		guest_check(add(tenant, p) && add(tenant, q), "the GPU adds to two areas");
	after = softgpu_stats();
	guest_check(
		after.copy_bytes[SOFTGPU_TO_VIDMEM] - before.copy_bytes[SOFTGPU_TO_VIDMEM] >
			2 * BYTES,
		"pages moved to device memory, and were evicted: %llu MB in, %llu MB out",
		(after.copy_bytes[SOFTGPU_TO_VIDMEM] - before.copy_bytes[SOFTGPU_TO_VIDMEM]) >>
			20,
		(after.copy_bytes[SOFTGPU_FROM_VIDMEM] -
		 before.copy_bytes[SOFTGPU_FROM_VIDMEM]) >>
			20);
	guest_check(has(p, 2) && has(q, 2), "each page of both is right");
	munmap(p, BYTES);
	munmap(q, BYTES);
}

/*
 * Pages of device memory that a child has as well, when they have to be evicted. Report 1223:
 * an eviction without an end.
 */
void test_hmm_fork(struct softgpu_tenant *tenant)
{
	uint64_t *p, *q;
	pid_t child;
	int status;

	if (!has_hmm(tenant))
		return;
	p = anonymous();
	q = anonymous();
	guest_check(add(tenant, p), "the GPU has an area");
	child = fork();
	if (child == 0) {
		sleep(5);
		_exit(has(p, 1) ? 0 : has(p, 2) ? 2 : 1);
	}
	guest_check(add(tenant, q), "another one evicts it, while a child shares it");
	guest_check(add(tenant, p), "and it comes back");
	waitpid(child, &status, 0);
	guest_check(status == 0, "the child has what was there at the fork: status %x", status);
	guest_check(has(p, 2) && has(q, 1), "each page of both is right");
	munmap(p, BYTES);
	munmap(q, BYTES);
}

/*
 * A process without HMM registers the GPU first, then one with it comes and goes. Report
 * 1082: a NULL dereference.
 */
void test_hmm_order(struct softgpu_tenant *tenant)
{
	struct softgpu_tenant without, with;

	softgpu_detach(tenant); /* the GPU is registered anew */
	guest_check(softgpu_attach(&without, 1001) == 0, "a process without HMM has the GPU");
	softgpu_init_flags = 0;
	guest_log("# with HMM: status %x", softgpu_attach(&with, 1002));
	softgpu_init_flags = UVM_INIT_FLAGS_DISABLE_HMM;
	softgpu_detach(&with);
	guest_check(true, "the process with HMM is gone");
	softgpu_detach(&without);
	guest_check(softgpu_attach(tenant, 1000) == 0, "the first one again");
}
