// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Children of a container in NVIDIA's driver: who pays for managed memory goes by its address,
 * block by block, and is fixed when the memory is made. fakegpu_children.c runs here, too. This
 * is what only this driver has: ranges that are cut in two, chunks below 2 MB, a GPU that is
 * registered again, and a second GPU.
 */
#define _GNU_SOURCE
#include "hooked_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gvm_ioctl.h"

#define CHUNK	   (2 * SOFTGPU_MB)
#define BOTH	   64ul /* MB of each of two children that are larger than the GPU together */
#define SMALL	   (68ul << 10)
#define HELD_BY_IT 24ll /* MB that a child protects */

static const long long mb = SOFTGPU_MB;

/* A call of /dev/gvm about a child on the GPU of softgpu_use(): 0 or the errno. */
static int child_call(unsigned long call, uint32_t number, const void *va, uint64_t bytes)
{
	struct gvm_child_request request = {
		.gpu = softgpu_used(), .number = number, .va = (uintptr_t)va, .bytes = bytes
	};
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int error = dev < 0 || ioctl(dev, call, &request) ? errno : 0;

	if (dev >= 0)
		close(dev);
	return error;
}

static long long child_get(uint32_t number, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "child.%u/%s", number, file);
	return hooked_get(getpid(), path);
}

static int child_set(uint32_t number, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "child.%u/%s", number, file);
	return hooked_set(getpid(), path, text);
}

/* How often an access of the child was lost for want of memory. */
static long long child_oom(uint32_t number)
{
	char path[64], text[GUEST_TEXT_MAX];
	const char *line;

	snprintf(path, sizeof(path), "gvm/%d/%u/child.%u/gmem.events", getpid(), softgpu_used(),
		 number);
	line = guest_read(path, text, sizeof(text)) ? NULL : strstr(text, "oom ");
	return line ? atoll(line + 4) : -1;
}

/* What the container has is @parent_mb, of which child 1 has @one_mb and child 2 @two_mb. */
static void expect_current(long long parent_mb, long long one_mb, long long two_mb,
			   const char *what)
{
	long long parent = hooked_get(getpid(), "gmem.current");
	long long one = child_get(1, "gmem.current"), two = child_get(2, "gmem.current");

	guest_check(parent == parent_mb * mb && one == one_mb * mb && two == two_mb * mb,
		    "%s: %lld bytes, of which child 1 has %lld and child 2 %lld", what, parent,
		    one, two);
}

/* Addresses that no mapping has: a mapping that is gone again. Returns NULL: there are none. */
static void *free_addresses(struct softgpu_tenant *tenant, size_t bytes)
{
	void *p = softgpu_managed(tenant, bytes);

	if (p)
		munmap(p, bytes);
	return p;
}

/* Managed memory there: 0 or the errno. */
static int map_at(struct softgpu_tenant *tenant, void *va, size_t bytes)
{
	void *p = mmap(va, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
		       tenant->fd, (off_t)(uintptr_t)va);

	return p == MAP_FAILED ? errno : 0;
}

/* Child @number has a window of @window bytes, with memory in its first @bytes. */
static uint64_t *child_memory(struct softgpu_tenant *tenant, uint32_t number, size_t window,
			      size_t bytes)
{
	uint64_t *p = free_addresses(tenant, window);
	int error = child_call(GVM_IOCTL_CHILD_OPEN, number, p, window);

	guest_check(error == 0, "child %u has a window of %zu MB: %s", number, window >> 20,
		    guest_error_name(error));
	error = map_at(tenant, p, bytes);
	guest_check(error == 0, "and %zu KB of memory in it: %s", bytes >> 10,
		    guest_error_name(error));
	return p;
}

static void expect_nothing(const char *what)
{
	guest_check(hooked_get(getpid(), "gmem.current") == 0 &&
			    hooked_get(getpid(), "gmem.swap.current") == 0,
		    "%s: nothing is left of %lld bytes, and %lld in swap", what,
		    hooked_get(getpid(), "gmem.current"),
		    hooked_get(getpid(), "gmem.swap.current"));
}

/*
 * Memory that is older than its window, a part of it that goes, and comes back as the child's.
 */
