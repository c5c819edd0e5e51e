// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gmem.limit.high in NVIDIA's driver: a container pages within its limit, to the byte, and sees
 * all its data. Its neighbours do not notice.
 */
#include "hooked_guest.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const long long mb = SOFTGPU_MB;

void test_hooked_limits(struct softgpu_tenant *tenant)
{
	size_t bytes = 96 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();

	guest_check(hooked_get(me, "gmem.current") == 0, "a new tenant is charged nothing");
	guest_check(hooked_set(me, "gmem.limit.high", "32M") == 0, "its limit becomes 32 MB");
	guest_check(hooked_write(tenant, p, bytes, 10),
		    "the GPU writes 96 MB under a limit of 32");
	guest_check(hooked_get(me, "gmem.current") == 32 * mb, "32 MB are charged: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_resident_mb(tenant, p, bytes) == 32, "and 32 MB are on the GPU: %zu",
		    hooked_resident_mb(tenant, p, bytes));
	guest_check(hooked_get(me, "gmem.swap.current") == 64 * mb, "and 64 MB in swap: %lld",
		    hooked_get(me, "gmem.swap.current"));
	guest_check(hooked_read(tenant, p, bytes, 10), "the GPU reads all of it");
	guest_check(hooked_get(me, "gmem.swap.current") == 64 * mb,
		    "64 MB are in swap again: %lld", hooked_get(me, "gmem.swap.current"));
	guest_check(hooked_get(me, "gmem.peak") == 32 * mb, "the most ever was 32 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	guest_check(hooked_event(me, "high") > 0 && hooked_event(me, "oom") == 0,
		    "%lld charges met the limit, %lld were refused", hooked_event(me, "high"),
		    hooked_event(me, "oom"));

	guest_check(hooked_set(me, "gmem.limit.high", "9M") == 0, "the limit becomes 9 MB");
	guest_check(hooked_get(me, "gmem.current") <= 9 * mb, "%lld bytes are left",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_read(tenant, p, bytes, 10), "the GPU reads all of it under 9 MB");
	guest_check(hooked_get(me, "gmem.current") == 8 * mb, "in four chunks: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_cpu_reads(p, bytes, 10), "the CPU reads all of it");

	guest_check(hooked_set(me, "gmem.limit.high", "16M") == 0, "the limit becomes 16 MB");
	guest_check(softgpu_migrate(tenant, p, bytes, true) == 0, "all of it is migrated");
	guest_check(hooked_get(me, "gmem.current") == 16 * mb, "16 MB stay: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_cpu_reads(p, bytes, 10), "the CPU reads all of it again");
	munmap(p, bytes);
	guest_check(hooked_get(me, "gmem.current") == 0, "without it nothing is charged: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_get(me, "gmem.swap.current") == 0, "and nothing is in swap: %lld",
		    hooked_get(me, "gmem.swap.current"));
	guest_check(hooked_get(me, "gmem.peak") == 32 * mb, "the most ever is 32 MB still");
}

/* Chunks of 64 KB and of 4 KB. */
void test_small(struct softgpu_tenant *tenant)
{
	size_t bytes = 68 << 10;
	uint64_t *p = softgpu_managed(tenant, bytes),
		 *q = softgpu_managed(tenant, 2 * SOFTGPU_MB);
	pid_t me = getpid();

	guest_check(hooked_write(tenant, p, bytes, 5), "the GPU writes 68 KB");
	guest_check(hooked_get(me, "gmem.current") == (long long)bytes,
		    "68 KB are charged, to the byte: %lld", hooked_get(me, "gmem.current"));
	guest_check(hooked_write(tenant, q, 2 * SOFTGPU_MB, 6), "and 2 MB");
	guest_check(hooked_get(me, "gmem.current") == (long long)bytes + 2 * mb,
		    "2 MB more are charged: %lld", hooked_get(me, "gmem.current"));
	munmap((char *)q + SOFTGPU_MB + SOFTGPU_PAGE, SOFTGPU_MB - SOFTGPU_PAGE);
	guest_check(hooked_get(me, "gmem.current") == (long long)(bytes + SOFTGPU_PAGE) + mb,
		    "half of them but 4 KB are unmapped, to the byte: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_cpu_reads(q, SOFTGPU_MB, 6), "the other half is right");
	munmap(q, SOFTGPU_MB + SOFTGPU_PAGE);
	guest_check(hooked_cpu_reads(p, bytes, 5), "and so are the 68 KB");
	munmap(p, bytes);
	guest_check(hooked_get(me, "gmem.current") == 0, "nothing is left: %lld",
		    hooked_get(me, "gmem.current"));
}

/* Ranges of 4 KB: of each a page of the CPU is on the GPU. */
#define PIECES 640u

static bool pieces_write(struct softgpu_tenant *tenant, uint64_t **pieces, uint64_t value)
{
	bool right = true;

	for (unsigned int i = 0; i < PIECES; i++) {
		pieces[i] = softgpu_managed(tenant, SOFTGPU_PAGE);
		right = hooked_write(tenant, pieces[i], SOFTGPU_PAGE, value + i) && right;
	}
	return right;
}

static bool pieces_read(struct softgpu_tenant *tenant, uint64_t **pieces, uint64_t value)
{
	bool right = true;

	for (unsigned int i = 0; i < PIECES; i++)
		right = hooked_read(tenant, pieces[i], SOFTGPU_PAGE, value + i) && right;
	return right;
}

/* Has 2.5 MB in pieces of 4 KB, which are protected. */
static int small_life(unsigned int number)
{
	static uint64_t *pieces[PIECES];
	struct softgpu_tenant tenant;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;

	failed += hooked_set(getpid(), "gmem.limit.low", "6M") != 0;
	failed += !pieces_write(&tenant, pieces, number);
	hooked_ready();
	failed += hooked_get(getpid(), "gmem.current") != (long long)(PIECES * SOFTGPU_PAGE);
	failed += hooked_get(getpid(), "gmem.swap.current") != 0;
	failed += !pieces_read(&tenant, pieces, number);
	softgpu_detach(&tenant);
	return failed;
}

/* Memory in pieces of 4 KB is limited and protected as any other. */
void test_pieces(struct softgpu_tenant *tenant)
{
	static uint64_t *pieces[PIECES];
	struct hooked_process other;
	size_t bytes = 2 * HOOKED_MB * SOFTGPU_MB;
	uint64_t *p;
	pid_t me = getpid();

	guest_check(hooked_set(me, "gmem.limit.high", "2M") == 0, "a limit of 2 MB");
	guest_check(pieces_write(tenant, pieces, 3), "the GPU writes %u ranges of 4 KB",
		    PIECES);
	guest_check(hooked_get(me, "gmem.peak") <= 2 * mb, "never more than 2 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	guest_check(hooked_get(me, "gmem.current") + hooked_get(me, "gmem.swap.current") ==
			    (long long)(PIECES * SOFTGPU_PAGE),
		    "the others are in swap, to the byte: %lld",
		    hooked_get(me, "gmem.swap.current"));
	guest_check(pieces_read(tenant, pieces, 3), "it reads all of them");
	guest_check(hooked_event(me, "oom") == 0, "none was lost");
	for (unsigned int i = 0; i < PIECES; i++)
		munmap(pieces[i], SOFTGPU_PAGE);
	guest_check(hooked_get(me, "gmem.current") == 0 &&
			    hooked_get(me, "gmem.swap.current") == 0,
		    "without them nothing is charged");

	other = hooked_start(small_life, 6);
	guest_check(hooked_set(me, "gmem.limit.high", "max") == 0, "no limit");
	hooked_wait_ready(&other);
	p = softgpu_managed(tenant, bytes);
	guest_check(hooked_write(tenant, p, bytes, 9), "the GPU writes twice its memory");
	hooked_go(&other);
	guest_check(hooked_end(&other) == 0, "a neighbour keeps its protected pieces");
	guest_check(hooked_read(tenant, p, bytes, 9), "all of it is right");
	munmap(p, bytes);
}

/* Has a piece of 4 KB, until it is told to go on. */
static int payer_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, SOFTGPU_PAGE);

	failed += !hooked_write(&tenant, p, SOFTGPU_PAGE, number);
	hooked_ready();
	failed += !hooked_cpu_reads(p, SOFTGPU_PAGE, number);
	munmap(p, SOFTGPU_PAGE);
	hooked_ready();
	softgpu_detach(&tenant);
	return failed;
}

/* The limit becomes 0: what leaves, and what stays, in pages. */
static void check_evictable(pid_t me, long long leave, long long stay, const char *when)
{
	guest_check(hooked_set(me, "gmem.limit.high", "0") == 0 &&
			    hooked_get(me, "gmem.current") == stay * (long long)SOFTGPU_PAGE &&
			    hooked_get(me, "gmem.swap.current") ==
				    leave * (long long)SOFTGPU_PAGE,
		    "%s a limit of 0 leaves %lld bytes, and evicts %lld", when,
		    hooked_get(me, "gmem.current"), hooked_get(me, "gmem.swap.current"));
	guest_check(hooked_set(me, "gmem.limit.high", "max") == 0, "no limit");
}

/*
 * Pieces in a page that another container pays for do not leave for their own container's limit.
 * When that one has left the page, they do.
 */
void test_foreign(struct softgpu_tenant *tenant)
{
	struct hooked_process payer = hooked_start(payer_life, 7);
	uint64_t *pieces[3];
	pid_t me = getpid();
	bool right = true;

	hooked_wait_ready(&payer);
	for (unsigned int i = 0; i < 3; i++) {
		pieces[i] = softgpu_managed(tenant, SOFTGPU_PAGE);
		right = hooked_write(tenant, pieces[i], SOFTGPU_PAGE, 3 + i) && right;
	}
	guest_check(right && hooked_get(me, "gmem.current") == 3 * (long long)SOFTGPU_PAGE,
		    "three pieces are charged: %lld", hooked_get(me, "gmem.current"));
	check_evictable(me, 0, 3, "beside their page's payer");
	munmap(pieces[1], SOFTGPU_PAGE);
	guest_check(hooked_get(me, "gmem.current") == 2 * (long long)SOFTGPU_PAGE,
		    "one of them goes: %lld", hooked_get(me, "gmem.current"));
	hooked_go(&payer);
	hooked_wait_ready(&payer);
	check_evictable(me, 2, 0, "after their page's payer has left");
	guest_check(hooked_read(tenant, pieces[0], SOFTGPU_PAGE, 3) &&
			    hooked_read(tenant, pieces[2], SOFTGPU_PAGE, 5),
		    "both come back, and are right");
	check_evictable(me, 2, 0, "alone in their page");
	munmap(pieces[0], SOFTGPU_PAGE);
	munmap(pieces[2], SOFTGPU_PAGE);
	guest_check(hooked_get(me, "gmem.current") == 0 &&
			    hooked_get(me, "gmem.swap.current") == 0,
		    "nothing is left");
	hooked_go(&payer);
	guest_check(hooked_end(&payer) == 0, "the payer had its data");
}

/* A tenant of 32 MB that stays as it is. */
static int quiet_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	size_t bytes = 32 * SOFTGPU_MB;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, bytes);

	failed += !hooked_write(&tenant, p, bytes, number);
	hooked_ready();
	failed += hooked_resident_mb(&tenant, p, bytes) != 32;
	failed +=
		!hooked_read(&tenant, p, bytes, number) || !hooked_cpu_reads(p, bytes, number);
	softgpu_detach(&tenant);
	return failed;
}

