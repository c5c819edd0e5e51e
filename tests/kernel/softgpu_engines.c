// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Pushes of user mode to the copy engine, whose faults cannot be replayed: copies and fills of
 * managed memory wherever it is, semaphores in it, and what is not served.
 */
#include "softgpu_guest.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clc56f.h"
#include "clc6b5.h"

/* As numbers are put into fields: a register of one bit at 7:7 has its value 1 << 7. */
#define LAUNCH_NON_PIPELINED (2u << 0)
#define LAUNCH_FLUSH	     (1u << 2)
#define LAUNCH_PITCH	     (3u << 7)
#define LAUNCH_REMAP	     (1u << 10)
#define LAUNCH		     (LAUNCH_NON_PIPELINED | LAUNCH_FLUSH | LAUNCH_PITCH)
#define REMAP_CONST_A_4B     (4u | 3u << 16) /* one component of 4 bytes, from constant A */
/* Three of 4 bytes, from the constants A, B and A. */
#define REMAP_CONST_ABA_4B (4u | 5u << 4 | 4u << 8 | 3u << 16 | 2u << 24)
#define RELEASE		   1u
#define RELEASE_64_BITS	   (1u | 1u << 24)
#define RELEASE_TIMESTAMP  (1u | 1u << 25)
#define ACQUIRE_EQUAL	   0u

#define COPY_SUBCHANNEL	   4u
#define FIRST_CHANNEL	   SOFTGPU_COPY_CHANNELS
#define SECOND_CHANNEL	   (SOFTGPU_COPY_CHANNELS + 1)

struct words {
	uint32_t word[64];
	uint32_t count;
};

/* Methods that follow each other, from @method on. */
static void put(struct words *words, uint32_t subchannel, uint32_t method, uint32_t count,
		const uint32_t *data)
{
	words->word[words->count++] = 1u << 29 | count << 16 | subchannel << 13 | method >> 2;
	for (uint32_t i = 0; i < count; i++)
		words->word[words->count++] = data[i];
}

static uint32_t high(const void *p)
{
	return (uint32_t)((uintptr_t)p >> 32);
}

static uint32_t low(const void *p)
{
	return (uint32_t)(uintptr_t)p;
}

static void put_copy(struct words *words, const void *to, const void *from, uint32_t bytes)
{
	uint32_t ends[] = { high(from), low(from), high(to), low(to) };
	uint32_t lines[] = { bytes, 1 };
	uint32_t launch = LAUNCH;

	put(words, COPY_SUBCHANNEL, NVC6B5_OFFSET_IN_UPPER, 4, ends);
	put(words, COPY_SUBCHANNEL, NVC6B5_LINE_LENGTH_IN, 2, lines);
	put(words, COPY_SUBCHANNEL, NVC6B5_LAUNCH_DMA, 1, &launch);
}

static void put_fill(struct words *words, uint32_t remap, const void *to, uint32_t value,
		     uint32_t count)
{
	uint32_t end[] = { high(to), low(to) };
	uint32_t lines[] = { count, 1 };
	uint32_t launch = LAUNCH | LAUNCH_REMAP;

	put(words, COPY_SUBCHANNEL, NVC6B5_SET_REMAP_CONST_A, 1, &value);
	put(words, COPY_SUBCHANNEL, NVC6B5_SET_REMAP_COMPONENTS, 1, &remap);
	put(words, COPY_SUBCHANNEL, NVC6B5_OFFSET_OUT_UPPER, 2, end);
	put(words, COPY_SUBCHANNEL, NVC6B5_LINE_LENGTH_IN, 2, lines);
	put(words, COPY_SUBCHANNEL, NVC6B5_LAUNCH_DMA, 1, &launch);
}

static void put_semaphore(struct words *words, const void *at, uint32_t value,
			  uint32_t operation)
{
	uint32_t data[] = { low(at), high(at), value, 0, operation };

	put(words, 0, NVC56F_SEM_ADDR_LO, 5, data);
}

static int push(struct softgpu_tenant *tenant, unsigned int channel, const struct words *words,
		uint64_t *ret_faults)
{
	struct softgpu_push push = { .client = tenant->client,
				     .channel = channel,
				     .words = (uintptr_t)words->word,
				     .count = words->count };
	int status = softgpu_push(&push);

	*ret_faults = push.faults;
	return status;
}

int softgpu_copy(struct softgpu_tenant *tenant, void *to, const void *from, size_t bytes,
		 uint64_t *ret_faults)
{
	struct words words = { 0 };

	put_copy(&words, to, from, (uint32_t)bytes);
	return push(tenant, FIRST_CHANNEL, &words, ret_faults);
}

