// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gmem.limit.high where memory comes by other ways than a kernel's faults on one
 * GPU: two or three GPUs, each with a limit of its own, and the copy engine, whose
 * faults cannot be replayed.
 */
#include "hooked_guest.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES  (16 * SOFTGPU_MB)
#define MAPPED (4 * SOFTGPU_MB)
#define GPUS   3u
#define ROUND  (12 * SOFTGPU_MB) /* goes round three GPUs */
#define FIRST  (4 * SOFTGPU_MB)	 /* the limit of the first GPU */
#define SECOND (8 * SOFTGPU_MB)	 /* and of the second */

/* A control file of this process, on one of the GPUs. */
static long long get_of(unsigned int gpu, const char *file)
{
	long long value;

	softgpu_use(gpu);
	value = hooked_get(getpid(), file);
	softgpu_use(0);
	return value;
}

static int set_of(unsigned int gpu, const char *file, const char *text)
{
	int status;

	softgpu_use(gpu);
	status = hooked_set(getpid(), file, text);
	softgpu_use(0);
	return status;
}

/* One GPU writes or reads a word of each page. */
static bool write_by(struct softgpu_tenant *tenant, unsigned int gpu, uint64_t *p, size_t bytes,
		     uint64_t value)
{
	bool ok;

	softgpu_use(gpu);
	ok = hooked_write(tenant, p, bytes, value);
	softgpu_use(0);
	return ok;
}

static bool read_by(struct softgpu_tenant *tenant, unsigned int gpu, uint64_t *p, size_t bytes,
		    uint64_t value)
{
	bool ok;

	softgpu_use(gpu);
	ok = hooked_read(tenant, p, bytes, value);
	softgpu_use(0);
	return ok;
}

/* 4 MB that prefer a GPU, and that all others access. */
static uint64_t *shared_on(struct softgpu_tenant *tenant, unsigned int gpu)
{
	uint64_t *p = softgpu_managed(tenant, MAPPED);
	UVM_SET_PREFERRED_LOCATION_PARAMS preferred = {
		.requestedBase = (uintptr_t)p,
		.length = MAPPED,
		.preferredLocation = softgpu_uuid_of(gpu),
	};
	bool ok = softgpu_uvm(tenant->fd, UVM_SET_PREFERRED_LOCATION, &preferred) == 0;

	for (unsigned int i = 0; i < GPUS; i++) {
		UVM_SET_ACCESSED_BY_PARAMS accessed = {
			.requestedBase = (uintptr_t)p,
			.length = MAPPED,
			.accessedByUuid = softgpu_uuid_of(i),
		};

		if (i != gpu && softgpu_use(i))
			ok &= softgpu_uvm(tenant->fd, UVM_SET_ACCESSED_BY, &accessed) == 0;
	}
	softgpu_use(0);
	guest_check(ok, "4 MB prefer GPU %u, and others access them", gpu);
	return p;
}

static void check_peaks(const char *when)
{
	guest_check(get_of(0, "gmem.peak") == (long long)FIRST &&
			    get_of(1, "gmem.peak") == (long long)SECOND,
		    "%s: the most ever is %lld on the first GPU and %lld on the second", when,
		    get_of(0, "gmem.peak"), get_of(1, "gmem.peak"));
}

/* What the second GPU has mapped is evicted from the first, by a lower limit. */
static void mapped(struct softgpu_tenant *tenant)
{
	uint64_t *p = shared_on(tenant, 0);

	guest_check(write_by(tenant, 0, p, MAPPED, 3) && read_by(tenant, 1, p, MAPPED, 3) &&
			    hooked_resident_mb(tenant, p, MAPPED) == 4,
		    "the second GPU reads them on the first");
	guest_check(set_of(0, "gmem.limit.high", "2M") == 0 &&
			    get_of(0, "gmem.current") == 2ll << 20,
		    "a limit of 2 MB evicts 2 of them: %lld", get_of(0, "gmem.current"));
	guest_check(read_by(tenant, 1, p, MAPPED, 3), "the second GPU reads all of them");
	guest_check(write_by(tenant, 1, p, MAPPED, 4) && read_by(tenant, 0, p, MAPPED, 4),
		    "and writes them, and the first one reads that");
	munmap(p, MAPPED);
}