/* hmem.limit: what finds no room on the host stays, and what needs its room is refused. */
void test_hooked_refused(struct softgpu_tenant *tenant)
{
	struct hooked_process quiet = hooked_start(quiet_life, 4);
	size_t bytes = 32 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes), *q = softgpu_managed(tenant, bytes);
	struct softgpu_access access;
	pid_t me = getpid();
	size_t wrong = 0;

	hooked_wait_ready(&quiet);
	guest_check(hooked_set(me, "gmem.limit.high", "16M") == 0 &&
			    hooked_set(me, "hmem.limit", "8M") == 0,
		    "16 MB on the GPU and 8 MB of swap");
	access = softgpu_touch(tenant, p, bytes >> 17, 128 << 10, SOFTGPU_WRITE, 7, 1);
	guest_check(access.errors > 0, "accesses without room are cancelled: %llu",
		    access.errors);
	guest_check(hooked_event(me, "oom") > 0 && hooked_event(me, "hmem") > 0,
		    "%lld were refused, for want of swap %lld", hooked_event(me, "oom"),
		    hooked_event(me, "hmem"));
	guest_check(hooked_get(me, "gmem.peak") == 16 * mb, "never more than 16 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	guest_check(hooked_get(me, "gmem.swap.current") <= 8 * mb,
		    "nor more than 8 in swap: %lld", hooked_get(me, "gmem.swap.current"));
	for (size_t i = 0; i < 24 << 3; i++)
		wrong += p[i << 14] != 7 + i;
	guest_check(wrong == 0, "%zu words of the others are wrong", wrong);
	guest_check(hooked_set(me, "gmem.limit.high", "1M") == 0, "less than a chunk");
	guest_check(softgpu_touch(tenant, q, 1, 8, SOFTGPU_WRITE, 7, 1).errors == 1,
		    "is no room for one");
	hooked_go(&quiet);
	guest_check(hooked_end(&quiet) == 0, "a neighbour has all its data");
	munmap(p, bytes);
	munmap(q, bytes);
	guest_check(hooked_get(me, "gmem.swap.current") == 0 &&
			    hooked_get(me, "gmem.current") == 0,
		    "nothing is left");
}

