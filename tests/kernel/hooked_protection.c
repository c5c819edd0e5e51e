// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gmem.limit.low in NVIDIA's driver, and memory that RM takes by force.
 */
#include "hooked_guest.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROTECTED_MB  48ul
#define WITH_FAILURES 6u /* the number of a tenant whose evictions fail at first */

static const long long mb = SOFTGPU_MB;

/* Let the next eviction of each block fail. Returns whether it could. */
static bool inject_evictions(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes)
{
	size_t failed = 0;

	for (size_t at = 0; at < bytes; at += 2 * SOFTGPU_MB) {
		UVM_TEST_VA_BLOCK_INJECT_ERROR_PARAMS params = { .lookup_address =
									 (uintptr_t)p + at,
								 .eviction_error = 1 };

		failed += softgpu_uvm(tenant->fd, UVM_TEST_VA_BLOCK_INJECT_ERROR, &params) != 0;
	}
	return failed == 0;
}

/* A tenant of 48 MB, all protected. */
static int protected_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	size_t bytes = PROTECTED_MB * SOFTGPU_MB;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, bytes);

	failed += hooked_set(getpid(), "gmem.limit.low", "48M") != 0;
	failed += !hooked_write(&tenant, p, bytes, number);
	if (number == WITH_FAILURES)
		failed += !inject_evictions(&tenant, p, bytes);
	hooked_ready();
	failed +=
		!hooked_read(&tenant, p, bytes, number) || !hooked_cpu_reads(p, bytes, number);
	softgpu_detach(&tenant);
	return failed;
}

void test_hooked_protection(struct softgpu_tenant *tenant)
{
	struct hooked_process owner = hooked_start(protected_life, 2);
	size_t bytes = 160 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();

	hooked_wait_ready(&owner);
	guest_check(hooked_get(owner.pid, "gmem.current") == 48 * mb, "48 MB are protected");
	guest_check(hooked_write(tenant, p, bytes, 4) && hooked_read(tenant, p, bytes, 4),
		    "a neighbour writes and reads 160 MB, without a limit, on %lu MB",
		    HOOKED_MB);
	guest_check(hooked_get(me, "gmem.current") > 48 * mb &&
			    hooked_get(me, "gmem.current") <= 64 * mb,
		    "it gets the rest: %lld bytes", hooked_get(me, "gmem.current"));
	guest_check(hooked_get(owner.pid, "gmem.current") == 48 * mb,
		    "48 MB are where they were");
	hooked_go(&owner);
	guest_check(hooked_end(&owner) == 0, "and as they were");
	guest_check(hooked_cpu_reads(p, bytes, 4), "the neighbour's are right as well");
	munmap(p, bytes);
}

#define UNUSED_MB 12ul

/* What happens to memory that a tenant needs no more. UNMAPPED: by a discard as well. */
enum unneeded { TAKEN_BACK, DISCARDED, UNMAPPED };

static const char *const unneeded_names[] = {
	[TAKEN_BACK] = "are on the CPU",
	[DISCARDED] = "are discarded",
	[UNMAPPED] = "are discarded and unmapped",
};

/* The number of such a tenant says what happens, and whether it is protected. */
#define UNUSED_LIFE(what, protected) (10u + 2u * (what) + (protected))

static enum unneeded what_of(unsigned int number)
{
	return (number - 10) / 2;
}

static bool is_protected(unsigned int number)
{
	return number % 2 == 1;
}

/* The driver has discards since 580. */
static bool discard(struct softgpu_tenant *tenant, uint64_t *p, size_t bytes, bool unmap)
{
#ifdef UVM_DISCARD
	UVM_DISCARD_PARAMS params = {
		.base = (uintptr_t)p,
		.length = bytes,
		.flags = unmap ? UVM_DISCARD_FLAGS_UNMAP : 0,
	};

	return softgpu_uvm(tenant->fd, UVM_DISCARD, &params) == 0;
#else
	(void)tenant;
	(void)p;
	(void)bytes;
	(void)unmap;
	return false;
#endif
}

/*
 * A tenant of 48 MB. Of these it needs the last 12 MB no more, the ones that the GPU used last,
 * and their chunks stay. At the end the GPU writes all of it anew, unless pages were discarded
 * that are still mapped: what is written there may be lost.
 */
static int unused_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	size_t bytes = PROTECTED_MB * SOFTGPU_MB, unneeded = UNUSED_MB * SOFTGPU_MB;
	size_t kept = bytes - unneeded;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, bytes);
	enum unneeded what = what_of(number);

	if (is_protected(number))
		failed += hooked_set(getpid(), "gmem.limit.low", "48M") != 0;
	failed += !hooked_write(&tenant, p, bytes, number);
	if (what != TAKEN_BACK)
		failed += !discard(&tenant, p + kept / 8, unneeded, what == UNMAPPED);
	for (size_t at = kept; what == TAKEN_BACK && at < bytes; at += SOFTGPU_PAGE)
		p[at / 8] = number + at / SOFTGPU_PAGE;
	hooked_ready();
	failed += !hooked_cpu_reads(p, what == TAKEN_BACK ? bytes : kept, number);
	if (what != DISCARDED)
		failed += !hooked_write(&tenant, p, bytes, number + 20) ||
			  !hooked_cpu_reads(p, bytes, number + 20);
	softgpu_detach(&tenant);
	return failed;
}