/*
 * A process has registered the second GPU, and no address space there. No kernel of it runs on
 * that GPU, but its memory goes there by its advice.
 */
void test_preferred_gpu(struct softgpu_tenant *tenant)
{
	UVM_ENABLE_PEER_ACCESS_PARAMS peers = { softgpu_uuid_of(0), softgpu_uuid_of(1), 0 };
	UVM_UNREGISTER_GPU_PARAMS unregister = { .gpu_uuid = softgpu_uuid_of(1) };
	UVM_REGISTER_GPU_PARAMS second = { .gpu_uuid = softgpu_uuid_of(1), .rmCtrlFd = -1 };
	uint64_t *p = softgpu_managed(tenant, MAPPED);
	UVM_SET_PREFERRED_LOCATION_PARAMS preferred = {
		.requestedBase = (uintptr_t)p,
		.length = MAPPED,
		.preferredLocation = softgpu_uuid_of(1),
	};

	guest_check(softgpu_uvm(tenant->fd, UVM_REGISTER_GPU, &second) == 0 &&
			    softgpu_uvm(tenant->fd, UVM_ENABLE_PEER_ACCESS, &peers) == 0 &&
			    softgpu_uvm(tenant->fd, UVM_SET_PREFERRED_LOCATION, &preferred) ==
				    0,
		    "4 MB prefer a second GPU, which is only registered");
	guest_check(write_by(tenant, 0, p, MAPPED, 5) &&
			    softgpu_resident(tenant, p) == SOFTGPU_ON_SECOND,
		    "the first GPU writes them there");
	guest_check(get_of(1, "gmem.current") == (long long)MAPPED &&
			    get_of(0, "gmem.current") == 0,
		    "they are charged on the second GPU: %lld, and on the first: %lld",
		    get_of(1, "gmem.current"), get_of(0, "gmem.current"));
	guest_check(set_of(1, "gmem.limit.high", "2M") == 0 &&
			    get_of(1, "gmem.current") == 2ll << 20,
		    "a limit of 2 MB evicts 2 of them: %lld", get_of(1, "gmem.current"));
	guest_check(read_by(tenant, 0, p, MAPPED, 5), "the first GPU reads all of them");
	guest_check(softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &unregister) == 0,
		    "the second GPU is unregistered");
	guest_check(hooked_cpu_reads(p, MAPPED, 5), "the CPU reads all 4 MB");
	munmap(p, MAPPED);
}