/* As often may a VA space make room below its limit (GVM_NVIDIA_OWN_TRIES_MAX). */
#define TRIES_MAX 1024

/*
 * The tries to make room for an access do not count against the next one. Each try
 * without room is an oom. So accesses are lost until all tries would be used up, and
 * then the next one has room.
 */
void test_refused_often(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, 2 * SOFTGPU_MB),
		 *q = softgpu_managed(tenant, 2 * SOFTGPU_MB);
	pid_t me = getpid();
	long long tries = 0;
	int lost = 0;

	guest_check(hooked_set(me, "gmem.limit.high", "2M") == 0 &&
			    hooked_set(me, "hmem.limit", "0") == 0,
		    "2 MB on the GPU and no swap");
	guest_check(hooked_write(tenant, p, 2 * SOFTGPU_MB, 6), "the GPU writes 2 MB");
	while (lost < 16 * TRIES_MAX && tries % (TRIES_MAX + 1) != TRIES_MAX &&
	       softgpu_touch(tenant, q, 1, 8, SOFTGPU_WRITE, 7, 1).errors == 1) {
		lost++;
		tries = hooked_event(me, "oom");
	}
	guest_check(tries % (TRIES_MAX + 1) == TRIES_MAX,
		    "%d accesses have no room, after %lld tries", lost, tries);
	guest_check(hooked_set(me, "hmem.limit", "2M") == 0, "swap becomes 2 MB");
	guest_check(hooked_write(tenant, q, 2 * SOFTGPU_MB, 8), "the next access has room");
	guest_check(hooked_event(me, "oom") == tries, "at its first try: %lld",
		    hooked_event(me, "oom"));
	guest_check(hooked_cpu_reads(p, 2 * SOFTGPU_MB, 6), "the CPU reads the first 2 MB");
	munmap(p, 2 * SOFTGPU_MB);
	munmap(q, 2 * SOFTGPU_MB);
}

