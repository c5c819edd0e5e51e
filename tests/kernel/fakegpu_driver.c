// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Calls of a GPU's driver into the core: it takes memory, quiesces, shares a TSG and loses the
 * GPU.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CHUNKS 8u
#define ROUNDS 30u
#define TAKERS 10u
#define SEED   0xd21ull

/* Returns 0 or an errno. */
static int driver_call(int context, unsigned long command, void *argument)
{
	return ioctl(context, command, argument) ? errno : 0;
}

static int quiesce(int context)
{
	__u64 timeout_us = 20000000;

	return driver_call(context, GVM_FAKEGPU_QUIESCE, &timeout_us);
}

static void test_take(void)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNKS * CHUNK);
	struct gvm_fakegpu_take take = { .count = gpu_info().chunks };
	int error;

	require(fakegpu_fill(context, va, CHUNKS * CHUNK, SEED) == 0, "fill");
	error = driver_call(context, GVM_FAKEGPU_TAKE, &take);
	guest_check(error == 0 && take.ret_taken == CHUNKS,
		    "RM takes all %u chunks of a range by force (%u)", CHUNKS, take.ret_taken);
	guest_check(control_get(getpid(), "gmem.swap.current") == (long long)(CHUNKS * CHUNK) &&
			    gpu_check(),
		    "they are on the host, and the books are in order");
	guest_check(fakegpu_verify(context, va, CHUNKS * CHUNK, SEED, NULL) == 0,
		    "their bytes come back");
	close(context);
}

/* RM's thread is the taker's: fakegpu_take(). */
static void take_all(uint32_t index)
{
	struct gvm_fakegpu_take take = { .count = gpu_info().chunks };
	int device;

	(void)index;
	require(fakegpu_open_device(0, &device) == 0, "open");
	driver_call(device, GVM_FAKEGPU_TAKE, &take);
}

/* The thread that takes memory is killed while data is on its way out of that memory. */
static void test_take_killed(void)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, CHUNKS * CHUNK);
	uint32_t killed = 0;
	bool whole = true;

	for (uint64_t seed = 1; whole && seed <= TAKERS; seed++) {
		pid_t taker;

		require(fakegpu_fill(context, va, CHUNKS * CHUNK, seed) == 0, "fill");
		taker = tenant_start(take_all, 0);
		while (control_get(getpid(), "gmem.swap.current") == 0)
			;
		killed += tenant_kill(taker);
		whole = fakegpu_verify(context, va, CHUNKS * CHUNK, seed, NULL) == 0;
	}
	guest_check(whole && gpu_check(),
		    "RM is killed while it takes chunks (%u): data on its way out is whole",
		    killed);
	close(context);
}

/* Data that is read and data that is written take each other's chunks. */
static void read_and_write(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t bytes = CHUNKS * CHUNK, written = tenant_map(context, bytes), read;
	struct gvm_fakegpu_launch look = {
		.bytes = bytes,
		.seed = SEED,
		.op = GVM_FAKEGPU_VERIFY,
		.stride_pages = CHUNK / PAGE, /* warps in all chunks at once */
	};

	(void)index;
	require(fakegpu_map_on_host(context, bytes, SEED, &read) == 0, "map");
	look.va = read;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		require(fakegpu_fill(context, written, bytes, seed) == 0, "fill");
		require(fakegpu_launch(context, &look) == 0, "verify");
		require(fakegpu_verify(context, written, bytes, seed, NULL) == 0,
			"data of round %llu", (unsigned long long)seed);
	}
	close(context);
}

/*
 * Clean data leaves a chunk without a copy, while a copy out for the chunk's earlier owner may
 * still be under way. RM may write to the chunk only after it.
 */
static void test_take_clean(void)
{
	pid_t pid = tenant_start(read_and_write, 0);
	struct gvm_fakegpu_take take = { .count = 2 };
	int device, status = 0;
	uint32_t taken = 0;

	guest_check(fakegpu_open_device(0, &device) == 0, "open");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		take.first = (take.first + 2) % gpu_info().chunks;
		driver_call(device, GVM_FAKEGPU_TAKE, &take);
		taken += take.ret_taken;
	}
	close(device);
	guest_check(status == 0 && gpu_check(),
		    "RM takes chunks with clean data (%u): other data on its way out is whole",
		    taken);
}

static void fill_memory(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 2 * CHUNK);

	require(fakegpu_fill(context, va, 2 * CHUNK, index) == 0, "fill");
	require(fakegpu_verify(context, va, 2 * CHUNK, index, NULL) == 0, "verify");
}

static void write_limit(uint32_t index)
{
	require(control_set((pid_t)index, "gmem.limit.high", "1G") == 0, "write");
}