void test_two_gpus(struct softgpu_tenant *tenant)
{
	UVM_ENABLE_PEER_ACCESS_PARAMS peers = { softgpu_uuid_of(0), softgpu_uuid_of(1), 0 };
	UVM_UNREGISTER_GPU_PARAMS unregister = { .gpu_uuid = softgpu_uuid_of(1) };
	uint64_t *p = softgpu_managed(tenant, BYTES);
	int status;

	softgpu_use(1);
	status = softgpu_register(tenant, tenant->client);
	softgpu_use(0);
	if (!guest_check(status == 0, "a second GPU is registered: %x", status))
		return;
	guest_check(set_of(0, "gmem.limit.high", "4M") == 0 &&
			    set_of(1, "gmem.limit.high", "8M") == 0,
		    "4 MB on the first GPU, 8 MB on the second");
	guest_check(write_by(tenant, 0, p, BYTES, 1), "the first GPU writes 16 MB");
	guest_check(get_of(0, "gmem.current") == (long long)FIRST &&
			    get_of(1, "gmem.current") == 0,
		    "it is charged 4 MB, and the second GPU nothing");
	guest_check(read_by(tenant, 1, p, BYTES, 1), "the second GPU reads them");
	guest_check(get_of(1, "gmem.current") == (long long)SECOND, "which is charged 8 MB");
	check_peaks("by way of the host");
	status = softgpu_uvm(tenant->fd, UVM_ENABLE_PEER_ACCESS, &peers);
	guest_check(status == 0, "peer access is enabled: %x", status);
	guest_check(write_by(tenant, 1, p, BYTES, 2) && read_by(tenant, 0, p, BYTES, 2) &&
			    read_by(tenant, 1, p, BYTES, 2),
		    "the second GPU writes, the first and the second read");
	check_peaks("straight");
	mapped(tenant);
	check_peaks("and at the end");
	guest_check(hooked_event(getpid(), "oom") == 0, "no access was refused");
	status = softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &unregister);
	guest_check(status == 0, "the second GPU is unregistered: %x", status);
	guest_check(hooked_cpu_reads(p, BYTES, 2), "the CPU reads all 16 MB");
	munmap(p, BYTES);
	guest_check(get_of(0, "gmem.current") == 0, "nothing is left: %lld",
		    get_of(0, "gmem.current"));
}

/* Register the second and the third GPU, and let each access the others' memory. */
static bool all_three(struct softgpu_tenant *tenant)
{
	int status = 0;

	for (unsigned int i = 1; i < GPUS && !status; i++) {
		softgpu_use(i);
		status = softgpu_register(tenant, tenant->client);
	}
	softgpu_use(0);
	for (unsigned int i = 1; i < GPUS && !status; i++)
		for (unsigned int j = 0; j < i && !status; j++) {
			UVM_ENABLE_PEER_ACCESS_PARAMS peers = { softgpu_uuid_of(i),
								softgpu_uuid_of(j), 0 };

			status = softgpu_uvm(tenant->fd, UVM_ENABLE_PEER_ACCESS, &peers);
		}
	return guest_check(status == 0, "three GPUs, each of which can access the others: %x",
			   status);
}

/* Whether each GPU had as much as its limit, and no more. */
static bool are_limits(const char *const *limits)
{
	bool all = true;

	for (unsigned int i = 0; i < GPUS; i++)
		all &= get_of(i, "gmem.peak") == atoll(limits[i]) * (long long)SOFTGPU_MB;
	return all;
}

/*
 * Memory goes round three GPUs, each under a limit of its own. Then each pair shares some: it
 * is on one, and the two others access it there.
 */
void test_three_gpus(struct softgpu_tenant *tenant)
{
	static const char *const limits[GPUS] = { "4M", "8M", "6M" };
	uint64_t *p = softgpu_managed(tenant, ROUND);
	bool ok = true;

	if (!all_three(tenant))
		return;
	for (unsigned int i = 0; i < GPUS; i++)
		ok &= set_of(i, "gmem.limit.high", limits[i]) == 0;
	guest_check(ok, "limits of 4, 8 and 6 MB");
	for (unsigned int i = 0; i < GPUS && ok; i++)
		ok = write_by(tenant, i % GPUS, p, ROUND, i) &&
		     read_by(tenant, (i + 1) % GPUS, p, ROUND, i) &&
		     read_by(tenant, (i + 2) % GPUS, p, ROUND, i);
	guest_check(ok, "each writes 12 MB that both others read");
	guest_check(are_limits(limits), "the most ever is each one's limit");
	munmap(p, ROUND);
	for (unsigned int i = 0; i < GPUS && ok; i++) {
		unsigned int second = (i + 1) % GPUS, third = (i + 2) % GPUS;

		p = shared_on(tenant, i);
		ok = write_by(tenant, i, p, MAPPED, i) &&
		     read_by(tenant, second, p, MAPPED, i) &&
		     write_by(tenant, third, p, MAPPED, 10 + i) &&
		     read_by(tenant, second, p, MAPPED, 10 + i) &&
		     get_of(i, "gmem.current") == (long long)MAPPED &&
		     get_of(second, "gmem.current") == 0 && get_of(third, "gmem.current") == 0;
		munmap(p, MAPPED);
	}
	guest_check(ok,
		    "4 MB on each are read and written by the others, and charged there alone");
	guest_check(are_limits(limits) && get_of(0, "gmem.current") == 0 &&
			    get_of(1, "gmem.current") == 0 && get_of(2, "gmem.current") == 0,
		    "the limits held, and nothing is left");
	ok = true;
	for (unsigned int i = 0; i < GPUS; i++) {
		softgpu_use(i);
		ok &= softgpu_stats().peer_accesses > 0 && softgpu_stats().bad_addresses == 0;
	}
	softgpu_use(0);
	guest_check(ok, "each GPU has accessed a peer");
}