static void cut_in_two(struct softgpu_tenant *tenant)
{
	size_t bytes = 8 * CHUNK;
	char *p = (char *)softgpu_managed(tenant, bytes);

	guest_check(child_call(GVM_IOCTL_CHILD_OPEN, 1, p, bytes) == 0,
		    "a window over memory that is there");
	guest_check(child_call(GVM_IOCTL_CHILD_OPEN, 2, p + bytes, CHUNK) == 0,
		    "and one behind");
	guest_check(hooked_write(tenant, (uint64_t *)p, bytes, 1), "the GPU writes 16 MB");
	expect_current(16, 0, 0, "older memory stays the container's");
	munmap(p + 2 * CHUNK, 4 * CHUNK);
	guest_check(map_at(tenant, p + 2 * CHUNK, 4 * CHUNK) == 0, "8 MB of it are made anew");
	guest_check(hooked_write(tenant, (uint64_t *)(p + 2 * CHUNK), 4 * CHUNK, 2), "written");
	expect_current(16, 8, 0, "and are the child's");
	/* Cut within a block of 2 MB, with pages of 4 KB. */
	munmap(p + 3 * CHUNK + SOFTGPU_PAGE, CHUNK);
	guest_check(child_set(1, "gmem.limit.high", "2M") == 0 &&
			    child_get(1, "gmem.current") <= 2 * mb,
		    "both parts obey the child's limit: %lld", child_get(1, "gmem.current"));
	guest_check(hooked_cpu_reads((uint64_t *)p, 2 * CHUNK, 1) &&
			    hooked_cpu_reads((uint64_t *)(p + 2 * CHUNK), CHUNK + SOFTGPU_PAGE,
					     2),
		    "all data is right");
	munmap(p + 2 * CHUNK, CHUNK + SOFTGPU_PAGE);
	guest_check(child_set(1, "gmem.limit.high", "max") == 0, "without the limit");
	munmap(p + 4 * CHUNK + SOFTGPU_PAGE, 2 * CHUNK - SOFTGPU_PAGE);
	guest_check(child_get(1, "gmem.current") == 0 && child_get(1, "gmem.swap.current") == 0,
		    "nothing of the child is left: %lld", child_get(1, "gmem.current"));
	guest_check(map_at(tenant, p + bytes - CHUNK, 3 * CHUNK) == EEXIST,
		    "memory that collides is refused");
	munmap(p, 2 * CHUNK);
	munmap(p + 6 * CHUNK, 2 * CHUNK);
	guest_check(map_at(tenant, p + bytes - CHUNK, 2 * CHUNK) == EINVAL &&
			    map_at(tenant, p + bytes, 2 * CHUNK) == EINVAL,
		    "and memory that lies in two windows, or in one in part");
	guest_check(child_call(GVM_IOCTL_CHILD_CLOSE, 1, NULL, 0) == 0 &&
			    child_call(GVM_IOCTL_CHILD_CLOSE, 2, NULL, 0) == 0,
		    "both are closed");
	expect_nothing("cut in two");
}

/* The driver cuts a range in two, or fails to: both parts stay the child's. */
static void split(struct softgpu_tenant *tenant)
{
	char *p = (char *)child_memory(tenant, 1, 4 * CHUNK, 4 * CHUNK);
	uint64_t *q;
	UVM_TEST_VA_RANGE_INJECT_SPLIT_ERROR_PARAMS inject = { .lookup_address = (uintptr_t)p };
	UVM_TEST_VA_RANGE_SPLIT_PARAMS cut = { .split_address = (uintptr_t)p + 2 * CHUNK - 1 };

	q = child_memory(tenant, 2, CHUNK, CHUNK);
	guest_check(softgpu_uvm(tenant->fd, UVM_TEST_VA_RANGE_INJECT_SPLIT_ERROR, &inject) ==
				    0 &&
			    softgpu_uvm(tenant->fd, UVM_TEST_VA_RANGE_SPLIT, &cut) != 0,
		    "a split fails");
	guest_check(hooked_write(tenant, (uint64_t *)p, 3 * CHUNK, 1), "the GPU writes 6 MB");
	expect_current(6, 6, 0, "all of them are the child's");
	guest_check(softgpu_uvm(tenant->fd, UVM_TEST_VA_RANGE_SPLIT, &cut) == 0, "a split");
	guest_check(hooked_write(tenant, (uint64_t *)p, 4 * CHUNK, 2), "the GPU writes 8 MB");
	expect_current(8, 8, 0, "and so are both parts");
	munmap(p, 4 * CHUNK);
	munmap(q, CHUNK);
	expect_current(0, 0, 0, "nothing of them is left");
	child_call(GVM_IOCTL_CHILD_CLOSE, 1, NULL, 0);
	child_call(GVM_IOCTL_CHILD_CLOSE, 2, NULL, 0);
}