static unsigned long long copied_out(void)
{
	return softgpu_stats().copy_bytes[SOFTGPU_FROM_VIDMEM];
}

/*
 * Chunks without data that is needed leave first, although they were used last. A protected
 * container keeps them.
 */
static void check_unused(struct softgpu_tenant *tenant, unsigned int number)
{
	size_t bytes = (HOOKED_MB - PROTECTED_MB + UNUSED_MB / 2) * SOFTGPU_MB;
	struct hooked_process owner = hooked_start(unused_life, number);
	unsigned long long copied;
	long long left, swapped;
	uint64_t *p;

	hooked_wait_ready(&owner);
	guest_check(hooked_get(owner.pid, "gmem.current") == 48 * mb,
		    "%lld bytes are charged, 48 MB; 12 MB of them %s",
		    hooked_get(owner.pid, "gmem.current"), unneeded_names[what_of(number)]);
	copied = copied_out();
	p = softgpu_managed(tenant, bytes);
	guest_check(hooked_write(tenant, p, bytes, 5), "a neighbour writes %zu MB",
		    bytes / SOFTGPU_MB);
	copied = copied_out() - copied;
	left = hooked_get(owner.pid, "gmem.current");
	swapped = hooked_get(owner.pid, "gmem.swap.current");
	if (is_protected(number))
		guest_check(left == 48 * mb && copied > 0,
			    "protected, it keeps %lld bytes, and the neighbour pages", left);
	else
		guest_check(left < 48 * mb && left >= 36 * mb && swapped == 0 && copied == 0,
			    "it has %lld bytes left, and nothing was copied: %llu, %lld", left,
			    copied, swapped);
	guest_check(hooked_read(tenant, p, bytes, 5), "all is right");
	munmap(p, bytes);
	hooked_go(&owner);
	guest_check(hooked_end(&owner) == 0, "and the owner's");
}

void test_unused(struct softgpu_tenant *tenant)
{
	enum unneeded last = TAKEN_BACK;

#ifdef UVM_DISCARD
	last = UNMAPPED;
#else
	guest_log("# this driver knows no discard");
#endif
	for (enum unneeded what = TAKEN_BACK; what <= last; what++) {
		check_unused(tenant, UNUSED_LIFE(what, 1));
		check_unused(tenant, UNUSED_LIFE(what, 0));
	}
}

#define CUT_MB	 12ul
#define CUT_LIFE 40u
#define OLD_MB	 64ul
#define NEW_MB	 (HOOKED_MB - OLD_MB - CUT_MB + 8)

/*
 * A tenant of 12 MB, whose chunks hold no data: the CPU has taken it back. Then each of its
 * blocks is cut in two, and the GPU uses both halves, in the same chunks.
 */
static int cut_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	size_t bytes = CUT_MB * SOFTGPU_MB;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, bytes);

	failed += !hooked_write(&tenant, p, bytes, number);
	for (size_t at = 0; at < bytes; at += SOFTGPU_PAGE)
		p[at / 8] = number + at / SOFTGPU_PAGE;
	for (size_t at = SOFTGPU_MB; at < bytes; at += SOFTGPU_MB) {
		UVM_TEST_VA_RANGE_SPLIT_PARAMS cut = { .split_address = (uintptr_t)p + at - 1 };

		failed += softgpu_uvm(tenant.fd, UVM_TEST_VA_RANGE_SPLIT, &cut) != 0;
	}
	failed += !hooked_read(&tenant, p, bytes, number);
	hooked_ready();
	failed += !hooked_cpu_reads(p, bytes, number);
	softgpu_detach(&tenant);
	return failed;
}

/*
 * A root chunk without data is split, and its parts are used: it is no easy victim any more. A
 * neighbour's older memory leaves instead.
 */