/* Ranges of 64 KB, which share root chunks. */
#define RANGE	     (64ul << 10)
#define LIMIT_RANGES (2 * SOFTGPU_MB / RANGE)

static bool range_write(struct softgpu_tenant *tenant, uint64_t **ret_p, uint64_t value)
{
	*ret_p = softgpu_managed(tenant, RANGE);
	return hooked_write(tenant, *ret_p, RANGE, value);
}

/*
 * A tenant whose ranges lie in root chunks of the first process, until its limit of 2 MB. Then
 * it has no chunk of its own that could leave. Each round writes a range.
 */
static int guest_of_chunks_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	uint64_t *ranges[LIMIT_RANGES], *more;
	int failed = softgpu_attach(&tenant, 3000 + number) != 0;

	failed += hooked_set(getpid(), "gmem.limit.high", "2M") != 0;
	for (size_t i = 0; i < LIMIT_RANGES; i++) {
		hooked_ready();
		failed += !range_write(&tenant, &ranges[i], i);
	}
	hooked_ready();
	failed += range_write(&tenant, &more, number);
	failed += hooked_get(getpid(), "gmem.current") != 2 * mb;
	failed += hooked_event(getpid(), "oom") == 0;
	munmap(ranges[0], RANGE);
	failed += !hooked_write(&tenant, more, RANGE, number);
	for (size_t i = 1; i < LIMIT_RANGES; i++)
		failed += !hooked_read(&tenant, ranges[i], RANGE, i);
	failed += hooked_get(getpid(), "gmem.current") != 2 * mb;
	softgpu_detach(&tenant);
	return failed;
}