int softgpu_register_copy(struct softgpu_tenant *tenant, unsigned int channel)
{
	UVM_REGISTER_CHANNEL_PARAMS params = { .gpuUuid = softgpu_uuid,
					       .rmCtrlFd = -1,
					       .hClient = tenant->client,
					       .hChannel = channel };

	return softgpu_uvm(tenant->fd, UVM_REGISTER_CHANNEL, &params);
}

/* From the host's memory to memory that was never touched, and on to the host. */
static void copied(struct softgpu_tenant *tenant)
{
	size_t bytes = 8 * SOFTGPU_MB, words = bytes / 8, wrong = 0;
	uint64_t *from = softgpu_managed(tenant, bytes);
	uint64_t *to = softgpu_managed(tenant, bytes);
	struct softgpu_stats before = softgpu_stats(), after;
	uint64_t faults;
	int status;

	if (!guest_check(from && to, "twice 8 MB"))
		return;
	for (size_t i = 0; i < words; i++)
		from[i] = i * 5 + 2;
	status = softgpu_copy(tenant, to, from, bytes, &faults);
	guest_check(status == 0 && faults >= 8,
		    "the copy engine copies 8 MB, and faults %llu times: %s",
		    (unsigned long long)faults, guest_error_name(status));
	guest_check(softgpu_resident(tenant, from) == SOFTGPU_ON_GPU &&
			    softgpu_resident(tenant, to) == SOFTGPU_ON_GPU,
		    "both have come to the GPU");
	status = softgpu_copy(tenant, to, from, bytes, &faults);
	guest_check(status == 0 && faults == 0, "the same copy again does not fault: %s",
		    guest_error_name(status));
	for (size_t i = 0; i < words; i++)
		wrong += to[i] != i * 5 + 2 || from[i] != i * 5 + 2;
	guest_check(wrong == 0, "the CPU reads %zu wrong words of it", wrong);
	/* The CPU has both now: the engine faults again, from an address within a page on. */
	status = softgpu_copy(tenant, (char *)to + 24, from, bytes - 24, &faults);
	guest_check(status == 0 && faults > 0, "what the CPU has taken faults again");
	for (size_t i = 3; i < words; i++)
		wrong += to[i] != (i - 3) * 5 + 2;
	guest_check(wrong == 0 && to[0] == 2, "a copy by 24 bytes is right: %zu wrong", wrong);
	after = softgpu_stats();
	guest_check(after.faults == before.faults && after.replays == before.replays &&
			    after.engine_kills == before.engine_kills,
		    "no fault was replayable, and none was fatal");
	munmap(from, bytes);
	munmap(to, bytes);
}

static void filled(struct softgpu_tenant *tenant)
{
	size_t bytes = 4 * SOFTGPU_MB, wrong = 0;
	uint32_t *p = (uint32_t *)softgpu_managed(tenant, bytes);
	struct words words = { 0 };
	uint64_t faults;
	int status;

	put_fill(&words, REMAP_CONST_A_4B, p + 1, 0x1234567, (uint32_t)(bytes / 4 - 2));
	status = push(tenant, FIRST_CHANNEL, &words, &faults);
	guest_check(status == 0 && faults > 0, "it fills 4 MB but for 8 bytes, by %llu faults",
		    (unsigned long long)faults);
	for (size_t i = 1; i < bytes / 4 - 1; i++)
		wrong += p[i] != 0x1234567;
	guest_check(wrong == 0 && p[0] == 0 && p[bytes / 4 - 1] == 0,
		    "all words are right: %zu wrong", wrong);
	munmap(p, bytes);
}

/* A pattern of 12 bytes begins anew in the middle of most pages. */
static void filled_with_three(struct softgpu_tenant *tenant)
{
	size_t count = 4 * SOFTGPU_MB / 12 - 1, wrong = 0;
	uint32_t *p = (uint32_t *)softgpu_managed(tenant, 4 * SOFTGPU_MB);
	uint32_t second = 0x7654321;
	struct words words = { 0 };
	uint64_t faults;
	int status;

	put(&words, COPY_SUBCHANNEL, NVC6B5_SET_REMAP_CONST_B, 1, &second);
	put_fill(&words, REMAP_CONST_ABA_4B, p + 1, 0x1234567, (uint32_t)count);
	status = push(tenant, FIRST_CHANNEL, &words, &faults);
	guest_check(status == 0, "it fills 4 MB with three words in turn: %s",
		    guest_error_name(status));
	for (size_t i = 0; i < 3 * count; i++)
		wrong += p[1 + i] != (i % 3 == 1 ? second : 0x1234567);
	guest_check(wrong == 0 && p[0] == 0 && p[1 + 3 * count] == 0,
		    "all of them are right: %zu wrong", wrong);
	munmap(p, 4 * SOFTGPU_MB);
}

/* A thread: a child process would not have the memory. */
static void *set_later(void *p)
{
	usleep(100000);
	*(volatile uint32_t *)p = 6;
	return NULL;
}