/* A child's chunks of 64 KB and 4 KB are charged to it, to the byte. */
static void small_chunks(struct softgpu_tenant *tenant)
{
	uint64_t *p = child_memory(tenant, 1, CHUNK, SMALL);
	char *q = (char *)p + CHUNK / 2;

	guest_check(hooked_write(tenant, p, SMALL, 5), "the GPU writes 68 KB");
	guest_check(child_get(1, "gmem.current") == (long long)SMALL,
		    "they are the child's, to the byte: %lld", child_get(1, "gmem.current"));
	guest_check(child_call(GVM_IOCTL_CHILD_CLOSE, 1, NULL, 0) == 0, "it is closed");
	guest_check(map_at(tenant, q, SMALL) == 0 &&
			    hooked_write(tenant, (uint64_t *)q, SMALL, 6),
		    "68 KB beside them, in the same 2 MB");
	guest_check(hooked_get(getpid(), "gmem.current") == 2 * (long long)SMALL,
		    "the container pays for both");
	guest_check(hooked_cpu_reads(p, SMALL, 5) && hooked_cpu_reads((uint64_t *)q, SMALL, 6),
		    "all data is right");
	munmap(p, SMALL);
	munmap(q, SMALL);
	expect_nothing("small chunks");
}

/* Two children that are too large together, one with protected memory. */
static void protects(struct softgpu_tenant *tenant)
{
	size_t bytes = BOTH * SOFTGPU_MB;
	uint64_t *p = child_memory(tenant, 1, bytes, HELD_BY_IT * SOFTGPU_MB);
	uint64_t *q = child_memory(tenant, 2, 2 * bytes, 2 * bytes);
	pid_t me = getpid();

	guest_check(hooked_set(me, "gmem.limit.low", "24M") == 0 &&
			    child_set(1, "gmem.limit.low", "24M") == 0,
		    "child 1 protects 24 MB");
	guest_check(hooked_write(tenant, p, HELD_BY_IT * SOFTGPU_MB, 1), "it writes them");
	guest_check(hooked_write(tenant, q, 2 * bytes, 2) &&
			    hooked_read(tenant, q, 2 * bytes, 2),
		    "child 2 writes and reads 128 MB on %lu MB", HOOKED_MB);
	guest_check(child_get(1, "gmem.current") == HELD_BY_IT * mb &&
			    child_get(1, "gmem.swap.current") == 0,
		    "child 1 has all of its memory: %lld", child_get(1, "gmem.current"));
	guest_check(child_get(2, "gmem.swap.current") ==
			    (long long)(2 * bytes) - child_get(2, "gmem.current"),
		    "child 2 has the rest, and %lld bytes in swap",
		    child_get(2, "gmem.swap.current"));
	guest_check(child_set(2, "gmem.limit.high", "10M") == 0 &&
			    hooked_read(tenant, q, bytes, 2),
		    "it reads 64 MB under a limit of 10 MB");
	guest_check(child_get(2, "gmem.current") == 10 * mb, "which holds to the byte: %lld",
		    child_get(2, "gmem.current"));
	guest_check(hooked_set(me, "gmem.limit.high", "30M") == 0 &&
			    hooked_read(tenant, q, bytes, 2),
		    "and under the container's limit of 30 MB");
	expect_current(30, HELD_BY_IT, 6, "which holds for the sum");
	guest_check(hooked_read(tenant, p, HELD_BY_IT * SOFTGPU_MB, 1) &&
			    hooked_cpu_reads(q, 2 * bytes, 2) &&
			    hooked_cpu_reads(p, HELD_BY_IT * SOFTGPU_MB, 1),
		    "all data is right");
	guest_check(hooked_set(me, "gmem.limit.high", "max") == 0 &&
			    hooked_set(me, "gmem.limit.low", "0") == 0,
		    "the container's limits go");
	munmap(p, HELD_BY_IT * SOFTGPU_MB);
	munmap(q, 2 * bytes);
	child_call(GVM_IOCTL_CHILD_CLOSE, 1, NULL, 0);
	child_call(GVM_IOCTL_CHILD_CLOSE, 2, NULL, 0);
	expect_nothing("protection");
}