void test_cut(struct softgpu_tenant *tenant)
{
	uint64_t *old = softgpu_managed(tenant, OLD_MB * SOFTGPU_MB);
	struct hooked_process owner;
	uint64_t *p = softgpu_managed(tenant, NEW_MB * SOFTGPU_MB);
	long long left;

	guest_check(hooked_write(tenant, old, OLD_MB * SOFTGPU_MB, 5), "the GPU writes %lu MB",
		    OLD_MB);
	owner = hooked_start(cut_life, CUT_LIFE);
	hooked_wait_ready(&owner);
	left = hooked_get(owner.pid, "gmem.current");
	guest_check(left == (long long)CUT_MB * mb,
		    "a neighbour has %lld bytes in halves of blocks", left);
	guest_check(hooked_write(tenant, p, NEW_MB * SOFTGPU_MB, 6),
		    "the GPU writes %lu MB more, for which 8 MB have to leave", NEW_MB);
	left = hooked_get(owner.pid, "gmem.current");
	guest_check(left == (long long)CUT_MB * mb &&
			    hooked_get(owner.pid, "gmem.swap.current") == 0,
		    "none of the neighbour's left, which were used last: it has %lld", left);
	guest_check(hooked_get(getpid(), "gmem.swap.current") >= 8 * mb,
		    "older memory did: %lld", hooked_get(getpid(), "gmem.swap.current"));
	hooked_go(&owner);
	guest_check(hooked_end(&owner) == 0, "the neighbour's data is right");
	guest_check(hooked_read(tenant, old, OLD_MB * SOFTGPU_MB, 5) &&
			    hooked_read(tenant, p, NEW_MB * SOFTGPU_MB, 6),
		    "and all other");
	munmap(old, OLD_MB * SOFTGPU_MB);
	munmap(p, NEW_MB * SOFTGPU_MB);
}

void test_forced(struct softgpu_tenant *tenant)
{
	struct hooked_process owner = hooked_start(protected_life, 3);
	long long left, taken;

	(void)tenant;
	hooked_wait_ready(&owner);
	guest_check(hooked_event(owner.pid, "taken") == 0, "nothing was taken of 48 MB");
	guest_check(softgpu_rm_take(80 * SOFTGPU_MB) == 0, "RM takes 80 MB of %lu", HOOKED_MB);
	left = hooked_get(owner.pid, "gmem.current");
	taken = hooked_event(owner.pid, "taken");
	guest_check(taken > 0 && left == 48 * mb - taken * 2 * mb,
		    "%lld bytes are left, %lld chunks were taken and counted", left, taken);
	softgpu_rm_give();
	hooked_go(&owner);
	guest_check(hooked_end(&owner) == 0, "all data is right");
}

/*
 * RM asks for each chunk of the GPU by its address, so no policy picks a victim. RM
 * does not get pinned chunks.
 */
void test_forced_range(struct softgpu_tenant *tenant)
{
	struct hooked_process owner = hooked_start(protected_life, 3);
	unsigned int got = 0, pinned = 0, other = 0;
	long long taken;

	(void)tenant;
	hooked_wait_ready(&owner);
	for (uint64_t at = 0; at < HOOKED_MB * SOFTGPU_MB; at += 2 * SOFTGPU_MB) {
		int status = softgpu_rm_take_range(at, 2 * SOFTGPU_MB);

		*(status == 0 ? &got : status == EBUSY ? &pinned : &other) += 1;
	}
	taken = hooked_event(owner.pid, "taken");
	guest_check(got >= PROTECTED_MB / 2 && other == 0,
		    "RM gets %u chunks by address, %u are pinned, %u failed", got, pinned,
		    other);
	guest_check(hooked_get(owner.pid, "gmem.current") == 0 && taken == PROTECTED_MB / 2,
		    "%lld bytes are left, %lld chunks were taken and counted",
		    hooked_get(owner.pid, "gmem.current"), taken);
	guest_check(hooked_get(owner.pid, "gmem.swap.current") == PROTECTED_MB * mb,
		    "%lld bytes are swapped out", hooked_get(owner.pid, "gmem.swap.current"));
	softgpu_rm_give();
	hooked_go(&owner);
	guest_check(hooked_end(&owner) == 0, "all data is right");
}

/*
 * Each block of a tenant refuses to leave once. A chunk that RM does not get
 * does not count as taken.
 */
void test_unforced(struct softgpu_tenant *tenant)
{
	struct hooked_process owner = hooked_start(protected_life, WITH_FAILURES);
	unsigned int refused = 0;
	long long left, taken;

	(void)tenant;
	hooked_wait_ready(&owner);
	guest_check(softgpu_rm_take(48 * SOFTGPU_MB) == 0, "RM takes 48 MB of %lu", HOOKED_MB);
	for (unsigned int i = 0; i < 100 && hooked_event(owner.pid, "taken") < 8; i++) {
		if (softgpu_rm_take(2 * SOFTGPU_MB) == 0 || refused++ > 0)
			continue;
		guest_check(hooked_get(owner.pid, "gmem.current") == 48 * mb &&
				    hooked_event(owner.pid, "taken") == 0,
			    "a chunk that could not leave was not taken: %lld",
			    hooked_event(owner.pid, "taken"));
	}
	left = hooked_get(owner.pid, "gmem.current");
	taken = hooked_event(owner.pid, "taken");
	guest_check(
		refused > 0 && taken == 8 && left == 48 * mb - taken * 2 * mb,
		"%u evictions failed, %lld chunks were taken and counted, %lld bytes are left",
		refused, taken, left);
	softgpu_rm_give();
	hooked_go(&owner);
	guest_check(hooked_end(&owner) == 0, "all data is right");
}