/* Host's own faults: semaphores in managed memory, one of which the CPU sets later. */
static void semaphores(struct softgpu_tenant *tenant)
{
	size_t bytes = 2 * SOFTGPU_MB;
	volatile uint32_t *p = (uint32_t *)softgpu_managed(tenant, bytes);
	struct words words = { 0 };
	pthread_t setter;
	uint64_t faults;
	int status;

	put_semaphore(&words, (const void *)p, 77, RELEASE);
	put_semaphore(&words, (const void *)(p + 1024), 78, RELEASE);
	status = push(tenant, FIRST_CHANNEL, &words, &faults);
	guest_check(status == 0 && faults > 0, "host writes a semaphore, after %llu faults: %s",
		    (unsigned long long)faults, guest_error_name(status));
	guest_check(p[0] == 77 && p[1024] == 78, "the CPU reads it");
	p[2048] = 5;
	if (pthread_create(&setter, NULL, set_later, (void *)(p + 2048)))
		return;
	words.count = 0;
	put_semaphore(&words, (const void *)(p + 2048), 6, ACQUIRE_EQUAL);
	put_semaphore(&words, (const void *)(p + 4096), 79, RELEASE);
	status = push(tenant, FIRST_CHANNEL, &words, &faults);
	pthread_join(setter, NULL);
	guest_check(status == 0 && p[4096] == 79 && faults > 0,
		    "host waits for the CPU's, through %llu faults: %s",
		    (unsigned long long)faults, guest_error_name(status));
	munmap((void *)p, bytes);
}

/* 32 MB are copied to 32 MB, on 46. */
static void oversubscribed(struct softgpu_tenant *tenant)
{
	size_t bytes = 32 * SOFTGPU_MB, pages = bytes / SOFTGPU_PAGE, wrong = 0;
	uint64_t *from = softgpu_managed(tenant, bytes);
	uint64_t *to = softgpu_managed(tenant, bytes);
	uint64_t faults;
	int status;

	for (size_t i = 0; i < pages; i++)
		from[i * 512 + 7] = i + 11;
	status = softgpu_copy(tenant, to, from, bytes, &faults);
	guest_check(status == 0, "32 MB are copied to 32 MB on 46 MB, by %llu faults: %s",
		    (unsigned long long)faults, guest_error_name(status));
	guest_check(softgpu_migrate(tenant, from, bytes, false) == 0 &&
			    softgpu_migrate(tenant, to, bytes, false) == 0,
		    "both migrate to the host");
	for (size_t i = 0; i < pages; i++)
		wrong +=
			to[i * 512 + 7] != i + 11 || to[i * 512] || from[i * 512 + 7] != i + 11;
	guest_check(wrong == 0, "%zu of their pages are wrong", wrong);
	munmap(from, bytes);
	munmap(to, bytes);
}

/* What UVM does not serve ends the channel, and no other one. @what says why. */
static void refused(struct softgpu_tenant *tenant, unsigned int channel, void *to,
		    const void *from, const char *what)
{
	struct softgpu_stats before = softgpu_stats();
	struct words words = { 0 };
	uint64_t faults;
	int status;

	put_copy(&words, to, from, 64);
	status = push(tenant, channel, &words, &faults);
	guest_check(status == EIO && faults > 0 &&
			    softgpu_stats().engine_kills == before.engine_kills + 1,
		    "%s: UVM reports it to RM, which ends the channel: %s", what,
		    guest_error_name(status));
	status = push(tenant, channel, &words, &faults);
	guest_check(status == EIO && faults == 0, "and it stays so: %s",
		    guest_error_name(status));
}

static void not_served(struct softgpu_tenant *tenant)
{
	uint64_t *gone = softgpu_managed(tenant, SOFTGPU_MB);
	uint64_t *p = softgpu_managed(tenant, SOFTGPU_MB);
	struct softgpu_access access;
	uint64_t faults;
	int status;

	munmap(gone, SOFTGPU_MB);
	p[0] = 4;
	mprotect(p, SOFTGPU_MB, PROT_READ);
	status = softgpu_register_copy(tenant, SECOND_CHANNEL);
	guest_check(status == 0, "a second channel: %x", status);
	refused(tenant, SECOND_CHANNEL, p, p + 512, "a write to memory that may be read");
	guest_check(p[0] == 4, "what was there is there");
	status = softgpu_register_copy(tenant, SECOND_CHANNEL + 1);
	guest_check(status == 0, "a third channel: %x", status);
	refused(tenant, SECOND_CHANNEL + 1, gone, p, "a copy to no memory");
	mprotect(p, SOFTGPU_MB, PROT_READ | PROT_WRITE);
	status = softgpu_copy(tenant, p + 512, p, 64, &faults);
	guest_check(status == 0 && p[512] == 4, "the first channel goes on: %s",
		    guest_error_name(status));
	access = softgpu_touch(tenant, p, 1, 8, SOFTGPU_ATOMIC, 1, 1);
	guest_check(access.errors == 0 && p[0] == 5, "and so do kernels");
	munmap(p, SOFTGPU_MB);
}