/*
 * The copy engine copies more than the limit. Without room its channel ends, and no other one.
 */
void test_hooked_engines(struct softgpu_tenant *tenant)
{
	size_t bytes = BYTES, wrong = 0;
	uint64_t *from = softgpu_managed(tenant, bytes), *to = softgpu_managed(tenant, bytes);
	uint64_t *more = softgpu_managed(tenant, 2 * SOFTGPU_MB);
	long long limit = 12ll << 20;
	pid_t me = getpid();
	uint64_t faults;
	int status = softgpu_register_copy(tenant, SOFTGPU_COPY_CHANNELS);

	guest_check(status == 0, "a channel of the copy engine is registered: %x", status);
	guest_check(hooked_set(me, "gmem.limit.high", "12M") == 0, "the limit becomes 12 MB");
	for (size_t i = 0; i < bytes / SOFTGPU_PAGE; i++)
		from[i * SOFTGPU_PAGE / 8] = 5 + i;
	status = softgpu_copy(tenant, to, from, bytes, &faults);
	guest_check(status == 0 && faults > 0,
		    "it copies 16 MB to 16 MB under 12, by %llu faults: %s",
		    (unsigned long long)faults, guest_error_name(status));
	guest_check(hooked_get(me, "gmem.current") == limit &&
			    hooked_get(me, "gmem.peak") == limit,
		    "%lld bytes are charged, %lld were the most",
		    hooked_get(me, "gmem.current"), hooked_get(me, "gmem.peak"));
	guest_check(hooked_cpu_reads(from, bytes, 5) && hooked_cpu_reads(to, bytes, 5),
		    "both are right");
	/* Without swap the chunk that is there cannot leave. */
	munmap(from, bytes);
	munmap(to, bytes);
	from = softgpu_managed(tenant, 2 * SOFTGPU_MB);
	guest_check(hooked_set(me, "gmem.limit.high", "2M") == 0 &&
			    hooked_set(me, "hmem.limit", "0") == 0 &&
			    hooked_write(tenant, from, 2 * SOFTGPU_MB, 6),
		    "2 MB are on the GPU, under 2 MB and without swap");
	status = softgpu_copy(tenant, more, from, SOFTGPU_PAGE, &faults);
	guest_check(status == EIO && hooked_event(me, "oom") > 0,
		    "a copy to 2 MB more ends the channel: %s, oom %lld",
		    guest_error_name(status), hooked_event(me, "oom"));
	guest_check(hooked_read(tenant, from, 2 * SOFTGPU_MB, 6), "kernels go on");
	guest_check(hooked_get(me, "gmem.peak") == limit, "never more than 12 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	for (size_t i = 0; i < 2 * SOFTGPU_MB / 8; i += SOFTGPU_PAGE / 8)
		wrong += more[i] != 0;
	guest_check(wrong == 0, "nothing was copied");
	munmap(from, 2 * SOFTGPU_MB);
	munmap(more, 2 * SOFTGPU_MB);
	guest_check(hooked_get(me, "gmem.current") == 0, "nothing is left: %lld",
		    hooked_get(me, "gmem.current"));
}