static bool is_running(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void on_signal(int number)
{
	(void)number;
}

/* A handler without SA_RESTART ends the write, which has changed nothing. */
static void write_until_signal(uint32_t index)
{
	struct sigaction action = { .sa_handler = on_signal };

	require(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
	require(control_set((pid_t)index, "gmem.limit.high", "1G") == EINTR, "write");
}

/* Does the process stop? Then it goes on again. */
static bool stops(pid_t pid)
{
	int status = 0;
	bool stopped;

	kill(pid, SIGSTOP);
	for (uint32_t i = 0; i < STEP_TRIES && !waitpid(pid, &status, WUNTRACED | WNOHANG); i++)
		sleep_ms(5);
	stopped = WIFSTOPPED(status);
	kill(pid, SIGCONT);
	return stopped;
}

/*
 * Regression: a writer that waited for a resume could only be killed. A system that is about to
 * sleep could not freeze it, and did not sleep.
 */
static void test_waiting_writer(pid_t writer)
{
	pid_t other = tenant_start(write_until_signal, (uint32_t)getpid());

	guest_check(stops(writer), "a writer that waits can be stopped, and goes on");
	sleep_ms(300);
	kill(other, SIGUSR1);
	guest_check(tenant_finish(other), "a signal with a handler ends its wait");
}

static void test_quiesce(void)
{
	int context = tenant_open(0);
	pid_t tenants[2], writers[2];
	uint64_t replays;

	guest_check(quiesce(context) == 0, "an idle device is quiesced");
	guest_check(quiesce(context) == EBUSY, "once");
	replays = gpu_info().replays;
	for (uint32_t i = 0; i < 2; i++) {
		tenants[i] = tenant_start(fill_memory, 40 + i);
		writers[i] = tenant_start(write_limit, (uint32_t)getpid());
	}
	sleep_ms(300);
	guest_check(is_running(tenants[0]) && is_running(writers[0]) &&
			    gpu_info().replays == replays,
		    "faults stay in the buffer, and writes wait");
	test_waiting_writer(writers[0]);
	guest_check(tenant_kill(tenants[1]) && tenant_kill(writers[1]),
		    "a tenant and a writer that wait can be killed");
	guest_check(driver_call(context, GVM_FAKEGPU_RESUME, NULL) == 0, "it is resumed");
	guest_check(tenant_finish(tenants[0]) && tenant_finish(writers[0]),
		    "and all go on where they were");
	guest_check(driver_call(context, GVM_FAKEGPU_RESUME, NULL) == EINVAL && gpu_check(),
		    "it runs already");
	close(context);
}

static void stay(uint32_t index)
{
	tenant_open(0);
	(void)index;
	for (;;)
		pause();
}

static void test_share(void)
{
	pid_t client = tenant_start(stay, 0);
	int server = tenant_open(0);
	__u32 tgid = (__u32)client;

	while (control_get(client, "gmem.current") < 0)
		sleep_ms(10);
	guest_check(driver_call(server, GVM_FAKEGPU_SHARE, &tgid) == 0, "a TSG is shared");
	guest_check(control_set(client, "compute.freeze", "1") == EOPNOTSUPP &&
			    control_set(getpid(), "compute.timeslice", "5") == EOPNOTSUPP &&
			    control_set(client, "gmem.limit.high", "1G") == 0,
		    "its compute settings are refused, its memory limit is not");
	close(server);
	guest_check(control_set(client, "compute.timeslice", "5") == 0,
		    "when the server has gone, the client's own TSGs obey");
	tenant_kill(client);
}

static void test_lost(void)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, 2 * CHUNK);

	require(fakegpu_fill(context, va, CHUNK, SEED) == 0, "fill");
	guest_check(driver_call(context, GVM_FAKEGPU_LOSE, NULL) == 0, "the GPU is lost");
	guest_check(fakegpu_fill(context, va, 2 * CHUNK, SEED) != 0, "kernels fail");
	guest_check(control_set(getpid(), "compute.freeze", "1") == ENODEV &&
			    control_set(getpid(), "gmem.limit.high", "0") == ENODEV,
		    "writes answer ENODEV");
	guest_check(control_get(getpid(), "gmem.current") > 0 && gpu_check(),
		    "reads go on, and the books are in order");
	close(context);
}

void test_driver(void)
{
	gpu_load("chunks=24");
	test_take();
	test_take_killed();
	test_quiesce();
	test_share();
	test_lost();
	gpu_unload();
	gpu_load("chunks=10 features=1"); /* GVM_CLEAN_DROP */
	test_take_clean();
	gpu_unload();
}