/* What the driver never asks a copy engine for. */
static const struct {
	const char *what;
	uint32_t launch;
	uint32_t remap;
} not_done_launches[] = {
	{ "several lines", LAUNCH | 1u << 9, 0 },
	{ "a source that is not in lines", LAUNCH & ~(1u << 7), 0 },
	{ "a target that is not in lines", LAUNCH & ~(1u << 8), 0 },
	{ "components of the source", LAUNCH | LAUNCH_REMAP, 1u | 3u << 16 },
	{ "a component that is not written", LAUNCH | LAUNCH_REMAP, 4u | 6u << 4 | 1u << 24 },
	{ "the minimum of semaphores", 1u << 3 | 1u << 19, 0 },
	{ "a semaphore of 64 bits", 1u << 3 | 1u << 27, 0 },
};

/* A push that the engine or host does not do stops its channel, and writes nothing. */
static void stopped(struct softgpu_tenant *tenant, unsigned int channel, const char *what,
		    const struct words *words, const uint64_t *p)
{
	size_t wrong = 0;
	uint64_t faults;
	int status = softgpu_register_copy(tenant, channel);

	guest_check(status == 0, "a channel for %s: %x", what, status);
	status = push(tenant, channel, words, &faults);
	for (size_t i = 0; i < SOFTGPU_MB / 8; i++)
		wrong += p[i] != i + 1;
	guest_check(status == EIO && wrong == 0, "%s: the channel stops: %s, %zu wrong words",
		    what, guest_error_name(status), wrong);
}

static void not_done(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, SOFTGPU_MB);
	const size_t count = sizeof(not_done_launches) / sizeof(not_done_launches[0]);
	unsigned int channel = SECOND_CHANNEL + 2;
	const char *page_end = (const char *)p + SOFTGPU_PAGE - 8;
	struct words words = { 0 };

	for (size_t i = 0; i < SOFTGPU_MB / 8; i++)
		p[i] = i + 1;
	for (size_t i = 0; i < count; i++) {
		uint32_t transfer[] = {
			high(p), low(p), high(p + 1024), low(p + 1024), 256, 512, 64, 4
		};
		uint32_t semaphore[] = { high(p), low(p), 0 };

		words.count = 0;
		put(&words, COPY_SUBCHANNEL, NVC6B5_OFFSET_IN_UPPER, 8, transfer);
		put(&words, COPY_SUBCHANNEL, NVC6B5_SET_SEMAPHORE_A, 3, semaphore);
		put(&words, COPY_SUBCHANNEL, NVC6B5_SET_REMAP_COMPONENTS, 1,
		    &not_done_launches[i].remap);
		put(&words, COPY_SUBCHANNEL, NVC6B5_LAUNCH_DMA, 1,
		    &not_done_launches[i].launch);
		stopped(tenant, channel++, not_done_launches[i].what, &words, p);
	}
	words.count = 0;
	put_semaphore(&words, p, 5, RELEASE_64_BITS);
	stopped(tenant, channel++, "host's semaphore of 64 bits", &words, p);
	words.count = 0;
	put_semaphore(&words, page_end, 5, RELEASE_TIMESTAMP);
	stopped(tenant, channel++, "a time stamp beyond the end of a page", &words, p);
	munmap(p, SOFTGPU_MB);
}

/* A process that waits in a push dies, and another one whose address space goes meanwhile. */
static void killed(void)
{
	struct softgpu_tenant tenant;
	struct words words = { 0 };
	uint64_t *p, faults;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (softgpu_attach(&tenant, 2100) ||
		    softgpu_register_copy(&tenant, FIRST_CHANNEL))
			_exit(1);
		p = softgpu_managed(&tenant, SOFTGPU_MB);
		put_semaphore(&words, p, 1, ACQUIRE_EQUAL);
		push(&tenant, FIRST_CHANNEL, &words, &faults);
		_exit(2);
	}
	usleep(300000);
	kill(child, SIGKILL);
	wait(&status);
	guest_check(WIFSIGNALED(status),
		    "a process that waits for a semaphore can be killed: %x", status);
}

void test_engines(struct softgpu_tenant *tenant)
{
	int status = softgpu_register_copy(tenant, FIRST_CHANNEL);

	guest_check(status == 0, "a channel of the copy engine is registered: %x", status);
	copied(tenant);
	filled(tenant);
	filled_with_three(tenant);
	semaphores(tenant);
	oversubscribed(tenant);
	not_served(tenant);
	not_done(tenant);
	killed();
	guest_check(softgpu_stats().bad_addresses == 0, "the GPU met no bad address");
}