/* A child without room loses its access. The other one goes on. */
static void refused(struct softgpu_tenant *tenant)
{
	uint64_t *p = child_memory(tenant, 1, 8 * CHUNK, 8 * CHUNK);
	uint64_t *q = child_memory(tenant, 2, 8 * CHUNK, 8 * CHUNK);
	unsigned int lost = 0;

	guest_check(hooked_write(tenant, q, 8 * CHUNK, 2), "child 2 writes 16 MB");
	guest_check(child_set(1, "gmem.limit.high", "1M") == 0, "child 1 may have 1 MB");
	for (unsigned int i = 0; i < 8; i++)
		lost += softgpu_touch(tenant, (char *)p + i * CHUNK, 1, 8, SOFTGPU_WRITE, 7, 1)
				.errors;
	guest_check(lost == 8 && child_get(1, "gmem.current") == 0,
		    "all of its 8 chunks are refused");
	guest_check(child_oom(1) >= 8 && child_oom(2) == 0,
		    "which is told of child 1, %lld times", child_oom(1));
	guest_check(child_set(1, "gmem.limit.high", "max") == 0 &&
			    hooked_write(tenant, p, 8 * CHUNK, 3),
		    "without the limit it has them");
	guest_check(hooked_read(tenant, q, 8 * CHUNK, 2) &&
			    child_get(2, "gmem.swap.current") == 0,
		    "child 2 has all of its own");
	munmap(p, 8 * CHUNK);
	munmap(q, 8 * CHUNK);
	child_call(GVM_IOCTL_CHILD_CLOSE, 1, NULL, 0);
	child_call(GVM_IOCTL_CHILD_CLOSE, 2, NULL, 0);
	expect_nothing("refused");
}

/* The memory of a child outlives the registration of its GPU, as a range, on the host. */
static void registered_again(struct softgpu_tenant *tenant)
{
	UVM_UNREGISTER_GPU_PARAMS unregister = { .gpu_uuid = softgpu_uuid };
	uint64_t *p = child_memory(tenant, 1, 4 * CHUNK, 4 * CHUNK);

	guest_check(child_set(1, "gmem.limit.high", "4M") == 0 &&
			    hooked_write(tenant, p, 4 * CHUNK, 1),
		    "child 1 writes 8 MB under a limit of 4 MB");
	guest_check(softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &unregister) == 0,
		    "the GPU is unregistered");
	guest_check(hooked_cpu_reads(p, 4 * CHUNK, 1), "all data is right");
	guest_check(softgpu_register(tenant, tenant->client) == 0, "and registered again");
	guest_check(hooked_read(tenant, p, 4 * CHUNK, 1) && hooked_cpu_reads(p, 4 * CHUNK, 1),
		    "the GPU reads it");
	/*
	 * It was the GPU's last VA space, so its children have gone with it,
	 * and so has its container.
	 */
	guest_check(child_get(1, "gmem.current") == -1, "the children are gone with the GPU");
	munmap(p, 4 * CHUNK);
	expect_nothing("registered again");
}

void test_hooked_children(struct softgpu_tenant *tenant)
{
	cut_in_two(tenant);
	split(tenant);
	small_chunks(tenant);
	protects(tenant);
	refused(tenant);
	registered_again(tenant);
}

/* A window is about one GPU: on the other one its memory is the container's. */
void test_hooked_children_two_gpus(struct softgpu_tenant *tenant)
{
	size_t bytes = 4 * CHUNK;
	char *p = free_addresses(tenant, bytes);
	UVM_UNREGISTER_GPU_PARAMS unregister = { .gpu_uuid = softgpu_uuid_of(1) };
	bool wrote;
	int status;

	softgpu_use(1);
	status = softgpu_register(tenant, tenant->client);
	guest_check(status == 0, "a second GPU is registered: %x", status);
	guest_check(child_call(GVM_IOCTL_CHILD_OPEN, 1, p + CHUNK, bytes) == 0,
		    "a window on the second GPU, less the first chunk");
	softgpu_use(0);
	guest_check(child_call(GVM_IOCTL_CHILD_OPEN, 1, p, bytes) == 0, "and on the first");
	guest_check(map_at(tenant, p, bytes) == EINVAL,
		    "memory that one GPU refuses is no memory");
	guest_check(child_call(GVM_IOCTL_CHILD_CLOSE, 1, NULL, 0) == 0,
		    "the first one's closes");
	guest_check(map_at(tenant, p + CHUNK, bytes - CHUNK) == 0, "memory in the second's");
	guest_check(hooked_write(tenant, (uint64_t *)(p + CHUNK), bytes - CHUNK, 1),
		    "the first GPU writes it");
	guest_check(hooked_get(getpid(), "gmem.current") == 6 * mb, "its container pays");
	softgpu_use(1);
	wrote = hooked_read(tenant, (uint64_t *)(p + CHUNK), bytes - CHUNK, 1);
	guest_check(wrote && child_get(1, "gmem.current") == 6 * mb,
		    "the second GPU reads it, and the child pays there: %lld",
		    child_get(1, "gmem.current"));
	munmap(p + CHUNK, bytes - CHUNK);
	guest_check(child_get(1, "gmem.current") == 0, "nothing is left on the second GPU");
	softgpu_use(0);
	expect_nothing("two GPUs");
	guest_check(softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &unregister) == 0,
		    "the second GPU is unregistered");
}
