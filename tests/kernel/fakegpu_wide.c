// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An instruction that touches more blocks than its container may have chunks. It finishes, with
 * a part of its pages in host memory, or its process gets an error. Ordinary thrashing does
 * neither, and a neighbour notices nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define PARTS	8u
#define LIMIT	"6M" /* a chunk of page tables, and two others */
#define KERNELS 4u

static int run(int context, uint64_t va, uint32_t op, uint64_t seed, uint32_t together)
{
	struct gvm_fakegpu_launch launch = {
		.va = va,
		.bytes = PARTS * CHUNK,
		.seed = seed,
		.op = op,
		.stride_pages = 8,
		.together = together,
	};

	return fakegpu_launch(context, &launch);
}

static void touch_all_together(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, PARTS * CHUNK);

	(void)index;
	require(control_set(getpid(), "gmem.limit.high", LIMIT) == 0, "limit");
	for (uint64_t seed = 1; seed <= KERNELS; seed++) {
		int error = run(context, va, GVM_FAKEGPU_FILL, seed, PARTS);

		require(error == 0, "fill: %s", guest_error_name(error));
		error = run(context, va, GVM_FAKEGPU_VERIFY, seed, PARTS);
		require(error == 0, "verify: %s", guest_error_name(error));
		error = run(context, va, GVM_FAKEGPU_VERIFY, seed, 1);
		require(error == 0, "verify part by part: %s", guest_error_name(error));
		require(control_get(getpid(), "gmem.current") <= (long long)(3 * CHUNK),
			"gmem.current is above the limit");
	}
	require(event_count(getpid(), "remote ") > 0, "nothing was mapped remotely");
	require(event_count(getpid(), "oom ") == 0, "oom");
	/* With a higher limit all of it comes to the device. */
	require(control_set(getpid(), "gmem.limit.high", "max") == 0, "max");
	require(run(context, va, GVM_FAKEGPU_VERIFY, KERNELS, PARTS) == 0, "verify");
	require(control_get(getpid(), "gmem.current") == (long long)((PARTS + 1) * CHUNK),
		"gmem.current is %lld", control_get(getpid(), "gmem.current"));
	require(fakegpu_discard(context, va, PARTS * CHUNK) == 0, "discard");
	require(run(context, va, GVM_FAKEGPU_VERIFY_ZERO, 0, PARTS) == 0, "zero");
	close(context);
}

static void expect_an_error(const char *hmem)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, PARTS * CHUNK);
	int error;

	require(control_set(getpid(), "hmem.limit", hmem) == 0, "hmem.limit");
	require(control_set(getpid(), "gmem.limit.high", LIMIT) == 0, "limit");
	error = run(context, va, GVM_FAKEGPU_FILL, 1, PARTS);
	require(error == EDQUOT, "an instruction that cannot finish: %s",
		guest_error_name(error));
	require(event_count(getpid(), "oom ") == 1, "oom is not 1");
	require(event_count(getpid(), "remote ") == 0, "remote is not 0");
	close(context);
}

static void touch_without_remote_pages(uint32_t index)
{
	(void)index;
	expect_an_error("max");
}

static void touch_without_host_memory(uint32_t index)
{
	(void)index;
	expect_an_error("2M");
}

/* 16 warps go through much more memory than the limit, in a random order. */
static void thrash(uint32_t index)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, PARTS * CHUNK);
	struct gvm_fakegpu_launch launch = {
		.va = va,
		.bytes = PARTS * CHUNK,
		.seed = index,
		.op = GVM_FAKEGPU_FILL,
		.order = GVM_FAKEGPU_SHUFFLED,
		.stride_pages = 4,
	};

	require(control_set(getpid(), "gmem.limit.high", LIMIT) == 0, "limit");
	require(fakegpu_launch(context, &launch) == 0, "fill");
	launch.op = GVM_FAKEGPU_VERIFY;
	require(fakegpu_launch(context, &launch) == 0, "verify");
	require(event_count(getpid(), "remote ") == 0, "remote is not 0");
	require(event_count(getpid(), "oom ") == 0, "oom is not 0");
	close(context);
}

void test_wide(void)
{
	pid_t victim;

	gpu_load("chunks=24 sms=2");
	victim = victim_start(8);
	guest_check(tenants_run(touch_all_together, 1) == 1,
		    "an instruction over %u blocks finishes with two chunks", PARTS);
	guest_check(tenants_run(touch_without_host_memory, 1) == 1,
		    "without host memory its process gets an error");
	guest_check(tenants_run(thrash, 2) == 2, "ordinary thrashing is left alone");
	victim_end(victim);
	gpu_unload();

	gpu_load("chunks=24 sms=2 remote=0");
	guest_check(tenants_run(touch_without_remote_pages, 1) == 1,
		    "on a GPU that cannot access host memory its process gets an error");
	guest_check(tenants_run(thrash, 2) == 2, "ordinary thrashing is left alone there, too");
	gpu_unload();
}