/* At its limit a tenant without a chunk of its own is refused, and the fault thread goes on. */
void test_shared(struct softgpu_tenant *tenant)
{
	struct hooked_process other = hooked_start(guest_of_chunks_life, 5);
	uint64_t *ranges[LIMIT_RANGES + 1];
	size_t wrong = 0;

	for (size_t i = 0; i <= LIMIT_RANGES; i++) {
		hooked_wait_ready(&other);
		wrong += !range_write(tenant, &ranges[i], i);
		hooked_go(&other);
	}
	guest_check(wrong == 0, "two tenants take 64 KB in turn");
	guest_check(hooked_end(&other) == 0,
		    "one whose 2 MB lie in chunks of the other gets no more than these");
	for (size_t i = 0; i <= LIMIT_RANGES; i++) {
		wrong += !hooked_read(tenant, ranges[i], RANGE, i);
		munmap(ranges[i], RANGE);
	}
	guest_check(wrong == 0, "the other one has all its data");
	guest_check(hooked_get(getpid(), "gmem.current") == 0, "nothing is left");
}

/* RM refuses memory of a GPU that is not full: the access fails, and the next one succeeds. */
void test_denied(struct softgpu_tenant *tenant)
{
	UVM_TEST_PMM_RELEASE_FREE_ROOT_CHUNKS_PARAMS params = { .gpu_uuid = softgpu_uuid };
	uint64_t *p = softgpu_managed(tenant, 2 * SOFTGPU_MB);
	pid_t me = getpid();

	guest_check(softgpu_uvm(tenant->fd, UVM_TEST_PMM_RELEASE_FREE_ROOT_CHUNKS, &params) ==
			    0,
		    "UVM gives back chunks that it does not use");
	softgpu_fail(SOFTGPU_FAIL_PMA_ALLOC, 0, ~0u);
	for (unsigned int i = 0; i < 2; i++) {
		long long counted = hooked_event(me, "oom");

		guest_check(softgpu_touch(tenant, p, 1, 8, SOFTGPU_WRITE, 7, 1).errors == 1,
			    "an access that RM denies memory fails");
		guest_check(hooked_event(me, "oom") > counted, "and is counted: %lld",
			    hooked_event(me, "oom"));
	}
	guest_check(hooked_get(me, "gmem.current") == 0, "nothing is charged");
	softgpu_fail(SOFTGPU_FAIL_PMA_ALLOC, 0, 0);
	guest_check(hooked_write(tenant, p, 2 * SOFTGPU_MB, 7) &&
			    hooked_cpu_reads(p, 2 * SOFTGPU_MB, 7),
		    "with memory all is right");
	munmap(p, 2 * SOFTGPU_MB);
}

void test_neighbour(struct softgpu_tenant *tenant)
{
	struct hooked_process quiet = hooked_start(quiet_life, 1);
	size_t bytes = 128 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();

	hooked_wait_ready(&quiet);
	guest_check(hooked_get(quiet.pid, "gmem.current") == 32 * mb, "a neighbour has 32 MB");
	guest_check(hooked_set(me, "gmem.limit.high", "16M") == 0, "the limit becomes 16 MB");
	guest_check(hooked_write(tenant, p, bytes, 3) && hooked_read(tenant, p, bytes, 3),
		    "the GPU writes and reads 128 MB");
	guest_check(hooked_get(me, "gmem.peak") == 16 * mb, "never more than 16 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	guest_check(hooked_get(quiet.pid, "gmem.current") == 32 * mb,
		    "the neighbour has 32 MB");
	hooked_go(&quiet);
	guest_check(hooked_end(&quiet) == 0, "on the GPU, as it was written");
	guest_check(hooked_get(quiet.pid, "gmem.current") == -1, "its directory went with it");
	munmap(p, bytes);
}
